"""Gradients of several batches put together, as if they were one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.capture.watch import assign_all
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor, tensor
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.observe.profile import evaluate
from wgsl_kernels.engine.tensors.scopes import tidy
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.trees.trees import VARIABLES, Tree
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.ops.shapes.creation import zeros_like
from wgsl_kernels.train.pairs import check_shape, pairs_of
from wgsl_kernels.train.slots import check_fits
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

_NAME = "GradientAccumulator"
_HAS_COME = "has_come"


@dataclass(eq=False, init=False, repr=False)
class GradientAccumulator:
    """The mean of the gradients of several batches: a large batch in the memory of a small one.

    Add the gradients of each with `update`, then give `result` to an optimizer, or to
    `clip_by_global_norm` before, and `reset`. Both steps may be captured. With losses that are
    means, and batches of one size, the result is the gradient of all of them as one batch, within
    rounding; of other sizes give these as weights.

    Args:
        model: Whose trainable variables the gradients are of: a list of variables, or any tree.

    Attributes:
        sums: For each variable the sum of its gradients times their weights, in its dtype.
        weight: The sum of the weights.

    Raises:
        ArgumentError: The model has no trainable variables.

    Example:
        >>> net = {"w": wk.variable(0.0)}
        >>> total = wk.train.GradientAccumulator(net)
        >>> for x in (1.0, 2.0, 6.0):
        ...     total.update(wk.variable_grads(lambda: net["w"] * x, net)[1])
        >>> wk.train.SGD(1.0).apply_gradients(total.result(), net)
        >>> net["w"].item()
        -3.0
    """

    sums: list[Variable]
    weight: Variable
    _model: Any = field(metadata={"static": True})
    _has_come: list[bool] = field(metadata={"static": True})

    def __init__(self, model: Any) -> None:
        self._model = model
        found = self._variables()
        if not found:
            hint = getattr(self._model, "_untrained", "")
            raise ArgumentError(f"{_NAME}: model has no trainable variables.{hint}")
        self.sums = [variable(zeros_like(one), trainable=False) for one in found]
        self.weight = variable(0.0, trainable=False)
        self._has_come = [False] * len(found)

    def _variables(self) -> list[Variable]:
        leaves = Tree(_NAME, self._model, VARIABLES).leaves
        return list(filter(VARIABLES.everywhere, dict.fromkeys(leaves)))

    def update(self, gradients: Any, weight: TensorLike = 1.0) -> None:
        """Add the gradients of a batch.

        Args:
            gradients: In the form of the model, or by variable, as `variable_grads` gives them;
                None counts as 0.
            weight: What the batch counts, a scalar: its number of rows where batches differ.

        Raises:
            ShapeError: A gradient has not its variable's shape, or ``weight`` is no scalar.
            ArgumentError: ``gradients`` has not the form of the model.
        """
        given = as_tensor(weight)
        if given.shape:
            raise ShapeError(f"{_NAME}: weight has shape {show(given.shape)}; want a scalar.")
        places = {one: place for place, one in enumerate(self._variables())}
        new: list[tuple[Variable, Any]] = []
        with tidy(), hidden_from_tapes():
            for gradient, target in pairs_of(_NAME, gradients, self._model):
                if gradient is None:
                    continue
                check_shape(_NAME, gradient, target)
                place = places[target]
                total = self.sums[place]
                new.append((total, total + astype(gradient * given, total.dtype)))
                self._has_come[place] = True
            assign_all([*new, (self.weight, self.weight + astype(given, "float32"))])
        evaluate([one for one, _ in new])

    def result(self) -> Any:
        """Return the mean gradients in the form of the model; None where none has ever come."""
        with hidden_from_tapes():
            means = [
                one / astype(self.weight, one.dtype) if has_come else None
                for one, has_come in zip(self.sums, self._has_come, strict=True)
            ]
        found = dict(zip(self._variables(), means, strict=True))
        tree = Tree(_NAME, self._model, VARIABLES)
        return tree.slopes([found.pop(one, None) for one in tree.leaves])

    def reset(self) -> None:
        """Begin anew."""
        assign_all([(one, stop_gradient(zeros_like(one))) for one in (*self.sums, self.weight)])

    def state_dict(self) -> dict[str, Tensor]:
        """Return all state by name: the sums, the weight, and which variables had a gradient."""
        own = {name: stop_gradient(one) for name, one in self._holders().items()}
        return own | {_HAS_COME: tensor(self._has_come)}

    def check_state_dict(self, state: Mapping[str, TensorLike]) -> dict[str, Tensor]:
        """Return ``state`` as tensors, once it is known that `load_state_dict` will take it.

        Raises:
            ArgumentError, ShapeError, DTypeError: It does not fit.
        """
        given: Any = state
        if not isinstance(given, Mapping):
            raise ArgumentError(f"{_NAME}: state is {shown(given)}; want tensors by name.")
        values = {name: as_tensor(value) for name, value in state.items()}
        holders: dict[str, Tensor] = {**self._holders(), _HAS_COME: tensor(self._has_come)}
        for name in (*holders, *values):
            if name not in holders or name not in values:
                lacks = "lacks" if name in holders else "has"
                raise ArgumentError(
                    f"{_NAME}: the state {lacks} {name!r}; want {', '.join(holders)}."
                )
            check_fits(_NAME, name, values[name], holders[name])
        return values

    def load_state_dict(self, state: Mapping[str, TensorLike]) -> None:
        """Take over state that `state_dict` gave, also in another process.

        Raises:
            ArgumentError, ShapeError, DTypeError: It does not fit; nothing has changed then.
        """
        values = self.check_state_dict(state)
        given = values[_HAS_COME].tolist()
        assign_all([(one, values[name]) for name, one in self._holders().items()])
        # What has come here stays: a captured step that is replayed would not note it again.
        self._has_come = [a or b for a, b in zip(self._has_come, given, strict=True)]

    def _holders(self) -> dict[str, Variable]:
        return {f"sums/{place}": one for place, one in enumerate(self.sums)} | {
            "weight": self.weight
        }

    def __repr__(self) -> str:
        """Return how many variables there are, and the sum of the weights."""
        return f"{_NAME}({len(self.sums)} variables, weight={self.weight.item():g})"
