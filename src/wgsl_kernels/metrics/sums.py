"""The variables of metrics, and what is added to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.capture.watch import assign_all
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.values.shapes import broadcast_shapes, show
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.shapes import creation, shape

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


def zeros(*lengths: int) -> Variable:
    """Return a variable of zeros that nothing trains."""
    return variable(creation.zeros(lengths), trainable=False)


def add(*pairs: tuple[Variable, Tensor]) -> None:
    """Add to variables, all at once; no gradient flows there."""
    with hidden_from_tapes():
        assign_all([(one, one + more) for one, more in pairs])


def reset(*sums: Variable) -> None:
    """Make variables 0."""
    assign_all([(one, creation.zeros(one.shape)) for one in sums])


def floats(x: TensorLike) -> Tensor:
    """Return ``x`` as float32, for tapes a constant."""
    return cast.astype(stop_gradient(as_tensor(x)), "float32")


def weights_like(metric: str, weights: TensorLike | None, like: Tensor) -> Tensor:
    """Return weights of the shape of what they weigh; ones where there are none.

    Raises:
        ShapeError: They do not broadcast to it.
    """
    if weights is None:
        return creation.ones(like.shape)
    given = floats(weights)
    if broadcast_shapes(given.shape, like.shape) != like.shape:
        raise ShapeError(
            f"{metric}: weights has shape {show(given.shape)}; want one that broadcasts to "
            f"{show(like.shape)}."
        )
    return shape.broadcast_to(given, like.shape)
