"""What the analysis of uniformity knows at a point of a function, and where points meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.names.resolve import Symbol
    from wgsl_kernels.wgsl.syntax import tree

Values: TypeAlias = "dict[Symbol, str]"
"""The variables of a function that are not uniform at a point, each with the reason."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Why not all invocations are here: a condition, and what in it differs between them."""

    condition: tree.Expression
    why: str


class FlowAfter(NamedTuple):
    """Control flow behind a statement, and how it may leave the block that it stands in."""

    flow: Flow | None
    jumps: frozenset[str]


class Referred(NamedTuple):
    """What a reference or a pointer leads to: a variable, and why the part of it differs."""

    variable: Symbol
    is_whole: bool
    why: str


@dataclass(slots=True)
class Head:
    """What is known where the rounds of a loop begin, of all rounds so far."""

    flow: Flow | None = None
    values: Values = field(default_factory=dict["Symbol", str])


@dataclass(slots=True)
class JumpTarget:
    """A loop or a switch, and what is known at the jumps to its end and to its next round."""

    is_loop: bool
    breaks: Values | None = None
    continues: Values | None = None


@dataclass(slots=True)
class Activation:
    """One function with certain arguments, at the point where the walk is.

    Attributes:
        values: What is not uniform at this point; None where no control flow comes.
        pointers: What each let that is a pointer leads to.
        heads: The loops that were walked, by where they begin.
        targets: The loops and switches around this point, the innermost last.
        returns: Why the value that it returns differs.
        left: What is not uniform where it returns.
    """

    values: Values | None
    pointers: dict[Symbol, Referred] = field(default_factory=dict["Symbol", Referred])
    heads: dict[int, Head] = field(default_factory=dict[int, Head])
    targets: list[JumpTarget] = field(default_factory=list[JumpTarget])
    returns: str = ""
    left: Values | None = None


def joined(first: Values | None, second: Values | None) -> Values | None:
    """Return what is not uniform where control flow from two points meets."""
    if first is None and second is None:
        return None
    return {**(second or {}), **(first or {})}
