"""Expressions of WGSL as Python: loads and calls become statements, in the order of the text."""

from __future__ import annotations

import keyword
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.simulator.places import Local, MemoryPlace, OwnPlace, Place, RefusedError
from wgsl_kernels.wgsl.lint.remarks import bare
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.depth import is_deep
from wgsl_kernels.wgsl.types.kinds import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    INTEGERS,
    U32,
    Array,
    Atomic,
    Matrix,
    Pointer,
    Reference,
    Scalar,
    StructType,
    Type,
    Vector,
    common,
    concrete,
    scalar_of,
    value_of,
    with_scalar,
)
from wgsl_kernels.wgsl.types.values import Known, converted, known_literal, literal_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from wgsl_kernels.simulator.module import ModuleCompiler
    from wgsl_kernels.wgsl.types.values import Kind

ABSTRACT = (ABSTRACT_INT, ABSTRACT_FLOAT)
COMPONENTS = {name: number % 4 for number, name in enumerate("xyzwrgba")}
_OWN_SPACES = ("function", "private")


class ExpressionCompiler:
    """Writes expressions.

    Attributes:
        module: The module.
        lines: The statements so far.
        depth: How many blocks are around the next one.
        scopes: The names that are known, of the innermost block last.
        is_target: Whether what is written now is the place that an assignment writes to.
    """

    def __init__(self, module: ModuleCompiler) -> None:
        self.module = module
        self.lines: list[str] = []
        self.depth = 1
        self.scopes: list[dict[str, Local]] = []
        self.is_target = False
        self._count = 0

    # Writing.

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, hint: str = "t") -> str:
        """Return a Python name that is not used yet."""
        self._count += 1
        plain = hint if hint.isascii() and hint.isidentifier() else "t"
        return f"{plain}_{self._count}" if not keyword.iskeyword(plain) else f"t_{self._count}"

    def kept(self, value: str, hint: str = "t") -> str:
        """Write a value into a variable of its own; return that."""
        name = self.fresh(hint)
        self.write(f"{name} = {value}")
        return name

    def refuse(self, message: str, node: tree.Node) -> NoReturn:
        raise RefusedError(message, node.begin)

    def site(self, node: tree.Node) -> int:
        """Return the number of a place where memory is accessed."""
        return self.module.site(node, is_written=self.is_target)

    def type_of(self, node: tree.Expression) -> Type:
        return value_of(self.reference_of(node))

    def reference_of(self, node: tree.Expression) -> Type:
        """Return the type of an expression, a Reference where it is a variable."""
        found = self.module.types.of(node)
        if found is None:
            self.refuse("the type of this is not known.", node)
        return found

    # Values.

    def value(self, node: tree.Expression, wanted: Type | None = None) -> str:
        """Return the Python expression of a value, of the type that is wanted."""
        given = self.type_of(node)
        is_target, self.is_target = self.is_target, False
        found = _VALUES[type(node)](self, node)
        found = self.kept(found) if is_deep(found) else found
        self.is_target = is_target
        if wanted is None:
            return found
        self.check_range(node, scalar_of(wanted))
        return self.converted(found, given, wanted)

    def check_range(self, node: tree.Expression, wanted: Scalar | None) -> None:
        """Refuse an integer without a type of its own that the wanted type does not hold."""
        if wanted is None or wanted.name not in INTEGERS or wanted in ABSTRACT:
            return
        kind: Kind = "u32" if wanted == U32 else "i32"
        left: list[tree.Expression] = [node]
        while left:
            one = left.pop()
            if scalar_of(self.type_of(one)) != ABSTRACT_INT:
                continue
            number = self.module.constants.number_or_none(one)
            if number is not None and converted(Known("int", int(number)), kind) is None:
                self.refuse(f"{int(number)} is beyond what {wanted} holds.", one)
            left += one.arguments if isinstance(one, tree.Call) and number is None else ()

    def converted(self, value: str, given: Type, wanted: Type) -> str:
        """Return a value without a type of its own as the one that is wanted."""
        if given == wanted:
            return value
        if isinstance(given, Array) and isinstance(wanted, Array):
            inner = self.converted("one", given.element, wanted.element)
            return value if inner == "one" else f"[{inner} for one in {value}]"
        scalar, goal = scalar_of(given), scalar_of(wanted)
        if scalar not in ABSTRACT or goal is None or goal in ABSTRACT:
            return value
        if isinstance(given, Scalar):
            return self.number(value, goal)
        return f"each({goal.name}, {value})"

    def number(self, value: str, goal: Scalar) -> str:
        """Return a number of a type; one that is written out is made once."""
        return self.module.constant(value, goal) or f"{goal.name}({value})"

    def literal(self, node: tree.Literal) -> str:
        if node.text in ("true", "false"):
            return "true" if node.text == "true" else "false"
        value, type_ = literal_value(node.text), self.type_of(node)
        if (
            isinstance(type_, Scalar)
            and isinstance(value, int)
            and known_literal(node.text) is None
        ):
            self.refuse(f"{node.text} is beyond what {type_} holds.", node)
        if type_ == ABSTRACT_INT:
            return repr(int(value))
        if type_ == ABSTRACT_FLOAT:
            return repr(float(value))
        assert isinstance(type_, Scalar)
        return self.number(repr(value), type_)

    def paren(self, node: tree.Paren) -> str:
        return f"({self.value(node.inner)})"

    def name(self, node: tree.Name) -> str:
        found = self.found(node.name)
        if found is not None:
            return f"{found.name}.value" if found.is_cell else found.name
        if node.name in self.module.values:
            return self.module.value_named(node.name)
        return self.read(self.place(node))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Enter a scope, whose names hide those outside of it."""
        self.scopes.append({})
        with self.module.constants.scope():
            yield
        self.scopes.pop()

    def declare(self, node: tree.Parameter | tree.Var | tree.Value, local: Local) -> None:
        """Declare a name of the innermost scope."""
        self.scopes[-1][node.name] = local
        self.module.constants.declare(node.name, node)

    def found(self, name: str) -> Local | None:
        """Return what a name is in the function, None where it is not the function's."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def unary(self, node: tree.Unary) -> str:
        if node.operator == "&":
            return self.pointer(node)
        if node.operator == "*":
            return self.read(self.place(node))
        value = self.value(node.operand)
        if isinstance(self.type_of(node.operand), Scalar):
            if node.operator == "!":
                return f"np.logical_not({value})"
            return f"({node.operator}{value})"
        operation = {"!": "np.logical_not", "-": "np.negative", "~": "np.invert"}[node.operator]
        return f"each({operation}, {value})"

    def pointer(self, node: tree.Unary) -> str:
        """Return what ``&`` gives: a pointer to an own variable, or memory and a place in bytes."""
        place = self.place(node.operand)
        if isinstance(place, OwnPlace):
            if not place.is_cell:
                self.refuse("a pointer to what is no variable.", node)
            path = "".join(f"{one}, " for one in place.path)
            return f"CellPointer({place.name}, ({path}))"
        return self.kept(f"({place.name}, {place.address(1)})", "p")

    def binary(self, node: tree.Binary) -> str:
        if node.operator in ("&&", "||"):
            return self.lazy(node)
        left, right = self.type_of(node.left), self.type_of(node.right)
        if node.operator not in ("<<", ">>"):
            self.check_range(node.left, scalar_of(right))
            self.check_range(node.right, scalar_of(left))
        one = self.value(node.left)
        if self.module.has_effects(node.right):
            one = self.kept(one)
        other = self.value(node.right)
        return self.combined(node.operator, one, left, other, right)

    def lazy(self, node: tree.Binary) -> str:
        """Return what ``&&`` or ``||`` gives; calls on the right run where they are wanted."""
        left = self.value(node.left)
        if not self.module.is_guarded(node.right):
            return f"({left} {node.operator[0]} {self.value(node.right)})"
        found, outer = self.kept(left), self.fresh("m")
        self.write(f"{outer} = m")
        keep = "narrowed" if node.operator == "&&" else "excluded"
        self.write(f"m = {keep}(m, {found})")
        self.write("if holds(m):")
        self.depth += 1
        self.write(f"{found} = {found} {node.operator[0]} {self.value(node.right)}")
        self.depth -= 1
        self.write(f"m = {outer}")
        return found

    def combined(self, operator: str, one: str, left: Type, other: str, right: Type) -> str:
        """Return what an operator makes of two values."""
        first, second = scalar_of(left), scalar_of(right)
        assert first is not None
        assert second is not None
        if operator in ("<<", ">>"):
            other = self.converted(other, right, with_scalar(right, U32))
            kind = first
        else:
            both = common(first, second)
            assert isinstance(both, Scalar)
            kind = both
            one = self.converted(one, left, with_scalar(left, kind))
            other = self.converted(other, right, with_scalar(right, kind))
        if operator == "*" and _is_product(left, right):
            return f"product({one}, {other})"
        function = _operation(operator, kind.name)
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            return f"({one} {operator} {other})" if not function else f"{function}({one}, {other})"
        return f"each({function or _UFUNCS[operator]}, {one}, {other})"

    def index(self, node: tree.Index) -> str:
        return self.read_or_part(node)

    def access(self, node: tree.Access) -> str:
        members = node.member.name
        base = self.type_of(node.base)
        if isinstance(base, Vector) and len(members) > 1:
            whole = self.kept(self.value(node.base))
            return f"[{', '.join(f'{whole}[{COMPONENTS[one]}]' for one in members)}]"
        return self.read_or_part(node)

    def read_or_part(self, node: tree.Index | tree.Access) -> str:
        if isinstance(self.module.types.of(node), Reference):
            return self.read(self.place(node))
        base = self.value(node.base)
        if isinstance(node, tree.Index):
            return f"part_of({base}, {self.value(node.index)})"
        return f"{base}[{self.member(self.type_of(node.base), node)}]"

    def member(self, type_: Type, node: tree.Access) -> int:
        if isinstance(type_, StructType):
            return list(type_.members).index(node.member.name)
        return COMPONENTS[node.member.name]

    # Places.

    def place(self, node: tree.Expression) -> Place:
        """Return where a variable, or a part of one, is."""
        found = self.part_place(node)
        if isinstance(found, MemoryPlace) and not isinstance(node, tree.Name):
            return replace(found, site=self.site(node))
        return found

    def part_place(self, node: tree.Expression) -> Place:
        if isinstance(node, tree.Paren):
            return self.place(node.inner)
        if isinstance(node, tree.Name):
            return self.named_place(node)
        if isinstance(node, tree.Unary) and node.operator == "*":
            return self.pointed(node.operand)
        if isinstance(node, tree.Index):
            return self.element(self.base_place(node.base), node)
        if not isinstance(node, tree.Access):
            self.refuse("what is no variable.", node)
        base = self.base_place(node.base)
        number = self.member(base.type, node)
        type_ = self.type_of(node)
        if isinstance(base, OwnPlace):
            return base.part(str(number), type_)
        return base.part(self.module.offset(base.type, number), type_)

    def base_place(self, node: tree.Expression) -> Place:
        """Return the place of what is indexed: of a variable, or of what a pointer points to."""
        return self.pointed(node) if self.is_pointer(node) else self.place(node)

    def is_pointer(self, node: tree.Expression) -> bool:
        return isinstance(self.type_of(node), Pointer)

    def named_place(self, node: tree.Name) -> Place:
        local = self.found(node.name)
        type_ = self.type_of(node)
        if local is not None:
            return OwnPlace(local.name, local.is_cell, (), type_)
        if node.name not in self.module.variables:
            self.refuse(f"{node.name} is no variable.", node)
        if self.module.variables[node.name].space == "private":
            return OwnPlace(self.module.private(node.name), True, (), type_)
        return MemoryPlace(self.module.memory(node.name), (), 0, type_, self.site(node))

    def pointed(self, node: tree.Expression) -> Place:
        type_ = self.type_of(node)
        assert isinstance(type_, Pointer)
        inner = bare(node)
        if isinstance(inner, tree.Unary) and inner.operator == "&":
            return self.place(inner.operand)
        value = self.kept(self.value(node), "p")
        if type_.space in _OWN_SPACES:
            return OwnPlace(value, True, (), type_.store)
        site = self.site(node)
        return MemoryPlace(f"{value}[0]", ((f"{value}[1]", 1),), 0, type_.store, site)

    def element(self, base: Place, node: tree.Index) -> Place:
        type_, holder = self.type_of(node), base.type
        index = self.value(node.index, concrete(self.type_of(node.index)))
        if isinstance(base, OwnPlace):
            return base.part(self.kept(index, "i"), type_)
        stride = self.module.stride(holder)
        count = self.module.count(holder)
        fixed = self.module.known(node.index)
        if fixed is not None and 0 <= fixed < (count or fixed + 1):
            return base.part(fixed * stride, type_)
        if count is not None:
            index = f"R.index({base.name}, {index}, {count}, m, {base.site})"
        return base.part(0, type_, self.kept(index, "i"), stride)

    def read(self, place: Place) -> str:
        if isinstance(place, OwnPlace):
            found = f"{place.name}.value" if place.is_cell else place.name
            for index in place.path:
                found = f"{found}[{index}]" if index.isdigit() else f"part_of({found}, {index})"
            return found
        if isinstance(place.type, (Scalar, Atomic)):
            return self.loaded(place)
        parts = [self.read(one) for one in self.parts(place)]
        return f"[{', '.join(parts)}]"

    def loaded(self, place: MemoryPlace) -> str:
        scalar = scalar_of(place.type)
        assert scalar is not None
        at = place.address(self.module.size(scalar))
        return self.kept(f"R.load({place.name}, {at}, {scalar.name!r}, m, {place.site})")

    def parts(self, place: MemoryPlace) -> list[MemoryPlace]:
        """Return the places of the parts of a vector, an array, a matrix or a struct."""
        type_ = place.type
        if isinstance(type_, StructType):
            members = enumerate(type_.members.values())
            return [place.part(self.module.offset(type_, n), one) for n, one in members]
        count, stride = self.module.count(type_), self.module.stride(type_)
        assert count is not None
        element = self.module.element(type_)
        return [place.part(number * stride, element) for number in range(count)]

    def call(self, node: tree.Call) -> str:
        raise AssertionError("written by a subclass")


def _is_product(left: Type, right: Type) -> bool:
    """Say whether ``*`` is the product of a matrix, not that of components."""
    shapes = isinstance(left, Matrix), isinstance(right, Matrix)
    return any(shapes) and not isinstance(left, Scalar) and not isinstance(right, Scalar)


def _operation(operator: str, kind: str) -> str:
    """Return the function that an operator is, empty where Python has the same operator."""
    if operator in ("<<", ">>"):
        return "shifted_left" if operator == "<<" else "shifted_right"
    if operator in ("/", "%") and kind in ("i32", "u32"):
        return "divided" if operator == "/" else "remainder"
    if operator == "%":
        return "np.fmod"
    if operator == "/" and kind == "AbstractInt":
        return "whole_quotient"
    return ""


_UFUNCS = {
    "+": "np.add", "-": "np.subtract", "*": "np.multiply", "/": "np.divide",
    "&": "np.bitwise_and", "|": "np.bitwise_or", "^": "np.bitwise_xor",
    "==": "np.equal", "!=": "np.not_equal", "<": "np.less", "<=": "np.less_equal",
    ">": "np.greater", ">=": "np.greater_equal",
}  # fmt: skip

_VALUES: dict[type[tree.Node], Any] = {
    tree.Literal: ExpressionCompiler.literal,
    tree.Paren: ExpressionCompiler.paren,
    tree.Name: ExpressionCompiler.name,
    tree.Unary: ExpressionCompiler.unary,
    tree.Binary: ExpressionCompiler.binary,
    tree.Index: ExpressionCompiler.index,
    tree.Access: ExpressionCompiler.access,
    tree.Call: lambda self, node: self.call(node),
}
