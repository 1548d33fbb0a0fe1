"""Ratios of two heads' times, their intervals, and the verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from benchmarks.items.item import Array

Clock = Literal["wall", "CPU"]
Pair = tuple[float, float]
"""What the old and the new head took in one round."""
RESAMPLED = 10_000
INTERVAL = (0.025, 0.975)
ITEM_LIMIT = 1.10
MEAN_LIMIT = 1.03
FIRST_LIMIT = 1.03
"""Of a first result's processor time."""


@dataclass(frozen=True)
class Ratio:
    """New time divided by old time, with its 95 % interval; below 1 the new head is faster."""

    value: float
    low: float
    high: float

    def is_within(self, limit: float) -> bool:
        """Return whether the interval is not beyond ``limit`` as a whole."""
        return self.low <= limit

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Verdict:
    """What became of one row, or of the mean.

    Attributes:
        row: Its name.
        ratios: By clock.
        failed: The clocks whose interval is beyond the limit.
    """

    row: str
    ratios: Mapping[Clock, Ratio]
    failed: tuple[Clock, ...]


def verdict(row: str, by_clock: Mapping[Clock, Sequence[Pair]]) -> Verdict:
    """Return the verdict on a row."""
    ratios: dict[Clock, Ratio] = {clock: ratio(pairs) for clock, pairs in by_clock.items()}
    first = row.startswith("first-")
    limits: dict[Clock, float] = {"CPU": FIRST_LIMIT if first else ITEM_LIMIT, "wall": ITEM_LIMIT}
    failed: list[Clock] = [
        clock for clock, one in ratios.items() if not one.is_within(limits[clock])
    ]
    return Verdict(row, ratios, tuple(failed))


def verdict_on_mean(rows: Iterable[Mapping[Clock, Sequence[Pair]]]) -> Verdict:
    """Return the verdict on the geometric mean of all rows, each clock's for itself."""
    by_clock: dict[Clock, list[Sequence[Pair]]] = {}
    for row in rows:
        for clock, pairs in row.items():
            by_clock.setdefault(clock, []).append(pairs)
    ratios: dict[Clock, Ratio] = {clock: geometric_mean(found) for clock, found in by_clock.items()}
    failed: list[Clock] = [clock for clock, one in ratios.items() if not one.is_within(MEAN_LIMIT)]
    return Verdict("geometric mean", ratios, tuple(failed))


def ratio(pairs: Sequence[Pair]) -> Ratio:
    """Return the median of the rounds' ratios; the interval is from resampled rounds."""
    return _ratio(*_estimates(pairs))


def geometric_mean(rows: Iterable[Sequence[Pair]]) -> Ratio:
    """Return the geometric mean of the rows' ratios, each row's rounds resampled for itself."""
    values, resampled = zip(*(_estimates(one, seed) for seed, one in enumerate(rows)), strict=True)
    return _ratio(float(np.mean(values)), np.mean(resampled, axis=0))


def _estimates(pairs: Sequence[Pair], seed: int = 0) -> tuple[float, Array]:
    """Return the logarithm of the median ratio, and those of resampled rounds."""
    old, new = np.asarray(pairs, np.float64).T
    logs = np.log(new / old)
    picked = np.random.default_rng(seed).integers(0, logs.size, (RESAMPLED, logs.size))
    return float(np.median(logs)), np.median(logs[picked], axis=1)


def _ratio(value: float, resampled: Array) -> Ratio:
    low, high = np.quantile(resampled, INTERVAL)
    return Ratio(float(np.exp(value)), float(np.exp(low)), float(np.exp(high)))
