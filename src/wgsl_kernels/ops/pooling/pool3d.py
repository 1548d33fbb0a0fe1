"""Pooling: the mean or the maximum of windows over volumes, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.convolution.conv import on_batch
from wgsl_kernels.ops.pooling.poolings import Pooling, declare_pooling

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair

POOLING = Pooling(
    "AvgPool3D", "AvgPool3DGrad", "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad", "NDHWC"
)

declare_pooling(POOLING)


@public(tfjs="avgPool3d")
def avg_pool3d(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    data_format: str = "NDHWC",
) -> Tensor:
    """Return the mean of each window over volumes; padding does not count.

    Args:
        x: [batch, depth, height, width, channels], or one volume without the batch.
        filter_size: Depth, height and width of the window, or one number for all.
        strides: Elements between two windows; by default ``filter_size``.
        pad: ``"valid"``: none; ``"same"``: so much that there is a window per stride of the volume;
            a number: on all six sides; or (before, after) for each of the five axes.
        dilations: Elements from one that a window reads to the next.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last window
            that is not whole. Only with a ``pad`` in numbers.
        data_format: ``"NDHWC"``, or ``"NCDHW"``: channels before the depth.

    Returns:
        The format of ``x``, with a value per window; NaN where a window lies in padding alone.

    Raises:
        ShapeError: The window is larger than the padded volume.
        ArgumentError: An option is none of these.

    Example:
        >>> avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2).item()
        3.5
    """
    return on_batch(
        POOLING.avg,
        as_floats(x),
        axes=3,
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        data_format=data_format,
    )


@public(tfjs="maxPool3d")
def max_pool3d(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    data_format: str = "NDHWC",
) -> Tensor:
    """Return the maximum of each window over volumes; padding does not count, NaN is the largest.

    The gradient goes to the first of equal maxima, plane by plane and row by row.

    Args:
        x: [batch, depth, height, width, channels], or one volume without the batch; float32 or
            int32.
        filter_size: Depth, height and width of the window, or one number for all.
        strides: Elements between two windows; by default ``filter_size``.
        pad: As `avg_pool3d` takes it.
        dilations: Elements from one that a window reads to the next.
        dim_rounding_mode: What to do with a last window that is not whole.
        data_format: ``"NDHWC"``, or ``"NCDHW"``: channels before the depth.

    Returns:
        The format of ``x``, with a value per window; the lowest number (-inf) where a window lies
        in padding alone.

    Raises:
        ShapeError: The window is larger than the padded volume.
        ArgumentError: An option is none that `avg_pool3d` takes.

    Example:
        >>> wk.max_pool3d(wk.arange(8.0).reshape(1, 2, 2, 2, 1), 2).tolist()
        [[[[[7.0]]]]]
    """
    return on_batch(
        POOLING.max,
        as_tensor(x),
        axes=3,
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        data_format=data_format,
    )
