"""Values of all types for all invocations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    OutOfReachError,
    convert,
    exact,
    where,
)
from wgsl_kernels.wgsl.types.kinds import (
    Array as ArrayType,
)
from wgsl_kernels.wgsl.types.kinds import (
    Scalar,
    StructType,
    Type,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.bench.intervals.words import BufferRange

MOST_PARTS = 1024
"""Elements of an array that an invocation has for itself."""
Mask = Array | None
"""Which invocations do something; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A vector, an array or a struct.

    Attributes:
        type: Its type.
        parts: Its components, elements or members.
    """

    type: Type
    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Address:
    """Part of memory: what a reference or a pointer is.

    Attributes:
        memory: The memory.
        word: The first word, per invocation.
        type: What is there.
        doubt: Where that is not sure.
    """

    memory: BufferRange
    word: Array
    type: Type
    doubt: Any = False


@dataclass(frozen=True, slots=True, eq=False)
class VariablePart:
    """Part of a variable that every invocation has for itself.

    Attributes:
        cell: The variable.
        path: The way from it to the part.
    """

    cell: Cell
    path: tuple[int | Number, ...] = ()


@dataclass(slots=True, eq=False)
class Cell:
    """A variable of an invocation's own; ``mask`` says which had it when it was declared."""

    value: Value
    mask: Mask = None


Value: TypeAlias = Number | Many | Address | VariablePart


def zero(type_: Type) -> Value:
    """Return the value that a variable begins with."""
    if isinstance(type_, Scalar):
        return exact(type_.name, 0)
    return Many(type_, tuple([zero(one) for one in inner_types(type_)]))


def inner_types(type_: Type) -> Sequence[Type]:
    """Return the types of a type's parts."""
    if isinstance(type_, Vector):
        return [type_.element] * type_.size
    if isinstance(type_, StructType):
        return list(type_.members.values())
    if isinstance(type_, ArrayType) and isinstance(type_.count, int):
        if type_.count > MOST_PARTS:
            raise OutOfReachError(f"an array of {type_.count} elements per invocation")
        return [type_.element] * type_.count
    raise OutOfReachError(f"a value of type {type_}")


def coerced(value: Value, type_: Type | None) -> Value:
    """Return a value as the type of what it is given to; None for that of a variable of its own."""
    if isinstance(value, Number):
        if isinstance(type_, Scalar):
            return convert(value, type_.name) if value.kind.startswith("Abstract") else value
        return concrete(value)
    if not isinstance(value, Many):
        return value
    inner = [None] * len(value.parts) if type_ is None else inner_types(type_)
    parts = [coerced(one, want) for one, want in zip(value.parts, inner, strict=True)]
    return Many(value.type if type_ is None else type_, tuple(parts))


def concrete(number: Number) -> Number:
    """Return a number without a type of its own as the one that a variable has."""
    if number.kind == "AbstractInt":
        return convert(number, "i32")
    return convert(number, "f32") if number.kind == "AbstractFloat" else number


def chosen(condition: Any, yes: Value, no: Value) -> Value:
    """Return, per invocation, one value or the other."""
    if yes is no:
        return yes
    if isinstance(yes, Number) and isinstance(no, Number):
        return where(condition, yes, no)
    if isinstance(yes, Many) and isinstance(no, Many):
        pairs = zip(yes.parts, no.parts, strict=True)
        return Many(yes.type, tuple([chosen(condition, a, b) for a, b in pairs]))
    raise OutOfReachError("a pointer that differs between invocations")


def each(f: Callable[..., Number], *values: Value) -> Value:
    """Apply a function of numbers to vectors, component by component; scalars go with each."""
    many = next((one for one in values if isinstance(one, Many)), None)
    if many is None:
        return f(*values)
    columns = [one.parts if isinstance(one, Many) else (one,) * len(many.parts) for one in values]
    parts = tuple([each(f, *row) for row in zip(*columns, strict=True)])
    first = parts[0]
    type_ = many.type
    if isinstance(type_, Vector) and isinstance(first, Number):
        type_ = Vector(type_.size, Scalar(first.kind))
    return Many(type_, parts)


def part_of(value: Value, index: int | Number) -> Value:
    if not isinstance(value, Many):
        raise OutOfReachError("an index into something that has no parts")
    if isinstance(index, int):
        return value.parts[min(index, len(value.parts) - 1)]
    if index.v.ndim == 0:
        return value.parts[min(max(int(index.v), 0), len(value.parts) - 1)]
    found = value.parts[0]
    for number, one in enumerate(value.parts[1:], start=1):
        found = chosen(index.v == number, one, found)
    return found


def with_part(value: Value, path: tuple[int | Number, ...], new: Value, mask: Mask) -> Value:
    """Return a value of which a part is another one for some invocations."""
    if not path:
        return new if mask is None else chosen(mask, new, value)
    if not isinstance(value, Many):
        raise OutOfReachError("an index into something that has no parts")
    index, rest = path[0], path[1:]
    if isinstance(index, Number) and index.v.ndim == 0:
        index = int(index.v)
    parts = list(value.parts)
    if isinstance(index, int):
        if index < len(parts):
            parts[index] = with_part(parts[index], rest, new, mask)
    else:
        for number, one in enumerate(parts):
            here = index.v == number
            parts[number] = with_part(one, rest, new, here if mask is None else here & mask)
    return Many(value.type, tuple(parts))
