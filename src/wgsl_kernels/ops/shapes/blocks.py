"""Blocks of space moved into the batch or the channels, and back; on webgpu views and one copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_rank, show
from wgsl_kernels.ops.rules.specs import NUMBERS
from wgsl_kernels.ops.shapes import joining
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

Pairs = tuple[tuple[int, int], ...]


@public(tfjs="batchToSpaceND")
def batch_to_space_nd(
    x: TensorLike, block_shape: Sequence[int], crops: Sequence[Sequence[int]]
) -> Tensor:
    """Return ``x`` with blocks of space taken out of the batch; undoes `space_to_batch_nd`.

    Args:
        x: [batch, space..., rest...]; ``batch`` is a multiple of the product of ``block_shape``.
        block_shape: For each axis of space the length of a block.
        crops: For each axis of space how many elements are cut off its two ends afterwards.

    Raises:
        ShapeError: The axes do not fit.
        ArgumentError: A length is below 1, or a crop below 0.

    Example:
        >>> batch_to_space_nd(tensor([[1, 2], [3, 4]]), [2], [(0, 0)]).tolist()
        [[1, 3, 2, 4]]
    """
    return run("BatchToSpaceND", x, block_shape=block_shape, crops=crops)


def _check_blocks(kernel: str, x: Spec, block: Shape, name: str, pairs: Any) -> None:
    if not block or min(block) < 1:
        raise ArgumentError(f"{kernel}: block_shape is {shown(block)}; want lengths of at least 1.")
    if x.ndim < 1 + len(block):
        raise ShapeError(
            f"{kernel}: x has shape {show(x.shape)}, block_shape {show(block)}; want a batch and "
            "those axes at least."
        )
    are_pairs = isinstance(pairs, tuple) and all(
        isinstance(one, tuple) and len(one) == 2 and all(type(n) is int and n >= 0 for n in one)
        for one in pairs
    )
    if not are_pairs or len(pairs) != len(block):
        raise ArgumentError(
            f"{kernel}: {name} is {shown(pairs)}; want a pair of lengths of at least 0 for each of "
            f"the {len(block)} axes of block_shape."
        )


@signature("BatchToSpaceND")
@exact(*NUMBERS)
def _batch_to_space_signature(x: Spec, /, *, block_shape: Shape, crops: Any) -> Spec:
    _check_blocks("BatchToSpaceND", x, block_shape, "crops", crops)
    if x.shape[0] % math.prod(block_shape):
        raise ShapeError(
            f"BatchToSpaceND: x has shape {show(x.shape)}; want a batch that the product of "
            f"block_shape, {math.prod(block_shape)}, divides."
        )
    grown = _grown(x.shape, block_shape)
    inner = tuple(n - a - b for n, (a, b) in zip(grown[1:], crops, strict=False))
    if any(n < 0 for n in inner):
        raise ShapeError(f"BatchToSpaceND: crops {shown(crops)} leave nothing of {show(grown)}.")
    return x.like(shape=(grown[0], *inner, *grown[1 + len(crops) :]))


def _grown(shape: Shape, block: Shape) -> Shape:
    space = zip(shape[1:], block, strict=False)
    batch = shape[0] // math.prod(block)
    return (batch, *(n * b for n, b in space), *shape[1 + len(block) :])


def _blocks_split(shape: Shape, block: Shape) -> tuple[Shape, tuple[int, ...]]:
    """Return [blocks..., batch, space..., rest] and the order that brings both together."""
    count = len(block)
    cut = (*block, shape[0] // math.prod(block), *shape[1 : 1 + count])
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    return (*cut, math.prod(shape[1 + count :])), (*order, 2 * count + 1)


@cpu_kernel("BatchToSpaceND")
def _batch_to_space_cpu(x: Array, *, block_shape: Shape, crops: Pairs) -> Array:
    cut, order = _blocks_split(x.shape, block_shape)
    whole = np.transpose(x.reshape(cut), order).reshape(_grown(x.shape, block_shape))
    kept = zip(whole.shape[1:], crops, strict=False)
    return whole[:, *(slice(a, n - b) for n, (a, b) in kept)]


@wgsl_kernel("BatchToSpaceND")
def _batch_to_space_webgpu(gpu: Gpu, x: GpuArray, *, block_shape: Shape, crops: Pairs) -> GpuArray:
    cut, order = _blocks_split(x.shape, block_shape)
    whole = _moved(gpu, x, cut, order, _grown(x.shape, block_shape))
    offset, lengths = whole.offset, list(whole.shape)
    for axis, (a, b) in enumerate(crops, start=1):
        offset += a * whole.strides[axis]
        lengths[axis] -= a + b
    return gpu.view(whole, tuple(lengths), whole.strides, offset)


def _moved(gpu: Gpu, x: GpuArray, cut: Shape, order: Sequence[int], want: Shape) -> GpuArray:
    """Return ``x`` in the shape ``cut``, its axes in another order, in the shape ``want``."""
    parts = shapes.reshaped(gpu, x, cut)
    turned = [parts.shape[axis] for axis in order], [parts.strides[axis] for axis in order]
    view = gpu.view(parts, tuple(turned[0]), tuple(turned[1]), parts.offset)
    return shapes.reshaped(gpu, view, want)


@gradient("BatchToSpaceND")
def _batch_to_space_grad(dy: Tensor, block_shape: Shape, crops: Pairs) -> Tensor:
    return space_to_batch_nd(dy, block_shape, crops)


@public(tfjs="depthToSpace")
def depth_to_space(x: TensorLike, block_size: int, *, data_format: str = "NHWC") -> Tensor:
    """Return images whose channels have become blocks of ``block_size`` by ``block_size``.

    Args:
        x: [batch, height, width, channels] or, as "NCHW", [batch, channels, height, width].
        block_size: The length of a block; its square divides the channels.
        data_format: "NHWC" or "NCHW".

    Raises:
        ShapeError: The channels are no multiple.
        ArgumentError: ``block_size`` is below 2, or the format is unknown.

    Example:
        >>> depth_to_space(tensor([[[[1, 2, 3, 4]]]]), 2).tolist()
        [[[[1], [2]], [[3], [4]]]]
    """
    return run("DepthToSpace", x, block_size=block_size, data_format=data_format)


def _depth_shapes(x: Shape, size: int, data_format: str) -> tuple[Shape, tuple[int, ...], Shape]:
    """Return x cut into blocks, the order that joins them to space, and the result's shape."""
    if data_format == "NHWC":
        batch, height, width, channels = x
        rest = channels // size**2
        cut = (batch, height, width, size, size, rest)
        return cut, (0, 1, 3, 2, 4, 5), (batch, height * size, width * size, rest)
    batch, channels, height, width = x
    rest = channels // size**2
    cut = (batch, size, size, rest, height, width)
    return cut, (0, 3, 4, 1, 5, 2), (batch, rest, height * size, width * size)


@signature("DepthToSpace")
@exact(*NUMBERS)
def _depth_to_space_signature(x: Spec, /, *, block_size: int, data_format: str = "NHWC") -> Spec:
    require_rank("DepthToSpace", "x", x, 4)
    if data_format not in ("NHWC", "NCHW"):
        raise ArgumentError(
            f"DepthToSpace: data_format is {shown(data_format)}; want 'NHWC' or 'NCHW'."
        )
    if block_size < 2:
        raise ArgumentError(f"DepthToSpace: block_size is {block_size}; want at least 2.")
    channels = x.shape[3 if data_format == "NHWC" else 1]
    if channels % block_size**2:
        raise ShapeError(
            f"DepthToSpace: x has shape {show(x.shape)}, which has {channels} channels; want a "
            f"multiple of {block_size**2}."
        )
    return x.like(shape=_depth_shapes(x.shape, block_size, data_format)[2])


@cpu_kernel("DepthToSpace")
def _depth_to_space_cpu(x: Array, *, block_size: int, data_format: str) -> Array:
    cut, order, want = _depth_shapes(x.shape, block_size, data_format)
    return np.transpose(x.reshape(cut), order).reshape(want)


@wgsl_kernel("DepthToSpace")
def _depth_to_space_webgpu(gpu: Gpu, x: GpuArray, *, block_size: int, data_format: str) -> GpuArray:
    return _moved(gpu, x, *_depth_shapes(x.shape, block_size, data_format))


@gradient("DepthToSpace")
def _depth_to_space_grad(dy: Tensor, x_shape: Shape, block_size: int, data_format: str) -> Tensor:
    cut, order, _ = _depth_shapes(x_shape, block_size, data_format)
    parts = shapes.reshape(dy, [cut[axis] for axis in order])
    back = [order.index(axis) for axis in range(len(order))]
    return shapes.reshape(shapes.permute_dims(parts, back), x_shape)


@public(tfjs="spaceToBatchND")
def space_to_batch_nd(
    x: TensorLike, block_shape: Sequence[int], paddings: Sequence[Sequence[int]]
) -> Tensor:
    """Return ``x`` with blocks of space moved into the batch, zeros having been put around it.

    Args:
        x: [batch, space..., rest...].
        block_shape: For each axis of space the length of a block.
        paddings: For each axis of space how many zeros come before and how many after.

    Raises:
        ShapeError: A padded axis is no multiple of its block.
        ArgumentError: A length is below 1, or a padding below 0.

    Example:
        >>> space_to_batch_nd(tensor([[1, 3, 2, 4]]), [2], [(0, 0)]).tolist()
        [[1, 2], [3, 4]]
    """
    return run("SpaceToBatchND", x, block_shape=block_shape, paddings=paddings)


@signature("SpaceToBatchND")
@exact(*NUMBERS)
def _space_to_batch_signature(x: Spec, /, *, block_shape: Shape, paddings: Any) -> Spec:
    _check_blocks("SpaceToBatchND", x, block_shape, "paddings", paddings)
    padded = _padded(x.shape, paddings)
    space = list(zip(padded[1:], block_shape, strict=False))
    if any(n % b for n, b in space):
        raise ShapeError(
            f"SpaceToBatchND: x has shape {show(x.shape)}, with its paddings {show(padded)}; want "
            f"each axis of space a multiple of its block, {show(block_shape)}."
        )
    batch = x.shape[0] * math.prod(block_shape)
    return x.like(shape=(batch, *(n // b for n, b in space), *x.shape[1 + len(block_shape) :]))


def _padded(shape: Shape, paddings: Pairs) -> Shape:
    space = zip(shape[1:], paddings, strict=False)
    return (shape[0], *(n + a + b for n, (a, b) in space), *shape[1 + len(paddings) :])


def _to_batch(padded: Shape, block: Shape) -> tuple[Shape, tuple[int, ...], Shape]:
    """Return the padded shape cut into blocks, the order that brings them forward, the result's."""
    count = len(block)
    space = [(n // b, b) for n, b in zip(padded[1:], block, strict=False)]
    rest = padded[1 + count :]
    cut = (padded[0], *(n for pair in space for n in pair), math.prod(rest))
    order = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), 2 * count + 1)
    return cut, order, (padded[0] * math.prod(block), *(n for n, _ in space), *rest)


def _on_every_axis(ndim: int, paddings: Pairs) -> Pairs:
    return ((0, 0), *paddings, *((0, 0) for _ in range(ndim - 1 - len(paddings))))


@cpu_kernel("SpaceToBatchND")
def _space_to_batch_cpu(x: Array, *, block_shape: Shape, paddings: Pairs) -> Array:
    padded = np.pad(x, _on_every_axis(x.ndim, paddings))
    cut, order, want = _to_batch(padded.shape, block_shape)
    return np.transpose(padded.reshape(cut), order).reshape(want)


@wgsl_kernel("SpaceToBatchND")
def _space_to_batch_webgpu(
    gpu: Gpu, x: GpuArray, *, block_shape: Shape, paddings: Pairs
) -> GpuArray:
    if any(n for pair in paddings for n in pair):
        x = joining.padded(gpu, x, _on_every_axis(len(x.shape), paddings), 0)
    return _moved(gpu, x, *_to_batch(x.shape, block_shape))


@gradient("SpaceToBatchND")
def _space_to_batch_grad(dy: Tensor, block_shape: Shape, paddings: Pairs) -> Tensor:
    return batch_to_space_nd(dy, block_shape, paddings)
