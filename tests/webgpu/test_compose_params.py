"""The parameter block: padding, wrapping, exact bits, and what it refuses."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from wgsl_kernels.backends.webgpu.composing.text.params import Field, Offer, Packer
from wgsl_kernels.engine.environment.errors import ShaderError


def field(name: str, fact: str, offset: int, scalar: str, slots: int, **how: Any) -> Field:
    return Field(name, Offer("", fact, **how), offset, scalar, slots)


def words(fields: list[Field], size: int, **facts: Any) -> list[int]:
    return list(struct.unpack(f"<{size // 4}I", Packer("Probe", fields, size).pack(facts)))


def test_shapes_and_strides_are_padded_in_front() -> None:
    fields = [
        field("x_shape", "x_shape", 0, "u32", 4, pad=1),
        field("x_strides", "x_strides", 16, "u32", 4),
        field("wk_zero", "wk_zero", 32, "u32", 1, constant=True),
    ]
    found = words(fields, 48, x_shape=(2, 3), x_strides=(-3, 1))
    assert found == [1, 1, 2, 3, 0, 0, 2**32 - 3, 1, 0, 0, 0, 0]


def test_scalars_keep_their_bits() -> None:
    fields = [field(name, name, 4 * i, "f32", 1) for i, name in enumerate("abcd")]
    odd_nan = np.uint32(0x7FC12345).view(np.float32)
    found = words(fields, 16, a=odd_nan, b=-np.inf, c=1e300, d=np.float32(0.1))
    assert found == [0x7FC12345, 0xFF800000, 0x7F800000, struct.unpack("<I", b"\xcd\xcc\xcc=")[0]]


def test_bools_complex_numbers_arrays_and_halves() -> None:
    fields = [
        field("flag", "flag", 0, "u32", 1),
        field("z", "z", 8, "f32", 2),
        field("steps", "steps", 16, "i32", 3),
        field("half", "half", 28, "f16", 1),
    ]
    block = Packer("Probe", fields, 32).pack(
        {"flag": True, "z": 1 - 2j, "steps": np.array([1, -1, 2]), "half": 0.5}
    )
    assert struct.unpack("<I4x2f3ie2x", block) == (1, 1.0, -2.0, 1, -1, 2, 0.5)


def test_a_real_number_is_a_complex_one_with_0_beside_it() -> None:
    fields = [field("z", "z", 0, "f32", 2, is_exact=True, is_complex=True)]
    one = struct.unpack("<I", struct.pack("<f", 1.0))[0]

    assert words(fields, 16, z=1) == words(fields, 16, z=1.0) == [one, 0, 0, 0]
    assert words(fields, 16, z=1j) == [0, one, 0, 0]
    with pytest.raises(ShaderError, match=r"room for 2 numbers; z is \[1, 2, 3\]"):
        words(fields, 16, z=(1, 2, 3))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1, 2, 3), r"'f' has room for 2 numbers; f is \[1, 2, 3\]"),
        (None, "'f' is a number; f is None"),
        ("same", "'f' is a number; f is 'same'"),
        (0.5, "'f' is a whole number; f is 0.5"),
        (float("nan"), "'f' is a whole number; f is nan"),
    ],
)
def test_what_does_not_fit_a_field_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ShaderError, match=f"Probe: shader field {message}"):
        words([field("f", "f", 0, "u32", 2)], 16, f=value)


def test_a_missing_fact_is_named() -> None:
    with pytest.raises(ShaderError, match="'f' matches no attr or tensor fact; known: a, b"):
        words([field("f", "f", 0, "u32", 2)], 16, a=1, b=2)
