"""What a watching shader writes down, and how that is read.

One buffer of words: a count, where the shadows of arrays begin, a counter per site, records, and
the shadows: per element of a watched array who wrote it last and who read it last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from wgsl_kernels.wgsl.syntax.places import text_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.syntax.places import Span

Event: TypeAlias = Literal[
    "outside", "write-race", "read-race", "unset", "runaway", "said", "failed", "unsaid"
]

EVENTS: tuple[Event, ...] = (
    "outside",
    "write-race",
    "read-race",
    "unset",
    "runaway",
    "said",
    "failed",
)
"""What may be noted; a record has the number of one. ``unsaid`` tells of what had no room."""

SHADOWS, SITES, RECORDS = 16, 32, 288
"""Where in the log the shadows' places, the sites' counters and the records begin."""
RECORD_WORDS = 5
MOST_SITES = RECORDS - SITES
MOST_SHADOWS = SITES - SHADOWS
MOST_RECORDS = 320
MOST_SAID = 256
"""Records of what is printed; the others are left to what is wrong."""
SHADOW = RECORDS + MOST_RECORDS * RECORD_WORDS
PER_SITE = 4
"""Records of one site; more say nothing new."""
ROUNDS = 60_000
"""Rounds of loops that an invocation may take: a software adapter stops it after 65,535."""


@dataclass(frozen=True, slots=True)
class Site:
    """One place of a shader that is watched.

    Attributes:
        number: Its number in the log.
        span: Where it is in the text that was rewritten.
        access: ``read``, ``write``, ``loop``, ``print`` or ``assert``.
        variable: The array's name.
        type: Of what is printed, the scalar's name.
        components: How many numbers that is; a record of each has its component for a length.
    """

    number: int
    span: Span
    access: Literal["read", "write", "loop", "print", "assert"]
    variable: str = ""
    type: str = ""
    components: int = 1


class LogRecord(NamedTuple):
    """One event: where, of which kind, at which index of how many, by whom, against whom.

    Invocations are counted from 0; ``other`` is -1 where there is none.
    """

    site: Site
    event: Event
    at: int
    length: int
    invocation: int
    other: int


def new_log(lengths: Sequence[int]) -> np.ndarray:
    """Return an empty log with shadows for arrays of these lengths; 0 has none."""
    words = np.zeros(SHADOW + 2 * sum(lengths), np.uint32)
    begin = SHADOW
    for number, length in enumerate(lengths):
        if length:
            words[SHADOWS + number] = begin
            begin += 2 * length
    return words


def records_in(words: np.ndarray, sites: Sequence[Site]) -> Iterator[LogRecord]:
    """Yield what a log tells."""
    count = min(int(words[0]), MOST_RECORDS)
    rows = words[RECORDS : RECORDS + count * RECORD_WORDS].reshape(-1, RECORD_WORDS)
    for number, index, length, invocation, coded in rows.tolist():
        kind, other = coded >> 24, coded & 0xFFFFFF
        yield LogRecord(
            sites[number], EVENTS[kind], index, length, invocation - 1, other - 1 if other else -1
        )
    if words[1] > MOST_SAID:
        site = next(one for one in sites if one.access == "print")
        yield LogRecord(site, "unsaid", int(words[1]) - MOST_SAID, MOST_SAID, -1, -1)


def prelude(binding: int) -> str:
    """Return what every watching shader declares, with the log at a binding."""
    layout = {
        "shadows": SHADOWS,
        "sites": SITES,
        "records": RECORDS,
        "record_words": RECORD_WORDS,
        "most_records": MOST_RECORDS,
        "most_said": MOST_SAID,
        "per_site": PER_SITE,
        "most_rounds": ROUNDS,
    }
    log = f"@group(0) @binding({binding}) var<storage, read_write> wkd_log: array<atomic<u32>>;"
    constants = [f"const wkd_{name} = {value}u;" for name, value in layout.items()]
    return "\n".join(["", log, *constants, text_beside(__file__, "log.wgsl")])


def of_workgroup_array(name: str, words: int) -> str:
    """Return what it declares for a workgroup array; its shadow is there, too, by barriers."""
    return (
        text_beside(__file__, "workgroup_log.wgsl")
        .replace("NAME", name)
        .replace("WORDS", f"{words}u")
    )
