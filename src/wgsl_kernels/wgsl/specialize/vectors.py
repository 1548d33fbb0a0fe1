"""The vec4 form of an element function, where its tree and the layouts prove that there is one.

``a_at(batch, row, k)`` reads one element; where every index of a buffer is ``k`` plus what four
divides, four elements from ``k`` on are one load of an ``array<vec4>``. For that the buffer is
bound a second time, so nothing else changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.made import made_function, made_name
from wgsl_kernels.wgsl.syntax.printer import spell, spell_head
from wgsl_kernels.wgsl.syntax.walk import children
from wgsl_kernels.wgsl.types.values import known_literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wgsl_kernels.wgsl.syntax.places import Text

VEC4 = "_as_vec4"
"""What a buffer that is bound as vec4 is called behind its own name."""
VEC4_OF = "wk_vec4_of_"
"""What the vec4 form of an element function is called before its own name."""

_NAMES = (
    "abs acos acosh asin asinh atan atanh ceil clamp cos cosh exp exp2 floor fma fract "
    "inverseSqrt log log2 max min mix pow round saturate select sign sin sinh smoothstep sqrt "
    "step tan tanh trunc"
)
_ELEMENTWISE = frozenset(_NAMES.split(" "))
_CASTS = frozenset({"u32", "i32"})
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_SCALARS = frozenset({"f32", "f16", "i32", "u32", "T", "T_wide", "Sum"})


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the host knows of a kernel's arrays and parameters.

    Attributes:
        contiguous: The buffers whose element ``i`` is ``x[i]`` of their binding.
        strided: Those that are views, which only ``load_x`` can read.
        divisors: What divides a field, by ``params.field``.
    """

    contiguous: frozenset[str]
    strided: frozenset[str]
    divisors: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Vec4Load:
    """Four elements at once.

    Attributes:
        text: The function, called ``wk_vec4_of_`` and the element function's name.
    """

    text: str
    buffers: tuple[str, ...]

    def __str__(self) -> str:
        return f"vec4 loads of {', '.join(self.buffers)}"


@dataclass(frozen=True, slots=True)
class ScalarLoads:
    """Why there is no vec4 form: the reason, and the place where it shows."""

    reason: str
    place: str

    def __str__(self) -> str:
        return f"scalar loads: {self.reason} ({self.place})"


def vec4_load(
    text: Text, function: tree.Function, along: str, facts: HostFacts, own: Collection[str] = ()
) -> Vec4Load | ScalarLoads:
    """Return the form of ``function`` that reads four elements along a parameter, or why not.

    ``function`` has ``let``s and a ``return``; the parameter ``along`` is a multiple of four where
    the form is called. ``own`` are the names that the file declares, which are not WGSL's.
    """
    try:
        return _Vectorizing(function, along, facts, own).all()
    except _NoVec4Error as error:
        return ScalarLoads(error.reason, text.place(error.begin).label)


class _NoVec4Error(Exception):
    """There is no vec4 form."""

    def __init__(self, reason: str, begin: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.begin = begin


def _refuse(reason: str, node: tree.Node) -> NoReturn:
    raise _NoVec4Error(reason, node.begin)


class _Vectorizing:
    """A walk over one function; local names win over buffers of the same name."""

    def __init__(
        self, function: tree.Function, along: str, facts: HostFacts, own: Collection[str]
    ) -> None:
        self.function = function
        self.own = own
        self.facts = facts
        self.lets: dict[str, tree.Expression] = {}
        self.vectors: set[str] = set()  # the local names that are vec4 now
        self.parameters = {one.ident.name for one in function.parameters}
        self.indices = Divisors(along, self.lets, facts.divisors)
        self.buffers: dict[str, None] = {}

    def all(self) -> Vec4Load:
        function = self.function
        if isinstance(function.body, tree.Broken) or function.returns is None:
            _refuse(f"{function.ident.name} could not be read", function)
        lines: list[str] = []
        for statement in function.body.statements:
            if isinstance(statement, tree.Value) and statement.value is not None:
                lines.append(self.let(statement, statement.value))
            elif isinstance(statement, tree.Return) and statement.value is not None:
                value, is_vector = self.value(statement.value)
                given = value if is_vector else f"vec4<{spell(function.returns)}>({value})"
                lines.append(f"return {given};")
            else:
                _refuse("it has statements beside let and return", statement)
        if not self.buffers:
            _refuse(f"no buffer is read along {self.indices.along}", function)
        name, returns = f"{VEC4_OF}{function.name}", made_name("vec4", function.returns)
        head = spell_head(made_function(name, function.parameters, returns))
        return Vec4Load(f"{head} {{ {' '.join(lines)} }}", tuple(self.buffers))

    def let(self, node: tree.Value, value: tree.Expression) -> str:
        """Return a ``let``: of a vec4, or as it stands, where it may be part of an index."""
        name = node.ident.name
        if name in self.lets:
            _refuse(f"{name!r} is declared twice", node)
        written, is_vector = self.value(value, may_move=True)
        self.lets[name] = value
        if is_vector:
            self.vectors.add(name)
            return f"let {name} = {written};"
        type_ = "" if node.type is None else f": {spell(node.type)}"
        return f"{node.keyword} {name}{type_} = {written};"

    # Values: their text, and whether they are a vec4 now.

    def value(self, node: tree.Expression, *, may_move: bool = False) -> tuple[str, bool]:
        """Return an expression of four elements; one that moves and is none is an index."""
        if isinstance(node, tree.Paren):
            inner, is_vector = self.value(node.inner, may_move=may_move)
            return f"({inner})", is_vector
        if isinstance(node, tree.Index) and isinstance(node.base, tree.Name):
            return self.element(node, node.base.name, node.index)
        if isinstance(node, tree.Call):
            return self.call(node)
        if isinstance(node, tree.Name) and node.name in self.vectors:
            return node.name, True
        if isinstance(node, tree.Unary) and node.operator == "-":
            inner, is_vector = self.value(node.operand, may_move=may_move)
            return f"-{inner}", is_vector
        if isinstance(node, tree.Binary):
            return self.binary(node, may_move=may_move)
        if not may_move and self.indices.moves(node):
            _refuse(f"{spell(node)} differs from one element to the next", node)
        return spell(node), False

    def binary(self, node: tree.Binary, *, may_move: bool) -> tuple[str, bool]:
        left, left_is = self.value(node.left, may_move=may_move)
        right, right_is = self.value(node.right, may_move=may_move)
        if not (left_is or right_is):
            return f"{left} {node.operator} {right}", False
        if node.operator in _COMPARISONS:
            left, right = _splat(left, left_is), _splat(right, right_is)
        elif node.operator not in _ARITHMETIC:
            _refuse(f"{node.operator!r} is none of + - * /", node)
        if self.indices.moves(node.left) and not left_is:
            _refuse(f"{spell(node.left)} differs from one element to the next", node.left)
        if self.indices.moves(node.right) and not right_is:
            _refuse(f"{spell(node.right)} differs from one element to the next", node.right)
        return f"{left} {node.operator} {right}", True

    def call(self, node: tree.Call) -> tuple[str, bool]:
        name = node.callee.name
        is_own = name in self.own
        if not is_own and name.startswith("load_") and len(node.arguments) == 1:
            return self.element(node, name.removeprefix("load_"), node.arguments[0])
        if not self.indices.moves(node) and not self._holds_vector(node):
            return spell(node), False
        if is_own:
            _refuse(f"{name} is a function of the file's own", node)
        arguments = [self.value(one) for one in node.arguments]
        if name in _SCALARS or name.startswith("T_"):
            (inner, is_vector), *_ = arguments
            return (f"vec4<{name}>({inner})", True) if is_vector else (spell(node), False)
        if name not in _ELEMENTWISE or name in self.lets or name in self.parameters:
            _refuse(f"{name} is none of WGSL's elementwise functions", node)
        *values, last = arguments
        if name == "select":  # one condition may hold for all four
            splatted = [_splat(*one) for one in values]
            return f"select({', '.join([*splatted, last[0]])})", True
        return f"{name}({', '.join(_splat(*one) for one in arguments)})", True

    def _holds_vector(self, node: tree.Call) -> bool:
        return any(self.value(one, may_move=True)[1] for one in node.arguments)

    def element(
        self, node: tree.Index | tree.Call, name: str, index: tree.Expression
    ) -> tuple[str, bool]:
        """Return an element of a buffer, or four of them."""
        is_local = name in self.lets or name in self.parameters
        if is_local or name not in self.facts.contiguous:
            if not self.indices.moves(node):
                return spell(node), False
            if name in self.facts.strided:
                _refuse(f"{name} is a view, whose elements may be apart", node)
            _refuse(f"{name} is no contiguous buffer", node)
        try:
            found = self.indices.linear(index)
        except NotLinearError as error:
            _refuse(str(error), index)
        if found.step == 0:
            return spell(node), False
        if found.step != 1:
            _refuse(f"elements of {name} are {found.step} apart along {self.indices.along}", index)
        if found.divisor % 4:
            why = f"{found.blame} is no known multiple of 4"
            _refuse(f"four elements of {name} may begin between two vec4s: {why}", index)
        self.buffers[name] = None
        return f"{name}{VEC4}[({spell(index)}) / 4u]", True


def _splat(text: str, is_vector: bool) -> str:
    return text if is_vector else f"vec4({text})"


# What is known of an index: how it moves with one parameter, and what divides the rest.


@dataclass(frozen=True, slots=True)
class Linear:
    """``step`` times the parameter, and a rest that ``divisor`` divides; of a rest of 0 it is 0.

    Attributes:
        step: By how much the index grows with the parameter.
        divisor: What divides the rest.
        blame: The part of the rest that limits the divisor, empty where nothing does.
    """

    step: int
    divisor: int
    blame: str = ""


class NotLinearError(Exception):
    """An index moves with the parameter in another way; the message says which part does."""


class Divisors:
    """Indices in the scope of one function.

    Attributes:
        divisors: What divides a field of ``params`` or a constant, by ``params.field`` or name.
    """

    def __init__(
        self, along: str, lets: Mapping[str, tree.Expression], divisors: Mapping[str, int]
    ) -> None:
        """Take what is known; ``lets`` may grow later."""
        self.along = along
        self.lets = lets
        self.divisors = divisors

    def linear(self, node: tree.Expression) -> Linear:
        """Return how an index moves.

        Raises:
            NotLinearError: It is no sum of the parameter's multiples and things that stay.
        """
        if isinstance(node, tree.Paren):
            return self.linear(node.inner)
        if isinstance(node, tree.Literal):
            known = known_literal(node.text)
            if known is not None:
                return Linear(0, known.value, spell(node))
        if isinstance(node, tree.Name):
            return self._name(node)
        if isinstance(node, tree.Call) and node.callee.name in _CASTS and len(node.arguments) == 1:
            return self.linear(node.arguments[0])
        if isinstance(node, tree.Binary):
            return self._binary(node)
        self._must_stay(node)
        shown = spell(node)
        return Linear(0, self.divisors.get(shown, 1), shown)

    def moves(self, node: tree.Node) -> bool:
        """Say whether ``node`` mentions the parameter, through local names, too."""
        open_: list[tree.Node] = [node]
        while open_:
            one = open_.pop()
            if isinstance(one, tree.Name):
                if one.name in self.lets:
                    open_.append(self.lets[one.name])
                elif one.name == self.along:
                    return True
            open_ += children(one)
        return False

    def _name(self, node: tree.Name) -> Linear:
        name = node.name
        if name in self.lets:
            return self.linear(self.lets[name])
        if name == self.along:
            return Linear(1, 0)
        return Linear(0, self.divisors.get(name, 1), name)

    def _binary(self, node: tree.Binary) -> Linear:
        if node.operator in ("+", "-"):
            left, right = self.linear(node.left), self.linear(node.right)
            step = left.step + (right.step if node.operator == "+" else -right.step)
            divisor = math.gcd(left.divisor, right.divisor)
            blame = left.blame if left.divisor % 4 else right.blame
            return Linear(step, divisor, blame)
        if node.operator == "*":
            left, right = self.linear(node.left), self.linear(node.right)
            if left.step == right.step == 0:
                return Linear(0, left.divisor * right.divisor, spell(node))
            moving, by = (node.left, node.right) if left.step else (node.right, node.left)
            known = self._literal(by)
            if known is None:
                raise NotLinearError(f"{spell(moving)} is multiplied by {spell(by)}")
            one = left if left.step else right
            return Linear(one.step * known, one.divisor * known, one.blame)
        if node.operator == "<<":
            known = self._literal(node.right)
            if known is not None and known < 31:
                one = self.linear(node.left)
                return Linear(one.step << known, one.divisor << known, spell(node))
        self._must_stay(node)
        return Linear(0, 1, spell(node))

    def _literal(self, node: tree.Expression) -> int | None:
        if isinstance(node, tree.Paren):
            return self._literal(node.inner)
        known = known_literal(node.text) if isinstance(node, tree.Literal) else None
        return None if known is None else known.value

    def _must_stay(self, node: tree.Expression) -> None:
        if self.moves(node):
            raise NotLinearError(f"{spell(node)} moves with {self.along} in another way")
