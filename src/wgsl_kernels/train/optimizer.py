"""What all optimizers share: gradients in, new values out, and state that can be saved."""

from __future__ import annotations

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.capture.watch import all_or_none, assign_all
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.suggestions import advice, no_attribute
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.observe.profile import evaluate
from wgsl_kernels.engine.tensors.scopes import tidy
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.trees.trees import variables_of
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.train.keywords import WithKeywords
from wgsl_kernels.train.pairs import check_shape, loss_and_gradients, pairs_of
from wgsl_kernels.train.slots import Slots, check_fits, name_of
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from wgsl_kernels.engine.values.dtypes import DType

Rate = float | Callable[[Tensor], TensorLike]
"""A learning rate: a number, or a function of the number of steps done."""

RATE, STEP = "learning_rate", "step"


class Optimizer(metaclass=WithKeywords):
    """Changes variables against their gradients.

    Its state is tensors where the variables are: the learning rate, the number of steps done, and
    the ``slots`` that each variable gets when it is first changed. In `state_dict` they are called
    ``learning_rate``, ``step`` and ``<variable's name>/<slot>``, so variables of one optimizer need
    different names; those without a name have one of their own in each process. `wk.save` calls the
    variables by their paths in the mapping that it is given.

    `copy.deepcopy` and pickle of a model with its optimizer keep the two tied: the copy's slots are
    those of the copied variables. An optimizer copied alone is one for the same variables.

    A new kind gives ``slots`` and `updated`; slots that do not start from 0 are named in
    ``initial``.

    Args:
        learning_rate: How far a step goes; a number, also to be changed later, or a schedule: a
            function that takes the number of steps done, an int32 scalar tensor, and returns the
            rate of the next (see `wk.train.schedules`).
    """

    slots: tuple[str, ...] = ()
    initial: Mapping[str, float] = MappingProxyType({})

    def __init__(self, learning_rate: Rate) -> None:
        self._name = type(self).__name__
        if callable(learning_rate) and variables_of(self._name, learning_rate):
            raise ArgumentError(
                f"{self._name}: learning_rate is a model, {type(learning_rate).__name__}; want a "
                "number or a schedule. The model is given to minimize(f, model)."
            )
        self._schedule = learning_rate if callable(learning_rate) else None
        rate = 0.0 if callable(learning_rate) else _scalar(self._name, learning_rate)
        self._rate = variable(rate, trainable=False, name=RATE, dtype="float32")
        self._step = variable(0, trainable=False, name=STEP, dtype="int32")
        if self._schedule is not None:
            self._rate.assign(self._scheduled(self._step))
        self._held = Slots(self._name, self.slots, self.initial)
        self._has_warned = False

    if not TYPE_CHECKING:  # for which every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            known = [] if name.startswith("_") else [one for one in dir(self) if one[0] != "_"]
            said = advice("optimizer", name, known) if known else ""
            raise no_attribute(repr(type(self).__name__), name, said)

    def __repr__(self) -> str:
        """Return what it was made with, as it is now, and the steps done."""
        rate = f"{self._rate.item():.6g}" if self._schedule is None else repr(self._schedule)
        own = {name.removeprefix("_"): value for name, value in vars(self).items()}
        given = [one for one in inspect.signature(type(self).__init__).parameters if one in own]
        said = [f"learning_rate={rate}", *(f"{name}={own[name]!r}" for name in given)]
        return f"{self._name}({', '.join(said)}, step={self._step.item()})"

    @property
    def learning_rate(self) -> Variable:
        """The learning rate, a scalar variable; assign a number or a tensor to change it.

        With a schedule it is the rate of the latest step, before the first that of the first, and
        assigning raises an ArgumentError.
        """
        return self._rate

    @learning_rate.setter
    def learning_rate(self, value: TensorLike) -> None:
        if self._schedule is not None:
            raise ArgumentError(
                f"{self._name}: learning_rate follows a schedule; make an optimizer with a number "
                "to set it by hand."
            )
        self._rate.assign(value)

    def _scheduled(self, done: Tensor) -> Tensor:
        """Return the schedule's rate after that many steps, a float32 scalar."""
        schedule: Any = self._schedule
        found = as_tensor(schedule(done))
        if found.shape:
            raise ShapeError(
                f"{self._name}: the schedule gave shape {show(found.shape)}; want a scalar."
            )
        return astype(found, "float32")

    @property
    def step(self) -> Variable:
        """How many steps were done, an int32 scalar variable."""
        return self._step

    def shared(self, rate: Tensor, step: Tensor) -> tuple[Tensor, ...]:
        """Return what `updated` needs besides, computed once a step: by default ``rate`` alone.

        Args:
            rate: The learning rate, in the dtype of the variables.
            step: The number of this step, an int32: 1 in the first.
        """
        del step
        return (rate,)

    @abstractmethod
    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return a variable's new value, then that of each of its slots.

        Args:
            value: The variable's present value; all that follows has its dtype.
            gradient: Its gradient.
            state: Its slots.
            shared: What `shared` gave.
        """

    def minimize(self, f: Callable[[], Tensor], variables: Any = None) -> Tensor:
        """Compute the loss and its gradients, change the variables, and return the loss.

        Args:
            f: Takes nothing and returns the loss, a scalar.
            variables: Which may change: a sequence of variables, or a model, of which the trainable
                ones do. Without it the trainable ones that ``f`` reads.

        Raises:
            GradientNotFound: The loss depends on none of them, or a kernel has no gradient.
            ShapeError: The loss is not a scalar.
        """
        with fused_on_first_use():
            loss, found = loss_and_gradients(self._name, f, variables)
            chosen = self._chosen(found)
            found.clear()
            self._change(chosen)
            return loss

    def apply_gradients(self, gradients: Any, variables: Any = None) -> None:
        """Change variables against their gradients: one step.

        Args:
            gradients: (gradient, variable) pairs, or gradients by variable; with ``variables`` a
                tree of gradients, such as `variable_grads` gives for a model. A gradient of None
                leaves its variable alone, with a warning the first time.
            variables: A model of variables in the form of ``gradients``: the model.

        Raises:
            ShapeError: A gradient has not its variable's shape. Nothing has changed then.
            ArgumentError: A variable is given twice, or two have the same name, or ``gradients``
                has not the form of ``variables``.
        """
        with fused_on_first_use():
            self._change(self._chosen(gradients, variables))

    def _change(self, chosen: list[tuple[Tensor, Variable]]) -> None:
        """Do one step, giving up each gradient once it is used.

        What nobody holds any more need not be written where kernels are deferred and fused.
        """
        chosen.reverse()
        with tidy(), hidden_from_tapes():
            results: list[tuple[Variable, Tensor]] = []
            done = stop_gradient(self._step)
            step = done + 1
            rate: Tensor = self._rate
            if self._schedule is not None:
                rate = self._scheduled(done)
                results.append((self._rate, rate))
            shared: dict[DType, tuple[Tensor, ...]] = {}
            while chosen:
                gradient, target = chosen.pop()
                dtype, state = target.dtype, self._held.of(target)
                if dtype not in shared:
                    shared[dtype] = self.shared(astype(rate, dtype), step)
                with config.using(small_ops="device"):  # else the first step is another than all
                    new = self.updated(
                        stop_gradient(target),
                        astype(gradient, dtype),
                        tuple(stop_gradient(one) for one in state),
                        shared[dtype],
                    )
                results += zip((target, *state), new, strict=True)
                del gradient, new
            assign_all([*results, (self._step, step)])
            changed = [holder for holder, _ in results]
            del results, shared
        evaluate(changed)

    def _chosen(self, gradients: Any, variables: Any = None) -> list[tuple[Tensor, Variable]]:
        self._held.check_owners()
        chosen: dict[str, tuple[Tensor, Variable]] = {}
        without: list[str] = []
        for gradient, target in pairs_of(self._name, gradients, variables):
            if gradient is None:
                without.append(target.name)
                continue
            check_shape(self._name, gradient, target)
            name = name_of(target) if target.name in chosen else target.name
            if name in chosen or (name != target.name and chosen[target.name][1] is target):
                what = "twice" if chosen[target.name][1] is target else "for two variables"
                raise ArgumentError(
                    f"{self._name}: {target.name!r} is given {what}; want each name once."
                )
            chosen[name] = (gradient, target)
        if without and not self._has_warned:
            self._has_warned = True
            names = ", ".join(map(repr, without))
            warnings.warn(f"{self._name}: no gradient for {names}; left as they are.", stacklevel=3)
        return list(chosen.values())

    def owners(self) -> list[Variable]:
        """Return the variables that it has slots of: those that steps have changed, if any."""
        return self._held.owners() if self.slots else []

    def state_dict(self, names: Mapping[Variable, str] | None = None) -> dict[str, Tensor]:
        """Return all state by name, as it is now.

        Args:
            names: What to call variables; those that do not stand there go by their own names.

        Raises:
            ArgumentError: Two variables go by one name.
        """
        own = {RATE: stop_gradient(self._rate), STEP: stop_gradient(self._step)}
        return own | self._held.state(names or {})

    def load_state_dict(
        self, state: Mapping[str, TensorLike], owners: Mapping[str, Variable] | None = None
    ) -> None:
        """Take over state that `state_dict` gave, also in another process.

        Variables that ``state`` has nothing of begin anew. State of variables that were not changed
        yet waits for them, by name; if there is no variable of the name by then, the next step
        raises an ArgumentError.

        Args:
            state: As `state_dict` gave it.
            owners: The variables by their names in ``state``; others are found by their own names.

        Raises:
            ArgumentError, ShapeError, DTypeError: It does not fit; nothing has changed then.
        """
        values = self.check_state_dict(state, owners)
        rate, step = values.pop(RATE), values.pop(STEP)
        claims = self._held.claims(values, owners or {})
        with all_or_none():
            self._rate.assign(rate)
            self._step.assign(step)
            self._held.take(claims)

    def check_state_dict(
        self, state: Mapping[str, TensorLike], owners: Mapping[str, Variable] | None = None
    ) -> dict[str, Tensor]:
        """Return ``state`` as tensors, once it is known that `load_state_dict` will take it.

        Raises:
            ArgumentError, ShapeError, DTypeError: It does not fit.
        """
        given: Any = state
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ArgumentError(f"{self._name}: state is {shown(given)}; want tensors by name.")
        values = {name: as_tensor(value) for name, value in state.items()}
        for name, holder in ((RATE, self._rate), (STEP, self._step)):
            if name not in values:
                raise ArgumentError(f"{self._name}: the state has no {name!r}.")
            check_fits(self._name, name, values[name], holder)
        slots = {name: one for name, one in values.items() if name not in (RATE, STEP)}
        self._held.claims(slots, owners or {})
        return values

    def __copy__(self) -> Optimizer:
        """Return an optimizer for the same variables, with state of its own."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin._rate, twin._step = copy(self._rate), copy(self._step)
        twin._held = self._held.copied(lambda one: one)
        return twin


def fused_on_first_use() -> AbstractContextManager[None]:
    """Have what a step runs fused at once: there will be other steps, which would do it then."""
    return config.using(fusion="always") if config.fusion == "auto" else nullcontext()


def between(optimizer: str, name: str, value: Any, low: float, high: float) -> float:
    """Return a hyperparameter as a float that lies in [low, high).

    Raises:
        ArgumentError: It does not.
    """
    found = float(number(optimizer, name, value))
    if not low <= found < high:
        raise ArgumentError(f"{optimizer}: {name} is {value!r}; want a number in [{low}, {high}).")
    return found


def _scalar(name: str, rate: Any) -> Any:
    """Return a learning rate that is a number, and refuse variables in its place."""
    if isinstance(rate, (int, float)) or getattr(rate, "shape", None) == ():
        return rate
    raise ArgumentError(
        f"{name}: learning_rate is {shown(rate)}; want a number or a schedule. The variables are "
        "those of minimize(loss, variables)."
    )
