"""Memory that invocations share, in words, and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    OutOfReachError,
    anything,
    convert,
    exact,
    is_integer,
)
from wgsl_kernels.bench.intervals.values import Address, Many, Value, inner_types
from wgsl_kernels.wgsl.types.kinds import Array as ArrayType
from wgsl_kernels.wgsl.types.kinds import Atomic, Scalar, StructType, Type, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator


def words_of(type_: Type) -> tuple[int, int]:
    """Return a type's size and alignment in words of 32 bits."""
    if isinstance(type_, (Scalar, Atomic)):
        scalar = type_.element if isinstance(type_, Atomic) else type_
        if scalar.name not in ("f32", "i32", "u32", "bool"):
            raise OutOfReachError(f"memory of {scalar}")
        return 1, 1
    if isinstance(type_, Vector):
        words_of(type_.element)
        return type_.size, 2 if type_.size == 2 else 4
    if isinstance(type_, StructType):
        size, align = 0, 1
        for one in type_.members.values():
            own, need = words_of(one)
            size, align = _up(size, need) + own, max(align, need)
        return _up(size, align), align
    if isinstance(type_, ArrayType):
        count = type_.count if isinstance(type_.count, int) else 0
        if isinstance(type_.count, str):
            raise OutOfReachError(f"an array of {type_.count} elements")
        return stride_of(type_) * count, words_of(type_.element)[1]
    raise OutOfReachError(f"memory of type {type_}")


def stride_of(type_: Type) -> int:
    """Return the words from one element to the next."""
    element = type_.element if isinstance(type_, (ArrayType, Vector)) else type_
    size, align = words_of(element)
    return _up(size, align)


def offset_of(struct: StructType, name: str) -> int:
    """Return the word at which a member begins."""
    at = 0
    for member, type_ in struct.members.items():
        size, align = words_of(type_)
        at = _up(at, align)
        if member == name:
            return at
        at += size
    raise OutOfReachError(f"a member {name}")


def _up(words: int, align: int) -> int:
    return -(-words // align) * align


def pattern_of(type_: Type) -> tuple[str, ...]:
    """Return the scalar type of each word of an element, as short as it repeats."""
    found = list(_pattern(type_))
    return (found[0],) if len(set(found)) == 1 else tuple(found)


def _pattern(type_: Type) -> Iterator[str]:
    if isinstance(type_, Scalar):
        yield "u32" if type_.name == "bool" else type_.name
    elif isinstance(type_, Atomic):
        yield type_.element.name
    elif isinstance(type_, StructType):
        size, _ = words_of(type_)
        words = ["u32"] * size
        for name, one in type_.members.items():
            at = offset_of(type_, name)
            own = list(_pattern(one))
            words[at : at + len(own)] = own
        yield from words
    elif isinstance(type_, ArrayType) and type_.count is None:
        yield from _padded(type_.element)
    elif isinstance(type_, ArrayType):
        assert isinstance(type_.count, int)
        for _ in range(type_.count):
            yield from _padded(type_.element)
    else:
        assert isinstance(type_, Vector)
        yield from [type_.element.name] * type_.size


def _padded(type_: Type) -> list[str]:
    words = list(_pattern(type_))
    return words + ["u32"] * (stride_of(type_) - len(words))


def loaded(address: Address) -> Value:
    """Return what is at an address; 0 behind the end."""
    type_ = address.type
    if isinstance(type_, (Scalar, Atomic)):
        return _loaded_scalar(
            address, type_.element.name if isinstance(type_, Atomic) else type_.name
        )
    if isinstance(type_, ArrayType) and not isinstance(type_.count, int):
        raise OutOfReachError("an array that is as long as its buffer, as a value")
    return Many(type_, tuple([loaded(one) for one in parts_of(address)]))


def parts_of(address: Address) -> list[Address]:
    """Return the addresses of a type's parts."""
    return [inside(address, number) for number in range(len(inner_types(address.type)))]


def inside(address: Address, index: int | Number | str) -> Address:
    """Return the address of a part: of a member by its name, of an element by its number."""
    type_ = address.type
    if isinstance(type_, StructType):
        name = index if isinstance(index, str) else list(type_.members)[int(index)]  # type: ignore[arg-type]  # structs have no dynamic index
        word = address.word + offset_of(type_, name)
        return Address(address.memory, word, type_.members[name], address.doubt)
    if not isinstance(type_, (ArrayType, Vector)) or isinstance(index, str):
        raise OutOfReachError(f"a part of {type_}")
    number = exact("u32", index) if isinstance(index, int) else index
    doubt = address.doubt | number.doubt
    step = number.v
    count = type_.size if isinstance(type_, Vector) else type_.count
    if isinstance(count, int):  # what is outside stays outside of all
        step = np.where((step < 0) | (step >= count), 1 << 40, step)
    word = address.word + step * stride_of(type_)
    return Address(address.memory, np.asarray(word), type_.element, doubt)


def _loaded_scalar(address: Address, kind: str) -> Number:
    memory, at = address.memory, address.word
    there = (at >= 0) & (at < memory.words)
    where_ = np.where(there, at, 0) + memory.base
    if not memory.words:
        return exact(kind, np.zeros(np.shape(at)))
    dtype = np.int64 if is_integer(kind) else np.bool_ if kind == "bool" else np.float64
    v: Array = np.where(there, memory.data.v[where_], 0).astype(dtype)
    if memory.data.is_exact:
        return Number(kind, v, v, v)
    low: Array = np.where(there, memory.data.low[where_], 0).astype(dtype)
    high: Array = np.where(there, memory.data.high[where_], 0).astype(dtype)
    same = bool(((low == v) & (high == v)).all())
    return Number(kind, v, v, v) if same else Number(kind, v, low, high)


def store(address: Address, value: Value, active: Array, tainted: Array) -> None:
    """Write a value for the active invocations; of those in doubt it may be anything."""
    if isinstance(value, Many):
        for one, part in zip(parts_of(address), value.parts, strict=True):
            store(one, part, active, tainted)
        return
    assert isinstance(value, Number)
    memory, data = address.memory, address.memory.data
    at = np.broadcast_to(address.word, active.shape)
    here = active & (at >= 0) & (at < memory.words)
    where_ = (at + memory.base)[here]
    kind = data.pattern[0] if len(data.pattern) == 1 else value.kind
    value = convert(value, kind) if value.kind != kind else value
    lost = (tainted | address.doubt)[here] if np.any(tainted | address.doubt) else None
    if not value.is_exact or lost is not None:
        data.own()
    spread = np.shape(active)
    data.v[where_] = np.broadcast_to(value.v, spread)[here]
    if not data.is_exact:
        wide = anything(kind, value.v) if is_integer(kind) else None
        low, high = (np.broadcast_to(one, spread)[here] for one in (value.low, value.high))
        if lost is not None:
            least, most = (-np.inf, np.inf) if wide is None else (wide.low.min(), wide.high.max())
            low, high = np.where(lost, least, low), np.where(lost, most, high)
        data.low[where_], data.high[where_] = low, high
