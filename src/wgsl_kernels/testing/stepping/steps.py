"""The steps of a trace, as values: what was computed, read and written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

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
        context: What else is to say of it: rounds that are written out, the label of a print.
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
            "lost_bits": json_of(self.lost),
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


def _value_dict(one: TracedValue) -> dict[str, Any]:
    return {
        "text": one.text,
        "value": json_of(one.value),
        "float64": json_of(one.double),
        "lost_bits": json_of(one.lost),
    }


def _access_dict(one: MemoryAccess) -> dict[str, Any]:
    return {
        "place": one.place,
        "value": json_of(one.value),
        "float64": json_of(one.double),
        "written": one.is_written,
        "writer": one.writer,
        "problem": one.problem,
    }


def json_of(value: Number | None) -> Any:
    """Return a number as JSON has it: what is not finite in words."""
    if isinstance(value, tuple):
        return list(map(json_of, value))
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
