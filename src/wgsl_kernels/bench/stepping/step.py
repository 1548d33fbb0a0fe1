"""`wk.dev.step`: which invocation is meant, and its trace."""

from __future__ import annotations

import re
from operator import add, floordiv, mod, mul
from typing import TYPE_CHECKING, Any

from wgsl_kernels.bench.stepping.building import StepBuilder
from wgsl_kernels.bench.stepping.launches import called
from wgsl_kernels.bench.stepping.places import AuthorsText
from wgsl_kernels.bench.stepping.recorded import recorded
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.testing.stepping.steps import lost_bits
from wgsl_kernels.testing.stepping.trace import Trace
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.bench.stepping.launches import ElementPlace, Launched, SteppedCall
    from wgsl_kernels.bench.stepping.recorded import Recorded
    from wgsl_kernels.testing.stepping.steps import TraceStep

PARTED = 8
"""Bits of 24 that are lost where float32 and float64 are said to part."""
_AT = re.compile(r"([^\W\d]\w*)?\s*(?:\[?\s*(-?\d+(?:\s*,\s*-?\d+)*)?\s*\]?)")
Triple = tuple[int, int, int]


def stepped(f: Callable[..., Any], args: Sequence[Any] = (), **wanted: Any) -> Trace:
    """Return the trace of one invocation; see `wgsl_kernels.dev.step`."""
    return stepped_call(called(f, args), **wanted)


def stepped_call(
    call: SteppedCall,
    *,
    at: Any = None,
    invocation: Any = None,
    workgroup: Any = None,
    dispatch: Any = None,
) -> Trace:
    """Return the trace of one invocation of what a call had run.

    Raises:
        ArgumentError: There is no such element or invocation.
        ShaderError: The shader does what is not simulated.
    """
    if not call.launched:
        raise ArgumentError("step: the function runs no shader.")
    if (invocation, workgroup, dispatch) == (None, None, None):
        place = call.place(*_element(at))
        return _traced(call, place.launched, place.invocation, place)
    if at is not None:
        raise ArgumentError("step: at is given beside an invocation; want one of them.")
    launched = _dispatch(call, dispatch)
    return _traced(call, launched, _invocation(launched, invocation, workgroup), None)


def _element(at: Any) -> tuple[str, tuple[int, ...] | None]:
    """Return the name and the indices of an element.

    Raises:
        ArgumentError: It is not understood.
    """
    if at is None:
        return "", None
    if isinstance(at, int):
        return "", (at,)
    if isinstance(at, (tuple, list)) and all(isinstance(one, int) for one in at):
        return "", tuple(at)
    text = at.strip() if isinstance(at, str) else ""
    match = _AT.fullmatch(text) if text else None
    if match is None:
        raise ArgumentError(f"step: at is {shown(at)}; want an element, as 'y[3, 5]' or (3, 5).")
    name, numbers = match.groups()
    index = tuple(map(int, numbers.split(","))) if numbers else None
    return name or "", index


def _dispatch(call: SteppedCall, number: Any) -> Launched:
    count = len(call.launched)
    if number is None:
        return call.launched[-1]
    if not isinstance(number, int) or not 1 <= number <= count:
        raise ArgumentError(f"step: dispatch is {shown(number)}; want 1 to {count}.")
    return call.launched[number - 1]


def _triple(what: str, given: Any) -> Triple:
    """Return three numbers; those that are missing are 0.

    Raises:
        ArgumentError: They are none.
    """
    several = (given,) if isinstance(given, int) else given
    if not isinstance(several, (tuple, list)) or not 1 <= len(several) <= 3:
        raise ArgumentError(f"step: {what} is {shown(given)}; want numbers along x, y and z.")
    if not all(isinstance(one, int) and one >= 0 for one in several):
        raise ArgumentError(f"step: {what} is {shown(given)}; want numbers from 0 on.")
    x, y, z = (*several, 0, 0)[:3]
    return x, y, z


def _invocation(launched: Launched, invocation: Any, workgroup: Any) -> int:
    """Return which invocation is meant, counted over all workgroups.

    Raises:
        ArgumentError: There is none such.
    """
    size, groups = launched.launch.entry.size, launched.launch.groups
    given = _triple("invocation", 0 if invocation is None else invocation)
    if workgroup is None:
        group, local = _along(floordiv, given, size), _along(mod, given, size)
    else:
        group, local = _triple("workgroup", workgroup), given
    for what, which, most in (("workgroup", group, groups), ("invocation", local, size)):
        if any(a >= b for a, b in zip(which, most, strict=True)):
            raise ArgumentError(f"step: {what} is {list(which)}; there are {list(most)}.")
    flat = local[0] + size[0] * (local[1] + size[1] * local[2])
    number = group[0] + groups[0] * (group[1] + groups[1] * group[2])
    return number * size[0] * size[1] * size[2] + flat


def _traced(
    call: SteppedCall, launched: Launched, number: int, target: ElementPlace | None
) -> Trace:
    size, groups = launched.launch.entry.size, launched.launch.groups
    count = size[0] * size[1] * size[2]
    group, local = _places(number // count, groups), _places(number % count, size)
    kernel = launched.dispatch.module.composed.kernel
    author = AuthorsText(launched.dispatch.module, is_ours=_is_ours(launched))
    seen = recorded(launched, number, author)
    asked = None if target is None else (target.name, target.byte)
    builder = StepBuilder(seen, author, asked)
    steps = tuple(builder.steps())
    got, double = builder.got
    first, worst = _marks(steps, seen, None if target is None else (got, double))
    where = _along(add, _along(mul, group, size), local)
    return Trace(
        kernel, launched.number, len(call.launched), group, local, where,
        "" if target is None else target.label, None if target is None else target.index,
        got, double, steps, first, worst, tuple(_notes(seen, steps, author)),
    )  # fmt: skip


def _along(operation: Callable[[int, int], int], one: Triple, other: Triple) -> Triple:
    """Return what an operation gives along x, y and z."""
    return operation(one[0], other[0]), operation(one[1], other[1]), operation(one[2], other[2])


def _places(number: int, size: Triple) -> Triple:
    return number % size[0], number // size[0] % size[1], number // (size[0] * size[1])


def _is_ours(launched: Launched) -> bool:
    kernels = [get_kernel(one, "webgpu") for one in launched.dispatch.kernels]
    return all(one is None or one.origin.is_ours for one in kernels)


def _marks(
    steps: Sequence[TraceStep], seen: Recorded, target: tuple[Any, Any] | None
) -> tuple[int | None, int | None]:
    """Return where float32 and float64 part, and where most is lost.

    What is compensated on the way to a result that is right is not marked.
    """
    own = [(at, one) for at, one in enumerate(steps) if one.is_own]
    if target is not None and target[1] is not None and lost_bits(*target) < PARTED:
        return None, None
    parted = [at for at, one in own if one.lost >= PARTED]
    if not parted:
        return None, None
    return parted[0], max(own, key=lambda pair: (pair[1].lost_here, -pair[0]))[0]


def _notes(seen: Recorded, steps: Sequence[TraceStep], author: AuthorsText) -> list[str]:
    found: list[str] = []
    if seen.refusal:
        found.append(f"Nothing is computed in float64: {seen.refusal}")
    if seen.is_cut:
        found.append("It does more than is kept; the end is left out.")
    if seen.has_parted:
        found.append("float64 takes another way somewhere; from there on float32 stands alone.")
    for one in steps:
        found += [f"{one.place}: {a.place} is {a.problem}." for a in one.accesses if a.problem]
    sites = seen.module.sites
    for access in seen.log.found.values():
        if access.other_site >= 0:
            here, other = (author.at(sites[n].span).place for n in (access.site, access.other_site))
            both = f"invocations {access.other} and {access.invocation}"
            what = "write" if access.kind == "write-race" else "read and write"
            found.append(
                f"{here.label}: {both} {what} {access.memory}, and nothing orders them; the other "
                f"place is {other.label}."
            )
    return list(dict.fromkeys(found))
