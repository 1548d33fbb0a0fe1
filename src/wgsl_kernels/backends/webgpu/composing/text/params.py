"""The parameter block of a dispatch: which fact goes where, and the bytes of one call."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.errors.errors import coded
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_WORD = 0xFFFFFFFF
_INFINITY = 0x7F800000
_SIGN = 0x80000000
FIELD = "shader field "
"""How words begin about what a field of the parameters is given."""
_RANGES = {"u32": (0, _WORD), "i32": (-(1 << 31), (1 << 31) - 1)}


@dataclass(frozen=True, slots=True)
class Offer:
    """What a field of the uniform struct may be: its type in WGSL, and how it is filled.

    Attributes:
        fact: The name of what fills it: an attr, or ``x_shape``, ``x_strides``, ``x_offset``,
            ``x_size``, ``x_value`` of a tensor, or a word of the composer's own.
        pad: What stands in front of fewer numbers than it has elements: 1 for shapes, else 0.
        constant: True where the field holds only padding, whatever the facts are: the word
            ``wk_zero``, and facts of absent inputs.
        is_exact: Whether there must be as many numbers as elements: an attribute in a vector.
        is_complex: Whether it is a complex number, with 0 beside a real one.
        is_bounded: Whether a whole number must lie in the type's range; strides and offsets wrap.
    """

    type: str
    fact: str
    pad: int = 0
    constant: bool = False
    is_exact: bool = False
    is_complex: bool = False
    is_bounded: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the uniform struct, where it is.

    Attributes:
        scalar: Its element type: ``u32``, ``i32``, ``f32`` or ``f16``.
        slots: How many elements it has.
    """

    name: str
    offer: Offer
    offset: int
    scalar: str
    slots: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest whole number that it takes."""
        return _RANGES[self.scalar] if self.offer.is_bounded else (-_WORD, _WORD)


class Packer:
    """The packing plan of one shader, made ready so that a call costs a few microseconds.

    Args:
        kernel: The kernel's name, for errors.
        fields: What is packed.
        size: Bytes of the block.
        point: Leads words about the field of a name by where the author wrote it.
    """

    def __init__(
        self,
        kernel: str,
        fields: Sequence[Field],
        size: int,
        point: Callable[[str, str], str] = lambda _, words: words,
    ) -> None:
        self._kernel, self._point = kernel, point
        self._words = struct.Struct(f"<{size // 4}I")
        self._blank = [0] * (size // 4)
        self._plan: list[tuple[str, int, int, int, Field]] = []
        self._halves: list[Field] = []
        for field in fields:
            start, stop = field.offset // 4, field.offset // 4 + field.slots
            if field.scalar == "f16":
                self._halves += [] if field.offer.constant else [field]
                continue
            self._blank[start:stop] = [field.offer.pad] * field.slots
            if not field.offer.constant:
                low, high = (1, 0) if field.scalar == "f32" else field.bounds
                if field.offer.is_exact and field.slots > 1:
                    low, high = 1, 0  # no single number does
                self._plan.append((field.offer.fact, stop, low, high, field))

    def pack(self, facts: Mapping[str, Any]) -> bytes:
        """Return the parameter block of one dispatch.

        Args:
            facts: A value for the fact of every field that is not constant: a number, a bool, a
                complex number, or a sequence of numbers. More facts than fields may be given.

        Raises:
            ShaderError: A fact is missing, is no number, lies outside its field's range, or has
                more numbers than its field, or fewer than a vector has.
        """
        words = self._blank.copy()
        for fact, stop, low, high, field in self._plan:
            value = facts.get(fact, field)
            if type(value) is int and low <= value <= high:
                words[stop - 1] = value & _WORD
                continue
            numbers = self._numbers(field, value, facts)
            first = stop - len(numbers)
            words[first:stop] = [self._word(field, number) for number in numbers]
        block = self._words.pack(*words)
        return self._with_halves(block, facts) if self._halves else block

    def check(self, facts: Mapping[str, Any]) -> None:
        """Refuse facts that `pack` would refuse; those that are not known yet are left out."""
        for field in (*(one[-1] for one in self._plan), *self._halves):
            if field.offer.fact in facts:
                for number in self._numbers(field, facts[field.offer.fact], facts):
                    self._word(field, number)

    def _with_halves(self, block: bytes, facts: Mapping[str, Any]) -> bytes:
        changed = bytearray(block)
        for field in self._halves:
            numbers = self._numbers(field, facts.get(field.offer.fact, field), facts)
            with np.errstate(over="ignore"):  # what is too large becomes infinite, as in an f32
                numbers = [_as_float(self._number(field, n)) for n in numbers]
                halves = np.array(numbers, np.float16)
            changed[field.offset : field.offset + halves.nbytes] = halves.tobytes()
        return bytes(changed)

    def _numbers(self, field: Field, value: Any, facts: Mapping[str, Any]) -> Sequence[Any]:
        if value is field:
            raise coded("unknown-field", unfilled(self._kernel, field.name, tuple(facts)))
        numbers = _sequence(value)
        if len(numbers) > field.slots:
            listed = ", ".join(str(number) for number in numbers)
            raise self._wrong(
                field,
                f"has room for {field.slots} numbers; "
                f"{field.offer.fact} is [{listed}]. Use array<vec4<u32>, 2> for any rank.",
            )
        if field.offer.is_complex and len(numbers) == 1:
            return (*numbers, 0)
        if field.offer.is_exact and len(numbers) < field.slots:
            raise self._wrong(
                field,
                f"is a vector; {field.offer.fact} is {value!r}; want {field.slots} numbers.",
            )
        return numbers

    def _word(self, field: Field, number: Any) -> int:
        is_float = field.scalar in ("f32", "f16")
        value = number if type(number) is int and not is_float else self._number(field, number)
        if is_float:
            return float_bits(value)
        if type(value) is not int and (not np.isfinite(value) or int(value) != value):
            raise self._wrong(
                field,
                f"is a whole number; {field.offer.fact} is {number!r}.",
            )
        low, high = field.bounds
        if low <= value <= high:
            return int(value) & _WORD
        if not field.offer.is_bounded:
            raise self._wrong(field, f"has 32 bits; {field.offer.fact} is {number}.")
        raise self._wrong(
            field,
            f"is {field.scalar}; {field.offer.fact} is {number}; want {low} to {high}.",
        )

    def _wrong(self, field: Field, words: str) -> ShaderError:
        about = f"{FIELD}'{field.name}' {words}"
        return ShaderError(f"{self._kernel}: {self._point(field.name, about)}")

    def _number(self, field: Field, number: Any) -> Any:
        if not isinstance(number, (int, float, complex, np.generic)):
            raise self._wrong(
                field,
                f"is a number; {field.offer.fact} is "
                f"{shown(number)}. Return the field from params=.",
            )
        return number


def _sequence(value: Any) -> Sequence[Any]:
    if isinstance(value, tuple | list):
        return cast("Sequence[Any]", value)
    if isinstance(value, np.ndarray):
        return list(cast("Any", value).flat)
    if np.iscomplexobj(value):
        return (value.real, value.imag)
    return (value,)


def unfilled(kernel: str, field: str, known: Sequence[str]) -> str:
    names = ", ".join(one for one in known if not one.startswith("wk_")) or "none"
    return f"{kernel}: shader field '{field}' matches no attr or tensor fact; known: {names}."


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer of hundreds of digits
        return -np.inf if number < 0 else np.inf


def float_bits(number: Any) -> int:
    """Return the bits of ``number`` as a float32; what is too large becomes infinite."""
    if type(number) is np.float32:
        return int(number.view(np.uint32))
    value = _as_float(number)
    try:
        bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return _INFINITY | (_SIGN if value < 0 else 0)
    return bits
