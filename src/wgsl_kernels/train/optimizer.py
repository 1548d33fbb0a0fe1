"""What all optimizers share: gradients in, new values out, and state that can be saved."""

from __future__ import annotations

import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.autodiff import stop_gradient, variable_grads
from wgsl_kernels.engine.context import current
from wgsl_kernels.engine.dtypes import numpy_dtype
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, GradientNotFound, ShapeError
from wgsl_kernels.engine.profile import evaluate
from wgsl_kernels.engine.scopes import tidy
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.tape import hidden_from_tapes
from wgsl_kernels.engine.tensor import Tensor, TensorLike, Variable, as_tensor, variable
from wgsl_kernels.engine.watch import assign_all
from wgsl_kernels.ops.cast import astype

if TYPE_CHECKING:
    from wgsl_kernels.engine.dtypes import DType

Pairs = Mapping[Variable, Tensor | None] | Iterable[tuple[Tensor | None, Variable]]

RATE, STEP = "learning_rate", "step"


class Optimizer(ABC):
    """Changes variables against their gradients.

    Its state is tensors where the variables are: the learning rate, the number of steps done, and
    the ``slots`` that each variable gets when it is first changed. In `state_dict` they are called
    ``learning_rate``, ``step`` and ``<variable's name>/<slot>``, so variables of one optimizer need
    different names.

    A new kind gives ``slots`` and `updated`.

    Args:
        learning_rate: How far a step goes; a number, also to be changed later.
    """

    slots: tuple[str, ...] = ()

    def __init__(self, learning_rate: float) -> None:
        self._name = type(self).__name__
        self._rate = variable(learning_rate, trainable=False, name=RATE, dtype="float32")
        self._step = variable(0, trainable=False, name=STEP, dtype="int32")
        self._state: dict[str, tuple[weakref.ref[Variable], tuple[Variable, ...]]] = {}
        self._waiting: dict[str, Tensor] = {}
        self._has_warned = False

    @property
    def learning_rate(self) -> Variable:
        """The learning rate, a scalar variable; assign a number or a tensor to change it."""
        return self._rate

    @learning_rate.setter
    def learning_rate(self, value: TensorLike) -> None:
        self._rate.assign(value)

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

    def minimize(
        self, f: Callable[[], Tensor], variables: Iterable[Variable] | None = None
    ) -> Tensor:
        """Compute the loss and its gradients, change the variables, and return the loss.

        Args:
            f: Takes nothing and returns the loss, a scalar.
            variables: Which may change; without it the trainable ones that ``f`` reads.

        Raises:
            GradientNotFound: The loss depends on none of them, or a kernel has no gradient.
            ShapeError: The loss is not a scalar.
        """
        loss, found = variable_grads(f, variables)
        if not found:
            raise GradientNotFound(
                f"{self._name}.minimize: the loss depends on no trainable variable."
            )
        chosen = self._chosen(found)
        found.clear()
        self._change(chosen)
        return loss

    def apply_gradients(self, gradients: Pairs) -> None:
        """Change variables against their gradients: one step.

        Args:
            gradients: (gradient, variable) pairs, or gradients by variable. A gradient of None
                leaves its variable alone, with a warning the first time.

        Raises:
            ShapeError: A gradient has not its variable's shape. Nothing has changed then.
            ArgumentError: A variable stands twice, or two have the same name.
        """
        self._change(self._chosen(gradients))

    def _change(self, chosen: list[tuple[Tensor, Variable]]) -> None:
        """Do one step, giving up each gradient once it is used.

        What nobody holds any more need not be written where kernels are put off and fused.
        """
        chosen.reverse()
        with tidy(), hidden_from_tapes():
            results: list[tuple[Variable, Tensor]] = []
            step = stop_gradient(self._step) + 1
            shared: dict[DType, tuple[Tensor, ...]] = {}
            while chosen:
                gradient, target = chosen.pop()
                dtype, state = target.dtype, self._slots_of(target)
                if dtype not in shared:
                    shared[dtype] = self.shared(astype(self._rate, dtype), step)
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

    def _chosen(self, gradients: Pairs) -> list[tuple[Tensor, Variable]]:
        chosen: dict[str, tuple[Tensor, Variable]] = {}
        without: list[str] = []
        for gradient, target in _pairs(gradients):
            if gradient is None:
                without.append(target.name)
                continue
            if gradient.shape != target.shape:
                raise ShapeError(
                    f"{self._name}: the gradient of {target.name!r} has shape "
                    f"{show(gradient.shape)}, the variable {show(target.shape)}; want the same."
                )
            if target.name in chosen:
                what = "twice" if chosen[target.name][1] is target else "for two variables"
                raise ArgumentError(
                    f"{self._name}: {target.name!r} stands {what}; want each name once."
                )
            chosen[target.name] = (gradient, target)
        if without and not self._has_warned:
            self._has_warned = True
            names = ", ".join(map(repr, without))
            warnings.warn(f"{self._name}: no gradient for {names}; left as they are.", stacklevel=3)
        return list(chosen.values())

    def _slots_of(self, target: Variable) -> tuple[Variable, ...]:
        """Return the variable's slots, made of zeros or of loaded state when first asked for."""
        owner, slots = self._state.get(target.name, (None, ()))
        holder = None if owner is None else owner()
        if holder is target:
            return slots
        if holder is not None:
            raise ArgumentError(
                f"{self._name}: two variables are called {target.name!r}; want different names."
            )
        if (watch := current().watch) is not None:
            watch.undo.append(self._keeper_of(target.name))
        names = [f"{target.name}/{slot}" for slot in self.slots]
        for name in names:
            if name in self._waiting:
                self._check_fits(name, self._waiting[name], target)
        zeros = np.zeros(target.shape, numpy_dtype(target.dtype))
        made = tuple(
            variable(self._waiting.get(name, zeros), trainable=False, name=name, dtype=target.dtype)
            for name in names
        )
        self._state[target.name] = (weakref.ref(target), made)
        for name in names:  # not sooner: an interrupt must not lose it
            self._waiting.pop(name, None)
        return made

    def _keeper_of(self, name: str) -> Callable[[], None]:
        """Return what makes this optimizer know as much of a variable as it does now."""
        present, waiting = self._state.get(name), dict(self._waiting)

        def put_back() -> None:
            self._state.pop(name, None)
            self._state |= {} if present is None else {name: present}
            self._waiting = waiting

        return put_back

    def state_dict(self) -> dict[str, Tensor]:
        """Return all state by name, as it is now."""
        held = {RATE: self._rate, STEP: self._step}
        for _, slots in self._state.values():
            held |= {one.name: one for one in slots}
        waiting = {name: one for name, one in self._waiting.items() if name not in held}
        return {name: stop_gradient(one) for name, one in held.items()} | waiting

    def load_state_dict(self, state: Mapping[str, TensorLike]) -> None:
        """Take over state that `state_dict` gave, also in another process.

        State of variables that were not changed yet waits for them, by name.

        Raises:
            ArgumentError, ShapeError, DTypeError: It does not fit; nothing has changed then.
        """
        values = self.check_state_dict(state)
        known = {one.name: one for _, slots in self._state.values() for one in slots}
        known |= {RATE: self._rate, STEP: self._step}
        self._waiting = {name: value for name, value in values.items() if name not in known}
        assign_all((holder, values[name]) for name, holder in known.items())

    def check_state_dict(self, state: Mapping[str, TensorLike]) -> dict[str, Tensor]:
        """Return ``state`` as tensors, once it is known that `load_state_dict` will take it.

        Raises:
            ArgumentError, ShapeError, DTypeError: It does not fit.
        """
        values = {name: as_tensor(value) for name, value in state.items()}
        holders: dict[str, Variable] = {RATE: self._rate, STEP: self._step}
        for _, slots in self._state.values():
            holders |= {one.name: one for one in slots}
        for name, holder in holders.items():
            if name not in values:
                raise ArgumentError(f"{self._name}: the state has no {name!r}.")
            self._check_fits(name, values[name], holder)
        for name in values.keys() - holders.keys():
            owner, _, slot = name.rpartition("/")
            lacking = [one for one in self.slots if f"{owner}/{one}" not in values]
            if not owner or slot not in self.slots or lacking:
                known = ", ".join((RATE, STEP, *(f"<variable>/{one}" for one in self.slots)))
                raise ArgumentError(
                    f"{self._name}: {name!r} is no state of this optimizer, or not all of a "
                    f"variable's; want {known}."
                )
        return values

    def _check_fits(self, name: str, value: Tensor, holder: Variable) -> None:
        if value.shape != holder.shape:
            raise ShapeError(
                f"{self._name}: the state {name!r} has shape {show(value.shape)}; want "
                f"{show(holder.shape)}."
            )
        if value.dtype != holder.dtype:
            raise DTypeError(
                f"{self._name}: the state {name!r} is {value.dtype}; want {holder.dtype}."
            )


def _pairs(gradients: Pairs) -> Iterable[tuple[Tensor | None, Variable]]:
    if isinstance(gradients, Mapping):
        by_variable: Mapping[Any, Any] = gradients
        return [(gradient, target) for target, gradient in by_variable.items()]
    return gradients


def between(optimizer: str, name: str, value: Any, low: float, high: float) -> float:
    """Return a hyperparameter as a float that lies in [low, high).

    Raises:
        ArgumentError: It does not.
    """
    number = float(value)
    if not low <= number < high:
        raise ArgumentError(f"{optimizer}: {name} is {value!r}; want a number in [{low}, {high}).")
    return number
