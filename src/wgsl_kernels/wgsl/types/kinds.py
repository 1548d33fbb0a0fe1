"""The types of WGSL, and how one becomes another; each prints as the specification writes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number or a bool; numbers without a suffix are ``AbstractInt`` or ``AbstractFloat``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Vector:
    """``vecN<element>``."""

    size: int
    element: Scalar

    def __str__(self) -> str:
        return f"vec{self.size}<{self.element}>"


@dataclass(frozen=True, slots=True)
class Matrix:
    """``matCxR<element>``."""

    columns: int
    rows: int
    element: Scalar

    def __str__(self) -> str:
        return f"mat{self.columns}x{self.rows}<{self.element}>"


@dataclass(frozen=True, slots=True)
class Array:
    """``array<element, count>``; the count is text where it has no value yet, None at run time."""

    element: Type
    count: int | str | None

    def __str__(self) -> str:
        return f"array<{self.element}{'' if self.count is None else f', {self.count}'}>"


@dataclass(frozen=True, slots=True)
class Atomic:
    """``atomic<element>``."""

    element: Scalar

    def __str__(self) -> str:
        return f"atomic<{self.element}>"


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct, known by its name."""

    name: str
    members: dict[str, Type] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Reference:
    """What the name of a variable is: its place in memory, read where a value is wanted."""

    space: str
    store: Type
    access: str

    def __str__(self) -> str:
        return f"ref<{self.space}, {self.store}, {self.access}>"


@dataclass(frozen=True, slots=True)
class Pointer:
    """``ptr<space, store, access>``."""

    space: str
    store: Type
    access: str

    def __str__(self) -> str:
        return f"ptr<{self.space}, {self.store}, {self.access}>"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A texture, a sampler, or what else has no parts that a program can name."""

    name: str
    templates: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(self.templates)}>" if self.templates else self.name


Type: TypeAlias = (
    Scalar | Vector | Matrix | Array | Atomic | StructType | Reference | Pointer | Opaque
)

BOOL, I32, U32, F32, F16 = (Scalar(name) for name in ("bool", "i32", "u32", "f32", "f16"))
ABSTRACT_INT, ABSTRACT_FLOAT = Scalar("AbstractInt"), Scalar("AbstractFloat")
SCALARS = {name: Scalar(name) for name in ("bool", "i32", "u32", "f32", "f16", "i64", "u64", "f64")}
VOID = Opaque("nothing")
"""What a call returns that has no value."""
INTEGERS = frozenset({"i32", "u32", "i64", "u64", "AbstractInt"})
FLOATS = frozenset({"f32", "f16", "f64", "AbstractFloat"})
_CONVERSIONS = {
    "AbstractInt": frozenset({"AbstractFloat", "i32", "u32", "f32", "f16", "i64", "u64", "f64"}),
    "AbstractFloat": frozenset({"f32", "f16", "f64"}),
}
"""Source: WebGPU Shading Language, section 6.1.2, conversion ranks."""


def scalar_of(type_: Type) -> Scalar | None:
    """Return the scalar that a number, a vector, a matrix or an atomic is made of."""
    if isinstance(type_, Scalar):
        return type_
    return type_.element if isinstance(type_, (Vector, Matrix, Atomic)) else None


def with_scalar(type_: Type, scalar: Scalar) -> Type:
    """Return a type of the same shape that is made of ``scalar``."""
    if isinstance(type_, Scalar):
        return scalar
    return replace(type_, element=scalar) if isinstance(type_, (Vector, Matrix)) else type_


def common(one: Type, other: Type) -> Type | None:
    """Return the type that both can be without losing anything, None where there is none."""
    if one == other:
        return one
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        if other.name in _CONVERSIONS.get(one.name, ()):
            return other
        return one if one.name in _CONVERSIONS.get(other.name, ()) else None
    if isinstance(one, Array) and isinstance(other, Array) and _same_count(one, other):
        element = common(one.element, other.element)
        return None if element is None else replace(one, element=element)
    if isinstance(one, (Vector, Matrix)) and isinstance(other, (Vector, Matrix)):
        scalar = common(one.element, other.element)
        if isinstance(scalar, Scalar) and with_scalar(one, scalar) == with_scalar(other, scalar):
            return with_scalar(one, scalar)
    return None


def converts(given: Type, wanted: Type) -> bool:
    """Say whether a value of type ``given`` may stand where ``wanted`` is."""
    return common(given, wanted) == wanted


def concrete(type_: Type) -> Type:
    """Return the type of a variable that is made from a value of ``type_``."""
    if isinstance(type_, Array):
        return replace(type_, element=concrete(type_.element))
    scalar = scalar_of(type_)
    if scalar == ABSTRACT_INT:
        return with_scalar(type_, I32)
    return with_scalar(type_, F32) if scalar == ABSTRACT_FLOAT else type_


def value_of(type_: Type) -> Type:
    """Return what is read from a reference; any other type is itself."""
    return type_.store if isinstance(type_, Reference) else type_


def _same_count(one: Array, other: Array) -> bool:
    return one.count == other.count or isinstance(one.count, str) or isinstance(other.count, str)


_RANKS = {"bool": -1, "AbstractInt": 0, "u32": 1, "i32": 1, "AbstractFloat": 2, "f16": 3, "f32": 4}


def conversion_rank(type_: Type) -> int:
    """Return a number that is larger for a type that others are rather converted to."""
    scalar = scalar_of(type_)
    return _RANKS.get(scalar.name, 0) if isinstance(scalar, Scalar) else 0


def takes_prefix(operator: str, type_: Type) -> bool:
    """Say whether ``-``, ``!`` or ``~`` may stand before a value."""
    scalar = scalar_of(type_)
    if operator == "!":
        return scalar == BOOL
    if operator == "~":
        return isinstance(scalar, Scalar) and scalar.name in INTEGERS
    return scalar is not None and scalar not in (BOOL, U32)
