"""Time one item on all peers, in turns, so that what else the machine does hits all alike."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.items.item import Array, Item
from benchmarks.peers.process import PeerError, PeerProcess

ROUNDS = (3, 25)
"""At least so many turns, and at most."""
SLOW_SECONDS = 1.0
"""A sample of this length is not repeated more often than its item asks for."""
PREPARE_SECONDS = 90.0
REST_SECONDS = 0.1
"""Between two peers, until the threads of the one before sleep.

OpenBLAS's spin for 27 ms, those of ONNX Runtime's CPU provider for 46 (1.32, on an AMD EPYC).
"""
CLOSE = 1e-3
"""How far a result may be from the reference, as a part of the largest value."""


@dataclass
class _Turn:
    """A peer's variant, and how long it took so far."""

    peer: PeerProcess
    variant: str
    samples: list[float] = field(default_factory=list)


def measure(
    item: Item, peers: Sequence[PeerProcess], seconds: float, *, tiny: bool = False
) -> dict[str, dict[str, Any]]:
    """Return, by peer, what it took, or why it did not.

    Args:
        item: What is timed.
        peers: The first that has a result is the reference for all that follow.
        seconds: How long the turns may take, all together.
        tiny: Whether the item runs at its tests' size.
    """
    found: dict[str, dict[str, Any]] = {}
    turns: list[_Turn] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        reference: list[Array] | None = None
        for peer in peers:
            if peer.name not in item.peers:
                continue
            if peer.name in item.without:
                found[peer.name] = {"left_out": item.without[peer.name]}
                continue
            try:
                own = Path(folder, peer.name)
                own.mkdir()
                results, first = peer.prepare(item, own, PREPARE_SECONDS, tiny=tiny)
                off = 0.0
                for result in results.values():
                    reference = reference or result
                    off = max(off, check(result, reference))
            except (PeerError, WrongResultError) as error:
                found[peer.name] = {"error": str(error)}
                continue
            found[peer.name] = {"first_seconds": round(first, 3), "off": float(f"{off:.2g}")}
            turns += [_Turn(peer, variant) for variant in results]
    _take_turns(item, turns, found, seconds)
    for peer in {turn.peer for turn in turns}:
        peer.drop()
    _summarise(turns, found)
    return found


class WrongResultError(Exception):
    """A peer's result is not the reference's."""


def check(result: Sequence[Array], reference: Sequence[Array]) -> float:
    """Compare a result with the reference, array by array, laid out flat.

    Returns:
        How far it is off at most, as a part of the largest value of its array.

    Raises:
        WrongResultError: They differ by more than a thousandth of the largest value.
    """
    most = 0.0
    for one, wanted in zip(result, reference, strict=True):
        if one.size != wanted.size:
            raise WrongResultError(f"its result has {one.size:,} elements, not {wanted.size:,}")
        exact = np.asarray(wanted, np.complex128).ravel()
        largest = max(np.abs(exact).max(initial=0.0), 1e-30)
        off = np.abs(np.asarray(one, np.complex128).ravel() - exact).max(initial=0.0)
        if not off <= CLOSE * largest:
            raise WrongResultError(
                f"its result is off by {off:.3g} where the largest is {largest:.3g}"
            )
        most = max(most, float(off / largest))
    return most


def _take_turns(
    item: Item, turns: list[_Turn], found: dict[str, dict[str, Any]], seconds: float
) -> None:
    least, most = max(ROUNDS[0], item.rounds), ROUNDS[1]
    start = time.perf_counter()
    for done in range(most):
        if done >= least and time.perf_counter() - start > seconds:
            return
        for turn in turns:
            name = turn.peer.name
            slow = turn.samples and min(turn.samples) * item.calls > SLOW_SECONDS * 1e3
            if "error" in found[name] or (slow and done >= item.rounds):
                continue
            time.sleep(REST_SECONDS)
            try:
                cost = turn.peer.time(item.calls, turn.variant, PREPARE_SECONDS)
                turn.samples.append(cost["ms"])
            except PeerError as error:
                found[name] = {"error": str(error)}


def _summarise(turns: list[_Turn], found: dict[str, dict[str, Any]]) -> None:
    """Put each peer's best variant into ``found``."""
    for turn in turns:
        facts = found[turn.peer.name]
        if "error" in facts or not turn.samples:
            continue
        best = min(turn.samples)
        if best < facts.get("ms", float("inf")):
            facts["ms"] = round(best, 5)
            facts["median_ms"] = round(statistics.median(turn.samples), 5)
            facts["samples"] = len(turn.samples)
            if turn.variant:
                facts["variant"] = turn.variant
