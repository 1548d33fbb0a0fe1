"""Arrays above the binding limit: kernels run on parts, whose results are joined or added.

A part is a view, of which a dispatch binds what it covers (``Argument.within``).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, device_bytes
from wgsl_kernels.backends.webgpu.programs.arguments import ALIGNMENT, Argument
from wgsl_kernels.engine.values.dtypes import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape

LARGEST_ELEMENT = 8
"""Bytes of the largest element on a device."""
_EVEN = 64
"""Elements that parts have a multiple of, so that vectors stay whole."""


def excess(gpu: Gpu, *arrays: GpuArray) -> int:
    """Return in how many parts arrays must go at least, 1 where each can be bound whole."""
    largest = gpu.device.largest_binding
    found: int = max(-(-_bound(one, largest) // largest) for one in arrays)
    return found


def _bound(array: GpuArray, largest: int) -> int:
    return Argument(array.shape, array.dtype, array.layout).within(largest).bound_bytes


def excess_of(gpu: Gpu, shape: Shape, itemsize: int) -> int:
    """Return the same for a result."""
    found: int = -(-math.prod(shape) * itemsize // gpu.device.largest_binding)
    return found


def widest(array: GpuArray) -> int:
    """Return the axis, counted from the last, that reaches furthest through an array's buffer."""
    reach = [(n - 1) * abs(step) for n, step in zip(array.shape, array.strides, strict=True)]
    return max(range(len(reach)), key=lambda axis: reach[axis]) - len(reach)


def outermost(shape: Shape) -> int:
    """Return the first axis of more than one element, counted from the last."""
    return next(axis for axis, n in enumerate(shape) if n > 1) - len(shape)


def part_of(gpu: Gpu, x: GpuArray, axis: int, first: int, count: int) -> GpuArray:
    """Return ``count`` elements of an axis: a view, or a copy of one that cannot be bound.

    An array that lacks the axis, or is broadcast along it, is returned itself.
    """
    if -axis > len(x.shape) or x.shape[axis] == 1:
        return x
    shape = list(x.shape)
    shape[axis] = count
    found = gpu.view(x, tuple(shape), x.strides, x.offset + first * x.strides[axis])
    return gpu.contiguous(found) if excess(gpu, found) > 1 else found


def parts_of(length: int, least: int) -> list[tuple[int, int]]:
    """Return where parts of an axis begin, and their lengths: at least so many where it can be."""
    step = max(length // max(least, 2), 1)
    step = step // _EVEN * _EVEN or step
    return [(first, min(step, length - first)) for first in range(0, length, step)]


def joined(gpu: Gpu, arrays: Sequence[GpuArray], axis: int) -> GpuArray:
    """Return arrays of one dtype joined along an axis, which may count from the last."""
    first = arrays[0].shape
    at = axis % len(first)
    total = sum(one.shape[at] for one in arrays)
    y = gpu.empty((*first[:at], total, *first[at + 1 :]), arrays[0].dtype)
    copy_blocks(gpu, arrays, y, [math.prod(one.shape[at:]) for one in arrays])
    return y


def added(gpu: Gpu, arrays: Iterable[GpuArray]) -> GpuArray:
    return functools.reduce(
        lambda a, b: gpu.map("elementwise/binary/add.wgsl", {"a": a, "b": b}, a.shape, a.dtype),
        arrays,
    )


def copied(gpu: Gpu, x: GpuArray) -> GpuArray:
    """Return a contiguous copy of a view that cannot be bound, or whose copy cannot."""
    least = excess_of(gpu, x.shape, ITEMSIZE[x.dtype])
    axis = outermost(x.shape) if least > 1 else widest(x)
    parts = parts_of(x.shape[axis], max(least, excess(gpu, x)))
    return joined(gpu, [gpu.contiguous(part_of(gpu, x, axis, *one)) for one in parts], axis)


def copy_blocks(gpu: Gpu, inputs: Sequence[GpuArray], y: GpuArray, blocks: Sequence[int]) -> None:
    """Fill the rows of ``y`` with a block of each input, one after another.

    Each input in a dispatch of its own, because a dispatch binds few arrays; in several where it or
    ``y`` is above the binding limit.
    """
    row, start = sum(blocks), 0
    is_small = y.size * LARGEST_ELEMENT <= gpu.device.largest_binding
    is_whole = (is_small and all(one.layout is None for one in inputs)) or (
        excess_of(gpu, y.shape, ITEMSIZE[y.dtype]) <= 1 and excess(gpu, *inputs) <= 1
    )
    for x, block in zip(inputs, blocks, strict=True):
        if x.size and is_whole:
            _copy(gpu, x, y, (block, row, start), None)
        elif x.size:
            flat, itemsize = gpu.contiguous(x), ITEMSIZE[y.dtype]
            largest = gpu.device.largest_binding
            for one in blocks_of(
                x.size // block, block, row, start, itemsize=itemsize, largest=largest
            ):
                part = gpu.view(flat, (one.rows, one.length), (block, 1), one.x_first)
                window = one.y_first_byte, one.y_bytes
                _copy(gpu, part, y, (one.length, row, one.start), window)
        start += block


def _copy(
    gpu: Gpu, x: GpuArray, y: GpuArray, sizes: tuple[int, int, int], window: tuple[int, int] | None
) -> None:
    block, row, start = sizes
    params = {"block": block, "row": row, "start": start}
    if y.dtype in BYTES:  # an invocation writes those of a word, which may hold some of others
        end = (x.size // block - 1) * row + start + block
        shader, configuration = "lowering/copy_bytes.wgsl", None
        params["size"] = x.size
        invocations = math.ceil(end / 4) - start // 4
        window = window or (0, device_bytes(y.size, y.dtype))
    else:
        is_vec4 = y.dtype != "complex64" and not any(one % 4 for one in sizes)
        shader, configuration = "lowering/copy_block.wesl", {"VEC4": is_vec4}
        params["units"] = x.size // 4 if is_vec4 else x.size
        params["turns"] = gpu.policy.units_moved("Concat")
        invocations = math.ceil(params["units"] / params["turns"])
    gpu.dispatch(
        shader,
        {"x": x, "y": y},
        configuration=configuration,
        params=params,
        groups=gpu.grid(invocations, 64),
        windows=None if window is None else {"y": window},
    )


_EVEN_BLOCK = 256
"""Rows or elements that a part has a multiple of, where there are so many."""


@dataclass(frozen=True, slots=True)
class BlockCopy:
    """What one dispatch copies of x, [rows, block], into y, [rows, row].

    Attributes:
        y_first_byte: Where the binding of y begins.
        start: The first element of y, counted from there.
    """

    rows: int
    length: int
    x_first: int
    y_first_byte: int
    y_bytes: int
    start: int


def blocks_of(
    rows: int, block: int, row: int, start: int, *, itemsize: int, largest: int
) -> Iterator[BlockCopy]:
    """Yield what to copy one after the other.

    x is [rows, block], y [rows, row]; blocks begin at ``start`` in the rows of y. One binding may
    have ``largest`` bytes.
    """
    yield from _halves((rows, block, 0, start), (block, row), itemsize, largest)


def _halves(
    part: tuple[int, int, int, int], steps: tuple[int, int], itemsize: int, largest: int
) -> Iterator[BlockCopy]:
    rows, count, x_first, y_first = part
    first_byte = y_first * itemsize // ALIGNMENT * ALIGNMENT
    end = (y_first + (rows - 1) * steps[1] + count) * itemsize
    y_bytes = end - first_byte
    x_bytes = ((rows - 1) * steps[0] + count) * itemsize + ALIGNMENT
    if max(x_bytes, y_bytes + 16) <= largest or rows == count == 1:
        yield BlockCopy(rows, count, x_first, first_byte, y_bytes, y_first - first_byte // itemsize)
        return
    half = (rows if rows > 1 else count) // 2
    half = half // _EVEN_BLOCK * _EVEN_BLOCK or half
    if rows > 1:
        one = half, count, x_first, y_first
        two = rows - half, count, x_first + half * steps[0], y_first + half * steps[1]
    else:
        one = 1, half, x_first, y_first
        two = 1, count - half, x_first + half, y_first + half
    for each in (one, two):
        yield from _halves(each, steps, itemsize, largest)
