"""What a watching shader writes down, and how that is read.

One buffer of words: a count, where the shadows of arrays begin, a counter per site, records, and
the shadows: per element of a watched array who wrote it last and who read it last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.syntax.places import Span

Event: TypeAlias = Literal[
    "outside", "write-race", "read-race", "unset", "runaway", "said", "failed"
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
"""What may be noted; a record has the number of one."""

SHADOWS, SITES, RECORDS = 16, 32, 288
"""Where in the log the shadows' places, the sites' counters and the records begin."""
RECORD_WORDS = 5
MOST_SITES = RECORDS - SITES
MOST_SHADOWS = SITES - SHADOWS
MOST_RECORDS = 256
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
    """

    number: int
    span: Span
    access: Literal["read", "write", "loop", "print", "assert"]
    variable: str = ""
    type: str = ""


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


PRELUDE = f"""
@group(0) @binding(BINDING) var<storage, read_write> wkd_log: array<atomic<u32>>;
var<private> wkd_who: u32;
var<private> wkd_lane: u32;
var<private> wkd_epoch: u32;
var<private> wkd_rounds: u32;
var<private> wkd_row: u32;

fn wkd_note(site: u32, event: u32, index: u32, length: u32, other: u32) {{
  if (atomicAdd(&wkd_log[{SITES}u + site], 1u) < {PER_SITE}u) {{
    let at = atomicAdd(&wkd_log[0], 1u);
    if (at < {MOST_RECORDS}u) {{
      let word = {RECORDS}u + at * {RECORD_WORDS}u;
      atomicStore(&wkd_log[word], site);
      atomicStore(&wkd_log[word + 1u], index);
      atomicStore(&wkd_log[word + 2u], length);
      atomicStore(&wkd_log[word + 3u], wkd_who);
      atomicStore(&wkd_log[word + 4u], (event << 24u) | min(other, 0xffffffu));
    }}
  }}
}}

fn wkd_in(index: u32, length: u32, site: u32) -> u32 {{
  if (index >= length) {{
    wkd_note(site, 0u, index, length, 0u);
  }}
  return index;
}}

fn wkd_outer(index: u32, length: u32, site: u32) -> u32 {{
  wkd_row = index;
  return wkd_in(index, length, site);
}}

fn wkd_read(index: u32, length: u32, site: u32, shadow: u32) -> u32 {{
  if (index >= length) {{
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }}
  let base = atomicLoad(&wkd_log[{SHADOWS}u + shadow]);
  if (base != 0u) {{
    let writer = atomicLoad(&wkd_log[base + 2u * index]);
    if (writer != 0u && writer != wkd_who) {{
      wkd_note(site, 2u, index, length, writer);
    }}
    atomicStore(&wkd_log[base + 2u * index + 1u], wkd_who);
  }}
  return index;
}}

fn wkd_write(index: u32, length: u32, site: u32, shadow: u32) -> u32 {{
  if (index >= length) {{
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }}
  let base = atomicLoad(&wkd_log[{SHADOWS}u + shadow]);
  if (base != 0u) {{
    let writer = atomicExchange(&wkd_log[base + 2u * index], wkd_who);
    let reader = atomicLoad(&wkd_log[base + 2u * index + 1u]);
    if (writer != 0u && writer != wkd_who) {{
      wkd_note(site, 1u, index, length, writer);
    }} else if (reader != 0u && reader != wkd_who) {{
      wkd_note(site, 2u, index, length, reader);
    }}
  }}
  return index;
}}

fn wkd_say(value: u32, site: u32) {{
  let at = atomicAdd(&wkd_log[0], 1u);
  if (at < {MOST_RECORDS}u) {{
    let word = {RECORDS}u + at * {RECORD_WORDS}u;
    atomicStore(&wkd_log[word], site);
    atomicStore(&wkd_log[word + 1u], value);
    atomicStore(&wkd_log[word + 3u], wkd_who);
    atomicStore(&wkd_log[word + 4u], 5u << 24u);
  }}
}}

fn wkd_hold(condition: bool, site: u32) {{
  if (!condition) {{
    wkd_note(site, 6u, 0u, 0u, 0u);
  }}
}}

fn wkd_round(site: u32) -> bool {{
  wkd_rounds += 1u;
  if (wkd_rounds > {ROUNDS}u) {{
    wkd_note(site, 4u, wkd_rounds, {ROUNDS}u, 0u);
    return true;
  }}
  return false;
}}
"""
"""What every watching shader declares; BINDING is the log's number."""

WORKGROUP = """
var<workgroup> wkd_shadow_NAME: array<atomic<u32>, WORDSu>;

fn wkd_read_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }
  let own = (wkd_epoch << 11u) | (wkd_lane + 1u);
  let writer = atomicLoad(&wkd_shadow_NAME[2u * flat]);
  if (writer == 0u) {
    wkd_note(site, 3u, flat, length, 0u);
  } else if ((writer >> 11u) == wkd_epoch && writer != own) {
    wkd_note(site, 2u, flat, length, writer & 2047u);
  }
  atomicStore(&wkd_shadow_NAME[2u * flat + 1u], own);
  return index;
}

fn wkd_write_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
    return index;
  }
  let own = (wkd_epoch << 11u) | (wkd_lane + 1u);
  let writer = atomicExchange(&wkd_shadow_NAME[2u * flat], own);
  let reader = atomicLoad(&wkd_shadow_NAME[2u * flat + 1u]);
  if (writer != 0u && (writer >> 11u) == wkd_epoch && writer != own) {
    wkd_note(site, 1u, flat, length, writer & 2047u);
  } else if (reader != 0u && (reader >> 11u) == wkd_epoch && reader != own) {
    wkd_note(site, 2u, flat, length, reader & 2047u);
  }
  return index;
}

fn wkd_mark_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
  } else {
    atomicStore(&wkd_shadow_NAME[2u * flat], (wkd_epoch << 11u) | (wkd_lane + 1u));
  }
  return index;
}

fn wkd_set_NAME(index: u32, length: u32, site: u32, flat: u32) -> u32 {
  if (index >= length) {
    wkd_note(site, 0u, index, length, 0u);
  } else if (atomicLoad(&wkd_shadow_NAME[2u * flat]) == 0u) {
    wkd_note(site, 3u, flat, length, 0u);
  }
  return index;
}
"""
"""The same for one workgroup array; its shadow is in workgroup memory, by barriers."""
