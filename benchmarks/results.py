"""What a run found, as a file per adapter, and the ratios that are read out of it."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
Results = dict[str, Any]
"""``adapter``, ``date``, ``packages``, ``peers``, ``items`` and one key per measure."""


def path_of(adapter: Mapping[str, str]) -> Path:
    """Return the file that keeps the results of an adapter."""
    words = f"{adapter['name']} {adapter['backend']}".lower()
    return RESULTS / f"{re.sub('[^a-z0-9]+', '-', words).strip('-')}.json"


def load(path: Path) -> Results:
    """Return what a file keeps; nothing if it is not there."""
    if not path.is_file():
        return {}
    found: Results = json.loads(path.read_text(encoding="utf-8"))
    return found


def save(path: Path, results: Results) -> None:
    """Write the file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def in_words(adapter: Mapping[str, str]) -> str:
    """Return adapter and driver on one line."""
    return f"{adapter['name']} through {adapter['backend']}, {adapter['driver']}"


def short_name(adapter: Mapping[str, str]) -> str:
    """Return the adapter's name, and through what it is reached, in few words."""
    return f"{adapter['name'].split(' (')[0]} through {adapter['backend']}"


def fact(results: Results, item: str, peer: str, key: str) -> float | None:
    """Return one number of a peer for an item; None where it has none."""
    found: float | None = results.get("items", {}).get(item, {}).get(peer, {}).get(key)
    return found


def milliseconds(results: Results, item: str, peer: str, *, key: str = "ms") -> float | None:
    """Return a peer's least time for an item, or its ``"median_ms"``; None where it has none."""
    return fact(results, item, peer, key)


def best_of_ours(results: Results, item: str, *, key: str = "ms") -> float | None:
    """Return our least time on the GPU, or median, eager or captured."""
    both = (milliseconds(results, item, name, key=key) for name in ("ours", "captured"))
    return min((one for one in both if one is not None), default=None)


def times_faster(
    results: Results, item: str, than: str, ours: str = "best", *, key: str = "ms"
) -> float | None:
    """Return how many times faster ours is than a peer: its time divided by ours.

    Args:
        results: The results.
        item: The item's name.
        than: The peer.
        ours: ``"best"`` of eager and captured, or a peer's name, as ``"ours-cpu"``.
        key: ``"ms"``, the least of all turns, or ``"median_ms"``.
    """
    if ours == "best":
        own = best_of_ours(results, item, key=key)
    else:
        own = milliseconds(results, item, ours, key=key)
    other = milliseconds(results, item, than, key=key)
    return None if own is None or other is None else other / own


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """Return the geometric mean of those that are there; None if none is."""
    logs = [math.log(one) for one in ratios if one is not None]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None
