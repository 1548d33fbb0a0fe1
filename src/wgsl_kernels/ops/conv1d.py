"""Convolution along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.attributes import integer, text
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.engine.words import shown
from wgsl_kernels.ops import shape as shapes
from wgsl_kernels.ops.conv import conv2d

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMATS = {"NWC": ("NHWC", 1), "NCW": ("NCHW", 2)}


def conv1d(
    x: TensorLike,
    filter: TensorLike,
    *,
    stride: int = 1,
    pad: str | int | Sequence[Sequence[int]] = "valid",
    data_format: str = "NWC",
    dilation: int = 1,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """Return sequences convolved with a filter (correlated: the filter is not turned over).

    Args:
        x: [batch, width, channels], or one sequence without the batch. With ``"NCW"`` the channels
            come before the width.
        filter: [filter width, channels, out channels], in either format.
        stride: Elements between two places of the filter.
        pad: ``"valid"``: none; ``"same"``: so much that there is a place per stride; a number: at
            both ends; or (before, after) for each of the three axes.
        data_format: ``"NWC"`` or ``"NCW"``.
        dilation: Elements from one that the filter reads to the next.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last place
            that is not whole. Only with a ``pad`` in numbers.

    Returns:
        The format of ``x``, with out channels.

    Raises:
        ShapeError: The channels differ, or the filter is wider than the padded sequence.
        ArgumentError: An option is none of these.

    Example:
        >>> conv1d([[1.0], [2.0], [3.0]], [[[1.0]], [[-1.0]]]).tolist()
        [[-1.0], [-1.0]]
    """
    given, weights = as_tensor(x), as_tensor(filter)
    if given.ndim not in (2, 3):
        raise ShapeError(f"conv1d: x has shape {show(given.shape)}; want [batch, width, channels].")
    if weights.ndim != 3:
        raise ShapeError(
            f"conv1d: filter has shape {show(weights.shape)}; want [width, channels, out channels]."
        )
    if text("conv1d", "data_format", data_format) not in _FORMATS:
        raise ArgumentError(f"conv1d: data_format is {data_format!r}; want 'NWC' or 'NCW'.")
    layout, height = _FORMATS[data_format]
    batched = given if given.ndim == 3 else shapes.expand_dims(given, axis=0)
    y = conv2d(
        shapes.expand_dims(batched, axis=height),
        shapes.expand_dims(weights, axis=0),
        strides=(1, integer("conv1d", "stride", stride)),
        pad=_padding(pad, height),
        data_format=layout,
        dilations=(1, integer("conv1d", "dilation", dilation)),
        dim_rounding_mode=dim_rounding_mode,
    )
    y = shapes.squeeze(y, height)
    return y if given.ndim == 3 else shapes.squeeze(y, 0)


def _padding(
    pad: str | int | Sequence[Sequence[int]], height: int
) -> str | tuple[tuple[int, int], ...]:
    """Return the padding of images whose height is 1."""
    if isinstance(pad, str):
        return pad
    if isinstance(pad, (list, tuple)):
        if len(pad) != 3:
            raise ArgumentError(f"conv1d: pad is {shown(pad)}; want (before, after) for 3 axes.")
        pairs = [(int(before), int(after)) for before, after in pad]
    else:
        width = integer("conv1d", "pad", pad)
        pairs = [(0, 0)] * 3
        pairs[2 if height == 2 else 1] = (width, width)
    return (*pairs[:height], (0, 0), *pairs[height:])
