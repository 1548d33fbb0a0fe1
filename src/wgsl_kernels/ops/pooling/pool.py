"""Pooling: the mean or the maximum of windows over images, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.convolution.conv import on_batch
from wgsl_kernels.ops.pooling.poolings import Pooling, declare_pooling

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair

POOLING = Pooling("AvgPool", "AvgPoolGrad", "MaxPool", "MaxPoolGrad", "MaxPoolGradGrad", "NHWC")

declare_pooling(POOLING)


@public(tfjs="avgPool")
def avg_pool(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    data_format: str = "NHWC",
) -> Tensor:
    """Return the mean of each window; padding does not count.

    Args:
        x: [batch, height, width, channels], or one image without the batch.
        filter_size: Height and width of the window, or one number for both.
        strides: Elements between two windows; by default ``filter_size``.
        pad: ``"valid"``: none; ``"same"``: so much that there is a window per stride of the image;
            a number: on all four sides; or (before, after) for each of the four axes.
        dilations: Elements from one that a window reads to the next.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last window
            that is not whole. Only with a ``pad`` in numbers.
        data_format: ``"NHWC"``, or ``"NCHW"``: channels before the height.

    Returns:
        The format of ``x``, with a value per window; NaN where a window lies in padding alone.

    Raises:
        ShapeError: The window is larger than the padded image.
        ArgumentError: An option is none of these.

    Example:
        >>> wk.avg_pool(wk.arange(4.0).reshape(1, 2, 2, 1), 2).tolist()
        [[[[1.5]]]]
    """
    return on_batch(
        "AvgPool",
        as_floats(x),
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        data_format=data_format,
    )


@public(tfjs="maxPool")
def max_pool(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    data_format: str = "NHWC",
) -> Tensor:
    """Return the maximum of each window; padding does not count, NaN is larger than all.

    The gradient goes to the first of equal maxima, row by row.

    Args:
        x: [batch, height, width, channels], or one image without the batch; float32 or int32.
        filter_size: Height and width of the window, or one number for both.
        strides: Elements between two windows; by default ``filter_size``.
        pad: As `avg_pool` takes it.
        dilations: Elements from one that a window reads to the next.
        dim_rounding_mode: What to do with a last window that is not whole.
        data_format: ``"NHWC"``, or ``"NCHW"``: channels before the height.

    Returns:
        The format of ``x``, with a value per window; the lowest number (-inf) where a window lies
        in padding alone.

    Raises:
        ShapeError: The window is larger than the padded image.
        ArgumentError: An option is none that `avg_pool` takes.

    Example:
        >>> grad(lambda x: max_pool(x, 2))(tensor([[[[1.0], [2.0]], [[2.0], [2.0]]]])).tolist()
        [[[[0.0], [1.0]], [[0.0], [0.0]]]]
    """
    return on_batch(
        "MaxPool",
        as_tensor(x),
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        data_format=data_format,
    )
