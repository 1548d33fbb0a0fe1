"""The trace of one invocation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.testing.stepping.page import html_of
from wgsl_kernels.testing.stepping.steps import json_of
from wgsl_kernels.testing.stepping.text import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.testing.stepping.steps import Number, TraceStep


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
        return text_of(self)

    def _repr_html_(self) -> str:
        """Return the trace as a notebook shows it."""
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
            "got": json_of(self.got),
            "float64": json_of(self.double),
            "first": self.first,
            "worst": self.worst,
            "notes": list(self.notes),
            "steps": [one.to_dict() for one in self.steps],
        }
