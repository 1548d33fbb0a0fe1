"""How often numbers occur, and where elements are not zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import binary, cast, compare, logical
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.reductions import scan
from wgsl_kernels.ops.rules.specs import COMPLEX, counted
from wgsl_kernels.ops.shapes import creation, slicing
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

_DEEPEST = 8
"""Axes of a tensor whose zeros are found, as in non_zero.wesl."""


@public(tfjs="bincount")
def bincount(x: TensorLike, weights: TensorLike, size: int) -> Tensor:
    """Return how often each number in [0, ``size``) occurs in ``x``, or the sum of its weights.

    Args:
        x: int32, at least 0; those from ``size`` on are left out.
        weights: The shape of ``x``; or of no elements, and each occurrence counts 1.
        size: How many numbers are counted.

    Returns:
        [size], of the dtype of ``weights``. The same input gives the same bits every time.

    Raises:
        ShapeError: The shapes differ.
        ArgumentError: ``size`` is below 0.
        IndexOutOfRange: A number is below 0; where ``x`` is on a GPU, raised by the next read.

    Example:
        >>> bincount([1, 1, 2], [0.5, 0.25, 2.0], 4).tolist()
        [0.0, 0.75, 2.0, 0.0]
    """
    return run("Bincount", x, weights, size=size)


class _Bins(NamedTuple):
    """Rows of numbers, and how many bins each row has."""

    rows: int
    length: int
    size: int
    is_binary: bool


def _check_counted(kernel: str, x: Spec, weights: Spec, size: int) -> None:
    require_dtype(kernel, "x", x, "int32")
    require_dtype(kernel, "weights", weights, "float32", "int32")
    if size < 0:
        raise ArgumentError(f"{kernel}: size is {size}; want at least 0.")
    if weights.size and weights.shape != x.shape:
        raise ShapeError(
            f"{kernel}: weights has shape {show(weights.shape)} and x {show(x.shape)}; want the "
            "same, or no weights at all."
        )


@signature("Bincount")
def _bincount_signature(x: Spec, weights: Spec, /, *, size: int) -> Spec:
    _check_counted("Bincount", x, weights, size)
    return weights.like(shape=(size,), dtype=counted(weights.dtype))


def _counted(kernel: str, x: Array, weights: Array, bins: _Bins) -> Array:
    """Return [rows, size]."""
    check_indices(kernel, "x", x, 1 << 31, {"x": x.shape, "weights": weights.shape})
    numbers = x.reshape(bins.rows, bins.length).astype(np.int64)
    found = numbers + np.arange(bins.rows)[:, None] * bins.size
    inside = numbers < bins.size
    places = found[inside]
    values = np.ones(places.size, weights.dtype)
    if weights.size and not bins.is_binary:
        values = weights.reshape(numbers.shape)[inside]
    if bins.is_binary:
        y = np.zeros(bins.rows * bins.size, weights.dtype)
        y[places] = 1
        return y.reshape(bins.rows, bins.size)
    total = segment.summed(values.reshape(-1, 1), places, bins.rows * bins.size)
    return total.reshape(bins.rows, bins.size)


def _counted_on_device(
    gpu: Gpu, kernel: str, x: GpuArray, weights: GpuArray, bins: _Bins
) -> GpuArray:
    """Return [rows * size]; sums of floats sort, so that their order is the same every time."""
    shapes_of = {"x": x.shape, "weights": weights.shape}
    gpu.check_known(x, lambda values: check_indices(kernel, "x", values, 1 << 31, shapes_of))
    count = bins.rows * bins.size
    if not x.size or not count:
        return gpu.full((count,), weights.dtype, 0)
    places = gpu.empty((x.size,), "int32")
    gpu.dispatch(
        "indexing/counting/bins.wgsl",
        {"x": x, "bins": places},
        params={"length": bins.length, "size": bins.size},
    )
    if weights.size and weights.dtype != "int32" and not bins.is_binary:
        flat = shapes.reshaped(gpu, weights, (x.size,))
        return segment.summed_on_device(gpu, flat, places, count)
    counts = gpu.full((count,), "int32", 0)
    given = weights if weights.dtype == "int32" and weights.size else gpu.full((1,), "int32", 1)
    every = gpu.view(given, x.shape, (0,) * len(x.shape), given.offset)
    gpu.dispatch(
        "indexing/counting/add_to_bins.wesl",
        {
            "bins": places,
            "counts": counts,
            "weights": every if given is not weights else weights,
        },
        params={"is_binary": int(bins.is_binary)},
        groups=gpu.grid(x.size, 64),
    )
    return cast.converted(gpu, counts, weights.dtype)


@cpu_kernel("Bincount")
@silent
def _bincount_cpu(x: Array, weights: Array, *, size: int) -> Array:
    return _counted("Bincount", x, weights, _Bins(1, x.size, size, False)).reshape(size)


@wgsl_kernel("Bincount")
def _bincount_webgpu(gpu: Gpu, x: GpuArray, weights: GpuArray, *, size: int) -> GpuArray:
    return _counted_on_device(gpu, "Bincount", x, weights, _Bins(1, x.size, size, False))


@gradient("Bincount")
def _bincount_grad(dy: Tensor, x: Tensor, weights_shape: Shape, size: int) -> tuple[None, Tensor]:
    if not math.prod(weights_shape) or not size:
        return None, creation.zeros(weights_shape, dtype=dy.dtype)
    return None, logical.where(x < size, gather.take(dy, binary.minimum(x, size - 1)), 0.0)


@public(numpy="count_nonzero", method=True)
def count_nonzero(
    x: TensorLike, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Tensor:
    """Return how many elements along ``axis`` are not zero, as int32; NaN is none.

    Example:
        >>> count_nonzero(tensor([[0.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [1, 2]
    """
    ones = cast.astype(compare.not_equal(x, 0), "int32")
    return reductions.sum(ones, axis=axis, keepdims=keepdims)


@public(tfjs="denseBincount")
def dense_bincount(
    x: TensorLike, weights: TensorLike, size: int, *, binary_output: bool = False
) -> Tensor:
    """Return what `bincount` does, for each row of ``x``.

    Args:
        x: int32, [length] or [rows, length], at least 0; those from ``size`` on are left out.
        weights: The shape of ``x``; or of no elements, and each occurrence counts 1.
        size: How many numbers are counted.
        binary_output: Whether the result is 1 where a number occurs, whatever its weights.

    Returns:
        [size] or [rows, size], of the dtype of ``weights``.

    Raises:
        ShapeError: The shapes differ, or ``x`` has another number of axes.
        ArgumentError: ``size`` is below 0.
        IndexOutOfRange: A number is below 0; where ``x`` is on a GPU, raised by the next read.

    Example:
        >>> dense_bincount([[1, 1], [0, 9]], tensor([], dtype="float32"), 2).tolist()
        [[0.0, 2.0], [1.0, 0.0]]
    """
    return run("DenseBincount", x, weights, size=size, binary_output=binary_output)


@signature("DenseBincount")
def _dense_bincount_signature(
    x: Spec, weights: Spec, /, *, size: int, binary_output: bool = False
) -> Spec:
    del binary_output
    _check_counted("DenseBincount", x, weights, size)
    if x.ndim not in (1, 2):
        raise ShapeError(f"DenseBincount: x has shape {show(x.shape)}; want one axis or two.")
    return weights.like(shape=(*x.shape[:-1], size), dtype=counted(weights.dtype))


def _rows(x_shape: Shape, size: int, is_binary: bool) -> _Bins:
    return _Bins(math.prod(x_shape[:-1]), x_shape[-1], size, is_binary)


@cpu_kernel("DenseBincount")
@silent
def _dense_bincount_cpu(x: Array, weights: Array, *, size: int, binary_output: bool) -> Array:
    found = _counted("DenseBincount", x, weights, _rows(x.shape, size, binary_output))
    return found.reshape(*x.shape[:-1], size)


@wgsl_kernel("DenseBincount")
def _dense_bincount_webgpu(
    gpu: Gpu, x: GpuArray, weights: GpuArray, *, size: int, binary_output: bool
) -> GpuArray:
    bins = _rows(x.shape, size, binary_output)
    found = _counted_on_device(gpu, "DenseBincount", x, weights, bins)
    return shapes.reshaped(gpu, found, (*x.shape[:-1], size))


@gradient("DenseBincount")
def _dense_bincount_grad(
    dy: Tensor, x: Tensor, weights_shape: Shape, size: int, binary_output: bool
) -> tuple[None, Tensor]:
    if not math.prod(weights_shape) or not size or binary_output:
        return None, creation.zeros(weights_shape, dtype=dy.dtype)
    found = gather.take_along_axis(dy, binary.minimum(x, size - 1), axis=-1)
    return None, logical.where(x < size, found, 0.0)


@public(numpy="nonzero", method=True)
def nonzero(x: TensorLike) -> tuple[Tensor, ...]:
    """Return for each axis the int32 indices of the elements that are not zero, in row-major order.

    Their number depends on the values, so on webgpu this waits for it.

    Args:
        x: At least one axis.

    Raises:
        ShapeError: ``x`` is a scalar.

    Example:
        >>> [one.tolist() for one in nonzero(tensor([[0, 1], [2, 0]]))]
        [[0, 1], [1, 0]]
    """
    given = as_tensor(x)
    return slicing.unstack(run("NonZero", given), axis=1)


@signature("NonZero")
def _non_zero_signature(x: Spec, /) -> Spec:
    require_dtype("NonZero", "x", x, *COMPLEX)
    if not 1 <= x.ndim <= _DEEPEST:
        raise ShapeError(f"NonZero: x has shape {show(x.shape)}; want 1 to {_DEEPEST} axes.")
    count: tuple[int | None, ...] = (None,)
    return x.like(shape=(*count, x.ndim), dtype="int32")


@cpu_kernel("NonZero")
def _non_zero_cpu(x: Array) -> Array:
    return np.argwhere(x).astype(np.int32)


@wgsl_kernel("NonZero", repeats=False)
def _non_zero_webgpu(gpu: Gpu, x: GpuArray) -> GpuArray:
    depth = len(x.shape)
    if not x.size:
        return gpu.empty((0, depth), "int32")
    pair = {"a": x, "b": gpu.full((), x.dtype, 0)}
    is_kept = gpu.map("elementwise/compare/not_equal.wesl", pair, x.shape, "bool")
    flags = gpu.contiguous(cast.converted(gpu, is_kept, "int32"))
    row = shapes.reshaped(gpu, flags, (1, x.size))
    places = gpu.contiguous(scan.running_sums(gpu, row))
    ends = [gpu.view(one, (1,), (1,), x.size - 1 + one.offset) for one in (places, flags)]
    count = sum(int(gpu.read(one)[0]) for one in ends)
    y = gpu.empty((count, depth), "int32")
    if count:
        gpu.dispatch(
            "indexing/counting/non_zero.wesl",
            {"flags": row, "places": places, "y": y},
            params={"depth": depth, "lengths": (1,) * (_DEEPEST - depth) + x.shape},
            groups=gpu.grid(x.size, 64),
        )
    return y


no_gradient("NonZero", because="its output is of indices")
