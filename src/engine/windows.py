"""How windows move over an image: the arithmetic of padding that convolution and pooling share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wgsl_kernels.engine.attributes import integer, integers, text
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.engine.host import Array
    from wgsl_kernels.engine.spec import Shape

_MOST = (1 << 31) - 1
CHANNELS = {"NHWC": 3, "NCHW": 1}
"""The axis of the channels, by format."""

ROUNDING = {"floor": math.floor, "round": lambda x: math.floor(x + 0.5), "ceil": math.ceil}

Pair = int | tuple[int, ...]
Padding = Literal["valid", "same"] | int | tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """How a window moves along one spatial axis.

    Attributes:
        size: Elements of the image.
        out: Places that the window takes.
        window: Elements that the window reads at each place.
        stride: Elements between two places.
        dilation: Elements between two that the window reads.
        before: Elements of padding before the first of the image.
    """

    size: int
    out: int
    window: int
    stride: int
    dilation: int
    before: int

    @property
    def after(self) -> int:
        """Elements that the last place reads past the image, or 0."""
        reach = (self.out - 1) * self.stride + (self.window - 1) * self.dilation + 1
        return max(reach - self.before - self.size, 0)

    def places(self, tap: int) -> slice:
        """Return where, in the padded image, element ``tap`` of the window falls."""
        start = tap * self.dilation
        return slice(start, start + (self.out - 1) * self.stride + 1, self.stride)

    def inside(self, tap: int) -> Array:
        """Return, for each place, whether element ``tap`` of the window falls on the image."""
        at = np.arange(self.out) * self.stride + tap * self.dilation - self.before
        return (at >= 0) & (at < self.size)

    def counts(self) -> Array:
        """Return, for each place, how many elements of the window fall on the image."""
        inside = np.stack([self.inside(tap) for tap in range(self.window)])
        return np.asarray(inside.sum(axis=0))


@dataclass(frozen=True, slots=True)
class Sliding:
    """A window over a batch of images with channels.

    Attributes:
        batch: Images.
        channels: Values per element of an image.
        rows: The window along the height.
        cols: The window along the width.
        data_format: ``NHWC`` or ``NCHW``.
    """

    batch: int
    channels: int
    rows: Axis
    cols: Axis
    data_format: str = "NHWC"

    @property
    def out_shape(self) -> Shape:
        """The shape of one value per place and channel."""
        return self.shape_with(self.channels)

    def shape_with(self, channels: int) -> Shape:
        """Return the shape of ``channels`` values per place."""
        if self.data_format == "NCHW":
            return (self.batch, channels, self.rows.out, self.cols.out)
        return (self.batch, self.rows.out, self.cols.out, channels)

    def fields(self) -> dict[str, Any]:
        """Return the fields that shaders name."""
        axes = (self.rows, self.cols)
        return {
            "image": tuple(axis.size for axis in axes),
            "places": tuple(axis.out for axis in axes),
            "window": tuple(axis.window for axis in axes),
            "step": tuple(axis.stride for axis in axes),
            "dilation": tuple(axis.dilation for axis in axes),
            "before": tuple(axis.before for axis in axes),
            "channels_first": int(self.data_format == "NCHW"),
        }

    def padded(self, x: Array, value: Any = 0) -> Array:
        """Return channels-last images with as much padding around as the window needs."""
        margins = [(0, 0), *((axis.before, axis.after) for axis in (self.rows, self.cols)), (0, 0)]
        if not any(map(any, margins)):
            return x
        return np.pad(x, margins, constant_values=value)

    def cropped(self, padded: Array) -> Array:
        """Return the images inside padded ones."""
        rows, cols = self.rows, self.cols
        return padded[
            :, rows.before : rows.before + rows.size, cols.before : cols.before + cols.size
        ]

    def views(self, padded: Array) -> Array:
        """Return ``[batch, rows, cols, window rows, window cols, channels]`` over padded images."""
        rows, cols = self.rows, self.cols
        batch, down, right, channel = padded.strides
        return np.lib.stride_tricks.as_strided(
            padded,
            (self.batch, rows.out, cols.out, rows.window, cols.window, padded.shape[3]),
            (
                batch,
                down * rows.stride,
                right * cols.stride,
                down * rows.dilation,
                right * cols.dilation,
                channel,
            ),
            writeable=False,
        )


def slide(
    kernel: str,
    shape: Shape,
    window: Sequence[int],
    *,
    strides: Pair,
    pad: Padding,
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    data_format: str = "NHWC",
) -> Sliding:
    """Return how a window of ``window`` elements moves over images of ``shape``.

    Args:
        kernel: The kernel's name, for messages.
        shape: Four lengths, in the order of ``data_format``.
        window: Height and width.
        strides: One number or one per axis; so are ``dilations``.
        pad: ``"valid"``, ``"same"``, a number for all sides, or (before, after) for each of the
            four axes.
        dilations: Elements between two that the window reads.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last place
            that is not whole. Only with a ``pad`` in numbers.
        data_format: ``"NHWC"`` or ``"NCHW"``.

    Raises:
        ArgumentError: An attribute is none of these.
        ShapeError: The window is larger than the padded image.
    """
    if text(kernel, "data_format", data_format) not in CHANNELS:
        raise ArgumentError(f"{kernel}: data_format is {data_format!r}; want 'NHWC' or 'NCHW'.")
    mode = dim_rounding_mode
    if mode is not None and text(kernel, "dim_rounding_mode", mode) not in ROUNDING:
        want = "None, 'floor', 'round' or 'ceil'"
        raise ArgumentError(f"{kernel}: dim_rounding_mode is {mode!r}; want {want}.")
    if dim_rounding_mode is not None and isinstance(pad, str):
        raise ArgumentError(
            f"{kernel}: pad is {pad!r} with dim_rounding_mode {dim_rounding_mode!r}; want numbers, "
            "since only they leave something to round."
        )
    spatial = (2, 3) if data_format == "NCHW" else (1, 2)
    margins = _margins(kernel, pad, spatial)
    every, apart = pair(kernel, "strides", strides), pair(kernel, "dilations", dilations)
    rounding = dim_rounding_mode or "floor"
    rows, cols = (
        _axis(
            kernel,
            name,
            shape[spatial[index]],
            window[index],
            every[index],
            apart[index],
            margins if isinstance(margins, str) else margins[index],
            rounding,
        )
        for index, name in enumerate(("height", "width"))
    )
    channels = shape[1] if data_format == "NCHW" else shape[3]
    return Sliding(shape[0], channels, rows, cols, data_format)


def sliding_by(kernel: str, shape: Shape, attrs: Mapping[str, Any]) -> Sliding:
    """Return how a window moves over images [batch, height, width, channels], by its attributes.

    Args:
        kernel: The kernel's name, for messages.
        shape: The images' shape.
        attrs: ``filter_size``; ``strides`` (by default ``filter_size``), ``pad``, ``dilations`` and
            ``dim_rounding_mode`` as `slide` takes them.

    Raises:
        ArgumentError: There is no ``filter_size``, or an attribute is none of these.
        ShapeError: They are no images, or the window is larger than the padded ones.
    """
    if "filter_size" not in attrs:
        raise ArgumentError(
            f"{kernel}: a window needs the attribute filter_size: height and width."
        )
    if len(shape) != 4:
        want = "[batch, height, width, channels]"
        raise ShapeError(f"{kernel}: a window moves over images; x is {show(shape)}; want {want}.")
    size, strides = attrs["filter_size"], attrs.get("strides")
    return slide(
        kernel,
        shape,
        pair(kernel, "filter_size", size),
        strides=size if strides is None else strides,
        pad=attrs.get("pad", "valid"),
        dilations=attrs.get("dilations", 1),
        dim_rounding_mode=attrs.get("dim_rounding_mode"),
    )


def pair(kernel: str, name: str, value: Pair) -> tuple[int, int]:
    """Return an attribute that is one number or two as two.

    Raises:
        ArgumentError: It is neither, or one of them is below 1.
    """
    try:
        given = integers(kernel, name, value)
        rows, cols = given * 2 if np.ndim(value) == 0 else given
    except (ArgumentError, ValueError):
        raise ArgumentError(
            f"{kernel}: {name} is {shown(value)}; want one whole number, or height and width."
        ) from None
    if not (1 <= rows <= _MOST and 1 <= cols <= _MOST):
        raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want 1 or more, in 31 bits.")
    return rows, cols


def _margins(
    kernel: str, pad: Padding, spatial: tuple[int, int]
) -> str | tuple[tuple[int, int], tuple[int, int]]:
    """Return ``"valid"``, ``"same"``, or (before, after) for the height and the width."""
    if isinstance(pad, str):
        if pad not in ("valid", "same"):
            raise ArgumentError(f"{kernel}: pad is {pad!r}; want 'valid', 'same' or numbers.")
        return pad
    axes: list[tuple[int, int]]
    try:
        if isinstance(pad, (tuple, list)):
            axes = [
                (integer(kernel, "pad", before), integer(kernel, "pad", after))
                for before, after in pad
            ]
        else:
            side = integer(kernel, "pad", pad)
            axes = [(side, side) if axis in spatial else (0, 0) for axis in range(4)]
    except (TypeError, ValueError):
        axes = []
    fits = len(axes) == 4 and all(
        min(axis) >= 0 and max(axis) <= _MOST and (index in spatial or axis == (0, 0))
        for index, axis in enumerate(axes)
    )
    if not fits:
        raise ArgumentError(
            f"{kernel}: pad is {shown(pad)}; want 'valid', 'same', a whole number of 0 or more, or "
            "(before, after) for each of the four axes, (0, 0) for batch and channels."
        )
    return axes[spatial[0]], axes[spatial[1]]


def _axis(
    kernel: str,
    name: str,
    size: int,
    window: int,
    stride: int,
    dilation: int,
    margins: str | tuple[int, int],
    rounding: str,
) -> Axis:
    """Return how the window moves along one axis, its places counted and its padding known."""
    span = (window - 1) * dilation + 1
    if margins == "same":
        out = -(-size // stride)
        before = max((out - 1) * stride + span - size, 0) // 2
        return Axis(size, out, window, stride, dilation, before)
    before, after = (0, 0) if isinstance(margins, str) else margins
    padded = before + size + after
    whole = "floor" if isinstance(margins, str) else rounding
    out = int(ROUNDING[whole]((padded - span) / stride + 1))
    if out < 1 and size > 0:
        raise ShapeError(
            f"{kernel}: the window's {name} covers {span} elements, the padded image has {padded}; "
            "want a smaller window or more padding."
        )
    return Axis(size, max(out, 0), window, stride, dilation, before)


def turns_of(axis: Axis) -> int:
    """Return after how many elements of the window it reads what a later place reads before."""
    return axis.stride // math.gcd(axis.stride, axis.dilation)


def turned(axis: Axis) -> Iterator[tuple[slice, slice, Axis]]:
    """Yield elements of the image, the window's elements that reach them, and how these move.

    The last is over the places, with those elements of the window from their end. Elements of the
    image that no element of the window reaches do not occur.
    """
    turns = turns_of(axis)
    apart = axis.dilation * turns // axis.stride
    for turn in range(min(turns, axis.window)):
        places, phase = divmod(turn * axis.dilation, axis.stride)
        skipped = -((phase - axis.before) // axis.stride)
        start = skipped * axis.stride + phase - axis.before
        elements = len(range(turn, axis.window, turns))
        yield (
            slice(start, None, axis.stride),
            slice(turn, None, turns),
            Axis(
                size=axis.out,
                out=len(range(start, axis.size, axis.stride)),
                window=elements,
                stride=1,
                dilation=apart,
                before=(elements - 1) * apart + places - skipped,
            ),
        )
