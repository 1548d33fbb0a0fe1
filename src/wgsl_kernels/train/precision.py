"""Training in float16 with weights in float32: cast models, and losses scaled against underflow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.capture.watch import VariableWatch
from wgsl_kernels.engine.drivers.backends import active_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.observe.profile import evaluate
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.trees.trees import GRADIENTS, VARIABLES, Tree
from wgsl_kernels.engine.values.attributes import at_least, number
from wgsl_kernels.engine.values.dtypes import canonical, is_float
from wgsl_kernels.ops.elementwise import classify, compare, logical
from wgsl_kernels.ops.elementwise.binary import maximum
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.train.optimizer import Optimizer, fused_on_first_use
from wgsl_kernels.train.pairs import loss_and_gradients, pairs_of
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.train.groups import ParameterGroups

_Model = TypeVar("_Model")
_NAME = "LossScale"
_SMALLEST, _LARGEST = 2.0**-126, 2.0**128 - 2.0**104


def cast_trainable(model: _Model, dtype: DTypeLike = "float16") -> _Model:
    """Return a model whose trainable variables are tensors of another float dtype.

    It computes in that dtype, and its gradients flow to the variables, in theirs. Variables that
    are not trainable stay as they are, so that a batch norm assigns its running numbers.

    Args:
        model: Variables in dicts, lists, tuples, dataclasses and other objects.
        dtype: A float dtype.

    Raises:
        DTypeError: It is none, or the backend has none of it.

    Example:
        >>> net = wk.nn.dense(2, 1, initializer=wk.nn.constant(0.5))
        >>> half = wk.train.cast_trainable(net)
        >>> str(half(wk.ones((1, 2), dtype="float16")).dtype)
        'float16'
    """
    name = canonical(dtype)
    if not is_float(name):
        raise DTypeError(f"cast_trainable: dtype is {name}; want a float.")
    driver = active_driver()
    if not driver.supports(name):
        raise DTypeError(
            f"cast_trainable: backend {driver.name!r} has no {name} here: its adapter lacks the "
            "feature 'shader-f16'. Train in float32, or with use_backend('cpu')."
        )
    tree = Tree("cast_trainable", model, VARIABLES)
    cast: _Model = tree.filled([astype(one, dtype) for one in tree.leaves])
    return cast


@dataclass(eq=False, init=False, repr=False)
class LossScale:
    """An optimizer whose loss is multiplied before, and whose gradients are divided after.

    Gradients in float16 below 6e-8 are 0; those of a scaled loss are not. A step with a gradient
    that is infinite or NaN is left out, and halves the scale; after ``growth_interval`` steps
    without one it doubles. All of it happens on the device, also in a captured step.

    Args:
        optimizer: An optimizer, or `ParameterGroups`.
        scale: The first scale; above 0, a normal number of float32.
        growth_interval: Steps in a row after which the scale doubles; at least 1.

    Attributes:
        optimizer: That.
        scale: The scale now, a float32 scalar variable.
        good_steps: Steps in a row that were done with it, an int32 scalar variable.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> w = wk.variable(1.0)
        >>> optimizer = wk.train.LossScale(wk.train.SGD(0.5), scale=4.0)
        >>> optimizer.minimize(lambda: w * w).item(), w.item()
        (1.0, 0.0)
        >>> _ = optimizer.minimize(lambda: w * wk.inf)
        >>> w.item(), optimizer.scale.item()
        (0.0, 2.0)

    Source: Micikevicius and others, Mixed Precision Training, 2018.
    """

    optimizer: Optimizer | ParameterGroups
    scale: Variable
    good_steps: Variable
    _interval: int = field(metadata={"static": True})

    def __init__(
        self,
        optimizer: Optimizer | ParameterGroups,
        scale: float = 2.0**15,
        growth_interval: int = 2000,
    ) -> None:
        given: Any = optimizer
        if not hasattr(given, "apply_gradients"):
            raise ArgumentError(f"{_NAME}: optimizer is {shown(given)}; want an optimizer.")
        first = float(number(_NAME, "scale", scale))
        if not _SMALLEST <= first <= _LARGEST:
            raise ArgumentError(
                f"{_NAME}: scale is {scale!r}; want a number above 0, of those that float32 has."
            )
        self.optimizer = optimizer
        self.scale = variable(first, trainable=False, dtype="float32")
        self.good_steps = variable(0, trainable=False, dtype="int32")
        self._interval = at_least(_NAME, "growth_interval", growth_interval, 1)

    def scaled(self, loss: Tensor) -> Tensor:
        """Return a loss times the scale, in float32."""
        return astype(as_tensor(loss), "float32") * stop_gradient(self.scale)

    def unscaled(self, gradients: Any) -> Any:
        """Return the gradients of a scaled loss, in a tree or by variable, divided by the scale."""
        tree = Tree(_NAME, gradients, GRADIENTS)
        with hidden_from_tapes():
            return tree.filled([one / astype(self.scale, one.dtype) for one in tree.leaves])

    def minimize(self, f: Callable[[], Tensor], variables: Any = None) -> Tensor:
        """Compute the loss and its gradients, and change the variables if these are finite.

        Args:
            f: Takes nothing and returns the loss, a scalar.
            variables: As for `Optimizer.minimize`.

        Returns:
            The loss, not scaled.

        Raises:
            GradientNotFound: The loss depends on none of them, or a kernel has no gradient.
            ShapeError: The loss is not a scalar.
        """
        losses: list[Tensor] = []

        def scaled() -> Tensor:
            losses.append(f())
            return self.scaled(losses[0])

        with fused_on_first_use():
            _, found = loss_and_gradients(_NAME, scaled, variables)
            self.apply_gradients(self.unscaled(found))
        return losses[0]

    def apply_gradients(self, gradients: Any, variables: Any = None) -> None:
        """Change variables against gradients that are no longer scaled, if all are finite.

        Args:
            gradients: As for `Optimizer.apply_gradients`.
            variables: A model of variables in the form of ``gradients``.
        """
        pairs = pairs_of(_NAME, gradients, variables)
        watch = VariableWatch()
        try:
            with hidden_from_tapes(), context.changed(watch=watch):
                is_good = as_tensor(True)
                for gradient, _ in pairs:
                    if gradient is not None:
                        finite = reduce.all(classify.isfinite(gradient))
                        is_good = logical.logical_and(is_good, finite)
                self.optimizer.apply_gradients(pairs)
                new = [(one, stop_gradient(one)) for one, _ in watch.changed.values()]
            with hidden_from_tapes():  # which has the values of before
                results = [(one, logical.where(is_good, value, one)) for one, value in new]
                results += self._moved(is_good)
            watch.assign([(one, *value._array_and_driver()) for one, value in results])
            watch.commit()
        except BaseException:
            watch.put_back()
            raise
        evaluate([one for one, _ in results])

    def _moved(self, is_good: Tensor) -> list[tuple[Variable, Tensor]]:
        """Return the scale and the steps done with it after this one."""
        good = logical.where(is_good, self.good_steps + 1, 0)
        grows = compare.greater_equal(good, self._interval)
        doubled = self.scale * 2.0
        grown = logical.where(
            logical.logical_and(grows, classify.isfinite(doubled)), doubled, self.scale
        )
        scale = logical.where(is_good, grown, maximum(self.scale * 0.5, _SMALLEST))
        return [(self.scale, scale), (self.good_steps, logical.where(grows, 0, good))]

    def __repr__(self) -> str:
        """Return the optimizer and the scale now."""
        return f"{_NAME}({self.optimizer!r}, scale={self.scale.item():g})"
