"""The gradient registry: kernel name to backward rule, and what a tape keeps for each rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError, GradientNotFound
from wgsl_kernels.engine.environment.origin import Origin, caller
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.engine.environment.suggestions import did_you_mean, nearest
from wgsl_kernels.engine.registry.declaring import implementation, kernel_name, put
from wgsl_kernels.engine.registry.registrations import announce_change, changing, look_up
from wgsl_kernels.engine.values.attributes import text

GradientFunction = Callable[..., Any]


@dataclass(frozen=True)
class GradientRule:
    """A registered backward rule.

    Attributes:
        name: The kernel's name.
        func: The function; None where a kernel has no gradient on purpose.
        parameters: The names of its parameters.
        origin: Where it was registered.
        because: Why a kernel has no gradient, where it has none on purpose.
        refusal: All that is said of that, where the kernel is no name that an author has given.
        none: Whether it takes None for the upstream gradient of an output that nobody used.
        any_attr: Whether it takes the attributes that it does not name, as keywords.
        any_input: Whether it takes all inputs, in their order, in place of those that it names.
        of: The shader that it was derived of, None where an author wrote it.
    """

    name: str
    func: GradientFunction | None
    parameters: tuple[str, ...]
    origin: Origin
    because: str = ""
    none: bool = False
    any_attr: bool = False
    any_input: bool = False
    refusal: str = ""
    of: Any = None


@dataclass(frozen=True)
class RuleParameter:
    """One parameter of a rule: an input, an output or an attribute, whole or one fact of it."""

    source: str  # "input", "output" or "attr"
    index: int | str
    fact: str  # "value", "shape" or "dtype"


@dataclass(frozen=True)
class Keeping:
    """A rule with what each of its parameters, after the first, is filled from."""

    rule: GradientRule
    wanted: tuple[RuleParameter, ...]


_rules: dict[str, GradientRule] = {}


def gradient(
    name: str, *, none: bool = False, override: bool = False
) -> Callable[[GradientFunction], Any]:
    """Register the decorated function as the gradient of the kernel ``name``.

    Its first parameter is the upstream gradient: of a kernel with several outputs a tuple, with
    zeros for outputs that nobody used, and None for those through which no gradient flows
    (integers, bools, strings). The others are looked up by name among the kernel's inputs, outputs
    and attributes, in that order; ``x_shape`` and ``x_dtype`` keep only that fact of ``x``, and
    ``**attrs`` gets the attributes that no parameter names. It returns one gradient per input in
    order (None allowed), a dict by input name, or a bare tensor where there is one input, and is
    made of ops only. In place of a gradient a function without parameters may stand that computes
    it: it is called only where that input's gradient is wanted.

    Args:
        name: The kernel's name.
        none: Whether outputs that nobody used have None in place of zeros, which cost memory.
        override: Whether it replaces a rule that another place has registered.

    Raises:
        AlreadyRegistered: Another place has registered one.
        ArgumentError: The name is no string, or what is decorated is no function.
    """
    origin = caller()
    kernel_name("gradient", name)

    def register(func: GradientFunction) -> GradientFunction:
        implementation("gradient", name, func)
        add_rule(name, func, origin, none=none, override=override)
        return func

    return register


def register_gradient(
    name: str, func: GradientFunction, *, none: bool = False, override: bool = False
) -> None:
    """Register ``func`` as the gradient of the kernel ``name``; see `gradient`."""
    implementation("register_gradient", kernel_name("register_gradient", name), func)
    add_rule(name, func, caller(), none=none, override=override)


def no_gradient(name: str, *, because: str) -> None:
    """Say that the kernel ``name`` has no gradient, and why; asking for one raises with that."""
    text("no_gradient", "because", because)
    kernel_name("no_gradient", name)
    add_rule(name, None, caller(), because=because)


def gradient_rules() -> dict[str, GradientRule]:
    """Return the table itself: who changes it announces that."""
    return _rules


def unregister_gradient(name: str) -> None:
    """Take the gradient of ``name`` out of the registry.

    Raises:
        GradientNotFound: There is none.
    """
    with changing:
        found = _rules.pop(name, None)
    if found is None:
        raise GradientNotFound(f"{name}: no gradient is registered.")
    announce_change(("gradient", name))


def get_gradient(name: str) -> GradientFunction | None:
    """Return the registered gradient of ``name``, or None.

    Raises:
        ArgumentError: ``name`` is no string.
    """
    rule = find_rule(text("get_gradient", "name", name))
    return None if rule is None else rule.func


def find_rule(name: str) -> GradientRule | None:
    """Return the entry of the registry, which may say that there is no gradient on purpose."""
    look_up(("gradient", name))
    return _rules.get(name)


@contextmanager
def override_gradient(name: str, func: GradientFunction, *, none: bool = False) -> Iterator[None]:
    """Use ``func`` as the gradient of kernels ``name`` that run in this block of this thread.

    It takes what `gradient` says, ``none`` included.
    """
    with context.changed(gradients={name: _rule(name, func, caller(2), none)}):
        yield


def gradients_in_force() -> dict[str, GradientFunction]:
    """Return the gradients that `override_gradient` blocks of this thread set, by kernel name."""
    found = context.current().gradients
    return {name: rule.func for name, rule in found.items() if rule.func is not None}


def _rule(name: str, func: GradientFunction, origin: Origin, none: bool) -> GradientRule:
    parameters = parameters_of(func)
    if not parameters.names:
        raise ArgumentError(
            f"{name}: the gradient function takes nothing; want the upstream gradient first."
        )
    return GradientRule(
        name, func, parameters.names, origin, none=none, any_attr=parameters.any_keyword
    )


def add_rule(
    name: str,
    func: GradientFunction | None,
    origin: Origin,
    *,
    because: str = "",
    none: bool = False,
    override: bool = False,
) -> None:
    """Put a rule into the registry, or that there is none; all declarations end here."""
    given = _rule(name, func, origin, none) if func is not None else None
    put_rule(given or GradientRule(name, None, (), origin, because), override=override)


def put_rule(rule: GradientRule, *, override: bool = False) -> None:
    """Put a rule that is made into the registry."""
    put(_rules, rule.name, rule, f"gradient {rule.name!r}", override=override)
    announce_change(("gradient", rule.name))


def keeping_for(
    name: str, inputs: Sequence[str], outputs: Sequence[str], attrs: Sequence[str]
) -> Keeping | None:
    """Return what a tape keeps for the registered rule of ``name``, or None without a rule."""
    rule = _rules.get(name)
    return None if rule is None else bind(rule, inputs, outputs, attrs)


def bind(
    rule: GradientRule, inputs: Sequence[str], outputs: Sequence[str], attrs: Sequence[str]
) -> Keeping:
    """Say where each parameter of ``rule`` comes from.

    Raises:
        ArgumentError: A parameter names nothing of the kernel.
    """
    named = inputs if rule.any_input else rule.parameters[1:]
    wanted = tuple(_want(rule, name, inputs, outputs, attrs) for name in named)
    if not rule.any_attr or rule.func is None:
        return Keeping(rule, wanted)
    rest = tuple([one for one in attrs if one not in rule.parameters])
    called = replace(rule, func=_with_keywords(rule.func, rest))
    return Keeping(called, wanted + tuple([RuleParameter("attr", one, "value") for one in rest]))


def _with_keywords(func: GradientFunction, names: Sequence[str]) -> GradientFunction:
    """Return ``func`` as a function that takes these keywords by position, at the end."""

    @functools.wraps(func)
    def called(*given: Any) -> Any:
        count = len(given) - len(names)
        return func(*given[:count], **dict(zip(names, given[count:], strict=True)))

    return called


def _place(spelled: Sequence[str], names: Sequence[str]) -> int | None:
    return next((names.index(one) for one in spelled if one in names), None)


def _want(
    rule: GradientRule,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attrs: Sequence[str],
) -> RuleParameter:
    candidates = [(name, "value")]
    candidates += [(name[: -len(f)], f[1:]) for f in ("_shape", "_dtype") if name.endswith(f)]
    for tensor, fact in candidates:
        spelled = (tensor, tensor.removesuffix("_"))
        if (found := _place(spelled, inputs)) is not None:
            return RuleParameter("input", found, fact)
        if fact == "value" and tensor in attrs:
            return RuleParameter("attr", tensor, fact)
        if (found := _place(spelled, outputs)) is not None:
            return RuleParameter("output", found, fact)
    known = [*inputs, *outputs, *attrs]
    if not inputs:
        raise ArgumentError(
            f"{rule.name}: the gradient's parameter {name!r} may be an input, but nothing says "
            f"what these are called; declare them with @signature({rule.name!r})."
        )
    raise ArgumentError(
        f"{rule.name}: the gradient's parameter {name!r} names nothing of the kernel; "
        f"known: {', '.join(known)}, and _shape or _dtype of a tensor.{did_you_mean(name, known)}"
    )


def missing(name: str, inputs: Sequence[str], because: str = "") -> GradientNotFound:
    """Return the error for a gradient asked through a kernel that has none."""
    asked = " and ".join(repr(one) for one in inputs)
    if because:
        return GradientNotFound(f"{name}: there is no gradient for {asked}: {because}.")
    near = nearest(name, [one for one, rule in _rules.copy().items() if not rule.origin.is_ours])
    other = "" if near is None else f"; there is one of {near!r}"
    return GradientNotFound(
        f"{name}: no gradient is registered, but one was asked for {asked}{other}. "
        f"Register one with @gradient({name!r}), or stop_gradient the input."
    )
