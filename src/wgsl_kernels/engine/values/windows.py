"""How windows move over an image: the arithmetic of padding that convolution and pooling share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.recent import remembered
from wgsl_kernels.engine.values.attributes import integer, integers, text
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape

_MOST = (1 << 31) - 1
CHANNELS = {"NHWC": 3, "NCHW": 1, "NDHWC": 4, "NCDHW": 1}
"""The axis of the channels, by format."""
FORMATS = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}
"""The formats of images, by rank: channels last, and channels first."""

ROUNDING = {"floor": math.floor, "round": lambda x: math.floor(x + 0.5), "ceil": math.ceil}

Pair = int | tuple[int, ...]
Padding = Literal["valid", "same"] | int | tuple[tuple[int, int], ...]

_AXES = ("depth", "height", "width")
COUNTS = {4: "four", 5: "five"}


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
    """A window over a batch of images with channels, or over volumes.

    Attributes:
        batch: Images.
        channels: Values per element of an image.
        axes: The window along each spatial axis: height and width; of volumes the depth before.
        data_format: One of `FORMATS`.
    """

    batch: int
    channels: int
    axes: tuple[Axis, ...]
    data_format: str

    @property
    def rows(self) -> Axis:
        """The window along the height."""
        return self.axes[-2]

    @property
    def cols(self) -> Axis:
        """The window along the width."""
        return self.axes[-1]

    @property
    def is_channels_first(self) -> bool:
        """Whether channels come before the spatial axes."""
        return CHANNELS[self.data_format] == 1

    @property
    def out_shape(self) -> Shape:
        """The shape of one value per place and channel."""
        return self.shape_with(self.channels)

    @property
    def places(self) -> int:
        """How many places the window takes in all images together."""
        return self.batch * math.prod(axis.out for axis in self.axes)

    def shape_with(self, channels: int) -> Shape:
        """Return the shape of ``channels`` values per place."""
        places = tuple([axis.out for axis in self.axes])
        if self.is_channels_first:
            return (self.batch, channels, *places)
        return (self.batch, *places, channels)

    def of_one_channel(self) -> Sliding:
        """Return the same with channels last; where they are first each becomes an image."""
        if not self.is_channels_first:
            return self
        data_format = FORMATS[len(self.axes) + 2][0]
        return Sliding(self.batch * self.channels, 1, self.axes, data_format)

    def fields(self) -> dict[str, Any]:
        """Return the fields that shaders name: along the rows, the columns, and any planes."""
        axes = (*self.axes[-2:], *self.axes[:-2])
        return {
            "image": tuple([axis.size for axis in axes]),
            "places": tuple([axis.out for axis in axes]),
            "window": tuple([axis.window for axis in axes]),
            "step": tuple([axis.stride for axis in axes]),
            "dilation": tuple([axis.dilation for axis in axes]),
            "before": tuple([axis.before for axis in axes]),
            "channels_first": int(self.is_channels_first),
        }

    def padded(self, x: Array, value: Any = 0) -> Array:
        """Return channels-last images with as much padding around as the window needs."""
        margins = [(0, 0), *((axis.before, axis.after) for axis in self.axes), (0, 0)]
        if not any(map(any, margins)):
            return x
        return np.pad(x, margins, constant_values=value)

    def cropped(self, padded: Array) -> Array:
        """Return the images inside padded ones, channels last."""
        inside = [slice(axis.before, axis.before + axis.size) for axis in self.axes]
        return padded[(slice(None), *inside)]

    def views(self, padded: Array) -> Array:
        """Return ``[batch, *places, *window, channels]`` over padded images, channels last."""
        batch, *steps, channel = padded.strides
        moves = list(zip(self.axes, steps, strict=True))
        return np.lib.stride_tricks.as_strided(
            padded,
            (
                self.batch,
                *[axis.out for axis in self.axes],
                *[axis.window for axis in self.axes],
                padded.shape[-1],
            ),
            (
                batch,
                *[step * axis.stride for axis, step in moves],
                *[step * axis.dilation for axis, step in moves],
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
    data_format: str | None = None,
) -> Sliding:
    """Return how a window of ``window`` elements moves over images of ``shape``.

    Args:
        kernel: The kernel's name, for messages.
        shape: Four lengths, or five of volumes, in the order of ``data_format``.
        window: Height and width; of volumes the depth before.
        strides: One number or one per axis; so are ``dilations``.
        pad: ``"valid"``, ``"same"``, a number for all sides, or (before, after) for each of the
            four or five axes.
        dilations: Elements between two that the window reads.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last place
            that is not whole. Only with a ``pad`` in numbers.
        data_format: One of `FORMATS`; by default the one with channels last.

    Raises:
        ArgumentError: An attribute is none of these.
        ShapeError: The window is larger than the padded image.
    """
    formats = FORMATS[len(shape)]
    data_format = formats[0] if data_format is None else data_format
    if text(kernel, "data_format", data_format) not in formats:
        want = " or ".join(map(repr, formats))
        raise ArgumentError(f"{kernel}: data_format is {data_format!r}; want {want}.")
    mode = dim_rounding_mode
    if mode is not None and text(kernel, "dim_rounding_mode", mode) not in ROUNDING:
        want = "None, 'floor', 'round' or 'ceil'"
        raise ArgumentError(f"{kernel}: dim_rounding_mode is {mode!r}; want {want}.")
    if dim_rounding_mode is not None and isinstance(pad, str):
        raise ArgumentError(
            f"{kernel}: pad is {pad!r} with dim_rounding_mode {dim_rounding_mode!r}; want numbers, "
            "since only they leave something to round."
        )
    count = len(shape) - 2
    return _slid[
        kernel,
        shape,
        tuple(window[:count]),
        each_axis(kernel, "strides", strides, count),
        _margins(kernel, pad, 2 if CHANNELS[data_format] == 1 else 1, len(shape)),
        each_axis(kernel, "dilations", dilations, count),
        mode or "floor",
        data_format,
    ]


@remembered(2000)
def _slid(
    kernel: str,
    shape: Shape,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    margins: str | tuple[tuple[int, int], ...],
    dilations: tuple[int, ...],
    rounding: str,
    data_format: str,
) -> Sliding:
    """Return what `slide` does; all that may be given in several ways is given in one."""
    channels = CHANNELS[data_format]
    sizes = shape[2:] if channels == 1 else shape[1:-1]
    sides = (margins,) * len(sizes) if isinstance(margins, str) else margins
    moves = zip(_AXES[-len(sizes) :], sizes, window, strides, dilations, sides, strict=True)
    axes = tuple(
        [
            _axis(kernel, name, size, elements, stride, dilation, side, rounding)
            for name, size, elements, stride, dilation, side in moves
        ]
    )
    return Sliding(shape[0], shape[channels], axes, data_format)


def require_images(kernel: str, shape: Shape) -> None:
    """Refuse a shape over which no window moves.

    Raises:
        ShapeError: It is none of images.
    """
    if len(shape) not in FORMATS:
        want = "[batch, height, width, channels]"
        raise ShapeError(f"{kernel}: a window moves over images; x is {show(shape)}; want {want}.")


def sliding_by(kernel: str, shape: Shape, attrs: Mapping[str, Any]) -> Sliding:
    """Return how a window moves over images [batch, height, width, channels], by its attributes.

    Args:
        kernel: The kernel's name, for messages.
        shape: The images' shape, or that of volumes [batch, depth, height, width, channels].
        attrs: ``filter_size``; ``strides`` (by default ``filter_size``), ``pad``, ``dilations``,
            ``dim_rounding_mode`` and ``data_format`` as `slide` takes them.

    Raises:
        ArgumentError: There is no ``filter_size``, or an attribute is none of these.
        ShapeError: They are no images, or the window is larger than the padded ones.
    """
    if "filter_size" not in attrs:
        raise ArgumentError(
            f"{kernel}: a window needs the attribute filter_size: height and width."
        )
    require_images(kernel, shape)
    size, strides = attrs["filter_size"], attrs.get("strides")
    return slide(
        kernel,
        shape,
        each_axis(kernel, "filter_size", size, len(shape) - 2),
        strides=size if strides is None else strides,
        pad=attrs.get("pad", "valid"),
        dilations=attrs.get("dilations", 1),
        dim_rounding_mode=attrs.get("dim_rounding_mode"),
        data_format=attrs.get("data_format"),
    )


def each_axis(kernel: str, name: str, value: Pair, count: int = 2) -> tuple[int, ...]:
    """Return an attribute that is one number, or one per spatial axis, as ``count`` numbers.

    Raises:
        ArgumentError: It is neither, or one of them is below 1.
    """
    try:
        given = (value,) if type(value) is int else integers(kernel, name, value)
        found = given * count if type(value) is int or np.ndim(value) == 0 else given
    except (ArgumentError, ValueError):
        found = ()
    if len(found) != count:
        *most, last = _AXES[-count:]
        want = f"one whole number, or {', '.join(most)} and {last}"
        raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want {want}.")
    if min(found) < 1 or max(found) > _MOST:
        raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want 1 or more, in 31 bits.")
    return found


def _margins(kernel: str, pad: Padding, first: int, rank: int) -> str | tuple[tuple[int, int], ...]:
    """Return ``"valid"``, ``"same"``, or (before, after) for each spatial axis.

    Args:
        kernel: The kernel's name, for messages.
        pad: The attribute.
        first: The first spatial axis.
        rank: The number of all axes.
    """
    if isinstance(pad, str):
        if pad not in ("valid", "same"):
            meant = f" Did you mean {pad.lower()!r}?" if pad.lower() in ("valid", "same") else ""
            raise ArgumentError(
                f"{kernel}: pad is {pad!r}; want 'valid', 'same' or numbers.{meant}"
            )
        return pad
    spatial = range(first, first + rank - 2)
    axes: list[tuple[int, int]]
    try:
        if isinstance(pad, (tuple, list)):
            axes = [
                (integer(kernel, "pad", before), integer(kernel, "pad", after))
                for before, after in pad
            ]
        else:
            side = integer(kernel, "pad", pad)
            axes = [(side, side) if axis in spatial else (0, 0) for axis in range(rank)]
    except (TypeError, ValueError):
        axes = []
    fits = len(axes) == rank and all(
        min(axis) >= 0 and max(axis) <= _MOST and (index in spatial or axis == (0, 0))
        for index, axis in enumerate(axes)
    )
    if not fits:
        raise ArgumentError(
            f"{kernel}: pad is {shown(pad)}; want 'valid', 'same', a whole number of 0 or more, or "
            f"(before, after) for each of the {COUNTS[rank]} axes, (0, 0) for batch and channels."
        )
    return tuple(axes[spatial.start : spatial.stop])


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
