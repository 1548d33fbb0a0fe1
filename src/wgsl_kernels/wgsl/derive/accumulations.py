"""What ``init`` and ``combine`` make of elements, and the derivatives of that.

A reduction, a scan, a window or a normalization is brought to functions of known names and
parameters, of which cotangents are pulled back one after the other: of the result to the
accumulator, from an accumulator to the one before it and to an element. What multiplies slopes by a
direction is an accumulation again, whose accumulators have tangents beside them: its gradient is
the second order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from wgsl_kernels.wgsl.derive.activity import NotDerivableError
from wgsl_kernels.wgsl.derive.forward import Forward
from wgsl_kernels.wgsl.derive.leaves import addition, leaves_of, pullback
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.made import (
    made_function,
    made_name,
    made_parameter,
    made_type,
    written,
)
from wgsl_kernels.wgsl.syntax.names import free_name
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.kinds import FLOATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.wgsl.derive.rules import DerivativeRule
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function

Form = Literal["reduce", "scan", "apply", "window"]
MOST_LEAVES = 32
"""The most floats of an accumulator: its slopes are computed one after the other."""


@dataclass(frozen=True, slots=True)
class Element:
    """An input.

    Attributes:
        name: As WGSL has it.
        type: The type of its elements.
        is_wide: Whether it has an element for each that is combined, not one for each of a row.
        is_lifted: Whether it is combined, not only applied.
    """

    name: str
    type: str
    is_wide: bool
    is_lifted: bool


class FreeParameters(NamedTuple):
    """What functions of an accumulation call what is no input, where no input has the name."""

    a: str
    b: str
    i: str
    n: str
    settled: str

    @classmethod
    def for_inputs(cls, elements: Sequence[Element]) -> FreeParameters:
        taken = [one.name for one in elements]
        return cls(*[free_name(name, taken) for name in cls._fields])


@dataclass(frozen=True)
class Accumulation:
    """A reduction, a scan, a window, or a normalization.

    Attributes:
        text: Its functions; those below by their names, behind the prefix.
        prefix: ``init()``, ``lift(lifted elements, i)``, ``combine(a, b)``, ``step(a, lifted
            elements, i)``, ``finish(a, n)``, ``settle(a, n)``, ``apply(elements, i, n, settled)``.
        form: Which it is.
        elements: The inputs.
        total: The type of accumulators.
        settled: The type of what ``apply`` is given of a row.
        result: The type of results, as the text has it.
        gives: What type that is.
        adds: Whether accumulators are added, and cotangents pass unchanged.
        is_straight: Whether the slope of ``finish`` is the same for all accumulators.
        is_numbered: Whether ``lift`` is given the number of an element.
        is_costly: Whether ``combine`` costs more than to read what it returns.
        imports: What the text names that must be imported.
    """

    text: str
    prefix: str
    form: Form
    elements: tuple[Element, ...]
    total: str
    settled: str
    result: str
    gives: str
    adds: bool = False
    is_straight: bool = False
    is_numbered: bool = False
    is_costly: bool = False
    imports: tuple[str, ...] = ()

    @property
    def lifted(self) -> tuple[Element, ...]:
        """The inputs that are combined."""
        return tuple([one for one in self.elements if one.is_lifted])

    @property
    def floats(self) -> tuple[str, ...]:
        """The inputs that may have a gradient."""
        return tuple([one.name for one in self.elements if one.type in FLOATS])

    def named(self, name: str) -> Element:
        return next(one for one in self.elements if one.name == name)


@dataclass(frozen=True)
class AccumulationNames:
    """What functions may name, and how they are derived.

    Attributes:
        declared: What is declared beside them.
        rules: The derivatives of functions.
        label: Says where the author wrote what is at a place of a text.
    """

    declared: tuple[Declaration, ...]
    rules: Mapping[str, DerivativeRule]
    label: Callable[[int], str]

    def forward(self, text: str) -> Forward:
        """Return what derives the functions of a text."""
        own = resolve(Text("<derived>", text))
        return Forward(own, self.declared, self.rules, label=self.label)


@dataclass(frozen=True)
class Pulled:
    """The gradient of an accumulation by one input.

    Attributes:
        of: The accumulation.
        wanted: The input.
        text: Its functions and those that pull cotangents back: ``by_finish(a, n, to)``,
            ``by_settle(a, n, to)``, ``by_combine(a, b, to)``, ``by_second`` of b,
            ``by_step(a, lifted elements, i, to)``,
            ``by_settled(elements, i, n, settled, to)`` and ``by_apply`` likewise. ``plus``
            adds cotangents of accumulators, ``plus_settled`` those of what ``apply`` is given.
        there: Which of these there are; the others are zero throughout.
        imports: What the text names that must be imported.
    """

    of: Accumulation
    wanted: Element
    text: str
    there: frozenset[str]
    imports: tuple[str, ...]

    @property
    def through_total(self) -> bool:
        """Whether the input changes results by the accumulator."""
        ends = {"by_settle", "by_settled"} if self.of.form == "apply" else {"by_finish"}
        return {"by_step", *ends} <= self.there

    @property
    def is_zero(self) -> bool:
        """Whether it is zero throughout."""
        return not (self.through_total or "by_apply" in self.there)


def pulled_back(one: Accumulation, wanted: str, context: AccumulationNames) -> Pulled:
    """Return the functions of a gradient by one input."""
    forward, p = context.forward(one.text), one.prefix
    at, lifted = one.named(wanted), [each.name for each in one.lifted]
    texts: dict[str, str | None] = {}

    def pull(name: str, function: str, parameter: int) -> None:
        texts[name] = pullback(forward, f"{p}{name}", f"{p}{function}", parameter)

    if at.is_lifted:
        _check_total(forward, forward.functions[f"{p}init"])
        pull("by_step", "step", 1 + lifted.index(wanted))
        if not one.adds:
            pull("by_combine", "combine", 0)
            pull("by_second", "combine", 1)
        end = "settle" if one.form == "apply" else "finish"
        pull(f"by_{end}", end, 0)
    if one.form == "apply":
        pull("by_apply", "apply", [each.name for each in one.elements].index(wanted))
        if at.is_lifted:
            pull("by_settled", "apply", len(one.elements) + 2)
    made = {name: text for name, text in texts.items() if text is not None}
    sums = [
        addition(f"{p}{name}", type_, leaves_of(forward.named(type_)))
        for name, type_ in (
            ("plus", made_type(one.total)),
            ("plus_settled", made_type(one.settled)),
        )
    ]
    text = "\n".join((one.text, forward.written, *made.values(), *sums))
    imports = tuple({*one.imports, *forward.imports})
    return Pulled(one, at, text, frozenset(made), imports)


def _check_total(forward: Forward, init: Function) -> None:
    """Refuse an accumulator without floats, or with very many."""
    count = len(leaves_of(forward.named(init.returns)))
    if not count:
        message = f"the accumulator, {spell(init.returns)}, holds no float that has a derivative"
        raise NotDerivableError(f"{message}; combine floats.", -1)
    if count > MOST_LEAVES:
        message = f"the accumulator, {spell(init.returns)}, holds {count} floats"
        raise NotDerivableError(f"{message}; at most {MOST_LEAVES} are derived.", -1)


def pushed_forward(one: Accumulation, wanted: str, context: AccumulationNames) -> Accumulation:
    """Return the accumulation that gives slopes times a direction, which is a last input.

    It is differentiated in place of the gradient by ``wanted``: what that multiplies the upstream
    gradient by, it multiplies the direction by, and the sum of all products is the same number.
    """
    forward, p = context.forward(one.text), one.prefix
    at = one.named(wanted)
    name = free_name(f"d_{wanted}", [each.name for each in one.elements])
    direction = Element(name, at.type, True, at.is_lifted)
    moved = replace(one, prefix=f"wk{int(p[2:-1]) + 1}_", elements=(*one.elements, direction))
    if at.is_lifted:
        total = forward.dual(one.total)
        settled = forward.dual(one.settled) if one.form == "apply" else total
        moved = replace(moved, total=total, settled=settled)
    lines = _moved(forward, one, moved, wanted, direction.name)
    text = "\n".join((one.text, forward.written, *lines))
    return replace(moved, text=text, imports=tuple({*one.imports, *forward.imports}))


def _moved(
    forward: Forward, one: Accumulation, moved: Accumulation, wanted: str, direction: str
) -> list[str]:
    """Return the functions of an accumulation whose accumulators have tangents."""
    p = one.prefix
    names = [each.name for each in one.lifted]
    has_tangents = wanted in names

    def dual(name: str, active: list[bool], values: list[str], tangents: list[str]) -> str:
        """Return a call that gives a value with its tangent."""
        if forward.gives_tangent(f"{p}{name}", tuple(active)):
            made = forward.function(f"{p}{name}", tuple(active))
            return f"{made}({', '.join((*values, *tangents))})"
        returns = spell(forward.functions[f"{p}{name}"].returns)
        return f"{forward.dual(returns)}({p}{name}({', '.join(values)}), {returns}())"

    a, b, i, n, settled = FreeParameters.for_inputs(moved.elements)
    every = [each.name for each in one.elements]
    slopes = [each == wanted for each in every]
    apply = (
        dual("apply", [*slopes, False, False, True], [*every, i, n, f"{settled}.value"],
             [direction, f"{settled}.tangent"])
        if has_tangents
        else dual("apply", [*slopes, False, False, False], [*every, i, n, settled],
                  [direction])
    ) if one.form == "apply" else ""  # fmt: skip
    if not has_tangents:
        return glue(
            moved, init=f"{p}init()", lift=f"{p}lift({', '.join((*names, i))})",
            combine=f"{p}combine({a}, {b})", finish="", settle=f"{p}settle({a}, {n})",
            apply=f"{apply}.tangent",
        )  # fmt: skip
    ends = {
        name: dual(name, [True, False], [f"{a}.value", n], [f"{a}.tangent"])
        for name in ("finish", "settle")
        if (name == "settle") == (one.form == "apply")
    }
    return glue(
        moved,
        init=f"{moved.total}({p}init(), {one.total}())",
        lift=dual("lift", [each == wanted for each in names] + [False], [*names, i], [direction]),
        combine=dual(
            "combine", [True, True], [f"{a}.value", f"{b}.value"], [f"{a}.tangent", f"{b}.tangent"]
        ),
        finish=f"{ends.get('finish')}.tangent",
        settle=ends.get("settle", ""),
        apply=f"{apply}.tangent",
    )


def glue(one: Accumulation, **bodies: str) -> list[str]:
    """Return the functions of an accumulation, of which these are the values.

    Args:
        one: The accumulation.
        **bodies: Of ``init``, ``lift``, ``combine``, ``finish``, ``settle`` and ``apply``.
    """
    p, total, settled, result = one.prefix, *map(made_type, (one.total, one.settled, one.result))
    own = FreeParameters.for_inputs(one.elements)
    a, b = made_parameter(own.a, total), made_parameter(own.b, total)
    i, n = made_parameter(own.i, made_name("u32")), made_parameter(own.n, made_name("u32"))
    lifted = [made_parameter(each.name, made_type(each.type)) for each in one.lifted]
    heads = {
        "init": ([], total),
        "lift": ([*lifted, i], total),
        "combine": ([a, b], total),
        "step": ([a, *lifted, i], total),
    }
    names = ", ".join([*[each.name for each in lifted], own.i])
    bodies["step"] = f"{p}combine({own.a}, {p}lift({names}))"
    if one.form == "apply":
        every = [made_parameter(each.name, made_type(each.type)) for each in one.elements]
        heads["settle"] = ([a, n], settled)
        heads["apply"] = ([*every, i, n, made_parameter(own.settled, settled)], result)
    else:
        heads["finish"] = ([a, n], result)
    return [
        written(made_function(f"{p}{name}", *head), f"return {bodies[name]};")
        for name, head in heads.items()
    ]
