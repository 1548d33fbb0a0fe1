"""Narrow types of numbers: how many bits each has, and what its codes stand for.

No tensor has these dtypes. Their codes are packed into tensors of uint8, the first one in a byte's
lowest bits; types of 16 bits are in two bytes, the lower one first.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.dtypes import OBJECTS
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.dtypes import DTypeName


@dataclass(frozen=True, slots=True)
class NarrowKind:
    """A type of numbers of few bits.

    Attributes:
        bits: Of a code: 2, 4, 8 or 16.
        has_sign: Whether there are negative numbers.
        mantissa: Bits of a float's fraction; None for integers.
        bias: What a float's exponent is above the power of two.
        specials: What is no finite number: ``""`` nothing, ``"ieee"`` infinities and NaN at the
            highest exponent, ``"fn"`` NaN at the highest code, ``"fnuz"`` NaN in place of -0.
    """

    bits: int
    has_sign: bool
    mantissa: int | None = None
    bias: int = 0
    specials: str = ""

    @property
    def is_integer(self) -> bool:
        return self.mantissa is None

    @property
    def wide(self) -> DTypeName:
        """The dtype that has all its numbers."""
        return OBJECTS["int32" if self.is_integer else "float32"]

    def size_of(self, nbytes: int) -> int:
        """Return how many codes so many bytes hold."""
        return nbytes * 8 // self.bits

    def bytes_of(self, size: int) -> int:
        """Return the bytes that so many codes take."""
        return -(-size * self.bits // 8)


KINDS: Mapping[str, NarrowKind] = MappingProxyType(
    {
        "int2": NarrowKind(2, True),
        "uint2": NarrowKind(2, False),
        "int4": NarrowKind(4, True),
        "uint4": NarrowKind(4, False),
        "int8": NarrowKind(8, True),
        "uint8": NarrowKind(8, False),
        "int16": NarrowKind(16, True),
        "uint16": NarrowKind(16, False),
        "bfloat16": NarrowKind(16, True, 7, 127, "ieee"),
        "float4_e2m1fn": NarrowKind(4, True, 1, 1),
        "float8_e4m3fn": NarrowKind(8, True, 3, 7, "fn"),
        "float8_e4m3fnuz": NarrowKind(8, True, 3, 8, "fnuz"),
        "float8_e5m2": NarrowKind(8, True, 2, 15, "ieee"),
        "float8_e5m2fnuz": NarrowKind(8, True, 2, 16, "fnuz"),
        "float8_e8m0fnu": NarrowKind(8, False, 0, 127, "fn"),
    }
)
"""By ``ml_dtypes``' names, and NumPy's."""


def kind_of(op: str, name: object) -> NarrowKind:
    """Return the kind of a name.

    Raises:
        ArgumentError: There is none.
    """
    if not isinstance(name, str) or name not in KINDS:
        raise ArgumentError(f"{op}: kind is {shown(name)}; want one of {', '.join(KINDS)}.")
    return KINDS[name]


def unpacked(
    packed: Array, kind: NarrowKind, size: int | None = None, dtype: np.dtype[Any] | None = None
) -> Array:
    """Return the numbers that bytes hold.

    Args:
        packed: [..., bytes], uint8 or int8.
        kind: What the codes stand for.
        size: How many numbers there are along the last axis; all that fit, if left out.
        dtype: The result's; `NarrowKind.wide`, if left out.
    """
    wanted = np.dtype(kind.wide) if dtype is None else dtype
    count = kind.size_of(packed.shape[-1]) if size is None else size
    codes = np.ascontiguousarray(packed).view(np.uint8)
    if kind.bits == 16:
        both: Array = codes[..., : count * 2].view("<u2")
        if not kind.is_integer:
            return (both.astype(np.uint32) << 16).view(np.float32).astype(wanted, copy=False)
        return both.astype(np.int16 if kind.has_sign else np.uint16, copy=False).astype(wanted)
    table = np.ascontiguousarray(_table(kind), wanted)
    nbytes = table.itemsize * table.shape[1]
    moved = table.view(_MOVED.get(nbytes, f"V{nbytes}")).reshape(256)
    found: Array = moved[codes].view(wanted)
    return found[..., :count]


def packed(codes: Array, bits: int) -> Array:
    """Return codes, of at most 8 bits, packed into bytes along the last axis.

    Args:
        codes: [..., size], uint8; only the lowest bits of each count.
        bits: Of a code.
    """
    each = 8 // bits
    padding = [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)]
    padded = np.pad(codes & np.uint8((1 << bits) - 1), padding)
    fields = padded.reshape(*codes.shape[:-1], -1, each)
    shifts = (np.arange(each) * bits).astype(np.uint8)
    found: Array = np.bitwise_or.reduce(fields << shifts, -1)
    return found


_MOVED = {4: "u4", 8: "u8", 16: "c16"}
"""As what NumPy moves so many bytes at a time."""


def _table(kind: NarrowKind) -> Array:
    """Return the numbers of each byte, [256, numbers in a byte]."""
    each = 8 // kind.bits
    shifts = np.arange(each) * kind.bits
    found: Array = _numbers(kind)[np.arange(256)[:, None] >> shifts & (1 << kind.bits) - 1]
    return found


def _numbers(kind: NarrowKind) -> Array:
    """Return what each code of at most 8 bits stands for."""
    codes = np.arange(1 << kind.bits)
    if kind.mantissa is None:
        half = 1 << kind.bits - 1
        return np.asarray((codes ^ half) - half if kind.has_sign else codes, np.int32)
    if kind.mantissa == 0:
        powers: Array = np.exp2(codes - float(kind.bias))
        return np.where(codes == 255, np.nan, powers).astype(np.float32)
    magnitudes = codes & (1 << kind.bits - 1) - 1
    exponents, fractions = magnitudes >> kind.mantissa, magnitudes & (1 << kind.mantissa) - 1
    steps = np.exp2(np.maximum(exponents, 1) - float(kind.bias + kind.mantissa))
    values: Array = steps * (fractions + (exponents > 0) * (1 << kind.mantissa))
    highest = magnitudes == magnitudes.max()
    if kind.specials == "ieee":
        top = exponents == exponents.max()
        values = np.where(top, np.where(fractions == 0, np.inf, np.nan), values)
    elif kind.specials == "fn":
        values = np.where(highest, np.nan, values)
    values = np.where(codes > magnitudes, -values, values)
    if kind.specials == "fnuz":
        values = np.where(codes == 1 << kind.bits - 1, np.nan, values)
    return values.astype(np.float32)
