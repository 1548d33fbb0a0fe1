"""A trace as lines of text: a step a line, loops folded, what parts marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.testing.stepping.steps import lost_bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.testing.stepping.steps import Number, TracedValue, TraceStep
    from wgsl_kernels.testing.stepping.trace import Trace

MOST_ROUNDS = 2
"""Rounds of a loop that are shown, the first ones, before the last one."""
_WIDTH = 44
"""Characters for the author's text."""


class Line(NamedTuple):
    """A line of the listing.

    Attributes:
        text: What is shown.
        step: The step that it is of, None for one between steps.
        is_marked: Whether float32 and float64 part there.
    """

    text: str
    step: int | None = None
    is_marked: bool = False


class Fold(NamedTuple):
    """Rounds of a loop that are not shown: its line, the first and the last of them."""

    line: int
    first: int
    last: int


def text_of(trace: Trace, *, whole: bool = False) -> str:
    """Return the trace as text; ``whole`` with the package's own loops, and all rounds."""
    return "\n".join([*headed(trace), "", *(one.text for one in lines_of(trace, whole=whole))])


def headed(trace: Trace) -> list[str]:
    """Return what stands above the steps: who it is, what came of it, where it parts."""
    at = f"workgroup {_triple(trace.workgroup)}, invocation {_triple(trace.local)} of it"
    which = f", dispatch {trace.dispatch} of {trace.dispatches}" if trace.dispatches > 1 else ""
    found = [f"{trace.kernel}: {at}{which}, {len(trace)} steps"]
    if trace.target:
        beside = "" if trace.double is None else f"; in float64 {shown(trace.double)}"
        found.append(f"{trace.target} = {shown(trace.got)}{beside}")
    for what, at_step in (("first", trace.first), ("worst", trace.worst)):
        if at_step is not None:
            step = trace[at_step]
            verb = "float32 and float64 part" if what == "first" else "most is lost"
            lost = f"{step.lost:.0f} of 24 bits are lost"
            found.append(f"{what}: {verb} at {step.place}: {step.text}; {lost}")
    if trace.first is None and trace.double is not None:
        bits = 24 - lost_bits(trace.got, trace.double) if trace.got is not None else 24
        found.append(f"float32 and float64 agree in {bits:.0f} of 24 bits")
    return [*found, *trace.notes]


def lines_of(trace: Trace, *, whole: bool = False) -> list[Line]:
    """Return the steps as lines."""
    found: list[Line] = []
    file = function = ""
    written: list[tuple[int, list[Line]]] = []  # behind what is called for it
    for at in chosen(trace, whole=whole):
        while written and (isinstance(at, Fold) or trace[at].depth <= written[-1][0]):
            found += written.pop()[1]
        if isinstance(at, Fold):
            found.append(Line(f"{at.line:>5}  … rounds {at.first} to {at.last} of this loop"))
            file = function = ""
            continue
        step = trace[at]
        if (step.is_own or whole) and (step.file, step.function) != (file, function):
            file, function = step.file, step.function
            found.append(Line(f"{file}, {function}"))
        lines = list(_lines_of_step(trace, at, whole=whole))
        if at + 1 < len(trace) and trace[at + 1].depth > step.depth:
            behind = [one for one in lines if one.text.lstrip().startswith("writes ")]
            written.append((step.depth, behind))
            lines = [one for one in lines if one not in behind]
        found += lines
    while written:
        found += written.pop()[1]
    return found


def chosen(trace: Trace, *, whole: bool = False) -> Iterator[int | Fold]:
    """Yield the steps that are shown, and rounds that are not."""
    last = _last_rounds(trace.steps)
    kept = {trace.first, trace.worst}
    folded: Fold | None = None
    for at, step in enumerate(trace):
        if not whole and not step.is_own and not accesses_of(step):
            continue
        far = next(
            (
                Fold(line, number, end - 1)
                for (line, number), end in zip(step.rounds, last[at], strict=True)
                if MOST_ROUNDS < number < end
            ),
            None,
        )
        if whole or far is None or at in kept:
            folded = None
            yield at
        elif folded is None or folded[::2] != far[::2]:
            folded = far
            yield far


def _last_rounds(steps: Sequence[TraceStep]) -> list[tuple[int, ...]]:
    """Return, for each step, the last round of each loop around it, by which it is left."""
    found: list[tuple[int, ...]] = [()] * len(steps)
    ends: list[tuple[int, int, int]] = []
    for at in range(len(steps) - 1, -1, -1):
        rounds = steps[at].rounds
        for level, (line, number) in enumerate(rounds):
            before = ends[level] if level < len(ends) else (-1, 0, 0)
            if before[0] != line or number > before[1]:  # another loop, or another visit of it
                ends[level:] = [(line, number, number)]
            else:
                ends[level] = (line, number, before[2])
        del ends[len(rounds) :]
        found[at] = tuple([last for _, _, last in ends])
    return found


def _lines_of_step(trace: Trace, at: int, *, whole: bool) -> Iterator[Line]:
    step = trace[at]
    if not step.is_own and not whole:
        for one in accesses_of(step):
            yield Line(f"{'':>7}{'  ' * (step.depth + len(step.rounds))}{one}", at)
        return
    marks = [
        what for what, where in (("first", trace.first), ("worst", trace.worst)) if where == at
    ]
    mark = f"  <- {', '.join(marks)}: {step.lost:.0f} of 24 bits lost" if marks else ""
    indent = "  " * (step.depth + len(step.rounds))
    written = f"{indent}{step.text}"
    result = result_of(step)
    lead = f"{step.line:>5}  {written:<{_WIDTH}}"
    yield Line(f"{lead}  {result}{mark}".rstrip(), at, bool(marks))
    if marks:
        for value in step.values:
            yield Line(f"{'':>7}{indent}    {valued(value)}", at, True)
    for one in accesses_of(step):
        yield Line(f"{'':>7}{indent}    {one}", at, bool(marks))


def result_of(step: TraceStep) -> str:
    """Return what a step came to: a value, in float64 too where it is another, or a branch."""
    if step.kind == "enter":
        return ", ".join(map(valued, step.values))
    if step.result is None:
        is_print = step.text.startswith("wk_print") and step.values
        lead = f"{step.context}: " if step.context else ""
        return f"{lead}{shown(step.values[-1].value)}" if is_print else ""
    beside = _beside(step.result)
    if step.is_taken is not None:
        went = "yes" if step.is_taken else "no"
        if step.kind == "loop":
            number = step.rounds[-1][1] if step.rounds else 1
            went = f"round {number}" if step.is_taken else f"ends after {number - 1} rounds"
        return f"{went}{beside}"
    name = step.result.text if step.kind in ("let", "assign") else ""
    return f"{f'{name} = ' if name else ''}{shown(step.result.value)}{beside}"


def valued(one: TracedValue) -> str:
    """Return a value with its text, in float64 too where it is another."""
    return f"{one.text} = {shown(one.value)}{_beside(one)}"


def _beside(one: TracedValue) -> str:
    if one.double is None or one.lost < 1:
        return ""
    return f" | float64 {shown(one.double)}"


def accesses_of(step: TraceStep) -> list[str]:
    """Return what a step read and wrote, in words."""
    found: list[str] = []
    for one in step.accesses:
        if one.place.startswith("wk_"):
            continue
        verb = "writes" if one.is_written else "reads"
        who = f", written by {one.writer}" if one.writer else ""
        wrong = f" ({one.problem})" if one.problem else ""
        found.append(f"{verb} {one.place} = {shown(one.value)}{who}{wrong}")
    return found


def shown(value: Number | None) -> str:
    """Return a number as one reads it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return f"{value:.9g}"


def _triple(numbers: tuple[int, int, int]) -> str:
    return str(numbers[0]) if not any(numbers[1:]) else f"({', '.join(map(str, numbers))})"
