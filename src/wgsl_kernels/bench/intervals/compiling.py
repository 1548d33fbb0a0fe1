"""The domain of intervals: what the simulator compiles for numbers with what they may be."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals import values
from wgsl_kernels.bench.intervals.memory import IntervalWords
from wgsl_kernels.bench.intervals.numbers import Number, convert, exact, rounded
from wgsl_kernels.bench.intervals.run import IntervalRun
from wgsl_kernels.simulator.domains import Domain
from wgsl_kernels.simulator.expressions import ABSTRACT
from wgsl_kernels.simulator.module import ModuleCompiler
from wgsl_kernels.simulator.statements import FunctionCompiler
from wgsl_kernels.simulator.subgroups import Subgroups
from wgsl_kernels.testing.closeness import spacing
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.kinds import (
    U32,
    Matrix,
    Type,
    concrete,
    scalar_of,
    with_scalar,
)
from wgsl_kernels.wgsl.types.values import literal_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MANY_DIGITS = 7
"""Digits from which on a constant is one that was cut off, as 0.7978846 is."""


class IntervalFunction(FunctionCompiler):
    """Writes a function of numbers with what they may be."""

    module: IntervalModule
    of_subgroup = "R.of_subgroup"

    def value(self, node: tree.Expression, wanted: Type | None = None) -> str:
        if isinstance(node, tree.Paren):
            return self.value(node.inner, wanted)
        if isinstance(node, tree.Unary) and node.operator not in ("&", "*"):
            found = f"R.unary({node.operator!r}, {self.value(node.operand)})"
        elif isinstance(node, tree.Literal):
            found = self.module.literal(node)
        else:
            return super().value(node, wanted)
        return found if wanted is None else self.converted(found, self.type_of(node), wanted)

    def converted(self, value: str, given: Type, wanted: Type) -> str:
        goal = scalar_of(wanted)
        if scalar_of(given) not in ABSTRACT or goal is None or goal in ABSTRACT:
            return value
        return f"as_kind({goal.name!r}, {value})"

    def declared(self, ident: tree.Ident, name: str) -> None:
        self.write(f"R.note({ident.begin}, m, {name})")

    def lazy(self, node: tree.Binary) -> str:
        found = self.kept(self.value(node.left))
        self.write(f"if not R.decides({node.operator!r}, {found}):")
        self.depth += 1
        self.write(f"{found} = R.binary({node.operator!r}, {found}, {self.value(node.right)})")
        self.depth -= 1
        return found

    def combined(self, operator: str, one: str, left: Type, other: str, right: Type) -> str:
        if isinstance(left, Matrix) or isinstance(right, Matrix):
            return "R.refuse('a matrix')"
        if operator in ("<<", ">>"):
            other = self.converted(other, right, with_scalar(right, U32))
        return f"R.binary({operator!r}, {one}, {other})"

    def bitcast(self, node: tree.Call) -> str:
        (argument,) = node.arguments
        scalar = scalar_of(self.type_of(node))
        assert scalar is not None
        value = self.value(argument, concrete(self.type_of(argument)))
        return self.kept(f"R.cast({scalar.name!r}, {value})")

    def array_length(self, node: tree.Call) -> str:
        return f"exact('u32', {super().array_length(node)})"

    def call_statement(self, node: tree.CallStatement) -> None:
        if node.call.callee.name.startswith("atomic"):
            super().atomic(node.call)  # nobody asks what was there before
        else:
            super().call_statement(node)

    def atomic(self, node: tree.Call) -> str:
        found = super().atomic(node)
        if node.callee.name in ("atomicLoad", "atomicStore"):
            return found
        return self.kept(f"R.refuse('what {node.callee.name} gives')")

    def builtin(self, node: tree.Call) -> str:
        given = "".join(f", {self.value(one)}" for one in node.arguments)
        return f"R.builtin({node.callee.name!r}{given})"


class IntervalModule(ModuleCompiler):
    """A module on intervals."""

    compiles_functions = IntervalFunction

    def leaf(self, name: str) -> Callable[..., Any]:
        return lambda mask, *given: self.globals["R"].leaf(name, mask, *given)

    def literal(self, node: tree.Literal) -> str:
        """Return the name of a number as written."""
        name = f"k_{len(self.globals)}"
        self.globals[name] = _literal(node.text)
        return name


def _literal(text: str) -> Number:
    if text in ("true", "false"):
        return exact("bool", text == "true")
    value, last = literal_value(text), text[-1]
    is_hex = text[:2].lower() == "0x"
    if last in "iu":
        return exact("i32" if last == "i" else "u32", int(value))
    if isinstance(value, int):
        return exact("f32" if last == "f" and not is_hex else "AbstractInt", value)
    return _meant(text, value, "f32" if last == "f" else "AbstractFloat")


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
    error = max(unit, 0.5 * float(spacing(np.abs(np.asarray(value)), np.float32)))
    return Number("f32", near.v, np.asarray(value - error), np.asarray(value + error))


def _made(kind: str, value: Any) -> Number:
    return convert(value, kind) if isinstance(value, Number) else exact(kind, value)


def _converted(kind: str, value: Any) -> Any:
    return convert(value, kind)


_SCALARS: Mapping[str, Any] = {
    kind: partial(_made, kind) for kind in ("f32", "f16", "i32", "u32", "bool")
}
_NAMES: Mapping[str, Any] = {
    **IntervalRun(1, Subgroups(1, 1, 1)).names,
    "Cell": values.IntervalCell,
    "CellPointer": values.IntervalPointer,
    "as_kind": values.as_kind,
    "converted": _converted,
    "exact": exact,
    "saturated": _converted,
    "written": values.written,
    "true": exact("bool", True),
    "false": exact("bool", False),
}


def intervals(library: frozenset[str]) -> Domain:
    """Return the domain; ``IntervalModule`` compiles for it.

    Args:
        library: Functions of a module of which the library states the error.
    """
    leaves: dict[str, Callable[..., Any]] = dict.fromkeys(library, exact)
    return Domain("intervals", _SCALARS, leaves, views=_views, names=_NAMES)


def _views(memory: Any) -> dict[str, Any]:
    return {"u32": memory if isinstance(memory, IntervalWords) else IntervalWords(memory)}
