"""Convolution with few out channels on the CPU: one product for each element of the window.

The images that an element of the window meets are the padded images, shifted: a view, of which BLAS
multiplies each place. What is between the end of one line of places and the next is computed too
and left out. Nothing is laid out; in exchange results are added up, once per element, which is the
lesser work where they have fewer channels than images have.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.threads import each

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.windows import Sliding

PART = 1 << 17
"""Elements of images that are worked on at a time."""

NARROW = 3
CHANNELS = 64
"""How many channels images have where this is quicker: so many times those that come out."""


def is_narrow(sliding: Sliding, filter: Array) -> bool:
    """Say whether the filter gives so few channels that `add_elements` is the quicker way."""
    *window, channels, out = filter.shape
    return (
        channels >= max(NARROW * out, CHANNELS)
        and math.prod(window) > 1
        and all(axis.stride == 1 for axis in sliding.axes)
    )


def add_elements(sliding: Sliding, padded: Array, filter: Array, y: Array) -> None:
    """Fill ``y`` with images convolved with [*window, in, out], with a stride of 1.

    Args:
        sliding: How the filter moves.
        padded: Images with their padding, contiguous.
        filter: The filter.
        y: The result, in the format of ``sliding``.
    """
    first = sliding.is_channels_first
    *window, channels, out = filter.shape
    spatial = padded.shape[2:] if first else padded.shape[1:-1]
    flat = padded.reshape((len(padded), channels, -1) if first else (len(padded), -1, channels))
    steps = [math.prod(spatial[axis + 1 :]) for axis in range(len(spatial))]
    inside = tuple([slice(axis.out) for axis in sliding.axes[1:]])
    shifts = [
        sum(
            at * axis.dilation * step
            for at, axis, step in zip(element, sliding.axes, steps, strict=True)
        )
        for element in np.ndindex(*window)
    ]
    rest = sum((n.stop - 1) * step for n, step in zip(inside, steps[1:], strict=True)) + 1
    matrices = [filter[element] for element in np.ndindex(*window)]
    lines = max(PART // (channels * steps[0]), 1)

    def convolve(part: tuple[int, int]) -> None:
        image, top = part
        count = min(lines, sliding.axes[0].out - top)
        length = (count - 1) * steps[0] + rest
        whole = count * steps[0]
        sums = np.empty((out, whole) if first else (whole, out), y.dtype)
        used = sums[:, :length] if first else sums[:length]
        more = np.empty_like(used)
        for number, (shift, matrix) in enumerate(zip(shifts, matrices, strict=True)):
            start = top * steps[0] + shift
            target = more if number else used
            if first:
                np.matmul(matrix.T, flat[image, :, start : start + length], out=target)
            else:
                np.matmul(flat[image, start : start + length], matrix, out=target)
            if number:
                used += more
        places = (count, *spatial[1:])
        if first:
            shaped = sums.reshape(out, *places)
            y[image, :, top : top + count] = shaped[(slice(None), slice(None), *inside)]
        else:
            y[image, top : top + count] = sums.reshape(*places, out)[(slice(None), *inside)]

    tops = range(0, sliding.axes[0].out, lines)
    each(convolve, list(itertools.product(range(len(padded)), tops)))
