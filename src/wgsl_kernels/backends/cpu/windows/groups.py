"""Convolution in groups of channels on the CPU: one product of a stack, or group by group."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.products import SHARED, one_thread
from wgsl_kernels.backends.cpu.threads import each
from wgsl_kernels.backends.cpu.windows.convolution import convolved_cpu, is_matrix, padded_images

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.windows import Sliding

WORTH = 1 << 23
"""Multiply-adds of all groups that are worth a second thread."""


@silent
def grouped_cpu(sliding: Sliding, x: Array, filter: Array, groups: int) -> Array:
    """Return images convolved with [*window, in / groups, out], each group with its own channels.

    Args:
        sliding: How the filter moves over all channels.
        x: The images, in the format of ``sliding``.
        filter: The filter.
        groups: The number of groups.
    """
    y = np.empty(sliding.shape_with(filter.shape[-1]), np.result_type(x, filter))
    if is_matrix(sliding) and y.size and filter.size:
        _multiply(sliding, np.ascontiguousarray(padded_images(sliding, x)), filter, groups, y)
        return y
    own = replace(sliding, channels=sliding.channels // groups)
    axis = 1 if sliding.is_channels_first else -1
    for part in zip(
        np.split(x, groups, axis), np.split(filter, groups, -1), np.split(y, groups, axis),
        strict=True,
    ):  # fmt: skip
        convolved_cpu(own, *part)
    return y


def _multiply(sliding: Sliding, x: Array, filter: Array, groups: int, y: Array) -> None:
    """Fill ``y`` with products of the places' channels, a stack of one for each group."""
    channels, out = x.size // (groups * sliding.places), filter.shape[-1] // groups
    matrices = filter.reshape(channels, groups, out)
    left: Array
    right: Array
    target: Array
    if sliding.is_channels_first:
        left = matrices.transpose(1, 2, 0)
        right = x.reshape(len(x), groups, channels, -1)
        target = y.reshape(len(y), groups, out, -1)
    else:
        left = x.reshape(-1, groups, channels).swapaxes(0, 1)
        right = matrices.swapaxes(0, 1)
        target = y.reshape(-1, groups, out).swapaxes(0, 1)
    work = sliding.places * filter.size
    count = 1 if work >= WORTH else groups

    def multiply(first: int) -> None:
        own = slice(first, first + count)
        if sliding.is_channels_first:
            np.matmul(left[own], right[:, own], out=target[:, own])
        else:
            np.matmul(left[own], right[own], out=target[own])

    with one_thread if work // groups >= SHARED else nullcontext():
        each(multiply, range(0, groups, count))
