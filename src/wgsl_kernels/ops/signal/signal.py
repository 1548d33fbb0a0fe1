"""Signals: windows, frames, and the transform of each frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.drivers.host_memory import check_room
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor, tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import flag, function, integer, number
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.shapes import joining, ranges, shape
from wgsl_kernels.ops.signal.transforms import irfft, rfft

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Shape

Window = Callable[[int], Tensor]


@public(tfjs="cosineWindow")
def cosine_window(length: int, a: float, b: float) -> Tensor:
    """Return ``a - b * cos(2 pi k / period)`` for k below ``length``, as a vector.

    The period is ``length`` where that is even, else ``length - 1``, so that the window is its own
    mirror image.

    Raises:
        ArgumentError: ``length`` is below 1.

    Example:
        >>> cosine_window(4, 0.5, 0.5).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    count = _count("cosine_window", "length", length)
    period = max(count - count % 2, 1)
    check_room((count,), "float32")
    wave = np.cos(2.0 * np.pi * np.arange(count) / period)
    mean, size = number("cosine_window", "a", a), number("cosine_window", "b", b)
    return tensor((mean - size * wave).astype(np.float32))


@public(tfjs="signal.hannWindow")
def hann_window(length: int) -> Tensor:
    """Return a Hann window, ``cosine_window(length, 0.5, 0.5)``.

    Example:
        >>> hann_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return cosine_window(length, 0.5, 0.5)


@public(tfjs="signal.hammingWindow")
def hamming_window(length: int) -> Tensor:
    """Return a Hamming window, ``cosine_window(length, 0.54, 0.46)``.

    Example:
        >>> [f"{one:.2f}" for one in hamming_window(4).tolist()]
        ['0.08', '0.54', '1.00', '0.54']
    """
    return cosine_window(length, 0.54, 0.46)


@public(tfjs="enclosingPowerOfTwo")
def enclosing_power_of_two(value: float) -> int:
    """Return the smallest power of two that is not below ``value``, at least 1.

    Raises:
        ArgumentError: ``value`` is not above 0.

    Example:
        >>> [enclosing_power_of_two(one) for one in (1, 3, 8, 9)]
        [1, 4, 8, 16]
    """
    given = number("enclosing_power_of_two", "value", value)
    if not 0 < given < math.inf:
        raise ArgumentError(f"enclosing_power_of_two: value is {value}; want a number above 0.")
    return 1 << (math.ceil(given) - 1).bit_length()


@public(tfjs="signal.frame")
def frame(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    *,
    pad_end: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Return the frames of a signal: parts of equal length that begin ``frame_step`` apart.

    Args:
        signal: [..., samples], any dtype.
        frame_length: Samples in a frame.
        frame_step: From the beginning of one frame to that of the next.
        pad_end: Whether frames that reach beyond the end are there, too: one at each step.
        pad_value: What they are filled with.

    Returns:
        [..., frames, frame_length].

    Raises:
        ArgumentError: A length is below 1.
        ShapeError: ``signal`` is a scalar.

    Example:
        >>> frame([1.0, 2.0, 3.0, 4.0, 5.0], 3, 2).tolist()
        [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]
    """
    given = as_tensor(signal)
    long, step = (
        _count("frame", "frame_length", frame_length),
        _count("frame", "frame_step", frame_step),
    )
    samples = _samples("frame", given)
    count = max(1 + (samples - long) // step, 0)
    if flag("frame", "pad_end", pad_end):
        count = -(-samples // step)
        missing = max((count - 1) * step + long - samples, 0) if count else 0
        widths = [(0, 0)] * (given.ndim - 1) + [(0, missing)]
        given = joining.pad(given, widths, constant_value=pad_value)
    return gather.take(given, _places(count, long, step), axis=-1)


@public(tfjs="signal.stft")
def stft(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    *,
    window_fn: Window = hann_window,
) -> Tensor:
    """Return the short-time Fourier transform: `rfft` of each frame times a window.

    Args:
        signal: [..., samples], real.
        frame_length: Samples in a frame.
        frame_step: From the beginning of one frame to that of the next.
        fft_length: What frames are filled to with zeros, or cut to; the enclosing power of two of
            ``frame_length``, if left out.
        window_fn: Takes a length and returns the window.

    Returns:
        [..., frames, fft_length // 2 + 1], complex64.

    Raises:
        ArgumentError: A length is below 1.
        ShapeError: ``signal`` is a scalar.

    Example:
        >>> stft(wk.ones((8,)), 4, 2).shape
        (3, 3)
    """
    size = enclosing_power_of_two(frame_length) if fft_length is None else fft_length
    window = _window("stft", window_fn, frame_length)
    return rfft(frame(signal, frame_length, frame_step) * window, n=size)


@public()
def inverse_stft(
    stfts: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    *,
    window_fn: Window = hann_window,
) -> Tensor:
    """Return the signal of which ``stfts`` is the short-time Fourier transform.

    Frames are weighed by the window and added where they overlap, and the sum is divided by that of
    the squared windows: of all signals the one whose transform is nearest. Samples at which all
    windows are 0 are 0.

    Args:
        stfts: [..., frames, fft_length // 2 + 1], complex64.
        frame_length: Samples in a frame.
        frame_step: From the beginning of one frame to that of the next.
        fft_length: What `stft` was given.
        window_fn: What `stft` was given.

    Returns:
        [..., (frames - 1) * frame_step + frame_length], float32.

    Raises:
        ArgumentError: A length is below 1.
        ShapeError: ``stfts`` has less than two axes.

    Example:
        >>> x = tensor([0.0, 1.0, 2.0, 3.0, 2.0, 1.0])
        >>> [f"{one:.3f}" for one in inverse_stft(stft(x, 4, 1), 4, 1).tolist()]
        ['0.000', '1.000', '2.000', '3.000', '2.000', '1.000']

    Source: Griffin and Lim, Signal Estimation from Modified Short-Time Fourier Transform, 1984.
    """
    given = as_tensor(stfts)
    long = _count("inverse_stft", "frame_length", frame_length)
    step = _count("inverse_stft", "frame_step", frame_step)
    if given.ndim < 2:
        raise ShapeError(
            f"inverse_stft: stfts has shape {show(given.shape)}; want [..., frames, numbers]."
        )
    size = enclosing_power_of_two(long) if fft_length is None else fft_length
    window = _window("inverse_stft", window_fn, long)
    weighed = _fitted(irfft(given, n=size), long) * window
    squares = shape.broadcast_to(window * window, weighed.shape[-2:])
    total, weight = _overlapped(weighed, step), _overlapped(squares, step)
    is_covered = compare.greater(weight, 1e-10)
    return logical.where(is_covered, total / logical.where(is_covered, weight, 1.0), 0.0)


def _fitted(frames: Tensor, length: int) -> Tensor:
    """Return frames cut, or filled with zeros, to ``length``."""
    missing = length - frames.shape[-1]
    if missing <= 0:
        return frames[..., :length]
    return joining.pad(frames, [(0, 0)] * (frames.ndim - 1) + [(0, missing)])


def _overlapped(frames: Tensor, step: int) -> Tensor:
    """Return the sum of [..., frames, length] where they overlap, [..., samples]."""
    *leading, count, long = frames.shape
    samples = (count - 1) * step + long if count else 0
    rows = shape.reshape(frames, (math.prod(leading), count * long))
    places = shape.reshape(_places(count, long, step), (count * long,))
    total = segment.unsorted_segment_sum(
        shape.permute_dims(rows, (1, 0)), places, num_segments=samples
    )
    return shape.reshape(shape.permute_dims(total, (1, 0)), (*leading, samples))


def _places(count: int, long: int, step: int) -> Tensor:
    """Return which sample each element of each frame is, int32[count, long]."""
    starts = ranges.arange(0, count * step, step, dtype="int32")
    return starts[:, None] + ranges.arange(0, long, dtype="int32")


def _window(op: str, window_fn: Window, length: int) -> Tensor:
    made = as_tensor(function(op, "window_fn", window_fn)(length))
    wanted: Shape = (length,)
    if made.shape != wanted:
        raise ShapeError(f"{op}: window_fn gave shape {show(made.shape)}; want {show(wanted)}.")
    return made


def _samples(op: str, signal: Tensor) -> int:
    if not signal.ndim:
        raise ShapeError(f"{op}: signal is a scalar; want [..., samples].")
    return signal.shape[-1]


def _count(op: str, name: str, value: int) -> int:
    found = integer(op, name, value)
    if found < 1:
        raise ArgumentError(f"{op}: {name} is {found}; want at least 1.")
    return found
