"""The trace of one invocation, as values: steps with what was computed, read and written."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Number: TypeAlias = "bool | int | float | tuple[Number, ...]"
MANTISSA = 24
"""Bits of a float32."""


@dataclass(frozen=True, slots=True)
class TracedValue:
    """Something that was computed.

    Attributes:
        text: What the author wrote for it.
        value: Its value: a number, or a tuple of the parts of a vector, a matrix or a struct.
        double: What float64 gives, None where that is not known.
    """

    text: str
    value: Number
    double: Number | None = None

    @property
    def lost(self) -> float:
        """How many of its 24 bits are lost, of floats; 24 for another integer or branch."""
        return 0.0 if self.double is None else lost_bits(self.value, self.double)


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """A number that was read from memory, or written there.

    Attributes:
        place: Where, as WGSL writes it: ``x[12]``.
        value: The number.
        double: What float64 gives, None where that is not known.
        is_written: Whether it was written.
        writer: Of what is read: who wrote it, "" where it was there before.
        problem: What is wrong with the access, "" where nothing is.
    """

    place: str
    value: Number
    double: Number | None
    is_written: bool
    writer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A statement that the invocation executed.

    Attributes:
        file: The author's file.
        line: The line, counted from 1.
        column: The column, likewise.
        text: What is written there.
        function: The function that it is in.
        depth: How many functions are around that.
        kind: ``enter``, ``let``, ``assign``, ``if``, ``loop``, ``call``, ``return``, ``jump``.
        rounds: Of each loop around it, the callers' too, the line and the round, from 1.
        result: What the statement computed.
        values: What else was computed for it.
        accesses: What it read and wrote.
        is_own: Whether the author wrote it, not the package around.
        context: What else its text says: rounds that are written out.
    """

    file: str
    line: int
    column: int
    text: str
    function: str
    depth: int
    kind: str
    rounds: tuple[tuple[int, int], ...] = ()
    result: TracedValue | None = None
    values: tuple[TracedValue, ...] = ()
    accesses: tuple[MemoryAccess, ...] = ()
    is_own: bool = True
    context: str = ""

    @property
    def place(self) -> str:
        """``file:line:column``, as editors read it."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def lost(self) -> float:
        """How many bits of what it computed or wrote are lost."""
        written = [lost_bits(a.value, a.double) for a in self.accesses if a.is_written]
        return max([0.0 if self.result is None else self.result.lost, *written])

    @property
    def lost_here(self) -> float:
        """How many bits more than of what it was computed from."""
        got = [
            one.lost for one in self.values if self.result is None or one.text != self.result.text
        ]
        leaves = [lost_bits(one.value, one.double) for one in self.accesses if not one.is_written]
        names = [one.lost for one in self.values if one.text.isidentifier()]
        return max(self.lost, *got, 0.0) - max([0.0, *leaves, *names])

    @property
    def is_taken(self) -> bool | None:
        """Of a condition, whether it held."""
        if self.kind not in ("if", "loop") or self.result is None:
            return None
        return self.result.value if isinstance(self.result.value, bool) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the step in plain Python, as JSON has it."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "text": self.text,
            "function": self.function,
            "depth": self.depth,
            "kind": self.kind,
            "rounds": [list(one) for one in self.rounds],
            "taken": self.is_taken,
            "result": None if self.result is None else _value_dict(self.result),
            "values": [_value_dict(one) for one in self.values],
            "accesses": [_access_dict(one) for one in self.accesses],
            "own": self.is_own,
            "lost_bits": _json(self.lost),
        }


def lost_bits(value: Number, double: Number | None) -> float:
    """Return how many of 24 bits a value lost against the one in float64."""
    if double is None:
        return 0.0
    if isinstance(value, tuple):
        assert isinstance(double, tuple)
        return max(map(lost_bits, value, double), default=0.0)
    assert not isinstance(double, tuple)
    if not isinstance(value, float):
        return 0.0 if value == double else float(MANTISSA)
    if value == double or (math.isnan(value) and math.isnan(double)):
        return 0.0
    if not math.isfinite(value) or not math.isfinite(double):
        return float(MANTISSA)
    error = abs(value - double) / max(abs(double), abs(value))
    return min(max(0.0, math.log2(error) + MANTISSA), float(MANTISSA))


@dataclass(frozen=True)
class Trace:
    """What one invocation of a dispatch did, step by step; print it.

    Attributes:
        kernel: The kernel.
        dispatch: Which dispatch of the call it is, from 1.
        dispatches: How many there are.
        workgroup: The workgroup, along x, y and z.
        local: The invocation within it.
        invocation: The invocation in the whole grid.
        target: The element that was asked for, "" where an invocation was.
        index: Its indices, None likewise.
        got: The value there, None likewise.
        double: What float64 gives there, None where that is not known.
        steps: What it did.
        first: Where float32 and float64 part, by step; None where they do not.
        worst: Where most bits are lost, by step; None likewise.
        notes: What else there is to say.
    """

    kernel: str
    dispatch: int
    dispatches: int
    workgroup: tuple[int, int, int]
    local: tuple[int, int, int]
    invocation: tuple[int, int, int]
    target: str
    index: tuple[int, ...] | None
    got: Number | None
    double: Number | None
    steps: tuple[TraceStep, ...]
    first: int | None
    worst: int | None
    notes: tuple[str, ...] = ()

    def with_note(self, note: str) -> Trace:
        """Return the same with one thing more to say, before the others."""
        return replace(self, notes=(note, *self.notes))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[TraceStep]:
        return iter(self.steps)

    def __getitem__(self, at: int) -> TraceStep:
        return self.steps[at]

    def __str__(self) -> str:
        from wgsl_kernels.bench.stepping.text import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        """Return the trace as a notebook shows it."""
        from wgsl_kernels.bench.stepping.page import html_of

        return html_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace in plain Python, as JSON has it."""
        return {
            "kernel": self.kernel,
            "dispatch": self.dispatch,
            "dispatches": self.dispatches,
            "workgroup": list(self.workgroup),
            "local": list(self.local),
            "invocation": list(self.invocation),
            "target": self.target,
            "got": _json(self.got),
            "float64": _json(self.double),
            "first": self.first,
            "worst": self.worst,
            "notes": list(self.notes),
            "steps": [one.to_dict() for one in self.steps],
        }


def _value_dict(one: TracedValue) -> dict[str, Any]:
    return {
        "text": one.text,
        "value": _json(one.value),
        "float64": _json(one.double),
        "lost_bits": _json(one.lost),
    }


def _access_dict(one: MemoryAccess) -> dict[str, Any]:
    return {
        "place": one.place,
        "value": _json(one.value),
        "float64": _json(one.double),
        "written": one.is_written,
        "writer": one.writer,
        "problem": one.problem,
    }


def _json(value: Number | None) -> Any:
    """Return a number as JSON has it: what is not finite in words."""
    if isinstance(value, tuple):
        return list(map(_json, value))
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
