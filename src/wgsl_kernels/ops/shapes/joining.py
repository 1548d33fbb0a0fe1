"""Ops that build a larger tensor from smaller ones: joined, stacked, padded or repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.control.parts import copy_blocks, joined
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact, takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import integers, plain, sequence
from wgsl_kernels.engine.values.shapes import normalize_axis, require_dtype, show
from wgsl_kernels.ops.rules.specs import NUMBERS
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

Pairs = tuple[tuple[int, int], ...]
Paddings = int | Sequence[int] | Sequence[Sequence[int]]

AXES = 8
"""How many axes the shaders that pad and fold take."""


@public(numpy="concatenate", tfjs="concat concat1d concat2d concat3d concat4d")
def concat(arrays: Sequence[TensorLike], axis: int | None = 0) -> Tensor:
    """Return the tensors joined along ``axis``.

    Args:
        arrays: Tensors that differ in length along ``axis`` only; their dtypes are promoted.
        axis: Where to join; None joins the flattened tensors.

    Raises:
        ShapeError: The shapes differ elsewhere.

    Example:
        >>> wk.concat([[[1, 2]], [[3, 4]]], axis=1).tolist()
        [[1, 2, 3, 4]]
    """
    given = sequence("Concat", "arrays", arrays)
    if axis is None:
        return run("Concat", [shapes.reshape(one, (-1,)) for one in given], axis=0)
    return run("Concat", given, axis=axis)


@signature("Concat", promote=("inputs",))
@takes_bytes
@exact(*NUMBERS)
def _concat_signature(inputs: list[Spec], /, *, axis: int = 0) -> Spec:
    if not inputs:
        raise ArgumentError("Concat: inputs is empty; want at least one tensor.")
    first = inputs[0]
    at = normalize_axis("Concat", axis, first.ndim)
    for index, one in enumerate(inputs):
        others = [n for place, n in enumerate(one.shape) if place != at]
        if one.ndim != first.ndim or others != [*first.shape[:at], *first.shape[at + 1 :]]:
            raise ShapeError(
                f"Concat: inputs[{index}] has shape {show(one.shape)} and inputs[0] "
                f"{show(first.shape)}; want the same but for axis {at}."
            )
    total = sum(one.shape[at] for one in inputs)
    return first.like(shape=(*first.shape[:at], total, *first.shape[at + 1 :]))


@cpu_kernel("Concat")
def _concat_cpu(inputs: list[Array], *, axis: int) -> Array:
    return np.concatenate(inputs, axis)


@wgsl_kernel("Concat")
def _concat_webgpu(gpu: Gpu, inputs: list[GpuArray], *, axis: int) -> GpuArray:
    return joined(gpu, inputs, axis % len(inputs[0].shape))


@gradient("Concat")
def _concat_grad(dy: Tensor, inputs_shape: list[Shape], axis: int) -> Sequence[Tensor]:
    return dy.split([shape[axis] for shape in inputs_shape], axis=axis)


@public(tfjs="pad pad1d pad2d pad3d pad4d", method=True)
def pad(
    x: TensorLike,
    paddings: Paddings,
    *,
    mode: str = "constant",
    constant_value: creation.Scalar = 0,
    constant_values: creation.Scalar | None = None,
) -> Tensor:
    """Return ``x`` with more elements around it: of one value, or copies of its own.

    Gradients of an element and its copies add up, in a fixed order.

    Args:
        x: Any shape.
        paddings: For each axis how many elements come before and how many after; one such pair,
            or one number, for all axes.
        mode: As NumPy calls it. "constant": one value; "edge": the first and the last element;
            "reflect": mirrored, the ends not repeated; "symmetric": mirrored, the ends repeated;
            "wrap": started anew from the other end. What is longer than the axis goes on so.
        constant_value: The value of "constant".
        constant_values: The same by NumPy's name, which libraries use.

    Raises:
        ShapeError: ``paddings`` is not a pair per axis, or below 0; an axis to be padded has no
            elements to copy.
        ArgumentError: The dtype of ``x`` cannot hold ``constant_value``; it is given with another
            ``mode``, or by both names; ``mode`` is another word.

    Example:
        >>> wk.pad([[1, 2]], [(0, 0), (1, 2)], constant_value=9).tolist()
        [[9, 1, 2, 9, 9]]
        >>> wk.pad([1, 2, 3], 2, mode="reflect").tolist()
        [3, 2, 1, 2, 3, 2, 1]
    """
    if constant_values is not None:
        if plain(constant_value) != 0:
            raise ArgumentError("pad: constant_value and constant_values are one; want either.")
        constant_value = constant_values
    given = as_tensor(x)
    pairs = _pairs(paddings, given.ndim)
    if plain(mode) != "constant":
        if plain(constant_value) != 0:
            raise ArgumentError(
                f"pad: constant_value is {shown(constant_value)} and mode {shown(mode)}; want mode "
                "'constant' with it."
            )
        return run("MirrorPad", given, paddings=pairs, mode=mode)
    return run("PadV2", given, paddings=pairs, constant_value=constant_value)


def _pairs(paddings: Any, ndim: int) -> Any:
    """Return a number or a pair for all axes as a pair for each; all else as it is."""
    if isinstance(paddings, (tuple, list)) and paddings and isinstance(paddings[0], (tuple, list)):
        return paddings
    given = plain(paddings)
    if not isinstance(given, tuple):
        return ((given, given),) * ndim
    is_pair = len(given) == 2 and not any(isinstance(one, tuple) for one in given)
    return (given,) * ndim if is_pair else given


@signature("PadV2")
@exact(*NUMBERS)
def _pad_v2_signature(x: Spec, /, *, paddings: Pairs, constant_value: creation.Scalar = 0) -> Spec:
    require_dtype("PadV2", "x", x, *creation.NUMERIC)
    creation.fitting("PadV2", "constant_value", constant_value, x.dtype)
    if not are_pairs(paddings, x.ndim):
        raise ShapeError(
            f"PadV2: paddings is {shown(paddings)} and x has shape {show(x.shape)}; "
            "want for each axis a pair of lengths of at least 0."
        )
    grown = zip(x.shape, paddings, strict=True)
    return x.like(shape=tuple(before + length + after for length, (before, after) in grown))


def are_pairs(paddings: Any, ndim: int) -> bool:
    """Say whether this is for each axis a pair of lengths of at least 0."""
    return (
        isinstance(paddings, tuple)
        and len(paddings) == ndim
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in paddings)
        and all(type(one) is int and 0 <= one < 1 << 62 for pair in paddings for one in pair)
    )


@cpu_kernel("PadV2")
def _pad_v2_cpu(x: Array, *, paddings: Pairs, constant_value: creation.Scalar) -> Array:
    return np.pad(x, paddings, constant_values=constant_value) if x.ndim else x


@wgsl_kernel("PadV2", dtypes=("float32", "float16", "int32", "bool", "complex64"))
def _pad_v2_webgpu(
    gpu: Gpu, x: GpuArray, *, paddings: Pairs, constant_value: creation.Scalar
) -> GpuArray:
    return padded(gpu, x, paddings, constant_value)


def padded(gpu: Gpu, x: GpuArray, paddings: Pairs, constant_value: creation.Scalar) -> GpuArray:
    """Return ``x`` with elements of one value around it."""
    shape, pairs = _without_seams(x.shape, paddings)
    if len(shape) > AXES:  # one half of what is padded after the other
        wide = [n for n, pair in enumerate(paddings) if any(pair)]
        at, none = wide[len(wide) // 2], ((0, 0),) * len(paddings)
        front = padded(gpu, x, (*paddings[:at], *none[at:]), constant_value)
        return padded(gpu, front, (*none[:at], *paddings[at:]), constant_value)
    grown = zip(x.shape, paddings, strict=True)
    y = gpu.empty(tuple(before + n + after for n, (before, after) in grown), x.dtype)
    if not y.size:
        return y
    is_vec4 = x.dtype != "complex64" and not any(n % 4 for n in (shape[-1], *pairs[-1]))
    unit, turns = 4 if is_vec4 else 1, gpu.policy.units_moved("PadV2")
    params = {
        "before": tuple(before for before, _ in pairs),
        "fill": creation.stored(constant_value, x.dtype),
        "units": y.size // unit,
        "turns": turns,
    }
    flat = gpu.contiguous(x)
    y_shape = tuple(before + n + after for n, (before, after) in zip(shape, pairs, strict=True))
    gpu.dispatch(
        "shapes/joining/pad_v2.wesl",
        {
            "x": gpu.view(flat, shape, row_major(shape), flat.offset),
            "y": gpu.view(y, y_shape, row_major(y_shape), 0),
        },
        configuration={"VEC4": is_vec4},
        params=params,
        groups=gpu.grid(math.ceil(y.size // unit / turns), 64),
    )
    return y


def _without_seams(shape: Shape, paddings: Pairs) -> tuple[Shape, list[tuple[int, int]]]:
    """Return the shape and paddings with each axis that has none joined to the one before."""
    lengths: list[int] = []
    pairs: list[tuple[int, int]] = []
    for length, (before, after) in zip(shape, paddings, strict=True):
        if lengths and not before and not after:
            lengths[-1] *= length
            pairs[-1] = (pairs[-1][0] * length, pairs[-1][1] * length)
        else:
            lengths.append(length)
            pairs.append((before, after))
    return tuple(lengths) or (1,), pairs or [(0, 0)]


@gradient("PadV2")
def _pad_v2_grad(dy: Tensor, x_shape: Shape, paddings: Pairs) -> Tensor:
    return run("Slice", dy, begin=[before for before, _ in paddings], size=x_shape)


@public(numpy="stack", tfjs="stack")
def stack(arrays: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Return the tensors, all of one shape and dtype, side by side along a new ``axis``.

    Raises:
        ShapeError: The shapes differ.
        DTypeError: The dtypes differ.

    Example:
        >>> wk.stack([[1, 2], [3, 4]], axis=1).tolist()
        [[1, 3], [2, 4]]
    """
    return run("Pack", sequence("stack", "arrays", arrays), axis=axis)


@signature("Pack")
@takes_bytes
@exact(*NUMBERS)
def _pack_signature(inputs: list[Spec], /, *, axis: int = 0) -> Spec:
    if not inputs:
        raise ArgumentError("Pack: inputs is empty; want at least one tensor.")
    first = inputs[0]
    for index, one in enumerate(inputs):
        if one.shape != first.shape:
            raise ShapeError(
                f"Pack: inputs[{index}] has shape {show(one.shape)} and inputs[0] "
                f"{show(first.shape)}; want the same."
            )
        if one.dtype != first.dtype:
            raise DTypeError(
                f"Pack: inputs[{index}] is {one.dtype} and inputs[0] {first.dtype}; "
                "want the same. Cast one."
            )
    at = normalize_axis("Pack", axis, first.ndim + 1)
    return first.like(shape=(*first.shape[:at], len(inputs), *first.shape[at:]))


@cpu_kernel("Pack")
def _pack_cpu(inputs: list[Array], *, axis: int) -> Array:
    return np.stack(inputs, axis)


@wgsl_kernel("Pack")
def _pack_webgpu(gpu: Gpu, inputs: list[GpuArray], *, axis: int) -> GpuArray:
    shape = inputs[0].shape
    at = axis % (len(shape) + 1)
    y = gpu.empty((*shape[:at], len(inputs), *shape[at:]), inputs[0].dtype)
    copy_blocks(gpu, inputs, y, [math.prod(shape[at:])] * len(inputs))
    return y


@gradient("Pack")
def _pack_grad(dy: Tensor, axis: int) -> Sequence[Tensor]:
    return dy.unstack(axis=axis)


@public(numpy="tile", tfjs="tile", method=True)
def tile(x: TensorLike, repetitions: int | Sequence[int]) -> Tensor:
    """Return ``x`` repeated along each axis.

    Args:
        x: Any tensor.
        repetitions: How often, per axis, or along the last; with fewer or more than axes, 1 stands
            in front of the shorter.

    Example:
        >>> wk.tile([[1, 2]], (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    reps = integers("Tile", "repetitions", repetitions)
    given = as_tensor(x)
    missing = len(reps) - given.ndim
    if missing > 0:
        given = shapes.reshape(given, (1,) * missing + given.shape)
    return run("Tile", given, reps=(1,) * -missing + reps)


@signature("Tile")
@exact(*NUMBERS)
def _tile_signature(x: Spec, /, *, reps: Sequence[int]) -> Spec:
    if len(reps) != x.ndim or any(n < 0 for n in reps):
        raise ShapeError(
            f"Tile: reps is {show(reps)} and x has shape {show(x.shape)}; "
            "want a count of at least 0 for each axis."
        )
    return x.like(shape=tuple(n * times for n, times in zip(x.shape, reps, strict=True)))


@cpu_kernel("Tile")
def _tile_cpu(x: Array, *, reps: Sequence[int]) -> Array:
    return np.tile(x, reps)


_COPIED_AXES = 8
"""Axes of a view that one dispatch copies."""


@wgsl_kernel("Tile")
def _tile_webgpu(gpu: Gpu, x: GpuArray, *, reps: Sequence[int]) -> GpuArray:
    """Copy a view in which each repeated axis is two, the first with stride 0."""
    several = [axis for axis, times in enumerate(reps) if times != 1]
    axes = sum(n != 1 for one in zip(x.shape, reps, strict=True) for n in one)
    if len(several) > 3 and axes > _COPIED_AXES:  # of three the view has seven axes at most
        half = several[len(several) // 2]
        inner = _tile_webgpu(gpu, x, reps=(*(1,) * half, *reps[half:]))
        return _tile_webgpu(gpu, inner, reps=(*reps[:half], *(1,) * (len(reps) - half)))
    shape: list[int] = []
    strides: list[int] = []
    for length, step, times in zip(x.shape, x.strides, reps, strict=True):
        shape += [length] if times == 1 else [times, length]
        strides += [step] if times == 1 else [0, step]
    repeated = gpu.contiguous(gpu.view(x, tuple(shape), tuple(strides), x.offset))
    y_shape = tuple(n * times for n, times in zip(x.shape, reps, strict=True))
    return gpu.view(repeated, y_shape, row_major(y_shape), repeated.offset)


@gradient("Tile")
def _tile_grad(dy: Tensor, x_shape: Shape, reps: Sequence[int]) -> Tensor:
    if dy.size == 0:
        return creation.zeros(x_shape, dtype=dy.dtype)
    shape: list[int] = []
    repeated: list[int] = []
    for length, times in zip(x_shape, reps, strict=True):
        if times != 1:
            repeated.append(len(shape))
        shape += [length] if times == 1 else [times, length]
    return shapes.reshape(dy, shape).sum(axis=repeated) if repeated else dy
