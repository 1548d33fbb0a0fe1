"""A moving average, and a shape that is made sure of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.engine.values.shapes import open_lengths, show
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(tfjs="ensureShape")
def ensure_shape(x: TensorLike, shape: Sequence[int | None]) -> Tensor:
    """Return ``x`` if it has the shape wanted.

    Args:
        x: Any tensor.
        shape: Lengths; None stands for any.

    Raises:
        ShapeError: It has another.
        ArgumentError: ``shape`` holds something else.

    Example:
        >>> ensure_shape([[1.0, 2.0]], (None, 2)).tolist()
        [[1.0, 2.0]]
    """
    given = as_tensor(x)
    wanted = open_lengths("ensure_shape", "shape", shape)
    same = len(wanted) == given.ndim and all(
        one in (None, own) for one, own in zip(wanted, given.shape, strict=True)
    )
    if not same:
        raise ShapeError(f"ensure_shape: x has shape {show(given.shape)}; want {show(wanted)}.")
    return shapes.clone(given)


@public(tfjs="movingAverage")
def moving_average(
    v: TensorLike,
    x: TensorLike,
    decay: TensorLike,
    *,
    step: TensorLike | None = None,
    zero_debias: bool = True,
) -> Tensor:
    """Return the next value of a moving average: ``v + (1 - decay) * (x - v)``.

    Args:
        v: The average until now.
        x: What comes to it, of the same shape.
        decay: What remains of the average, in [0, 1].
        step: The number of this step, 1 for the first; needed for ``zero_debias``.
        zero_debias: Whether the change is divided by ``1 - decay ** step``, as for an average that
            began at 0.

    Raises:
        ShapeError: The shapes differ.
        ArgumentError: ``step`` is needed and absent.

    Example:
        >>> moving_average([2.0], [4.0], 0.75, zero_debias=False).tolist()
        [2.5]

    Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014, section 3.
    """
    old, new = as_tensor(v), as_tensor(x)
    if old.shape != new.shape:
        raise ShapeError(
            f"moving_average: v has shape {show(old.shape)}, x {show(new.shape)}; want the same."
        )
    kept = as_tensor(decay, dtype=old.dtype)
    change = (new - old) * (1.0 - kept)
    if flag("moving_average", "zero_debias", zero_debias):
        if step is None:
            raise ArgumentError("moving_average: step is None; want its number with zero_debias.")
        change = change / (1.0 - kept ** as_tensor(step, dtype=old.dtype))
    return old + change
