"""Calls in WGSL for all invocations of a dispatch at once, on intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.bench.intervals.arithmetic import binary, matched
from wgsl_kernels.bench.intervals.expressions import ExpressionEvaluator
from wgsl_kernels.bench.intervals.functions import BUILTINS, bits_of, number_of
from wgsl_kernels.bench.intervals.library import LIBRARY
from wgsl_kernels.bench.intervals.memory import store, stride_of
from wgsl_kernels.bench.intervals.numbers import Number, OutOfReachError, convert, exact
from wgsl_kernels.bench.intervals.values import (
    Address,
    Many,
    Value,
    VariablePart,
    coerced,
    concrete,
    each,
    inner_types,
    zero,
)
from wgsl_kernels.wgsl.types.kinds import Array as ArrayType
from wgsl_kernels.wgsl.types.kinds import Atomic, Scalar, Type, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.wgsl.syntax import tree

_QUIET = frozenset({"workgroupBarrier", "storageBarrier", "textureBarrier"})
_ATOMIC: dict[str, np.ufunc] = {
    "atomicAdd": np.add,
    "atomicSub": np.subtract,
    "atomicMax": np.maximum,
    "atomicMin": np.minimum,
    "atomicOr": np.bitwise_or,
    "atomicAnd": np.bitwise_and,
    "atomicXor": np.bitwise_xor,
}


class CallEvaluator(ExpressionEvaluator):
    """What calls give."""

    def call(self, node: tree.Call) -> Value:
        name = node.callee.name
        if name in self.functions and name not in self.library:
            return self.run(self.functions[name], [self.value(one) for one in node.arguments])
        if self.types.is_type(name):
            return self.constructed(node)
        if name in _QUIET:
            return exact("bool", False)
        if name == "arrayLength":
            return self.length(node.arguments[0])
        if name.startswith("atomic"):
            return self.atomic(name, node)
        if name == "workgroupUniformLoad":
            place = self.value(node.arguments[0])
            assert isinstance(place, (VariablePart, Address))
            return self.read(place)
        given = [self.value(one) for one in node.arguments]
        if name in self.library:
            return each(LIBRARY[name], *given)
        return self.builtin(node, name, given)

    def run(self, function: tree.Function, given: list[Value]) -> Value:
        """Return what a function of the module gives; statements know how."""
        raise NotImplementedError

    def builtin(self, node: tree.Call, name: str, given: list[Value]) -> Value:
        """Return what a function of WGSL's own gives."""
        if name == "bitcast":
            return self.bitcast(self.type_of(node.callee.templates[0]), given[0])
        if name in ("dot", "length", "distance", "normalize"):
            return _geometry(name, given)
        if name in ("any", "all"):
            parts = given[0].parts if isinstance(given[0], Many) else (given[0],)
            return _folded("||" if name == "any" else "&&", parts)
        if name not in BUILTINS:
            raise OutOfReachError(f"{name}")
        if name not in ("select",):
            scalars = [one for one in given if isinstance(one, Number)]
            if len(scalars) == len(given):
                return BUILTINS[name](*_alike(name, scalars))
        return each(lambda *row: BUILTINS[name](*_alike(name, row)), *given)

    def bitcast(self, type_: Type, value: Value) -> Value:
        """Return the same bits as another type."""
        element = type_.element if isinstance(type_, Vector) else type_
        assert isinstance(element, Scalar)
        if not (isinstance(value, Number) and value.is_exact):
            self.is_refined = True

        def cast(one: Number) -> Number:
            one = concrete(one)
            if element.name == "f32":
                return one if one.kind == "f32" else number_of(one)
            return convert(bits_of(one), element.name)

        return each(cast, value)

    def constructed(self, node: tree.Call) -> Value:
        """Return a value made by its type's name."""
        given = [self.value(one) for one in node.arguments]
        type_ = self.types.of(node.callee)
        name = node.callee.name
        if type_ is None and name == "array":
            first = given[0]
            element = first.type if isinstance(first, Many) else Scalar(concrete(first).kind)  # type: ignore[arg-type]  # a number
            type_ = ArrayType(element, len(given))
        elif type_ is None:
            shape = self.types.shape(name)
            if shape is None or shape[1] is not None:
                raise OutOfReachError(f"{name}")
            flat = _flat(given)
            type_ = Vector(shape[0], Scalar(concrete(_alike("", flat)[0]).kind))
        if not given:
            return zero(type_)
        if isinstance(type_, Scalar):
            assert isinstance(given[0], Number)
            return convert(given[0], type_.name)
        if isinstance(type_, Vector):
            flat = [convert(one, type_.element.name) for one in _flat(given)]
            return Many(type_, tuple(flat * type_.size if len(flat) == 1 else flat))
        pairs = zip(given, inner_types(type_), strict=True)
        return Many(type_, tuple([coerced(one, want) for one, want in pairs]))

    def length(self, node: tree.Expression) -> Value:
        """Return how many elements an array in memory has."""
        place = self.value(node)
        if not isinstance(place, Address) or not isinstance(place.type, ArrayType):
            raise OutOfReachError("arrayLength")
        return exact("u32", place.memory.words // stride_of(place.type))

    def atomic(self, name: str, node: tree.Call) -> Value:
        """Return what an atomic function gives; the old value is known of those that only read."""
        place = self.value(node.arguments[0])
        if not isinstance(place, Address) or not isinstance(place.type, Atomic):
            raise OutOfReachError(name)
        if name == "atomicLoad":
            return self.read(place)
        given = coerced(self.value(node.arguments[1]), place.type.element)
        assert isinstance(given, Number)
        if name == "atomicStore":
            store(place, given, self.active(), self.tainted)
            return exact("bool", False)
        active = self.active()
        at = np.broadcast_to(place.word, active.shape)
        here = active & (at >= 0) & (at < place.memory.words)
        tainted = self.tainted[here].any() or not given.is_exact
        if name not in _ATOMIC or tainted or not place.memory.data.is_exact:
            raise OutOfReachError(name)
        words = place.memory.data.v.astype(np.int64)
        spread = np.broadcast_to(given.v, active.shape)[here]
        _ATOMIC[name].at(words, (at + place.memory.base)[here], spread)
        kind = place.type.element.name
        place.memory.data.v[:] = convert(exact("AbstractInt", words), kind).v
        return Many(place.type, ())  # its old value depends on an order that nobody knows


def _flat(values: Sequence[Value]) -> list[Number]:
    found: list[Number] = []
    for one in values:
        found += _flat(one.parts) if isinstance(one, Many) else [one]  # type: ignore[list-item]  # a number
    return found


def _alike(name: str, numbers: Sequence[Value]) -> list[Number]:
    """Return arguments as one type, floats where a function has them alone."""
    found = [one for one in numbers if isinstance(one, Number)]
    if name == "select":
        no, yes = matched(found[0], found[1])
        return [no, yes, found[2]]
    if name == "ldexp" or not found:
        return found
    first = found[0]
    for one in found[1:]:
        first, _ = matched(first, one)
    kind = first.kind
    if name and name not in ("abs", "min", "max", "clamp", "sign"):
        kind = "f32" if kind.startswith("Abstract") else kind
    return [convert(one, kind) if one.kind != kind else one for one in found]


def _folded(operator: str, parts: Sequence[Value]) -> Number:
    found = parts[0]
    assert isinstance(found, Number)
    for one in parts[1:]:
        assert isinstance(one, Number)
        found = binary(operator, found, one)
    return found


def _geometry(name: str, given: list[Value]) -> Value:
    """Return dot, length, distance or normalize, as their expressions."""
    if name == "distance":
        given = [each(lambda a, b: binary("-", a, b), *given)]
    first = given[0]
    if isinstance(first, Number):
        raise OutOfReachError(f"{name} of a scalar")
    second = given[1] if name == "dot" else first
    products = each(lambda a, b: binary("*", a, b), first, second)
    assert isinstance(products, Many)
    total = _folded("+", products.parts)
    if name == "dot":
        return total
    size = BUILTINS["sqrt"](total)
    if name == "normalize":
        return each(lambda a: binary("/", a, size), first)
    return size
