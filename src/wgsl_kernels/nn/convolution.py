"""Convolutions of sequences, images and volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.values.attributes import integer_or_integers
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.nn.fields import count, made_by, shown_by_fields, zeros
from wgsl_kernels.nn.initializers import glorot_uniform
from wgsl_kernels.ops.convolution import conv as images
from wgsl_kernels.ops.convolution import conv1d as sequences
from wgsl_kernels.ops.convolution import conv3d as volumes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair
    from wgsl_kernels.nn.initializers import Initializer
    from wgsl_kernels.ops.random.streams import Generator

_MOST_AXES = 3


@made_by("conv")
@dataclass(eq=False, repr=False)
class Conv:
    """A filter that moves over sequences, images or volumes, channels last.

    Attributes:
        weight: ``[*window, inputs / groups, outputs]``, of one, two or three axes of the window.
        bias: [outputs], or None.
        strides: Elements between two places of the window: one number, or one per axis.
        pad: ``"valid"``, ``"same"``, or numbers; see `wgsl_kernels.conv2d`.
        dilations: Elements from one that the window reads to the next.
        groups: Parts of the channels that are convolved apart.
    """

    weight: Variable
    bias: Variable | None = None
    strides: Pair = 1
    pad: Padding = "valid"
    dilations: Pair = 1
    groups: int = 1

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike) -> Tensor:
        """Return ``[batch, *places, outputs]`` of ``[batch, *lengths, inputs]``.

        Raises:
            ShapeError: ``x`` has another rank or number of channels, or the window does not fit.
        """
        given = as_floats(x)
        if self.weight.ndim == 3:
            y = sequences.conv1d(
                given,
                self.weight,
                stride=_one(self.strides),
                pad=self.pad,
                dilation=_one(self.dilations),
                groups=self.groups,
            )
        else:
            convolve = images.conv2d if self.weight.ndim == 4 else volumes.conv3d
            y = convolve(
                given,
                self.weight,
                strides=self.strides,
                pad=self.pad,
                dilations=self.dilations,
                groups=self.groups,
            )
        return y if self.bias is None else y + self.bias


def conv(
    inputs: int,
    outputs: int,
    window: int | tuple[int, ...],
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    dilations: Pair = 1,
    groups: int = 1,
    bias: bool = True,
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> Conv:
    """Return a layer that convolves sequences, images or volumes, channels last.

    Args:
        inputs: Channels of what it takes.
        outputs: Channels of what it gives.
        window: Lengths of the window along one, two or three axes; one number is a square of
            images.
        strides: Elements between two places of the window: one number, or one per axis.
        pad: ``"valid"``, ``"same"``, or numbers; see `wgsl_kernels.conv2d`.
        dilations: Elements from one that the window reads to the next.
        groups: Parts of the channels that are convolved apart: it divides inputs and outputs.
        bias: Whether it adds one, which is 0 at first.
        initializer: Gives the weight's first values, of a shape and the keyword ``generator``;
            `glorot_uniform`, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> layer = wk.nn.conv(3, 8, 3, pad="same")
        >>> layer(wk.ones((2, 32, 32, 3))).shape
        (2, 32, 32, 8)
        >>> wk.nn.conv(4, 4, (5,), groups=2)(wk.ones((2, 20, 4))).shape
        (2, 16, 4)
    """
    channels, results = count("conv", "inputs", inputs), count("conv", "outputs", outputs)
    parts = count("conv", "groups", groups)
    if channels % parts or results % parts:
        raise ArgumentError(
            f"conv: groups is {parts}; want a number that divides inputs, {channels}, and outputs, "
            f"{results}."
        )
    shape = (*_window("conv", window), channels // parts, results)
    weight = variable((initializer or glorot_uniform)(shape, generator=generator))
    return Conv(weight, zeros(results) if bias else None, strides, pad, dilations, parts)


def depthwise_conv(
    channels: int,
    window: int | tuple[int, ...],
    *,
    multiplier: int = 1,
    strides: Pair = 1,
    pad: Padding = "valid",
    dilations: Pair = 1,
    bias: bool = True,
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> Conv:
    """Return a layer that convolves each channel by itself: `conv` with a group per channel.

    Args:
        channels: Channels of what it takes.
        window: As `conv` takes it, and so are the others.
        multiplier: Results per channel, which stand side by side.
        strides: Elements between two places of the window.
        pad: ``"valid"``, ``"same"``, or numbers.
        dilations: Elements from one that the window reads to the next.
        bias: Whether it adds one.
        initializer: Gives the weight's first values.
        generator: The stream to draw from.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> wk.nn.depthwise_conv(6, 3, multiplier=2)(wk.ones((1, 5, 5, 6))).shape
        (1, 3, 3, 12)
    """
    parts = count("depthwise_conv", "channels", channels)
    return conv(
        parts,
        parts * count("depthwise_conv", "multiplier", multiplier),
        window,
        strides=strides,
        pad=pad,
        dilations=dilations,
        groups=parts,
        bias=bias,
        initializer=initializer,
        generator=generator,
    )


@made_by("conv_transpose")
@dataclass(eq=False, repr=False)
class ConvTranspose:
    """The transpose of `Conv`: each element spreads a filter over a larger result.

    Attributes:
        weight: ``[*window, outputs, inputs]``.
        bias: [outputs], or None.
        strides: Elements of the result between two elements of what it takes.
        pad: ``"valid"`` or ``"same"``; or a number: what is cut off at each side.
    """

    weight: Variable
    bias: Variable | None = None
    strides: Pair = 1
    pad: str | int = "valid"

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike) -> Tensor:
        """Return ``[batch, *lengths, outputs]`` of ``[batch, *places, inputs]``.

        With strides s and a window of w a length n becomes ``n * s`` where the padding is
        ``"same"``, ``(n - 1) * s + max(w, s)`` where it is ``"valid"``, and ``(n - 1) * s + w - 2 *
        pad`` where it is a number.

        Raises:
            ShapeError: ``x`` has another rank or number of channels.
        """
        given = as_floats(x)
        axes = self.weight.ndim - 2
        if given.ndim != axes + 2:
            raise ShapeError(
                f"ConvTranspose: x has shape {show(given.shape)}; want {axes + 2} axes, [batch, "
                f"{'*places, ' if axes > 1 else 'place, '}inputs]."
            )
        steps = self.strides if isinstance(self.strides, tuple) else (self.strides,) * axes
        lengths = tuple(
            self._length(places, step, window)
            for places, step, window in zip(
                given.shape[1:-1], steps, self.weight.shape, strict=False
            )
        )
        shape = (given.shape[0], *lengths, self.weight.shape[-2])
        pad: Any = self.pad
        if self.weight.ndim == 3:
            y = sequences.conv1d_transpose(
                given, self.weight, shape, stride=_one(self.strides), pad=pad
            )
        else:
            spread = images.conv2d_transpose if axes == 2 else volumes.conv3d_transpose
            y = spread(given, self.weight, shape, strides=self.strides, pad=pad)
        return y if self.bias is None else y + self.bias

    def _length(self, places: int, step: int, window: int) -> int:
        if self.pad == "same":
            return places * step
        if isinstance(self.pad, int):
            return (places - 1) * step + window - 2 * self.pad
        return (places - 1) * step + max(window, step)


def conv_transpose(
    inputs: int,
    outputs: int,
    window: int | tuple[int, ...],
    *,
    strides: Pair = 1,
    pad: str | int = "valid",
    bias: bool = True,
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> ConvTranspose:
    """Return the transpose of `conv`, which makes sequences, images or volumes larger.

    Args:
        inputs: Channels of what it takes.
        outputs: Channels of what it gives.
        window: As `conv` takes it.
        strides: How many times larger.
        pad: ``"valid"`` or ``"same"``; or a number: what is cut off at each side.
        bias: Whether it adds one, which is 0 at first.
        initializer: Gives the weight's first values.
        generator: The stream to draw from.

    Raises:
        ArgumentError: An argument is none of these.

    Example:
        >>> layer = wk.nn.conv_transpose(8, 3, 4, strides=2, pad="same")
        >>> layer(wk.ones((1, 16, 16, 8))).shape
        (1, 32, 32, 3)
    """
    op = "conv_transpose"
    channels, results = count(op, "inputs", inputs), count(op, "outputs", outputs)
    if isinstance(pad, str) and pad not in ("valid", "same"):
        raise ArgumentError(f"{op}: pad is {shown(pad)}; want 'valid', 'same' or a number.")
    shape = (*_window(op, window), results, channels)
    weight = variable((initializer or glorot_uniform)(shape, generator=generator))
    return ConvTranspose(weight, zeros(results) if bias else None, strides, pad)


def _window(layer: str, window: Any) -> tuple[int, ...]:
    """Return a window's lengths; one number is a square."""
    given = integer_or_integers(layer, "window", window)
    found = (given, given) if isinstance(given, int) else tuple(given)
    if not 1 <= len(found) <= _MOST_AXES or min(found) < 1:
        raise ArgumentError(
            f"{layer}: window is {shown(window)}; want one to three lengths of 1 or more, or one "
            "number for images."
        )
    return found


def _one(number: Pair) -> int:
    """Return a number that is given alone, or as the only one of a tuple."""
    return number[0] if isinstance(number, tuple) and len(number) == 1 else number  # type: ignore[return-value]  # the op refuses others
