"""The types of expressions, by the rules of their operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.calls import (
    MismatchError,
    builtin_call,
    check_constructor,
    constructed,
)
from wgsl_kernels.wgsl.types.kinds import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    BOOL,
    F16,
    F32,
    I32,
    INTEGERS,
    SCALARS,
    U32,
    VOID,
    Array,
    Matrix,
    Pointer,
    Reference,
    Scalar,
    StructType,
    Type,
    Vector,
    common,
    concrete,
    converts,
    scalar_of,
    takes_prefix,
    value_of,
    with_scalar,
)
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_BITS = frozenset({"&", "|", "^"})
_SUFFIXES = {"u": U32, "i": I32, "f": F32, "h": F16}
_COMPONENTS = (frozenset("xyzw"), frozenset("rgba"))


@dataclass(frozen=True, slots=True)
class Misfit:
    """Something that does not fit together, and where in the file of its declaration."""

    declaration: tree.Declaration
    message: str
    begin: int


class ExpressionTypes:
    """The types of expressions in the scopes that are open.

    Attributes:
        declarations: The module.
        types: What its names of types mean.
        found: Each expression with its type, by its identity.
        problems: What does not fit.
        unknown: The expressions without a known type.
        scopes: The local names, the innermost scope last.
        current: The declaration at hand.
        returns: What the function at hand returns.
    """

    def __init__(self, declarations: tuple[tree.Declaration, ...]) -> None:
        """Note what the module declares; the types of its values are found when they are used."""
        self.declarations = declarations
        self.types = NamedTypes(declarations)
        self.found: dict[int, tuple[tree.Expression, Type]] = {}
        self.problems: list[Misfit] = []
        self.unknown: list[tree.Expression] = []
        self.scopes: list[dict[str, Type | None]] = []
        self.current = declarations[0] if declarations else tree.Broken(0, 0, "", ())
        self.returns: Type | None = VOID
        self._values: dict[str, Type | None] = {}
        self._functions = {n.ident.name: n for n in declarations if isinstance(n, tree.Function)}
        self._variables = {
            n.ident.name: n for n in declarations if isinstance(n, (tree.Value, tree.Var))
        }

    # What is declared.

    def named_type(self, node: tree.Name) -> Type | None:
        """Return the type that ``node`` names, and note where it names none."""
        found = self.types.of(node)
        if found is None:
            self.unknown.append(node)
        return found

    def value_named(self, name: str) -> Type | None:
        """Return the type of a constant or variable of the module."""
        if name not in self._values:
            self._values[name] = None  # what is made from itself has no type
            outer = self.scopes, self.current
            self.scopes, self.current = [], self._variables[name]
            with self.types.constants.top():
                self._values[name] = self.declared_type(self._variables[name])
            self.scopes, self.current = outer
        return self._values[name]

    def declared_type(self, node: tree.Var | tree.Value) -> Type | None:
        """Return the type of a name behind its declaration."""
        given = None if node.value is None else self.value(node.value)
        wanted = None if node.type is None else self.named_type(node.type)
        if node.value is not None and given is not None and wanted is not None:
            self.want(given, wanted, node.value.begin)
        type_ = wanted if node.type is not None else given
        if type_ is None:
            return None
        if isinstance(node, tree.Var):
            space = node.space or ("function" if self.scopes else "handle")
            access = node.access if node.space else tree.default_access(space)
            return Reference(space, concrete(type_), access)
        return type_ if node.keyword == "const" else concrete(type_)

    def problem(self, message: str, begin: int) -> None:
        """Note what does not fit."""
        self.problems.append(Misfit(self.current, message, begin))

    def want(self, given: Type, wanted: Type, begin: int) -> None:
        """Note a value of another type than is wanted."""
        if not converts(given, wanted):
            self.problem(f"want {wanted}, found {given}.", begin)

    # Expressions.

    def value(self, node: tree.Expression) -> Type | None:
        """Return the type of an expression's value, and keep those of all its parts."""
        found = self.expression(node)
        return None if found is None else value_of(found)

    def expression(self, node: tree.Expression) -> Type | None:
        """Return the type of an expression, and keep those of all its parts."""
        open_: list[tree.Expression] = [node]
        ready: list[tree.Expression] = []
        while open_:  # each comes before its parts, whose depth is no matter of Python's stack
            one = open_.pop()
            ready.append(one)
            open_ += _parts(one)
        for one in reversed(ready):
            found = _EXPRESSIONS[type(one)](self, one)
            if found is None:
                self.unknown.append(one)
            else:
                self.found[id(one)] = (one, found)
        return self.kept(node)

    def kept(self, node: tree.Expression) -> Type | None:
        """Return the type of a part, which was found before what it is part of."""
        found = self.found.get(id(node))
        return None if found is None else found[1]

    def read(self, node: tree.Expression) -> Type | None:
        """Return the type of a part's value."""
        found = self.kept(node)
        return None if found is None else value_of(found)

    def literal(self, node: tree.Literal) -> Type | None:
        """Return the type that a number's form gives."""
        text = node.text
        if text in ("true", "false"):
            return BOOL
        is_hex = text[:2] in ("0x", "0X")
        is_float = any(mark in text for mark in (".pP" if is_hex else ".eE"))
        if text.endswith(("lu", "li", "lf")):
            return SCALARS[f"{text[-1]}64"]
        if text[-1] in "iu" or (text[-1] in "fh" and (is_float or not is_hex)):
            return _SUFFIXES[text[-1]]
        return ABSTRACT_FLOAT if is_float else ABSTRACT_INT

    def name(self, node: tree.Name) -> Type | None:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        return self.value_named(node.name) if node.name in self._variables else None

    def paren(self, node: tree.Paren) -> Type | None:
        return self.kept(node.inner)

    def unary(self, node: tree.Unary) -> Type | None:
        """Return the type behind a prefix."""
        operand = self.kept(node.operand)
        if node.operator == "&":
            if isinstance(operand, Reference):
                return Pointer(operand.space, operand.store, operand.access)
            return None
        value = None if operand is None else value_of(operand)
        if node.operator != "*":
            if value is not None and not takes_prefix(node.operator, value):
                self.problem(f"{node.operator} takes no {value}.", node.operand.begin)
                return BOOL if node.operator == "!" else value
            return value
        if not isinstance(value, Pointer):
            return None
        return Reference(value.space, value.store, value.access)

    def binary(self, node: tree.Binary) -> Type | None:
        """Return the type of what an operator makes of two operands."""
        left, right = self.read(node.left), self.read(node.right)
        if left is None or right is None:
            return None
        return self.combine(node.operator, left, right, node.right.begin)

    def combine(self, operator: str, left: Type, right: Type, begin: int) -> Type | None:
        """Return the type of two operands' combination, and note where there is none."""
        found = _combined(operator, left, right)
        if found is None:
            self.problem(f"{left} {operator} {right} has no meaning.", begin)
        return found

    def index(self, node: tree.Index) -> Type | None:
        base = self.kept(node.base)
        at = self.read(node.index)
        if at is not None and not (isinstance(at, Scalar) and at.name in INTEGERS):
            self.problem(f"want an integer, found {at}.", node.index.begin)
        return None if base is None else _part(base, _element)

    def access(self, node: tree.Access) -> Type | None:
        """Return the type of a member, or of components of a vector."""
        base = self.kept(node.base)
        if base is None:
            return None
        member = node.member.name
        found = _part(base, lambda store: _member(store, member))
        if found is None and not self._declares(base, member):
            self.problem(f"{value_of(base)} has no {member!r}.", node.member.begin)
        is_swizzle = found is not None and isinstance(value_of(found), Vector) and len(member) > 1
        if is_swizzle and isinstance(found, Reference) and isinstance(_store(base), Vector):
            return found.store  # several components are a value, no place
        return found

    def _declares(self, base: Type, member: str) -> bool:
        """Say whether a struct has a member, whose type is not known."""
        struct = value_of(base)
        struct = struct.store if isinstance(struct, Pointer) else struct
        fields = self.types.fields(struct) if isinstance(struct, StructType) else ()
        return any(one.ident.name == member for one in fields)

    # Calls.

    def call(self, node: tree.Call) -> Type | None:
        """Return what a call returns, or what a constructor makes."""
        arguments = [self.read(argument) for argument in node.arguments]
        name = node.callee.name
        function = self._functions.get(name)
        if function is not None:
            return self._called(node, function, arguments)
        if any(one is None for one in arguments):
            return None
        known = [one for one in arguments if one is not None]
        try:
            return self._own(node, known)
        except MismatchError as error:
            at = error.at
            self.problem(f"{error}.", node.begin if at is None else node.arguments[at].begin)
            return None

    def _own(self, node: tree.Call, arguments: list[Type]) -> Type | None:
        """Return what WGSL's own functions return, or what a type's constructor makes."""
        name = node.callee.name
        if name == "bitcast" and node.callee.templates:
            return self.types.of(node.callee.templates[0])
        if not self.types.is_type(name):
            return builtin_call(self.types, name, arguments)
        type_ = self.types.of(node.callee)
        if type_ is None:
            type_ = constructed(self.types, name, arguments)
        if type_ is not None:
            check_constructor(type_, arguments)
        return type_

    def _called(
        self, node: tree.Call, function: tree.Function, arguments: list[Type | None]
    ) -> Type | None:
        if len(arguments) != len(function.parameters):
            wanted = len(function.parameters)
            message = f"{node.callee.name} takes {wanted}, not {len(arguments)}, arguments."
            self.problem(message, node.begin)
        for given, argument, parameter in zip(
            arguments, node.arguments, function.parameters, strict=False
        ):
            wanted_type = self.types.of(parameter.type)
            if given is not None and wanted_type is not None:
                self.want(given, wanted_type, argument.begin)
        return VOID if function.returns is None else self.types.of(function.returns)


def _parts(node: tree.Expression) -> tuple[tree.Expression, ...]:
    """Return the expressions that ``node`` is made of."""
    if isinstance(node, tree.Binary):
        return (node.left, node.right)
    if isinstance(node, tree.Index):
        return (node.base, node.index)
    if isinstance(node, tree.Call):
        return node.arguments
    if isinstance(node, tree.Access):
        return (node.base,)
    if isinstance(node, tree.Unary):
        return (node.operand,)
    return (node.inner,) if isinstance(node, tree.Paren) else ()


def _combined(operator: str, left: Type, right: Type) -> Type | None:
    """Return the type of ``left operator right``, None where WGSL has no such operator."""
    if operator in ("<<", ">>"):
        return _shifted(left, right)
    if operator in ("&&", "||"):
        return BOOL if left == right == BOOL else None
    if operator in _COMPARISONS:
        both = common(left, right)
        return None if both is None or scalar_of(both) is None else with_scalar(both, BOOL)
    one, two = scalar_of(left), scalar_of(right)
    scalar = None if one is None or two is None else common(one, two)
    if not isinstance(scalar, Scalar) or (scalar == BOOL and operator not in ("&", "|")):
        return None
    if operator in _BITS:
        is_bits = scalar == BOOL or scalar.name in INTEGERS
        return common(left, right) if is_bits else None
    if operator == "*" and (isinstance(left, Matrix) or isinstance(right, Matrix)):
        return _matrix_product(with_scalar(left, scalar), with_scalar(right, scalar))
    if isinstance(left, Vector) and isinstance(right, Scalar):
        return with_scalar(left, scalar)
    if isinstance(left, Scalar) and isinstance(right, Vector):
        return with_scalar(right, scalar)
    return common(left, right)


def _shifted(left: Type, right: Type) -> Type | None:
    one, two = scalar_of(left), scalar_of(right)
    if one is None or two is None or one.name not in INTEGERS:
        return None
    if not converts(two, U32) or with_scalar(left, U32) != with_scalar(right, U32):
        return None
    return concrete(left) if one == ABSTRACT_INT and two != ABSTRACT_INT else left


def _matrix_product(left: Type, right: Type) -> Type | None:
    if isinstance(left, Scalar) or isinstance(right, Scalar):
        return right if isinstance(left, Scalar) else left
    if isinstance(left, Matrix) and isinstance(right, Vector):
        return Vector(left.rows, left.element) if right.size == left.columns else None
    if isinstance(left, Vector) and isinstance(right, Matrix):
        return Vector(right.columns, right.element) if left.size == right.rows else None
    if isinstance(left, Matrix) and isinstance(right, Matrix) and left.columns == right.rows:
        return Matrix(right.columns, left.rows, left.element)
    return None


def _store(type_: Type) -> Type:
    """Return what is behind a reference or a pointer."""
    return type_.store if isinstance(type_, (Reference, Pointer)) else type_


def _part(base: Type, part: Callable[[Type], Type | None]) -> Type | None:
    """Return a part of ``base``: of a value a value, of a place a place."""
    outer = base.store if isinstance(base, Reference) and isinstance(base.store, Pointer) else base
    found = part(_store(outer))
    if found is None or not isinstance(outer, (Reference, Pointer)):
        return found
    return Reference(outer.space, found, outer.access)


def _element(type_: Type) -> Type | None:
    if isinstance(type_, (Array, Vector)):
        return type_.element
    return Vector(type_.rows, type_.element) if isinstance(type_, Matrix) else None


def _member(type_: Type, name: str) -> Type | None:
    if isinstance(type_, StructType):
        return type_.members.get(name)
    if not isinstance(type_, Vector) or not 1 <= len(name) <= 4:
        return None
    if not any(letters >= set(name) for letters in _COMPONENTS):
        return None
    if any("xyzwrgba".index(letter) % 4 >= type_.size for letter in name):
        return None
    return type_.element if len(name) == 1 else Vector(len(name), type_.element)


_EXPRESSIONS: dict[type[tree.Node], Callable[[ExpressionTypes, Any], Type | None]] = {
    tree.Literal: ExpressionTypes.literal,
    tree.Name: ExpressionTypes.name,
    tree.Call: ExpressionTypes.call,
    tree.Unary: ExpressionTypes.unary,
    tree.Binary: ExpressionTypes.binary,
    tree.Index: ExpressionTypes.index,
    tree.Access: ExpressionTypes.access,
    tree.Paren: ExpressionTypes.paren,
}
