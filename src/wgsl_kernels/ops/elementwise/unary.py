"""Ops of one tensor, elementwise: absolute value, sign, rounding, roots, clipping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.maps import mapped
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.ops.elementwise import binary, compare, complex, complex_maps, logical
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.numbers import as_float, bools_as_numbers, cut_for_integers, whole
from wgsl_kernels.ops.rules.specs import COMPLEX, FLOATS, NUMBERS
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import TensorLike
    from wgsl_kernels.engine.values.spec import Spec


@public(numpy="absolute fabs", tfjs="abs", operator="abs", method=True)
@elementwise(
    "Abs",
    "elementwise/unary/abs.wgsl",
    cpu=np.abs,
    gradient=lambda dy, x: dy * run("Sign", x),
    exact=NUMBERS,
)
def abs(x: TensorLike) -> Tensor:
    """Return the absolute value, elementwise; of complex numbers a float.

    The gradient at 0 is 0.

    Example:
        >>> wk.grad(wk.abs)(wk.tensor([-2.0, 0.0, 3.0])).tolist()
        [-1.0, 0.0, 1.0]
    """
    given = as_tensor(x)
    return run("ComplexAbs" if given.dtype in COMPLEXES else "Abs", given)


@public(numpy="ceil", tfjs="ceil", method=True)
@elementwise(
    "Ceil",
    "elementwise/unary/ceil.wesl",
    cpu=lambda x: np.ceil(x) if np.issubdtype(x.dtype, np.inexact) else x,
    gradient=lambda dy: creation.zeros_like(dy),
    exact=NUMBERS,
)
def ceil(x: TensorLike) -> Tensor:
    """Return the smallest whole number that is not below ``x``, elementwise.

    Example:
        >>> wk.ceil([1.2, -1.2]).tolist()
        [2.0, -1.0]
    """
    return run("Ceil", x)


@public(numpy="clip", tfjs="clipByValue", method=True)
def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Return ``x`` with what is below ``min`` or above ``max`` replaced by that.

    NaN stays NaN. The gradient is 0 outside the two, and 1 on them.

    Args:
        x: Floats or int32.
        min: The smallest value, or None for no limit; a tensor broadcasts, and gets a gradient.
        max: The largest value, or None for no limit; not below ``min``. Likewise.

    Raises:
        ArgumentError: ``min`` is above ``max``, or one is NaN.

    Example:
        >>> clip(tensor([-3.0, 0.5, 9.0]), 0.0, 6.0).numpy()
        array([0. , 0.5, 6. ], dtype=float32)
        >>> grad(lambda x: clip(x, 0.0, 6.0))(tensor([-3.0, 0.0, 6.0, 9.0])).tolist()
        [0.0, 1.0, 1.0, 0.0]
    """
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        above = x if min is None else binary.maximum(x, min)
        return above if max is None else binary.minimum(above, max)
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    return run("ClipByValue", x, clip_value_min=low, clip_value_max=high)


@signature("ClipByValue")
@exact(*NUMBERS)
def _clip_signature(x: Spec, /, *, clip_value_min: float, clip_value_max: float) -> Spec:
    require_dtype("ClipByValue", "x", x, "float32", "int32")
    if not clip_value_min <= clip_value_max:
        raise ArgumentError(
            f"ClipByValue: clip_value_min is {clip_value_min}, clip_value_max {clip_value_max}; "
            "want numbers with the smaller one first."
        )
    return x


@cpu_kernel("ClipByValue")
def _clip_cpu(x: Array, *, clip_value_min: float, clip_value_max: float) -> Array:
    if x.dtype == np.int32:
        return np.clip(x, whole(clip_value_min), whole(clip_value_max))
    return np.clip(x, x.dtype.type(clip_value_min), x.dtype.type(clip_value_max))


def _clip_params(clip_value_min: float, clip_value_max: float) -> dict[str, Any]:
    return {"whole_min": whole(clip_value_min), "whole_max": whole(clip_value_max)}


wgsl_kernel("ClipByValue", "elementwise/unary/clip_by_value.wesl", params=_clip_params)


@gradient("ClipByValue")
def _clip_grad(dy: Tensor, x: Tensor, clip_value_min: float, clip_value_max: float) -> Tensor:
    inside = logical.logical_and(x >= clip_value_min, x <= clip_value_max)
    return logical.where(inside, dy, 0.0)


@public(numpy="floor", tfjs="floor", method=True)
@elementwise(
    "Floor",
    "elementwise/unary/floor.wesl",
    cpu=lambda x: np.floor(x) if np.issubdtype(x.dtype, np.inexact) else x,
    gradient=lambda dy: creation.zeros_like(dy),
    exact=NUMBERS,
)
def floor(x: TensorLike) -> Tensor:
    """Return the largest whole number that is not above ``x``, elementwise.

    Example:
        >>> wk.floor([1.2, -1.2]).tolist()
        [1.0, -2.0]
    """
    return run("Floor", x)


@public(numpy="negative", tfjs="neg", operator="neg", method=True)
@elementwise(
    "Neg",
    "elementwise/unary/neg.wgsl",
    cpu=bools_as_numbers(np.negative),
    gradient=lambda dy: -dy,
    takes=COMPLEX,
    exact=NUMBERS,
)
def negative(x: TensorLike) -> Tensor:
    """Return ``-x``, elementwise; bools stay as they are.

    Example:
        >>> wk.negative([1.0, -2.0]).tolist()
        [-1.0, 2.0]
    """
    return run("Neg", x)


@public(numpy="reciprocal", tfjs="reciprocal", method=True)
@elementwise(
    "Reciprocal",
    "elementwise/unary/reciprocal.wesl",
    cpu=silent(cut_for_integers(np.reciprocal)),
    gradient=lambda dy, y: -(dy * complex.conj(binary.multiply(y, y))),
    takes=COMPLEX,
)
def reciprocal(x: TensorLike) -> Tensor:
    """Return ``1 / x``, elementwise; of integers cut toward zero, and 0 for 0.

    Example:
        >>> wk.reciprocal([2.0, -4.0]).tolist()
        [0.5, -0.25]
    """
    return run("Reciprocal", x)


@public(numpy="rint", tfjs="round", method=True)
@elementwise(
    "Round",
    "elementwise/unary/round.wesl",
    cpu=numerics.round_half_even,
    gradient=lambda dy: creation.zeros_like(dy),
    exact=NUMBERS,
)
def round(x: TensorLike) -> Tensor:
    """Return the nearest whole number, the even one of two, elementwise.

    Example:
        >>> wk.round([0.5, 1.5, -2.7]).tolist()
        [0.0, 2.0, -3.0]
    """
    try:
        return run("Round", x)
    except DTypeError:
        return complex_maps.of_complex("round", x)


@public(tfjs="rsqrt", method=True)
@elementwise(
    "Rsqrt",
    "elementwise/unary/rsqrt.wesl",
    cpu=lambda x: numerics.rsqrt(as_float(x)),
    gradient=lambda dy, y: dy * (y * y * (y * -0.5)),
    gives=FLOATS,
)
def rsqrt(x: TensorLike) -> Tensor:
    """Return ``1 / sqrt(x)``, elementwise; infinity at 0, NaN below it.

    Example:
        >>> wk.rsqrt([4.0, 0.25]).tolist()
        [0.5, 2.0]
    """
    return run("Rsqrt", x)


@public(numpy="sign", tfjs="sign", method=True)
@elementwise(
    "Sign",
    "elementwise/unary/sign.wesl",
    cpu=bools_as_numbers(numerics.sign),
    gradient=lambda dy: creation.zeros_like(dy),
    exact=NUMBERS,
)
def sign(x: TensorLike) -> Tensor:
    """Return -1, 0 or 1 with the sign of ``x``, elementwise; NaN of NaN; of complex x / abs(x).

    Example:
        >>> wk.sign([-3.0, 0.0, 2.0]).tolist()
        [-1.0, 0.0, 1.0]
    """
    given = as_tensor(x)
    if given.dtype in COMPLEXES:
        size = abs(given)
        is_zero = size == 0.0
        return logical.where(is_zero, 0.0, given / logical.where(is_zero, 1.0, size))
    return run("Sign", given)


@silent
def _sqrt_cpu(x: Array) -> Array:
    return mapped(np.sqrt, as_float(x))


@public(numpy="sqrt", tfjs="sqrt", method=True)
@elementwise(
    "Sqrt",
    "elementwise/unary/sqrt.wesl",
    cpu=_sqrt_cpu,
    gradient=lambda dy, y: dy / (y + y),
    gives=FLOATS,
)
def sqrt(x: TensorLike) -> Tensor:
    """Return the square root, elementwise; NaN below 0.

    Example:
        >>> wk.sqrt([4.0, -1.0]).tolist()
        [2.0, nan]
    """
    try:
        return run("Sqrt", x)
    except DTypeError:
        return complex_maps.of_complex("sqrt", x)


@public(numpy="square", tfjs="square", method=True)
@elementwise(
    "Square",
    "elementwise/unary/square.wesl",
    cpu=silent(bools_as_numbers(np.square)),
    gradient=lambda dy, x: dy * complex.conj(x + x),
    takes=COMPLEX,
    exact=NUMBERS,
)
def square(x: TensorLike) -> Tensor:
    """Return ``x * x``, elementwise; int32 wraps.

    Example:
        >>> wk.square([-3.0, 2.0]).tolist()
        [9.0, 4.0]
    """
    return run("Square", x)


@public(numpy="trunc", method=True)
def trunc(x: TensorLike) -> Tensor:
    """Return the whole number next to ``x`` toward zero, elementwise. The gradient is 0.

    Example:
        >>> trunc(tensor([-1.5, 1.5])).tolist()
        [-1.0, 1.0]
    """
    given = as_tensor(x)
    return logical.where(compare.less(given, 0), ceil(given), floor(given))
