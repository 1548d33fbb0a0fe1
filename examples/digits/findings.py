"""What the demo found, from which the screen, the pictures and the report are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from costs import Cost
from data import Digits
from parity import Parity
from training import Run, Settings


@dataclass(frozen=True)
class Findings:
    """Everything that was measured.

    Attributes:
        adapter: The adapter and its driver in words, or that there is none.
        wanted: The least accuracy on held-out images, from 0 to 1.
        runs: A training per backend, ``cpu`` first.
        parities: By kernel, in alphabetical order.
        costs: By backend, then by kernel.
        seconds: How long everything took.
    """

    adapter: str
    settings: Settings
    wanted: float
    digits: Digits
    runs: Sequence[Run]
    parities: Sequence[Parity]
    costs: Mapping[str, Mapping[str, Cost]]
    seconds: float

    @property
    def failures(self) -> list[str]:
        """What is not as it should be, in words."""
        weak = [
            f"{run.backend} gets {run.accuracy:.2%} of the held-out digits right; "
            f"want {self.wanted:.0%}"
            for run in self.runs
            if run.accuracy < self.wanted
        ]
        wrong = [f"{one.kernel} is beyond its tolerance" for one in self.parities if not one.passed]
        return weak + wrong

    @property
    def mistakes(self) -> np.ndarray:
        """The held-out images that some backend gets wrong, by index."""
        wrong = [run.predictions != self.digits.test_labels for run in self.runs]
        return np.flatnonzero(np.any(wrong, axis=0))
