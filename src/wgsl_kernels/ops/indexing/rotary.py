"""Rotary embeddings: pairs of numbers turned by an angle that their position says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import at_least, number
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import normalize_axis, require_dtype, show
from wgsl_kernels.ops.elementwise import cast, exponential
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.shapes import ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

_NAME = "RotaryEmbedding"


@public()
def rotary_angles(length: int, size: int, *, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines that `rotary_embedding` takes, for positions from 0 on.

    Position p has the angles ``p / base**(2 k / size)`` for its pairs k.

    Args:
        length: How many positions.
        size: How many numbers are turned: an even number.
        base: The angle of the last pair goes around once in about ``2 pi base`` positions.

    Returns:
        Cosines and sines, each [length, size / 2], float32.

    Raises:
        ArgumentError: A length is below 0, or ``size`` odd, or ``base`` not above 0.

    Example:
        >>> cos, sin = wk.rotary_angles(2, 4)
        >>> wk.rotary_embedding([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]], cos, sin).shape
        (2, 4)

    Source: Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.
    """
    op = "rotary_angles"
    rows, width = at_least(op, "length", length, 0), at_least(op, "size", size, 0)
    if width % 2:
        raise ArgumentError(f"{op}: size is {width}; want an even number.")
    around = number(op, "base", base)
    if not around > 0:
        raise ArgumentError(f"{op}: base is {around}; want a number above 0.")
    steps = [around ** (-2 * k / width) for k in range(width // 2)]
    places = shapes.reshape(cast.astype(ranges.arange(rows), "float32"), (rows, 1))
    angles = places * run("Reshape", np.array(steps, np.float32), shape=(1, width // 2))
    return exponential.cos(angles), exponential.sin(angles)


@public()
def rotary_embedding(
    x: TensorLike,
    cos: TensorLike,
    sin: TensorLike,
    *,
    positions: TensorLike | None = None,
    interleaved: bool = False,
    axis: int = -2,
) -> Tensor:
    """Return ``x`` with pairs of its numbers turned by the angle of their position.

    ``y[k] = x[k] cos - x[k + half] sin`` and ``y[k + half] = x[k + half] cos + x[k] sin``; numbers
    from ``2 half`` on stay as they are. The product of two that are turned so depends on how far
    apart their positions are alone. `rotary_angles` gives cosines and sines.

    Args:
        x: [batch, ..., steps, ..., size], float, as [batch, heads, steps, size].
        cos: [steps, half], or [batch, steps, half]; with ``positions`` [length, half].
        sin: The same shape.
        positions: [steps] or [batch, steps], int32: which rows of ``cos`` and ``sin`` are taken.
        interleaved: Whether pairs are numbers ``2 k`` and ``2 k + 1`` instead.
        axis: The axis of the steps: not the last.

    Returns:
        The shape of ``x``.

    Raises:
        ShapeError: The shapes do not fit.
        DTypeError: ``positions`` are not int32, or the others no floats.
        ArgumentError: ``axis`` is none, or the last.
        IndexOutOfRange: A position is outside ``cos``; where positions are on a GPU, raised by the
            next read.

    Example:
        >>> wk.rotary_embedding([[3.0, 4.0]], [[0.0]], [[1.0]]).tolist()
        [[-4.0, 3.0]]

    Source: Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021; ONNX's
    operator RotaryEmbedding.
    """
    return run("RotaryEmbedding", x, cos, sin, positions, interleaved=interleaved, axis=axis)


@signature(_NAME, promote=("x", "cos", "sin"), floats=("x", "cos", "sin"))
def _rotary_embedding_signature(
    x: Spec,
    cos: Spec,
    sin: Spec,
    positions: Spec | None = None,
    /,
    *,
    interleaved: bool = False,
    axis: int = -2,
    inverse: bool = False,
) -> Spec:
    del interleaved, inverse  # any will do
    if not is_float(x.dtype):
        raise DTypeError(f"{_NAME}: x has dtype {x.dtype}; want a float.")
    if x.ndim < 2:
        raise ShapeError(f"{_NAME}: x has shape {show(x.shape)}; want [..., steps, ..., size].")
    at = normalize_axis(_NAME, axis, x.ndim)
    if at == x.ndim - 1:
        raise ArgumentError(f"{_NAME}: axis is {axis}, the last of {x.ndim}; want one before it.")
    if cos.shape != sin.shape:
        raise ShapeError(
            f"{_NAME}: cos has shape {show(cos.shape)} and sin {show(sin.shape)}; want the same."
        )
    by_batch, by_step = (x.shape[0], x.shape[at]), (x.shape[at],)
    steps = (by_step, by_batch) if at else (by_step,)
    if positions is not None:
        require_dtype(_NAME, "positions", positions, "int32")
        if positions.shape not in steps:
            raise ShapeError(
                f"{_NAME}: positions has shape {show(positions.shape)}; want [steps] or [batch, "
                f"steps] of x, {' or '.join(map(show, steps))}."
            )
    fits = cos.ndim == 2 if positions is not None else cos.shape[:-1] in steps
    if not cos.ndim or not fits or 2 * cos.shape[-1] > x.shape[-1]:
        rows = "length" if positions is not None else " or ".join(show(one)[1:-1] for one in steps)
        raise ShapeError(
            f"{_NAME}: cos has shape {show(cos.shape)}; want [{rows}, half] for x of "
            f"{show(x.shape)}, with half at most {x.shape[-1] // 2}."
        )
    return x


@cpu_kernel(_NAME)
@silent
def _rotary_embedding_cpu(
    x: Array,
    cos: Array,
    sin: Array,
    positions: Array | None,
    *,
    interleaved: bool,
    axis: int,
    inverse: bool,
) -> Array:
    at, half = axis % x.ndim, cos.shape[-1]
    if positions is not None:
        _check_positions(positions, x.shape, cos.shape)
        cos, sin = cos[positions], sin[positions]
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    where = [1] * x.ndim
    where[at], where[-1] = x.shape[at], half
    if cos.ndim == 3:
        where[0] = x.shape[0]
    c, s = (one.reshape(where).astype(wide, copy=False) for one in (cos, sin))
    first, second = _pairs(half, interleaved)
    one, two = x[..., first].astype(wide, copy=False), x[..., second].astype(wide, copy=False)
    s = -s if inverse else s
    y = x.copy()
    y[..., first], y[..., second] = one * c - two * s, two * c + one * s
    return y


def _pairs(half: int, interleaved: bool) -> tuple[slice, slice]:
    """Return where the first and the second numbers of pairs are."""
    if interleaved:
        return slice(0, 2 * half, 2), slice(1, 2 * half, 2)
    return slice(0, half), slice(half, 2 * half)


def _check_positions(positions: Array, x_shape: Shape, cos_shape: Shape) -> None:
    shapes_of = {"x": x_shape, "cos": cos_shape, "positions": positions.shape}
    check_indices(_NAME, "positions", positions, cos_shape[0], shapes_of)


@wgsl_kernel(_NAME, dtypes=("float32", "float16"))
def _rotary_embedding_webgpu(
    gpu: Gpu,
    x: GpuArray,
    cos: GpuArray,
    sin: GpuArray,
    positions: GpuArray | None,
    *,
    interleaved: bool,
    axis: int,
    inverse: bool,
) -> GpuArray:
    at, half, steps = axis % len(x.shape), cos.shape[-1], x.shape[axis]
    y = gpu.empty(x.shape, x.dtype)
    arrays = {"x": x, "cos_": cos, "sin_": sin, "y": y}
    is_by_batch = len(cos.shape) == 3
    if positions is not None:
        gpu.check_known(positions, lambda values: _check_positions(values, x.shape, cos.shape))
        arrays["positions"] = positions
        is_by_batch = len(positions.shape) == 2
    if x.size:
        gpu.dispatch(
            "indexing/rotary/rotary_embedding.wesl",
            arrays,
            configuration={"POSITIONS": positions is not None, "INTERLEAVED": interleaved},
            params={
                "batch_size": math.prod(x.shape[1:]),
                "steps": steps,
                "inner": math.prod(x.shape[at + 1 : -1]),
                "size": x.shape[-1],
                "half": half,
                "rows": math.prod(cos.shape[:-1]),
                "batch_rows": steps if is_by_batch else 0,
                "sign": -1.0 if inverse else 1.0,
            },
        )
    return y


@gradient(_NAME)
def _rotary_embedding_grad(
    dy: Tensor,
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor | None,
    interleaved: bool,
    axis: int,
    inverse: bool,
) -> tuple[Lazy | None, ...]:
    # dx is dy turned back; dcos, dsin are the sums over heads of x1 dy1 + x2 dy2, x1 dy2 - x2 dy1
    half, at = cos.shape[-1], axis % x.ndim
    first, second = _pairs(half, interleaved)

    def parts(one: Tensor) -> tuple[Tensor, Tensor]:
        return one[..., first], one[..., second]

    def dx() -> Tensor:
        turned = {"interleaved": interleaved, "axis": axis, "inverse": not inverse}
        return run(_NAME, dy, cos, sin, positions, **turned)

    def by_row(products: Tensor) -> Tensor:
        is_by_batch = cos.ndim == 3 or (positions is not None and positions.ndim == 2)
        kept = {0, at, x.ndim - 1} if is_by_batch else {at, x.ndim - 1}
        total = reduce.sum(products, axis=tuple(n for n in range(x.ndim) if n not in kept))
        if positions is None:
            return total
        rows = shapes.reshape(total, (positions.size, half))
        places = shapes.reshape(positions, (positions.size,))
        return run("UnsortedSegmentSum", rows, places, num_segments=cos.shape[0])

    def dcos() -> Tensor:
        (x1, x2), (dy1, dy2) = parts(x), parts(dy)
        return by_row(x1 * dy1 + x2 * dy2)

    def dsin() -> Tensor:
        (x1, x2), (dy1, dy2) = parts(x), parts(dy)
        found = by_row(x1 * dy2 - x2 * dy1)
        return -found if inverse else found

    return dx, dcos, dsin, None
