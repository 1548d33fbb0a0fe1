"""A WGSL module as Python functions over NumPy arrays."""

from __future__ import annotations

import functools
import itertools
import re
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.simulator import builtins, masks
from wgsl_kernels.simulator.builtins import COMPONENTWISE, WHOLE
from wgsl_kernels.simulator.domains import FLOAT32
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.simulator.python_code import TooDeepError, code_of
from wgsl_kernels.simulator.statements import MOST_ROUNDS, FunctionCompiler
from wgsl_kernels.wgsl.lint.loops import Loop, changed_in, counted_by
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.depth import deep_stack
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import (
    Array,
    Matrix,
    Scalar,
    StructType,
    Type,
    Vector,
    concrete,
    scalar_of,
    value_of,
)
from wgsl_kernels.wgsl.types.layouts import TypeLayouts
from wgsl_kernels.wgsl.types.named import NamedTypes
from wgsl_kernels.wgsl.types.order import in_order_of_need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from wgsl_kernels.simulator.domains import Domain
    from wgsl_kernels.wgsl.syntax.places import Span


_FEW = 50
"""Functions that call each other within Python's own stack, wherever they are called."""


class EndlessLoopError(Exception):
    """A loop went on for too long; ``begin`` is its place."""

    def __init__(self, begin: int) -> None:
        super().__init__(begin)
        self.begin = begin


class AccessSite(NamedTuple):
    """A place of the text where memory is accessed."""

    span: Span
    is_written: bool


class ModuleCompiler:
    """A module's functions, each compiled when it is first asked for.

    Attributes:
        domain: What it computes in.
        given: Values of its overrides.
        types: The types of its expressions.
        constants: What evaluates constant expressions, in the scopes that are open.
        functions: Its functions, by name.
        variables: Its variables, by name.
        values: Its constants and overrides, by name.
        globals: What its Python functions name.
        sources: The Python functions, by name.
        sites: The places of the text that numbers stand for.
    """

    compiles_functions: type[FunctionCompiler] = FunctionCompiler

    def __init__(
        self, module: tree.Module, constants: Mapping[str, float], domain: Domain = FLOAT32
    ) -> None:
        """Take a module.

        Args:
            module: The module.
            constants: Values of its overrides.
            domain: What it computes in.
        """
        self.domain = domain
        self.text = module.text
        self.types = infer(module.declarations)
        self._named = NamedTypes(module.declarations, overrides=constants)
        self.constants = self._named.constants
        self._layouts = TypeLayouts(self._named)
        self.functions = module.functions
        self.variables = module.variables
        self.values = module.constants
        self.sources: dict[str, str] = {}
        self.sites: list[AccessSite] = []
        self.given = constants
        self._numbers = itertools.count()
        self.scalars = domain.scalars
        own = {f"b_{n}": f for n, f in {**COMPONENTWISE, **WHOLE}.items()}
        self.globals: dict[str, Any] = {
            **own,
            **self.scalars,
            "np": np,
            "partial": partial,
            "true": np.True_,
            "false": np.False_,
            "AbstractInt": int,
            "AbstractFloat": float,
            "converted": partial(builtins.converted, scalars=domain.scalars),
            "once": (None,),
            "rounds": rounds,
            "count_rounds": count_rounds,
            "most_rounds": MOST_ROUNDS,
            "put": _put,
            "whole_quotient": _whole_quotient,
        }
        for where, names in (
            (
                masks,
                "Cell CellPointer each excluded holds joined narrowed part_of with_part written",
            ),
            (builtins, "bits divided product remainder saturated shifted_left shifted_right"),
        ):
            self.globals |= {name: getattr(where, name) for name in names.split()}
        self.globals |= domain.names
        for node in in_order_of_need(module.declarations):
            if isinstance(node, tree.Value):
                self._declare(node)

    @functools.cached_property
    def uses_subgroups(self) -> bool:
        """Whether it names anything of subgroups."""
        return re.search(r"\b(subgroup|quad[SB])", self.text.text) is not None

    # Functions.

    def function(self, name: str) -> str:
        """Return what a function is called, and have it compiled."""
        python = _python_name("f", name, self.functions)
        if name in self.domain.leaves:
            self.globals.setdefault(python, self.leaf(name))
        elif name not in self.sources:
            self.write(name, python)
        return python

    def write(self, name: str, python: str) -> None:
        """Have a function's own text compiled under a Python name."""
        self.sources[name] = ""  # one that calls itself is no WGSL
        node = self.functions[name]
        with deep_stack():
            source = self.compiles_functions(self, node).compile(python)
            self.sources[name] = source
            try:
                code = code_of(source, f"<{name} on NumPy>")
            except TooDeepError:
                message = "statements of this are in too many others to be run on NumPy; "
                raise RefusedError(f"{message}call functions.", node.ident.begin) from None
        exec(code, self.globals)

    def stack(self) -> AbstractContextManager[None]:
        """Enter what calls of its functions need: a deeper stack, where many may be in others."""
        return deep_stack() if len(self.sources) > _FEW else nullcontext()

    def leaf(self, name: str) -> Callable[..., Any]:
        """Return what is called in place of a function's own text."""
        function = self.domain.leaves[name]
        return lambda mask, *given: function(*given)

    def has_effects(self, node: tree.Node) -> bool:
        """Say whether an expression calls something that may write memory, or run a loop."""
        return any(
            isinstance(one, tree.Call)
            and (one.callee.name in self.functions or one.callee.name.startswith("atomic"))
            for one in descendants(node)
        )

    def step_of(self, node: tree.Node) -> int:
        """Return the step of a loop whose rounds are known as it begins, 0 of another one.

        It counts up integers to what no round changes, and its rounds have no loops. Where values
        are watched, it is compiled as it is written.
        """
        counted = counted_by(node, self.constants)
        if counted is None or self.compiles_functions is not FunctionCompiler:
            return 0
        assert isinstance(node, tree.For)
        condition, step = counted
        type_ = self.types.value_of(condition.left)
        asked = list(descendants(condition))
        names = {one.name for one in asked if isinstance(one, tree.Name)}
        variables = [self.variables[one] for one in names & self.variables.keys()]
        is_fixed = all(one.access == "read" or one.space == "uniform" for one in variables)
        is_plain = not any(
            (isinstance(one, tree.Call) and not self.is_type(one.callee))
            or (isinstance(one, tree.Unary) and one.operator in "&*")
            for one in asked
        )
        is_known = is_fixed and is_plain and not names & changed_in(node.body)
        is_whole = isinstance(type_, Scalar) and type_.name in ("i32", "u32")
        return step if step > 0 and is_known and is_whole and not self._loops(node.body) else 0

    def _loops(self, node: tree.Node) -> bool:
        """Say whether there is a loop in a statement, or in what it calls."""
        for one in descendants(node):
            called = self.functions.get(one.callee.name) if isinstance(one, tree.Call) else None
            if isinstance(one, Loop) or (called is not None and self._loops(called.body)):
                return True
        return False

    def is_guarded(self, node: tree.Node) -> bool:
        """Say whether an expression may do what must not be done where it is not wanted."""
        return self.has_effects(node) or any(
            isinstance(one, tree.Index) for one in descendants(node)
        )

    def takes_bits(self, node: tree.Call, given: Type, wanted: Type) -> None:
        """Refuse to take a number apart where it is computed with other digits than the device's.

        Raises:
            RefusedError: It is a float, and computed in float64.
        """
        kinds = {str(scalar_of(given)), str(scalar_of(wanted))}
        if not self.domain.has_bits and len(kinds) > 1 and kinds & {"f32", "f16"}:
            name, domain = node.callee.name, self.domain.name
            message = f"{name} takes a number apart as bits, which are none of a {domain}."
            raise RefusedError(message, node.begin)

    def site(self, node: tree.Node, *, is_written: bool) -> int:
        """Return the number of a place where memory is read or written."""
        self.sites.append(AccessSite(node.span, is_written))
        return len(self.sites) - 1

    # Types.

    def named(self, node: tree.Name) -> Type:
        """Return the type that an expression names.

        Raises:
            RefusedError: It names none that is known.
        """
        found = self._named.of(node)
        if found is None:
            raise RefusedError(f"{node.name} is no type that is known.", node.begin)
        return found

    def fields(self, node: tree.Name) -> tuple[tree.Parameter, ...]:
        """Return the fields of a struct, none of another type."""
        found = self._named.of(node)
        return self._named.fields(found) if isinstance(found, StructType) else ()

    def is_type(self, node: tree.Name) -> bool:
        return self._named.is_type(node.name)

    def size(self, scalar: Scalar) -> int:
        """Return the bytes of a number in memory."""
        return 2 if scalar.name == "f16" else 4

    def spacing(self, type_: Type) -> int:
        """Return the bytes of an array's elements, 0 for anything else."""
        return self.stride(type_) if isinstance(type_, Array) else 0

    def element(self, type_: Type) -> Type:
        """Return what an array, a vector or a matrix is made of."""
        if isinstance(type_, Matrix):
            return Vector(type_.rows, type_.element)
        assert isinstance(type_, (Array, Vector))
        return type_.element

    def stride(self, type_: Type) -> int:
        """Return the bytes from element to element."""
        layout = self._layouts.of(self.element(type_))
        return layout.size if isinstance(type_, Vector) else layout.stride

    def count(self, type_: Type) -> int | None:
        """Return how many elements there are, None where the buffer tells it."""
        if isinstance(type_, Vector):
            return type_.size
        if isinstance(type_, Matrix):
            return type_.columns
        assert isinstance(type_, Array)
        if isinstance(type_.count, str):
            node = parse_expression(type_.count)
            assert node is not None
            return int(self.constants.number(node))
        return type_.count

    def words(self, type_: Type) -> int:
        """Return the words that a value takes in memory."""
        return -(-self._layouts.of(type_).size // 4)

    def offset(self, type_: Type, number: int) -> int:
        """Return the bytes at which a part of a vector or a struct begins."""
        if isinstance(type_, StructType):
            return self._layouts.members(self._named.fields(type_))[0][number]
        return number * self.stride(type_)

    def zero(self, type_: Type) -> str:
        """Return the expression of a value that is zero."""
        if isinstance(type_, Scalar):
            return self.constant("0", type_) or f"{type_.name}(0)"
        if isinstance(type_, StructType):
            return f"[{', '.join(map(self.zero, type_.members.values()))}]"
        if isinstance(type_, (Array, Vector, Matrix)):
            return f"[{self.zero(self.element(type_))}] * {self.count(type_)}"
        raise RefusedError(f"{type_} has no zero.", 0)

    # Values.

    def constant(self, value: str, type_: Scalar) -> str:
        """Return the name of a number that is made once, empty where it is no plain number."""
        plain = value.strip("()")
        try:
            number = float(plain) if any(c in plain for c in ".en") else int(plain)
        except ValueError:
            return ""
        name = f"{type_.name}_{plain.replace('-', 'm').replace('.', 'p').replace('+', '')}"
        self.globals.setdefault(name, self.scalars[type_.name](number))
        return name

    def value_named(self, name: str) -> str:
        return _python_name("c", name, self.values)

    def known(self, node: tree.Expression) -> int | None:
        """Return the value of an index that is known before anything runs."""
        if any(isinstance(one, (tree.Call, tree.Index)) for one in descendants(node)):
            return None
        found = self.constants.number_or_none(node)
        return None if found is None else int(found)

    def private(self, name: str) -> str:
        """Return the Python name of the cell of a private variable."""
        return _python_name("p", name, self.variables)

    def memory(self, name: str) -> str:
        """Return the Python name of a variable's memory."""
        return _python_name("v", name, self.variables)

    def first_values(self) -> dict[str, Any]:
        """Return new cells of the private variables."""
        found: dict[str, Any] = {}
        for name, node in self.variables.items():
            if node.space == "private":
                found[self.private(name)] = self.globals["Cell"](self._evaluated(node))
        return found

    def _declare(self, node: tree.Value) -> None:
        name = self.value_named(node.name)
        given = self.given.get(node.name) if node.keyword == "override" else None
        type_ = self.types.of(node.value) if node.value is not None else None
        if node.type is not None:
            type_ = self.named(node.type)
        assert type_ is not None
        if given is not None:
            scalar = scalar_of(concrete(type_))
            assert scalar is not None
            self.globals[name] = self.scalars[scalar.name](given)
            return
        self.globals[name] = self._evaluated(node)

    def _evaluated(self, node: tree.Value | tree.Var) -> Any:
        """Return the value that a declaration at module level gives."""
        if node.value is None:
            assert node.type is not None
            return eval(self.zero(self.named(node.type)), self.globals)
        writer = self.compiles_functions(self, _EMPTY)
        given = value_of(writer.type_of(node.value))
        is_const = isinstance(node, tree.Value) and node.keyword == "const"
        wanted = given if is_const else concrete(given)
        if node.type is not None:
            wanted = self.named(node.type)
        result = writer.value(node.value, wanted)
        lines = "\n".join(("def made(m):", *writer.lines, f"    return {result}", ""))
        exec(lines, self.globals)
        return self.globals.pop("made")(True)


def _python_name(kind: str, name: str, among: Iterable[str]) -> str:
    """Return what a declaration is called in Python, where other letters mean the same names."""
    return f"{kind}_{name}" if name.isascii() else f"{kind}_{list(among).index(name)}"


def rounds(begin: int, most: int) -> Iterator[int]:
    """Yield for each round of a loop, ``most`` times at most.

    Raises:
        EndlessLoopError: There are too many.
    """
    yield from range(most)
    raise EndlessLoopError(begin)


def count_rounds(
    begin: int, mask: Any, counter: Any, end: Any, more: int, step: int, most: int
) -> None:
    """Count the rounds of a loop that goes up to an end, before the first one.

    Raises:
        EndlessLoopError: There are too many.
    """
    left = np.asarray(end).astype(np.int64) - np.asarray(counter).astype(np.int64) + more
    if -(-int(np.where(mask, left, 0).max()) // step) >= most:
        raise EndlessLoopError(begin)


def _put(holder: Any, path: tuple[Any, ...], new: Any, mask: Any) -> None:
    """Write a cell, or what a pointer points to."""
    holder.write(path, new, mask)


def _whole_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_EMPTY = tree.Function(
    0, 0, (), tree.Ident(0, 0, "made"), (), (), None, tree.CompoundStatement(0, 0, (), ())
)
