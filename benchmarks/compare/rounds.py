"""Rounds in which both heads take turns, each begun only while nothing else runs."""

import time
from collections.abc import Callable, Mapping, Sequence

import psutil
from benchmarks.compare.heads import Head
from benchmarks.compare.ratios import Clock, Pair

LOOK_SECONDS = 0.2
OTHERS = 0.5
"""Cores that others may use: with the one that measures, a load of 1.5."""
PATIENCE_SECONDS = 600.0
SAID_EVERY = 30.0

Costs = dict[str, dict[Clock, float]]
"""By row and clock, what a head took: in milliseconds, or in seconds."""
Pairs = dict[str, dict[Clock, list[Pair]]]


class TooBusyError(Exception):
    """Others did not leave the machine alone in time."""


def cores_in_use() -> float:
    """Return how many cores were in use while this process slept for a moment."""
    return float(psutil.cpu_percent(LOOK_SECONDS)) / 100 * (psutil.cpu_count() or 1)


def wait_until_idle(
    say: Callable[[str], None],
    in_use: Callable[[], float] = cores_in_use,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return once others use at most half a core.

    Raises:
        TooBusyError: They used more for ten minutes.
    """
    start = clock()
    next_word = 0.0
    while (cores := in_use()) > OTHERS:
        waited = clock() - start
        if waited > PATIENCE_SECONDS:
            raise TooBusyError(f"others use {cores:.1f} cores; gave up after {waited:.0f} s")
        if waited >= next_word:
            say(f"others use {cores:.1f} cores: waiting, {waited:.0f} s so far")
            next_word = waited + SAID_EVERY


def alternate(
    take: Callable[[Head], Costs],
    heads: Sequence[Head],
    rounds: int,
    wait: Callable[[], None],
) -> Pairs:
    """Return what old and new took, round by round; who begins changes each round.

    Args:
        take: Measures one head.
        heads: The old one, the new one.
        rounds: How many.
        wait: Is called before each measurement.
    """
    found: Pairs = {}
    for number in range(rounds):
        costs: dict[str, Costs] = {}
        for one in heads if number % 2 == 0 else heads[::-1]:
            wait()
            costs[one.name] = take(one)
        old, new = (costs[one.name] for one in heads)
        for row, by_clock in old.items():
            kept = found.setdefault(row, {})
            for clock, spent in by_clock.items():
                kept.setdefault(clock, []).append((spent, new[row][clock]))
    return found


def least(samples: Sequence[Mapping[Clock, float]]) -> dict[Clock, float]:
    """Return the least time of several samples, by clock."""
    return {clock: min(one[clock] for one in samples) for clock in samples[0]}
