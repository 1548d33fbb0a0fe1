"""Ops that put elements in order: the largest or smallest of a row, and the distinct ones.

On webgpu pairs of a word and an index are sorted, in the order of lib/sorted_pairs.wesl; a
word stands for an element so that the words' order is the elements'.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.ordering import bottom_places, can_be_keys, distinct, top_places
from wgsl_kernels.backends.webgpu.adapter.policy import BLOCKS, REGISTERS
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import declare, size_class
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import normalize_axis, require_dtype
from wgsl_kernels.engine.values.spec import Shape, Spec
from wgsl_kernels.ops.indexing import segment
from wgsl_kernels.ops.indexing.pairs import BLOCK, filling, sort_blocks, sorted_pairs
from wgsl_kernels.ops.shapes import creation, ranges, shape

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

_LONGEST = 16384
"""Elements of a slice that one invocation compares with another before a driver might stop it."""


@public(tfjs="topk", method=True)
def topk(
    x: TensorLike, k: int = 1, *, sorted: bool = True, largest: bool = True
) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest elements of each row, the largest first, and their int32 indices.

    NaN counts as larger than all numbers, and -0 equals 0. Of equal elements the first come first,
    and only those that are chosen get a gradient.

    Args:
        x: [..., length], real.
        k: At most ``length``.
        sorted: Taken for TensorFlow.js's sake; the result is in order either way.
        largest: False for the smallest elements, the smallest first.

    Example:
        >>> grad(lambda x: topk(x, 2)[0])(tensor([2.0, 1.0, 2.0, 2.0])).tolist()
        [1.0, 0.0, 1.0, 0.0]
    """
    values, indices = run_many("TopK", x, k=k, sorted=sorted, largest=largest)
    return values, indices


@signature("TopK")
def _topk_signature(
    x: Spec, /, *, k: int = 1, sorted: bool = True, largest: bool = True
) -> dict[str, Spec]:
    del sorted, largest
    require_dtype("TopK", "x", x, "float32", "int32")
    if not x.ndim:
        raise ShapeError("TopK: x is a scalar; want at least one axis. Reshape it to [1].")
    if not 0 <= k <= x.shape[-1]:
        raise ArgumentError(
            f"TopK: k is {k}, but the last axis of x has length {x.shape[-1]}; "
            f"want k in [0, {x.shape[-1]}]."
        )
    values = x.like(shape=(*x.shape[:-1], k))
    return {"values": values, "indices": values.like(dtype="int32")}


@cpu_kernel("TopK")
def _topk_cpu(x: Array, *, k: int, largest: bool) -> tuple[Array, Array]:
    indices = (top_places if largest else bottom_places)(x, k)
    return np.take_along_axis(x, indices, axis=-1), indices


@wgsl_kernel("TopK", dtypes=("float32", "float16", "int32"))
def _topk_webgpu(gpu: Gpu, x: GpuArray, *, k: int, largest: bool) -> tuple[GpuArray, GpuArray]:
    if not x.size or not k:
        return _results(gpu, x, k)
    length = x.shape[-1]
    rows = x.size // length
    names = [SORTED]
    if k <= _IN_REGISTERS:
        names.append(REGISTERS)
    if k <= _IN_BLOCKS and length > BLOCK:
        names.append(BLOCKS)
    wanted = gpu.policy.top_k

    def run(name: str) -> tuple[GpuArray, GpuArray]:
        if name == REGISTERS:
            return _top_in_registers(gpu, x, k, ascending=not largest)
        if name == BLOCKS:
            return top_of_pairs(gpu, x, k, _top_of_blocks(gpu, x, k, ascending=not largest))
        shape = rows, length
        pairs = sorted_pairs(
            gpu,
            shape,
            lambda pairs: order_pairs(gpu, x, pairs, length, 1, ascending=not largest),
        )
        return top_of_pairs(gpu, x, k, pairs)

    shape_class = (size_class(rows), size_class(length), size_class(k))
    static = wanted if wanted in names else SORTED
    return run(gpu.choose(shape_class, tuple(names), static, run, x.size))


_IN_REGISTERS = 16  # as in indexing/sort/top_k_registers.wesl
_IN_BLOCKS = BLOCK // 4
SORTED = "sorted"
declare("TopK", (REGISTERS, BLOCKS, SORTED))


def _results(gpu: Gpu, x: GpuArray, k: int) -> tuple[GpuArray, GpuArray]:
    values = gpu.empty((*x.shape[:-1], k), x.dtype)
    return values, gpu.empty(values.shape, "int32")


def top_of_pairs(gpu: Gpu, x: GpuArray, k: int, pairs: GpuArray) -> tuple[GpuArray, GpuArray]:
    """Return the results for pairs, [rows, width, 2], of which the first k are chosen."""
    values, indices = _results(gpu, x, k)
    arrays = {"x": x, "pairs": pairs, "values": values, "indices": indices}
    params = {"length": x.shape[-1], "width": pairs.shape[1], "k": k}
    gpu.dispatch("indexing/sort/top_k.wgsl", arrays, params=params)
    return values, indices


def _top_in_registers(
    gpu: Gpu, x: GpuArray, k: int, *, ascending: bool
) -> tuple[GpuArray, GpuArray]:
    """Return the results: an invocation reads a part of a row; then parts of what is left.

    On a software adapter 200 times as fast as sorting.
    """
    length = x.shape[-1]
    rows = x.size // length
    shader = "indexing/sort/top_k_registers.wesl"
    first = {"VEC4": length % 4 == 0 or rows == 1, "ASCENDING": ascending}
    arrays, flags = {"x": x}, first
    while True:
        part_size = -(-min(length, 16384) // 4) * 4
        if rows < 64 and length > 1024:
            part_size = min(part_size, max(256, -(-length * rows // 1024) * 4))
        parts = math.ceil(length / part_size)
        params = {"rows": rows, "length": length, "parts": parts, "part_size": part_size, "k": k}
        grid = gpu.grid(rows * parts, 16)
        if parts == 1 and "x" in arrays:
            values, indices = _results(gpu, x, k)
            arrays |= {"values": values, "indices": indices}
            flags = {**first, "ONLY": True}
            gpu.dispatch(shader, arrays, configuration=flags, params=params, groups=grid)
            return values, indices
        pairs = gpu.empty((rows, parts * k, 2), "int32")
        given = {**arrays, "pairs": pairs}
        gpu.dispatch(shader, given, configuration=flags, params=params, groups=grid)
        if parts == 1:
            return top_of_pairs(gpu, x, k, pairs)
        arrays, flags, length = {"kept": pairs}, {"NEXT": True}, parts * k


def _top_of_blocks(gpu: Gpu, x: GpuArray, k: int, *, ascending: bool) -> GpuArray:
    """Return pairs, [rows, width, 2], of which the first k are chosen: of sorted blocks."""
    length = x.shape[-1]
    rows, parts = x.size // length, math.ceil(length / BLOCK)
    pairs = gpu.empty((rows * parts, BLOCK, 2), "int32")
    order_pairs(gpu, x, pairs, BLOCK, parts, ascending=ascending)
    while True:
        sort_blocks(gpu, pairs)
        if parts == 1:
            return pairs
        length, parts = parts * k, math.ceil(parts * k / BLOCK)
        kept, pairs = pairs, gpu.empty((rows * parts, BLOCK, 2), "int32")
        params = {
            "count": pairs.size // 2,
            "length": length,
            "parts": parts,
            "part_size": BLOCK,
            "width": BLOCK,
            "k": k,
            "kept_width": BLOCK,
        }
        arrays = {"kept": kept, "pairs": pairs}
        grid = gpu.grid(pairs.size // 2, 64)
        gpu.dispatch("indexing/sort/top_k_blocks.wgsl", arrays, params=params, groups=grid)


def order_pairs(
    gpu: Gpu, x: GpuArray, pairs: GpuArray, part_size: int, parts: int, *, ascending: bool = False
) -> None:
    """Write pairs of the orders of x and their indices, [rows * parts, width, 2]."""
    length = x.shape[-1]
    rows, width = x.size // length, pairs.shape[1]
    chunks = math.ceil(width / 1024)
    params = {
        "rows": rows,
        "length": length,
        "parts": parts,
        "part_size": part_size,
        "width": width,
        "chunks": chunks,
        "is_ascending": int(ascending),
    }
    gpu.dispatch(
        "indexing/sort/top_k_pairs.wesl",
        {"x": x, "pairs": pairs},
        params=params,
        groups=gpu.grid(rows * parts * chunks, 1),
    )


@gradient("TopK", none=True)
def _topk_grad(
    dys: tuple[Tensor | None, ...], x_shape: Shape, indices: Tensor, k: int
) -> Tensor | None:
    # Each element of dy is added to the place that its value was taken from.
    dy = dys[0]
    if dy is None:
        return None
    if not dy.size:
        return creation.zeros(x_shape, dtype=dy.dtype)
    size, length = math.prod(x_shape), x_shape[-1]
    starts = ranges.arange(0, size, length)
    places = shape.reshape(indices, (-1, k)) + shape.reshape(starts, (-1, 1))
    flat = segment.unsorted_segment_sum(
        shape.reshape(dy, (-1,)), shape.reshape(places, (-1,)), num_segments=size
    )
    return shape.reshape(flat, x_shape)


@public(tfjs="unique")
def unique(x: TensorLike, axis: int = 0) -> tuple[Tensor, Tensor]:
    """Return the distinct slices of ``x`` along ``axis``, and for each slice which one it equals.

    The distinct ones come in the order in which they first occur. NaN equals NaN, and -0 equals 0.
    The number of results depends on the values, so on webgpu this waits for them.

    Args:
        x: At least one axis, real, bool or string.
        axis: The slices are those with one index along it.

    Returns:
        The slices, [..., count, ...], and the int32 indices into them, [length].

    Example:
        >>> [one.tolist() for one in wk.unique([7, 5, 7])]
        [[7, 5], [0, 1, 0]]
    """
    values, indices = run_many("Unique", x, axis=axis)
    return values, indices


@signature("Unique")
def _unique_signature(x: Spec, /, *, axis: int = 0) -> dict[str, Spec]:
    require_dtype("Unique", "x", x, "float32", "int32", "bool", "string")
    at = normalize_axis("Unique", axis, x.ndim)
    count: tuple[int | None, ...] = (None,)
    values = x.like(shape=(*x.shape[:at], *count, *x.shape[at + 1 :]))
    return {"values": values, "indices": Spec((x.shape[at],), "int32")}


@cpu_kernel("Unique")
def _unique_cpu(x: Array, *, axis: int) -> tuple[Array, Array]:
    if x.ndim == 1 and can_be_keys(x):
        first, indices = distinct(x)
        return x[first], indices
    slices = np.moveaxis(x, axis, 0).reshape(x.shape[axis], math.prod(_left(x.shape, axis)))
    if x.dtype.kind == "f":
        slices = np.where(np.isnan(slices), np.nan, slices + 0)  # one NaN, one zero
    numbers: dict[object, int] = {}
    keys = (tuple(row) if x.dtype == object else row.tobytes() for row in slices)
    indices = np.array([numbers.setdefault(one, len(numbers)) for one in keys], np.int32)
    _, first = np.unique(indices, return_index=True)
    return np.take(x, first, axis), indices


@wgsl_kernel("Unique", dtypes=("float32", "float16", "int32", "bool"), repeats=False)
def _unique_webgpu(gpu: Gpu, x: GpuArray, *, axis: int) -> tuple[GpuArray, GpuArray]:
    left, at = _left(x.shape, axis), axis % len(x.shape)
    size = math.prod(left)
    if not x.size or size > _LONGEST:
        slices, numbers = _unique_cpu(gpu.read(x), axis=axis)
        return gpu.upload(slices, x.dtype), gpu.upload(numbers, "int32")
    params = {"length": x.shape[at], "inner": math.prod(x.shape[at + 1 :]), "slice_size": size}
    places, indices, found = _places_of_kinds(gpu, _firsts(gpu, x, params), params)
    values = gpu.empty((*left[:at], found, *left[at:]), x.dtype)
    gpu.dispatch(
        "indexing/sort/unique.wgsl",
        {"x": x, "pairs": places, "values": values},
        params={**params, "found": found},
    )
    return values, indices


def _firsts(gpu: Gpu, x: GpuArray, params: dict[str, int]) -> GpuArray:
    """Return for each slice the index of the first that equals it."""
    fill = filling(gpu, "indexing/sort/unique_hashes.wesl", {"x": x}, params)
    pairs = sorted_pairs(gpu, (1, params["length"]), fill)
    firsts = gpu.empty((params["length"],), "int32")
    arrays = {"x": x, "pairs": pairs, "firsts": firsts}
    gpu.dispatch("indexing/sort/unique_first.wesl", arrays, params=params)
    return firsts


def _places_of_kinds(
    gpu: Gpu, firsts: GpuArray, params: dict[str, int]
) -> tuple[GpuArray, GpuArray, int]:
    """Return pairs with the places of the first of each kind in front, each slice's kind, a count.

    Waits for the count.
    """
    fill = filling(gpu, "indexing/sort/unique_places.wgsl", {"firsts": firsts}, params)
    pairs = sorted_pairs(gpu, (1, firsts.size), fill)
    indices, count = gpu.empty(firsts.shape, "int32"), gpu.empty((1,), "int32")
    arrays = {"firsts": firsts, "pairs": pairs, "indices": indices, "count": count}
    gpu.dispatch(
        "indexing/sort/unique_indices.wesl", arrays, params={**params, "width": pairs.shape[1]}
    )
    return pairs, indices, int(gpu.read(count)[0])


no_gradient("Unique", because="which slices are equal does not change smoothly")


def _left(shape: Shape, axis: int) -> Shape:
    at = axis % len(shape)
    return (*shape[:at], *shape[at + 1 :])
