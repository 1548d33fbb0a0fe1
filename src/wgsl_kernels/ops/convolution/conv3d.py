"""Convolution of volumes, and its transpose."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.shapes import lengths
from wgsl_kernels.ops.convolution.conv import on_batch
from wgsl_kernels.ops.convolution.conv_kernels import declare_kernels
from wgsl_kernels.ops.convolution.convolutions import (
    Convolution,
    GroupedAttrs,
    declare_convolution,
)
from wgsl_kernels.ops.convolution.windows import convolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair

CONVOLUTION = Convolution(
    "Conv3D",
    "Conv3DBackpropInputV2",
    "Conv3DBackpropFilterV2",
    functools.partial(convolved, axes=3),
    "NDHWC",
    GroupedAttrs,
)

declare_convolution(CONVOLUTION)
declare_kernels(CONVOLUTION)


@public(tfjs="conv3d")
def conv3d(
    x: TensorLike,
    filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NDHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Return volumes convolved with a filter (correlated: the filter is not turned over).

    Args:
        x: [batch, depth, height, width, channels], or one volume without the batch. With
            ``"NCDHW"`` the channels come before the depth.
        filter: [filter depth, filter height, filter width, channels, out channels], in either
            format.
        strides: Elements between two places of the filter: one number, or one per axis.
        pad: ``"valid"``: none; ``"same"``: so much that there is a place per stride of the volume;
            a number: on all six sides; or (before, after) for each of the five axes.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        dilations: Elements from one that the filter reads to the next.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last place
            that is not whole. Only with a ``pad`` in numbers.
        groups: Parts of the channels that are convolved apart, side by side: the filter then has
            channels / groups.

    Returns:
        The format of ``x``, with out channels.

    Raises:
        ShapeError: The channels differ, or the filter is larger than the padded volume.
        ArgumentError: An option is none of these.

    Example:
        >>> conv3d(np.ones((1, 2, 2, 2, 1)), np.ones((2, 2, 2, 1, 1))).item()
        8.0
    """
    return on_batch(
        "Conv3D",
        as_floats(x),
        filter,
        axes=3,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        groups=groups,
    )


@public(tfjs="conv3dTranspose")
def conv3d_transpose(
    x: TensorLike,
    filter: TensorLike,
    output_shape: Sequence[int],
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NDHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Return the transpose of `conv3d`: each element of ``x`` spreads a filter over the result.

    Args:
        x: [batch, depth, height, width, channels], or one volume without the batch.
        filter: [filter depth, filter height, filter width, out channels, channels].
        output_shape: The result's shape: one that `conv3d` takes to the shape of ``x``.
        strides: Elements of the result between two elements of ``x``.
        pad: As `conv3d` takes it; what falls into the padding is dropped.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        dilations: Elements from one that the filter writes to the next.
        dim_rounding_mode: As `conv3d` takes it.
        groups: Likewise; the filter then has out channels / groups.

    Raises:
        ShapeError: `conv3d` does not take ``output_shape`` to the shape of ``x``.
        ArgumentError: An option is none that `conv3d` takes.

    Example:
        >>> x, filter = wk.ones((1, 1, 1, 1, 2)), wk.ones((2, 2, 2, 3, 2))
        >>> wk.conv3d_transpose(x, filter, (1, 2, 2, 2, 3)).shape
        (1, 2, 2, 2, 3)
    """
    volumes = as_floats(x)
    shape = lengths(CONVOLUTION.to_input, "output_shape", output_shape)
    return on_batch(
        CONVOLUTION.to_input,
        volumes,
        filter,
        axes=3,
        input_shape=(1, *shape) if volumes.ndim == 4 else shape,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        groups=groups,
    )
