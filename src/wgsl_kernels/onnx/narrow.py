"""Values made to fit an element type: integers wrapped, floats rounded to those that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx import ops
from wgsl_kernels.onnx.types import BITS, CARRIERS, FLOATS, numpy_type

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeName


def fit(x: Tensor, name: str) -> Tensor:
    """Return ``x`` as a tensor that carries the element type ``name``; see `CARRIERS`.

    Integers keep their lowest bits. Floats are rounded to the nearest, ties to even; what is
    beyond the largest becomes an infinity, or NaN where the type has none.
    """
    carrier = CARRIERS[name]
    if name in BITS and BITS[name][0] < 32 and carrier == "int32":
        return _wrapped(_as(x, CARRIERS["int32"]), name)
    if name in FLOATS and name not in ("float", "float16", "double"):
        return rounded(_as(x, CARRIERS["float"]), name, saturate=False)
    return _as(x, carrier)


def _as(x: Tensor, dtype: DTypeName) -> Tensor:
    return x if x.dtype == dtype else ops.astype(x, dtype)


def _wrapped(x: Tensor, name: str) -> Tensor:
    bits, has_sign = BITS[name]
    low = ops.bitwise_and(x, (1 << bits) - 1)
    if not has_sign:
        return low
    half = 1 << bits - 1
    return ops.bitwise_xor(low, half) - half


def rounded(x: Tensor, name: str, *, saturate: bool) -> Tensor:
    """Return float32 rounded to the values that a narrow float type has, ties to even.

    Args:
        x: float32 of any shape.
        name: The type, such as ``float8e4m3fn``.
        saturate: Whether what is too large becomes the largest finite value. Otherwise it becomes
            an infinity, or NaN where the type has none.
    """
    values, beyond = _values(name, saturate=saturate)
    if name == "float8e8m0":
        return _power(x, values, saturate=saturate)
    middles = (values[:-1].astype(np.float64) + values[1:]) / 2
    size = ops.abs(x)
    table = ops.tensor(middles.astype(np.float32))
    below = _places(table, size, "left")
    through = _places(table, size, "right")
    even = ops.where(ops.equal(ops.bitwise_and(below, 1), 0), below, through)
    near = ops.take(ops.tensor(np.append(values[:-1], beyond)), even)
    has_zeros = not name.endswith("fnuz")  # of both signs
    near = ops.copysign(near, x) if has_zeros else ops.where(x < 0, 0.0 - near, near)
    if saturate and np.isnan(_largest_code(name)):
        near = ops.where(ops.isinf(x), ops.copysign(ops.full_like(x, float(values[-2])), x), near)
    return ops.where(ops.isnan(x), x, near)


def _places(table: Tensor, x: Tensor, side: str) -> Tensor:
    """Return the index of each value's nearest neighbour, from the middles between them."""
    found = ops.searchsorted(table, ops.reshape(x, (-1,)), side=side)
    return ops.reshape(found, x.shape)


def _largest_code(name: str) -> float:
    kind = numpy_type(name)
    return float(np.array(0x7F, np.uint8).view(kind)) if kind.itemsize == 1 else np.inf


def _values(
    name: str, *, saturate: bool
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float32]], float]:
    """Return the finite values from 0 up and the next one, and what that is rounded to."""
    kind = numpy_type(name)
    if name == "bfloat16":
        every = np.arange(1 << 15, dtype=np.uint16).view(kind).astype(np.float32)
    else:
        codes = 8 if name == "float4e2m1" else 256 if name == "float8e8m0" else 128
        every = np.arange(codes, dtype=np.uint8).view(kind).astype(np.float32)
    finite = every[np.isfinite(every)]
    finite = finite[(finite == 0) | (finite >= np.finfo(np.float32).tiny)]
    step = finite[-1].astype(np.float64) - finite[-2] if name != "float8e8m0" else finite[-1]
    next_one = min(finite[-1].astype(np.float64) + step, float(np.finfo(np.float32).max))
    has_infinity = bool(np.isinf(every).any())
    beyond = np.inf if has_infinity else np.nan
    if saturate or name == "float4e2m1":
        beyond = float(finite[-1])
    return np.append(finite, np.float32(next_one)), beyond


def _power(
    x: Tensor, values: np.ndarray[tuple[int], np.dtype[np.float32]], *, saturate: bool
) -> Tensor:
    """Return the power of two that float8e8m0 has for ``x``: the next one up."""
    powers = values[:-1]
    place = _places(ops.tensor(powers), ops.abs(x), "left")
    last = float(powers[-1]) if saturate else np.nan
    return ops.where(
        ops.isnan(x), x, ops.take(ops.tensor(np.append(powers, np.float32(last))), place)
    )
