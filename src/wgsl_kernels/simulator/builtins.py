"""WGSL's own functions on NumPy values.

Where WGSL leaves a choice, as what ``min`` gives beside a NaN or whether ``fma`` rounds once, it is
that of Mesa's software drivers: the other number, and twice.
Source: WebGPU Shading Language, section 17, built-in functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.simulator.domains import FLOAT32
from wgsl_kernels.simulator.masks import each

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Conversions and integers.


def converted(kind: str, x: Any, scalars: Mapping[str, Any] = FLOAT32.scalars) -> Any:
    """Return a number as another type of WGSL's has it.

    Source: section 17.1.2, value constructors; floats become the nearest integer that there is.
    """
    x = np.asarray(x)
    if kind == "bool":
        return x != 0
    wanted = scalars[kind]
    if kind in ("i32", "u32") and x.dtype.kind == "f":
        low, high = (-(2.0**31), 2.0**31 - 128) if kind == "i32" else (0.0, 2.0**32 - 256)
        wide = np.clip(np.nan_to_num(np.trunc(x.astype(np.float64))), low, high)
        return wide.astype(np.int64).astype(wanted)
    return x.astype(wanted)


def saturated(kind: str, x: float) -> Any:
    """Return a constant float as an integer, the nearest that there is.

    Source: section 17.1.2; floats without a type of their own are not rounded to f32 before.
    """
    limits = np.iinfo(FLOAT32.scalars[kind])
    return FLOAT32.scalars[kind](min(max(int(x), limits.min), limits.max))


def bits(kind: str, x: Any) -> Any:
    """Return the same bits as another type of as many."""
    return np.ascontiguousarray(x).view(FLOAT32.scalars[kind])[()] if np.ndim(x) else _one(kind, x)


def _one(kind: str, x: Any) -> Any:
    return np.asarray(x).reshape(1).view(FLOAT32.scalars[kind])[0]


def divided(a: Any, b: Any) -> Any:
    """Divide integers towards zero; by zero it is the dividend."""
    a, b = np.broadcast_arrays(a, b)
    if a.dtype.kind == "u":
        return np.where(b == 0, a, a // np.where(b == 0, a.dtype.type(1), b))
    bad = (b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min))
    safe = np.where(bad, a.dtype.type(1), b)
    quotient = a // safe
    rest = a - quotient * safe
    raised = (rest != 0) & ((a < 0) != (safe < 0))  # NumPy rounds down
    return np.where(bad, a, quotient + raised.astype(a.dtype))


def remainder(a: Any, b: Any) -> Any:
    """Return what is left of a division of integers; by zero it is zero."""
    a, b = np.broadcast_arrays(a, b)
    bad = b == 0
    if a.dtype.kind == "i":
        bad = bad | (b == -1)
    safe = np.where(bad, a.dtype.type(1), b)
    return np.where(bad, a.dtype.type(0), np.fmod(a, safe))


def shifted_left(a: Any, b: Any) -> Any:
    """Shift by as many bits as the count has, modulo 32."""
    return np.left_shift(a, np.bitwise_and(b, 31).astype(np.asarray(a).dtype))


def shifted_right(a: Any, b: Any) -> Any:
    """Shift likewise; the sign comes in where there is one."""
    return np.right_shift(a, np.bitwise_and(b, 31).astype(np.asarray(a).dtype))


def _leading_zeros(x: Any) -> Any:
    return (32 - _length(x)).astype(np.asarray(x).dtype)


def _length(x: Any) -> Any:
    """Return how many bits a number takes, of its pattern."""
    wide = np.asarray(x).astype(np.uint32).astype(np.float64)
    return np.where(wide > 0, np.frexp(wide)[1], 0).astype(np.int64)


def _trailing_zeros(x: Any) -> Any:
    x = np.asarray(x)
    plain = x.astype(np.uint32)
    low = plain & (~plain + np.uint32(1))
    return np.where(plain == 0, 32, _length(low) - 1).astype(x.dtype)


def _first_leading(x: Any) -> Any:
    x = np.asarray(x)
    pattern = np.where(x < 0, ~x, x) if x.dtype.kind == "i" else x
    return (_length(pattern) - 1).astype(x.dtype)


def _first_trailing(x: Any) -> Any:
    x = np.asarray(x)
    return np.where(x == 0, -1, _trailing_zeros(x)).astype(x.dtype)


def _reversed(x: Any) -> Any:
    x = np.asarray(x)
    word = x.astype(np.uint32)
    for places, kept in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        step, some = np.uint32(places), np.uint32(kept)
        word = ((word >> step) & some) | ((word & some) << step)
    return ((word >> np.uint32(16)) | (word << np.uint32(16))).astype(x.dtype)


def _field(offset: Any, count: Any) -> tuple[Any, Any]:
    offset = np.minimum(np.asarray(offset).astype(np.int64), 32)
    return offset, np.minimum(np.asarray(count).astype(np.int64), 32 - offset)


def _extracted(x: Any, offset: Any, count: Any) -> Any:
    x = np.asarray(x)
    offset, count = _field(offset, count)
    word = (x.astype(np.int64) & 0xFFFFFFFF) >> offset
    found = word & ((np.int64(1) << count) - 1)
    if x.dtype.kind == "i":
        sign = np.int64(1) << np.maximum(count - 1, 0)
        found = np.where(count > 0, (found ^ sign) - sign, 0)
    return found.astype(x.dtype)


def _inserted(x: Any, new: Any, offset: Any, count: Any) -> Any:
    x = np.asarray(x)
    offset, count = _field(offset, count)
    hole = ((np.int64(1) << count) - 1) << offset
    word = x.astype(np.int64) & 0xFFFFFFFF & ~hole
    return (word | ((np.asarray(new).astype(np.int64) << offset) & hole)).astype(x.dtype)


# Packed words.


def _packed(kind: str) -> Callable[[Any], Any]:
    size = 16 if kind.startswith("2") else 8

    def pack(parts: Any) -> Any:
        word = np.uint32(0)
        for number, one in enumerate(parts):
            place = np.uint32(number * size)
            word = word | (_pieces(kind, one).astype(np.uint32) << place)
        return word

    return pack


def _pieces(kind: str, x: Any) -> Any:
    x = np.asarray(x)
    if kind == "2x16float":
        return x.astype(np.float16).view(np.uint16)
    if "norm" in kind:
        top, low = _NORMAL[kind]
        scaled = np.floor(0.5 + top * np.clip(x.astype(np.float64), low, 1.0)).astype(np.int64)
        return scaled & (0xFFFF if kind.startswith("2") else 0xFF)
    if kind.endswith("Clamp"):
        x = np.clip(x, -128, 127) if "I8" in kind else np.minimum(x, 255)
    return x.astype(np.int64) & 0xFF


_NORMAL = {
    "4x8snorm": (127.0, -1.0), "4x8unorm": (255.0, 0.0),
    "2x16snorm": (32767.0, -1.0), "2x16unorm": (65535.0, 0.0),
}  # fmt: skip


def _unpacked(kind: str) -> Callable[[Any], list[Any]]:
    size, count = (16, 2) if kind.startswith("2") else (8, 4)

    def unpack(word: Any) -> list[Any]:
        word = np.asarray(word, np.uint32)
        return [_piece(kind, word, number * size, size) for number in range(count)]

    return unpack


def _piece(kind: str, word: Any, place: int, size: int) -> Any:
    plain = (word >> np.uint32(place)) & np.uint32((1 << size) - 1)
    if kind == "2x16float":
        return plain.astype(np.uint16).view(np.float16).astype(np.float32)
    if kind == "4xU8":
        return plain
    signed = _extracted(plain.view(np.int32) if np.ndim(plain) else plain.astype(np.int32), 0, size)
    if kind == "4xI8":
        return signed
    top, low = _NORMAL[kind]
    value = (signed if low else plain).astype(np.float32) / np.float32(top)
    return np.maximum(value, np.float32(low))


def _dot_packed(kind: str) -> Callable[[Any, Any], Any]:
    unpack = _unpacked(kind)

    def dot(a: Any, b: Any) -> Any:
        return sum(x * y for x, y in zip(unpack(a), unpack(b), strict=True))

    return dot


# Vectors.


def dot(a: Any, b: Any) -> Any:
    """Return the sum of the products of two vectors' components, from the first on."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _length_of(x: Any) -> Any:
    return np.sqrt(dot(x, x)) if isinstance(x, list) else np.abs(x)


def _normalized(x: list[Any]) -> list[Any]:
    length = _length_of(x)
    return [one / length for one in x]


def _cross(a: list[Any], b: list[Any]) -> list[Any]:
    return [a[k - 2] * b[k - 1] - a[k - 1] * b[k - 2] for k in range(3)]


def product(a: Any, b: Any) -> Any:
    """Return the product of two matrices, or of a matrix and a vector; matrices are of columns."""
    if not isinstance(a[0], list):
        return [dot(a, column) for column in b]
    if isinstance(b[0], list):
        return [product(a, column) for column in b]
    rows = range(len(a[0]))
    return [dot([column[row] for column in a], b) for row in rows]


def _determinant(m: list[list[Any]]) -> Any:
    if len(m) == 1:
        return m[0][0]
    total: Any = 0
    for number, column in enumerate(m):
        rest = [one[1:] for k, one in enumerate(m) if k != number]
        part = column[0] * _determinant(rest)
        total = total - part if number % 2 else total + part
    return total


def _reflected(x: list[Any], normal: list[Any]) -> list[Any]:
    twice = 2 * dot(normal, x)
    return [a - twice * n for a, n in zip(x, normal, strict=True)]


def _faced(a: list[Any], b: list[Any], c: list[Any]) -> list[Any]:
    forward = dot(b, c) < 0
    return [np.where(forward, one, -one) for one in a]


def _refracted(x: list[Any], normal: list[Any], ratio: Any) -> list[Any]:
    along = dot(normal, x)
    k = 1 - ratio * ratio * (1 - along * along)
    bent = [
        ratio * a - (ratio * along + np.sqrt(np.maximum(k, 0))) * n
        for a, n in zip(x, normal, strict=True)
    ]
    return [np.where(k < 0, one.dtype.type(0), one) for one in bent]


def all_of(x: Any) -> Any:
    return np.logical_and.reduce(np.broadcast_arrays(*x)) if isinstance(x, list) else x


def any_of(x: Any) -> Any:
    return np.logical_or.reduce(np.broadcast_arrays(*x)) if isinstance(x, list) else x


# Numbers.


def _as_whole(a: Any, b: Any) -> Any:
    return np.asarray(b).astype(np.int32) if np.asarray(a).dtype.kind == "f" else b


def _smooth(low: Any, high: Any, x: Any) -> Any:
    t = np.clip((x - low) / (high - low), 0, 1).astype(np.asarray(x).dtype)
    return t * t * (3 - 2 * t)


def _fraction(x: Any) -> list[Any]:
    part, exponent = np.frexp(x)
    return [part, np.asarray(exponent).astype(np.int32)]


def _whole(x: Any) -> list[Any]:
    whole = np.trunc(x)
    return [x - whole, whole]


def _by_component(function: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    def called(x: Any) -> list[Any]:
        if not isinstance(x, list):
            return function(x)
        parts = [function(one) for one in x]
        return [[one[0] for one in parts], [one[1] for one in parts]]

    return called


COMPONENTWISE: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh,
    "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
    "clamp": lambda x, low, high: np.fmin(np.fmax(x, low), high),
    "countLeadingZeros": _leading_zeros,
    "countOneBits": lambda x: np.bitwise_count(np.asarray(x).view(np.uint32)).astype(x.dtype),
    "countTrailingZeros": _trailing_zeros,
    "degrees": np.degrees,
    "exp": np.exp, "exp2": np.exp2,
    "extractBits": _extracted, "firstLeadingBit": _first_leading,
    "firstTrailingBit": _first_trailing, "insertBits": _inserted, "reverseBits": _reversed,
    "floor": np.floor, "fma": lambda a, b, c: a * b + c,
    "fract": lambda x: x - np.floor(x),
    "inverseSqrt": lambda x: np.asarray(x).dtype.type(1) / np.sqrt(x),
    "ldexp": lambda x, n: np.ldexp(x, _as_whole(x, n)),
    "log": np.log, "log2": np.log2,
    "max": lambda a, b: np.fmax(a, b), "min": lambda a, b: np.fmin(a, b),
    "mix": lambda a, b, t: a * (np.asarray(t).dtype.type(1) - t) + b * t,
    "pow": np.power,
    "quantizeToF16": lambda x: np.asarray(x).astype(np.float16).astype(np.asarray(x).dtype),
    "radians": np.radians, "round": np.rint,
    "saturate": lambda x: np.fmin(np.fmax(x, np.asarray(x).dtype.type(0)), 1),
    "select": lambda no, yes, which: np.where(which, yes, no),
    "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "smoothstep": _smooth, "sqrt": np.sqrt,
    "step": lambda edge, x: np.where(x >= edge, np.asarray(x).dtype.type(1), 0).astype(x.dtype),
    "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
"""Functions that each component goes through by itself."""

WHOLE: Mapping[str, Callable[..., Any]] = {
    "all": all_of,
    "any": any_of,
    "cross": _cross,
    "determinant": _determinant,
    "distance": lambda a, b: _length_of(each(np.subtract, a, b)),
    "dot": dot,
    "faceForward": _faced,
    "frexp": _by_component(_fraction),
    "length": _length_of,
    "modf": _by_component(_whole),
    "normalize": _normalized,
    "reflect": _reflected,
    "refract": _refracted,
    "transpose": lambda m: [list(row) for row in zip(*m, strict=True)],
    "dot4I8Packed": _dot_packed("4xI8"),
    "dot4U8Packed": _dot_packed("4xU8"),
    **{
        f"pack{kind}": _packed(kind)
        for kind in ("4xI8", "4xU8", "4xI8Clamp", "4xU8Clamp", "2x16float", *_NORMAL)
    },
    **{f"unpack{kind}": _unpacked(kind) for kind in ("4xI8", "4xU8", "2x16float", *_NORMAL)},
}
"""Functions of whole vectors, matrices and words."""
