"""Expressions of WGSL for all invocations of a dispatch at once, on intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals.arithmetic import binary, inverted, negated
from wgsl_kernels.bench.intervals.memory import inside, loaded, store
from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    OutOfReachError,
    convert,
    exact,
    rounded,
    spacing,
)
from wgsl_kernels.bench.intervals.values import (
    Address,
    Cell,
    Many,
    Mask,
    Value,
    VariablePart,
    coerced,
    each,
    part_of,
    with_part,
)
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.kinds import Atomic, StructType, Type, Vector
from wgsl_kernels.wgsl.types.named import NamedTypes
from wgsl_kernels.wgsl.types.values import literal_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_STEPS = 30_000
"""Expressions and statements of a dispatch that are computed."""
MANY_DIGITS = 7
"""Digits from which on a constant is one that was cut off, as 0.7978846 is."""
_COMPONENTS = {name: number % 4 for number, name in enumerate("xyzwrgba")}


class ExpressionEvaluator:
    """What expressions give; statements build on it.

    Attributes:
        count: How many invocations there are.
        mask: Which of them do something at the moment.
        tainted: Those of which it is not sure which way they went.
        is_refined: Whether a value was taken apart as bits, so that it has been rounded.
    """

    def __init__(
        self, declarations: Sequence[tree.Declaration], library: frozenset[str], count: int
    ) -> None:
        """Note what a module declares.

        Args:
            declarations: The module.
            library: Its functions of which the library states the error.
            count: How many invocations there are.
        """
        self.types = NamedTypes(declarations)
        self.functions = {
            one.ident.name: one for one in declarations if isinstance(one, tree.Function)
        }
        self.constants = {
            one.ident.name: one
            for one in declarations
            if isinstance(one, tree.Value) and one.value is not None
        }
        self.library = library
        self.count = count
        self.mask: Mask = None
        self.tainted = np.zeros(count, bool)
        self.is_refined = False
        self.globals: dict[str, Cell | Address | Value] = {}
        self.scopes: list[dict[str, Cell | Value]] = []
        self.steps = 0

    # Names.

    def type_of(self, node: tree.Expression) -> Type:
        found = self.types.of(node)
        if found is None:
            raise OutOfReachError("a type that is not known")
        return found

    def find(self, name: str) -> Cell | Address | Value:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name not in self.globals:
            if name not in self.constants:
                raise OutOfReachError(f"{name}")
            node = self.constants[name]
            assert node.value is not None
            outer, self.scopes = self.scopes, []
            value = self.value(node.value)
            self.scopes = outer
            is_typed = node.type is not None
            self.globals[name] = coerced(value, self.type_of(node.type)) if is_typed else value  # type: ignore[arg-type]  # typed
        return self.globals[name]

    def active(self) -> Array:
        """Return which invocations do something."""
        return np.ones(self.count, bool) if self.mask is None else self.mask

    def taint(self, doubt: Any) -> None:
        """Note that it is in doubt which way invocations go."""
        if np.any(doubt):
            self.tainted = self.tainted | (self.active() & doubt)

    # Places.

    def place(self, node: tree.Expression) -> VariablePart | Address:
        if isinstance(node, tree.Paren):
            return self.place(node.inner)
        if isinstance(node, tree.Name):
            found = self.find(node.name)
            if isinstance(found, Cell):
                return VariablePart(found)
            if isinstance(found, (Address, VariablePart)):
                return found
            raise OutOfReachError(f"{node.name}, which is no variable")
        if isinstance(node, tree.Unary) and node.operator == "*":
            pointer = self.value(node.operand)
            if isinstance(pointer, (Address, VariablePart)):
                return pointer
        if isinstance(node, tree.Index):
            base, index = self.place(node.base), self.number(node.index)
            if isinstance(base, Address):
                return inside(base, index)
            self.taint(index.doubt)
            return VariablePart(base.cell, (*base.path, index))
        if isinstance(node, tree.Access) and not _is_swizzle(node):
            base = self.place(node.base)
            if isinstance(base, Address):
                member = node.member.name
                is_struct = isinstance(base.type, StructType)
                return inside(base, member if is_struct else _COMPONENTS[member])
            return VariablePart(
                base.cell, (*base.path, self.member(self.read(base), node.member.name))
            )
        raise OutOfReachError("what is written to")

    def read(self, place: VariablePart | Address) -> Value:
        if isinstance(place, Address):
            self.taint(place.doubt)
            return loaded(place)
        value = place.cell.value
        for one in place.path:
            value = part_of(value, one)
        return value

    def write(self, place: VariablePart | Address, value: Value) -> None:
        """Write a value to a place for the active invocations."""
        if isinstance(place, Address):
            store(place, coerced(value, _stored(place.type)), self.active(), self.tainted)
            return
        cell = place.cell
        before = self.read(place)
        if isinstance(before, Number) and isinstance(value, Number):
            value = convert(value, before.kind)
        elif isinstance(before, Many):
            value = coerced(value, before.type)
        mask = None if self.mask is cell.mask else self.mask
        cell.value = with_part(cell.value, place.path, value, mask)

    def member(self, value: Value, name: str) -> int:
        """Return the number of a member or a component."""
        if isinstance(value, Many) and isinstance(value.type, StructType):
            return list(value.type.members).index(name)
        return _COMPONENTS[name]

    # Values.

    def number(self, node: tree.Expression) -> Number:
        """Return the value of an expression that is a scalar."""
        found = self.value(node)
        if not isinstance(found, Number):
            raise OutOfReachError("a scalar that is none")
        return found

    def value(self, node: tree.Expression) -> Value:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise OutOfReachError("more steps than are computed on intervals")
        return _EXPRESSIONS[type(node)](self, node)

    def literal(self, node: tree.Literal) -> Value:
        """Return a number as written."""
        if node.text in ("true", "false"):
            return exact("bool", node.text == "true")
        value, last = literal_value(node.text), node.text[-1]
        is_hex = node.text[:2].lower() == "0x"
        if last in "iu":
            return exact("i32" if last == "i" else "u32", int(value))
        if isinstance(value, int):
            is_f32 = last == "f" and not is_hex
            return exact("f32" if is_f32 else "AbstractInt", value)
        return _meant(node.text, value, "f32" if last == "f" else "AbstractFloat")

    def name(self, node: tree.Name) -> Value:
        """Return what a variable holds."""
        found = self.find(node.name)
        if isinstance(found, Cell):
            return found.value
        is_pointer = any(node.name in scope for scope in self.scopes)
        if isinstance(found, Address) and not is_pointer:
            return self.read(found)
        return found

    def paren(self, node: tree.Paren) -> Value:
        return self.value(node.inner)

    def unary(self, node: tree.Unary) -> Value:
        """Return the value behind a prefix."""
        if node.operator == "&":
            return self.place(node.operand)
        if node.operator == "*":
            return self.read(self.place(node))
        operand = self.value(node.operand)
        return each(negated if node.operator == "-" else inverted, operand)

    def binary(self, node: tree.Binary) -> Value:
        left = self.value(node.left)
        if node.operator in ("&&", "||") and isinstance(left, Number) and left.is_exact:
            decided = left.v == (node.operator == "||")
            if decided.ndim == 0 and decided:
                return left
        right = self.value(node.right)
        return each(lambda a, b: binary(node.operator, a, b), left, right)

    def index(self, node: tree.Index) -> Value:
        if _is_place(node.base, self):
            return self.read(self.place(node))
        index = self.number(node.index)
        self.taint(index.doubt)
        return part_of(self.value(node.base), index)

    def access(self, node: tree.Access) -> Value:
        """Return a member, or components."""
        name = node.member.name
        if not _is_swizzle(node) and _is_place(node.base, self):
            return self.read(self.place(node))
        base = self.value(node.base)
        if isinstance(base, (VariablePart, Address)):
            base = self.read(base)
        if not isinstance(base, Many):
            raise OutOfReachError(f"the member {name}")
        if isinstance(base.type, StructType) or len(name) == 1:
            return base.parts[self.member(base, name)]
        parts = tuple([base.parts[_COMPONENTS[one]] for one in name])
        assert isinstance(base.type, Vector)
        return Many(Vector(len(parts), base.type.element), parts)

    def call(self, node: tree.Call) -> Value:
        """Return what a call gives; calls know how."""
        raise NotImplementedError


def _meant(text: str, value: float, kind: str) -> Number:
    """Return a float as written; one of many digits stands for all that are rounded to it."""
    near = rounded(np.asarray(value), np.asarray(value), np.asarray(value))
    mantissa, _, power = text.lower().rstrip("fh").partition("p" if "0x" in text.lower() else "e")
    digits = mantissa.removeprefix("0x").replace(".", "").strip("0")
    is_cut, unit = len(digits) >= MANY_DIGITS, 0.0
    if "0x" not in mantissa:
        unit = 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    if not is_cut:
        return exact(kind, value) if kind == "AbstractFloat" else near
    error = max(unit, 0.5 * float(spacing(np.asarray(value))))
    return Number("f32", near.v, np.asarray(value - error), np.asarray(value + error))


def _stored(type_: Type) -> Type:
    return type_.element if isinstance(type_, Atomic) else type_


def _is_swizzle(node: tree.Access) -> bool:
    name = node.member.name
    return len(name) in (2, 3, 4) and set(name) <= set("xyzw") | set("rgba")


def _is_place(node: tree.Expression, machine: ExpressionEvaluator) -> bool:
    """Say whether an expression is a variable, or part of one."""
    while isinstance(node, (tree.Index, tree.Access, tree.Paren)):
        if isinstance(node, tree.Access) and _is_swizzle(node):
            return False
        node = node.inner if isinstance(node, tree.Paren) else node.base
    if isinstance(node, tree.Unary):
        return node.operator == "*"
    if not isinstance(node, tree.Name):
        return False
    try:
        return isinstance(machine.find(node.name), (Cell, Address, VariablePart))
    except OutOfReachError:
        return False


_EXPRESSIONS: dict[type[tree.Node], Callable[[ExpressionEvaluator, Any], Value]] = {
    tree.Literal: ExpressionEvaluator.literal,
    tree.Name: ExpressionEvaluator.name,
    tree.Paren: ExpressionEvaluator.paren,
    tree.Unary: ExpressionEvaluator.unary,
    tree.Binary: ExpressionEvaluator.binary,
    tree.Index: ExpressionEvaluator.index,
    tree.Access: ExpressionEvaluator.access,
    tree.Call: lambda machine, node: machine.call(node),
}
