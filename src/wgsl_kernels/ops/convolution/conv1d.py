"""Convolution along one axis, and its transpose: that of images of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import text
from wgsl_kernels.engine.values.shapes import lengths, show
from wgsl_kernels.ops.convolution.conv import conv2d, conv2d_transpose
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding

FORMATS = {"NWC": "NHWC", "NCW": "NCHW"}
_WIDTH = {"NWC": -2, "NCW": -1}
"""The axis of the width, from the end; the row goes before it."""


@public(tfjs="conv1d")
def conv1d(
    x: TensorLike,
    filter: TensorLike,
    *,
    stride: int = 1,
    pad: Padding = "valid",
    data_format: str = "NWC",
    dilation: int = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Return sequences convolved with a filter (correlated: the filter is not turned over).

    Args:
        x: [batch, width, channels], or one sequence without the batch. With ``"NCW"`` the channels
            come before the width.
        filter: [filter width, channels, out channels], in either format.
        stride: Elements between two places of the filter.
        pad: ``"valid"``: none; ``"same"``: so much that there is a place per stride; a number: on
            both sides; or (before, after) for each of the three axes.
        data_format: ``"NWC"`` or ``"NCW"``.
        dilation: Elements from one that the filter reads to the next.
        dim_rounding_mode: As `conv2d` takes it.
        groups: Parts of the channels that are convolved apart; the filter then has channels /
            groups.

    Returns:
        The format of ``x``, with out channels.

    Raises:
        ShapeError: The channels differ, or the filter is larger than the padded sequence.
        ArgumentError: An option is none of these.

    Example:
        >>> conv1d([[[1.0], [2.0], [4.0]]], [[[1.0]], [[-1.0]]]).tolist()
        [[[-1.0], [-2.0]]]
    """
    options = _options("conv1d", stride, pad, data_format, dilation, dim_rounding_mode)
    image, kernel = _of_one_row("conv1d", as_floats(x), as_floats(filter), data_format)
    return _without_row(conv2d(image, kernel, groups=groups, **options), data_format)


@public()
def conv1d_transpose(
    x: TensorLike,
    filter: TensorLike,
    output_shape: Sequence[int],
    *,
    stride: int = 1,
    pad: Padding = "valid",
    data_format: str = "NWC",
    dilation: int = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Return the transpose of `conv1d`: each element of ``x`` spreads a filter over the result.

    Args:
        x: [batch, width, channels], or one sequence without the batch.
        filter: [filter width, out channels, channels].
        output_shape: The result's shape: one that `conv1d` takes to the shape of ``x``.
        stride: Elements of the result between two elements of ``x``.
        pad: As `conv1d` takes it; what falls into the padding is dropped.
        data_format: ``"NWC"`` or ``"NCW"``.
        dilation: Elements from one that the filter writes to the next.
        dim_rounding_mode: As `conv1d` takes it.
        groups: Likewise; the filter then has out channels / groups.

    Raises:
        ShapeError: `conv1d` does not take ``output_shape`` to the shape of ``x``.
        ArgumentError: An option is none that `conv1d` takes.

    Example:
        >>> x, filter = wk.ones((1, 2, 1)), wk.ones((2, 1, 1))
        >>> wk.conv1d_transpose(x, filter, (1, 4, 1), stride=2).tolist()
        [[[1.0], [1.0], [1.0], [1.0]]]
    """
    name = "conv1d_transpose"
    options = _options(name, stride, pad, data_format, dilation, dim_rounding_mode)
    image, kernel = _of_one_row(name, as_floats(x), as_floats(filter), data_format)
    shape = lengths(name, "output_shape", output_shape)
    row = _WIDTH[data_format]
    shape = (*shape[:row], 1, *shape[row:])
    return _without_row(
        conv2d_transpose(image, kernel, shape, groups=groups, **options), data_format
    )


def _options(
    name: str,
    stride: int,
    pad: Padding,
    data_format: str,
    dilation: int,
    dim_rounding_mode: str | None,
) -> dict[str, Any]:
    """Return the options of a convolution of images of one row."""
    if text(name, "data_format", data_format) not in FORMATS:
        raise ArgumentError(f"{name}: data_format is {data_format!r}; want 'NWC' or 'NCW'.")
    if not isinstance(pad, str):
        sides: list[Any] = [(0, 0)] * 3
        sides[_WIDTH[data_format]] = (pad, pad)
        given = pad if isinstance(pad, (tuple, list)) else sides
        if len(given) != 3:
            raise ArgumentError(
                f"{name}: pad is {shown(pad)}; want (before, after) for three axes."
            )
        row = _WIDTH[data_format]
        pad = (*given[:row], (0, 0), *given[row:])
    return {
        "strides": (1, stride),
        "pad": pad,
        "data_format": FORMATS[data_format],
        "dilations": (1, dilation),
        "dim_rounding_mode": dim_rounding_mode,
    }


def _of_one_row(name: str, x: Tensor, filter: Tensor, data_format: str) -> tuple[Tensor, Tensor]:
    """Return sequences as images of one row, and a filter as one of these."""
    if x.ndim not in (2, 3) or filter.ndim != 3:
        raise ShapeError(
            f"{name}: x has shape {show(x.shape)}, filter {show(filter.shape)}; want "
            "[batch, width, channels] and [width, channels, out channels]."
        )
    row = _WIDTH[data_format]
    image = run("Reshape", x, shape=(*x.shape[:row], 1, *x.shape[row:]))
    return image, run("Reshape", filter, shape=(1, *filter.shape))


def _without_row(y: Tensor, data_format: str) -> Tensor:
    row = _WIDTH[data_format]
    return run("Reshape", y, shape=(*y.shape[: row - 1], *y.shape[row:]))
