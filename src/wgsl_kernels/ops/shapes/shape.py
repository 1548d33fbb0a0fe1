"""Ops that show the same elements in another shape or order: on webgpu they move no data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.facts import takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.engine.values.shapes import lengths, normalize_axes, normalize_axis, show

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

Axes = int | Sequence[int] | None


@public(numpy="broadcast_to", tfjs="broadcastTo", method=True)
def broadcast_to(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """Return ``x`` repeated along axes of length 1, and along new leading axes, to fill ``shape``.

    Raises:
        ShapeError: An axis of ``x`` is neither 1 nor that of ``shape``.

    Example:
        >>> wk.broadcast_to([1, 2], (2, 2)).tolist()
        [[1, 2], [1, 2]]
    """
    return run("BroadcastTo", x, shape=shape)


@signature("BroadcastTo")
@takes_bytes
def _broadcast_to_signature(x: Spec, /, *, shape: Shape, input_shape: Shape | None = None) -> Spec:
    want = lengths("BroadcastTo", "shape", shape)
    if input_shape is not None and input_shape != x.shape:
        raise ShapeError(
            f"BroadcastTo: input_shape is {show(input_shape)}, but x has shape {show(x.shape)}; "
            "want the same, or leave it out."
        )
    extra = len(want) - x.ndim
    fits = all(n in (1, m) for n, m in zip(x.shape, want[max(extra, 0) :], strict=extra >= 0))
    if extra < 0 or not fits:
        raise ShapeError(
            f"BroadcastTo: x of shape {show(x.shape)} does not broadcast to {show(want)}; "
            "want equal lengths or 1, counted from the last axis."
        )
    return x.like(shape=want)


@cpu_kernel("BroadcastTo")
def _broadcast_to_cpu(x: Array, *, shape: Shape) -> Array:
    return np.broadcast_to(x, shape)


@wgsl_kernel("BroadcastTo", repeats=False)
def _broadcast_to_webgpu(gpu: Gpu, x: GpuArray, *, shape: Shape) -> GpuArray:
    extra = len(shape) - len(x.shape)
    steps = [
        step if length == shape[axis] else 0
        for axis, (length, step) in enumerate(zip(x.shape, x.strides, strict=True), start=extra)
    ]
    return gpu.view(x, shape, (0,) * extra + tuple(steps), x.offset)


@gradient("BroadcastTo")
def _broadcast_to_grad(dy: Tensor, x_shape: Shape) -> Tensor:
    return unbroadcast(dy, x_shape)


@public(numpy="expand_dims", tfjs="expandDims", method=True)
def expand_dims(x: TensorLike, axis: int = 0) -> Tensor:
    """Return ``x`` with a new axis of length 1 at ``axis``; a negative one counts from the end.

    Example:
        >>> wk.expand_dims([1, 2], 1).tolist()
        [[1], [2]]
    """
    return run("ExpandDims", x, dim=axis)


def _expanded(shape: Shape, dim: int) -> Shape:
    at = normalize_axis("ExpandDims", dim, len(shape) + 1, "dim")
    return (*shape[:at], 1, *shape[at:])


@signature("ExpandDims")
@takes_bytes
def _expand_dims_signature(input: Spec, /, *, dim: int) -> Spec:
    return input.like(shape=_expanded(input.shape, dim))


@cpu_kernel("ExpandDims")
def _expand_dims_cpu(input: Array, *, dim: int) -> Array:
    return np.expand_dims(input, dim)


@wgsl_kernel("ExpandDims", repeats=False)
def _expand_dims_webgpu(gpu: Gpu, input: GpuArray, *, dim: int) -> GpuArray:
    at = dim % (len(input.shape) + 1)
    strides = (*input.strides[:at], 0, *input.strides[at:])
    return gpu.view(input, _expanded(input.shape, dim), strides, input.offset)


@gradient("ExpandDims")
def _expand_dims_grad(dy: Tensor, input_shape: Shape) -> Tensor:
    return reshape(dy, input_shape)


@public(numpy="copy", tfjs="clone", method=True)
def clone(x: TensorLike) -> Tensor:
    """Return a tensor of its own with the values of ``x``; the data is shared.

    Example:
        >>> wk.clone([1.0, 2.0]).tolist()
        [1.0, 2.0]
    """
    return run("Identity", x)


@signature("Identity")
@takes_bytes
def _identity_signature(x: Spec, /) -> Spec:
    return x


@cpu_kernel("Identity")
def _identity_cpu(x: Array) -> Array:
    return x


@wgsl_kernel("Identity", repeats=False)
def _identity_webgpu(gpu: Gpu, x: GpuArray) -> GpuArray:
    return gpu.view(x, x.shape, x.strides, x.offset)


@gradient("Identity")
def _identity_grad(dy: Tensor) -> Tensor:
    return dy


@public(numpy="reshape", tfjs="reshape")
def reshape(x: TensorLike, shape: int | Sequence[int], *, copy: bool | None = None) -> Tensor:
    """Return the elements of ``x``, in row-major order, in another ``shape``.

    Args:
        x: Any tensor.
        shape: The new lengths; one may be -1 and is then worked out.
        copy: Taken for the standard's sake: values never change, so nobody sees what is shared.

    Raises:
        ShapeError: The counts of elements differ.

    Example:
        >>> wk.reshape([1, 2, 3, 4], (2, -1)).tolist()
        [[1, 2], [3, 4]]
    """
    if copy is not None:
        flag("reshape", "copy", copy)
    return run("Reshape", x, shape=shape)


@public(numpy="squeeze", tfjs="squeeze", method=True)
def squeeze(x: TensorLike, axis: Axes = None) -> Tensor:
    """Return ``x`` without the axes of length 1 named by ``axis``; without it, all of them.

    Raises:
        ShapeError: A named axis has another length.

    Example:
        >>> wk.squeeze([[[1], [2]]]).tolist()
        [1, 2]
    """
    given = as_tensor(x)
    ones = tuple(index for index, length in enumerate(given.shape) if length == 1)
    axes = ones if axis is None else normalize_axes("squeeze", axis, given.ndim)
    if not set(axes) <= set(ones):
        raise ShapeError(
            f"squeeze: x has shape {show(given.shape)}; want length 1 in each axis of {axis}."
        )
    kept = (length for index, length in enumerate(given.shape) if index not in axes)
    return reshape(given, tuple(kept))


def _reshaped(size: int, asked: Shape) -> Shape:
    """Return a shape with its -1 worked out."""
    known = math.prod(length for length in asked if length != -1)
    if asked.count(-1) == 1 and known and size % known == 0:
        asked = tuple(size // known if length == -1 else length for length in asked)
    return asked


@signature("Reshape")
@takes_bytes
def _reshape_signature(x: Spec, /, *, shape: Shape) -> Spec:
    want = _reshaped(x.size, shape)
    if any(n < -1 for n in want) or want.count(-1) > 1:
        raise ShapeError(
            f"Reshape: shape is {show(want)}; want lengths of at least 0, of which one may be -1."
        )
    if -1 in want or math.prod(want) != x.size:
        raise ShapeError(
            f"Reshape: x of shape {show(x.shape)} has {x.size} elements; they do not fill "
            f"{show(want)}."
        )
    return x.like(shape=want)


@cpu_kernel("Reshape")
def _reshape_cpu(x: Array, *, shape: Shape) -> Array:
    return x.reshape(_reshaped(x.size, shape))


@wgsl_kernel("Reshape", repeats=False)
def _reshape_webgpu(gpu: Gpu, x: GpuArray, *, shape: Shape) -> GpuArray:
    return reshaped(gpu, x, _reshaped(math.prod(x.shape), shape))


def reshaped(gpu: Gpu, x: GpuArray, want: Shape) -> GpuArray:
    """Return ``x`` in another shape: a view, or a copy where there is none."""
    strides = reshaped_strides(x.shape, x.strides, want)
    if strides is not None:
        return gpu.view(x, want, strides, x.offset)
    packed = gpu.contiguous(x)
    return gpu.view(packed, want, row_major(want), packed.offset)


@gradient("Reshape")
def _reshape_grad(dy: Tensor, x_shape: Shape) -> Tensor:
    return reshape(dy, x_shape)


@public(numpy="flip", tfjs="reverse reverse1d reverse2d reverse3d reverse4d", method=True)
def flip(x: TensorLike, axis: Axes = None) -> Tensor:
    """Return ``x`` with the order of the elements along ``axis`` reversed; without it, all axes.

    Example:
        >>> wk.flip([[1, 2], [3, 4]], axis=1).tolist()
        [[2, 1], [4, 3]]
    """
    return run("Reverse", x, dims=axis)


@signature("Reverse")
@takes_bytes
def _reverse_signature(x: Spec, /, *, dims: Axes = None) -> Spec:
    normalize_axes("Reverse", dims, x.ndim, "dims")
    return x


@cpu_kernel("Reverse")
def _reverse_cpu(x: Array, *, dims: Axes) -> Array:
    return np.flip(x, normalize_axes("Reverse", dims, x.ndim))


@wgsl_kernel("Reverse", repeats=False)
def _reverse_webgpu(gpu: Gpu, x: GpuArray, *, dims: Axes) -> GpuArray:
    strides, offset = list(x.strides), x.offset
    for axis in normalize_axes("Reverse", dims, len(x.shape)):
        offset += (x.shape[axis] - 1) * strides[axis]
        strides[axis] = -strides[axis]
    return gpu.view(x, x.shape, tuple(strides), offset)


@gradient("Reverse")
def _reverse_grad(dy: Tensor, dims: Axes) -> Tensor:
    return flip(dy, axis=dims)


@public(numpy="transpose", tfjs="transpose", method=True)
def permute_dims(x: TensorLike, axes: Axes = None) -> Tensor:
    """Return ``x`` with its axes in the order ``axes``; without it, in reverse order.

    Example:
        >>> wk.permute_dims(wk.ones((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    given = as_tensor(x)
    return run("Transpose", given, perm=tuple(range(given.ndim)[::-1]) if axes is None else axes)


@public(space="wk linalg", numpy="matrix_transpose", method=True)
def matrix_transpose(x: TensorLike) -> Tensor:
    """Return ``x`` with its last two axes exchanged.

    Raises:
        ShapeError: ``x`` has fewer than two axes.

    Example:
        >>> wk.matrix_transpose([[1, 2], [3, 4]]).tolist()
        [[1, 3], [2, 4]]
    """
    given = as_tensor(x)
    if given.ndim < 2:
        raise ShapeError(
            f"matrix_transpose: x has shape {show(given.shape)}; want at least [rows, cols]."
        )
    *leading, rows, cols = range(given.ndim)
    return permute_dims(given, (*leading, cols, rows))


def _permutation(perm: Sequence[int], ndim: int) -> tuple[int, ...]:
    axes = tuple(normalize_axis("Transpose", axis, ndim, "perm") for axis in perm)
    if sorted(axes) != list(range(ndim)):
        raise ArgumentError(
            f"Transpose: perm is {tuple(perm)}, but x has rank {ndim}; want each axis once."
        )
    return axes


@signature("Transpose")
@takes_bytes
def _transpose_signature(x: Spec, /, *, perm: Sequence[int]) -> Spec:
    return x.like(shape=tuple(x.shape[axis] for axis in _permutation(perm, x.ndim)))


@cpu_kernel("Transpose")
def _transpose_cpu(x: Array, *, perm: Sequence[int]) -> Array:
    return np.transpose(x, perm)


@wgsl_kernel("Transpose", repeats=False)
def _transpose_webgpu(gpu: Gpu, x: GpuArray, *, perm: Sequence[int]) -> GpuArray:
    axes = _permutation(perm, len(x.shape))
    shape, strides = (tuple(row[axis] for axis in axes) for row in (x.shape, x.strides))
    return gpu.view(x, shape, strides, x.offset)


@gradient("Transpose")
def _transpose_grad(dy: Tensor, perm: Sequence[int]) -> Tensor:
    axes = _permutation(perm, len(perm))
    return permute_dims(dy, tuple(axes.index(axis) for axis in range(len(axes))))


def reshaped_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """Return the strides that show an array in ``new_shape``, or None where it must be copied.

    Runs of old axes that lie in memory like one axis can be cut anew; a new axis must not cross
    from one run into the next.
    """
    if 0 in new_shape:
        return row_major(new_shape)
    runs: list[tuple[int, int]] = []  # length and innermost stride, outermost run first
    for length, step in zip(shape, strides, strict=True):
        if length == 1:
            continue
        if runs and runs[-1][1] == length * step:
            runs[-1] = (runs[-1][0] * length, step)
        else:
            runs.append((length, step))
    found: list[int] = []
    left, step = 1, 0
    for length in reversed(new_shape):
        if length > 1 and left == 1:
            left, step = runs.pop()
        if left % length:
            return None
        found.append(step)
        left, step = left // length, step * length
    return tuple(reversed(found))
