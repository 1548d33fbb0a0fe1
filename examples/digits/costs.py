"""Costs: how often a training step runs each kernel, and how long they take."""

from collections.abc import Iterator
from dataclasses import dataclass

import wgsl_kernels as wk
from data import Digits, batches
from training import Settings, Trainer

STEPS = 10


@dataclass(frozen=True)
class Cost:
    """One kernel in one training step.

    Attributes:
        calls: How many times it runs.
        milliseconds: What these take together: on the device where it can tell, else by the clock.
    """

    calls: int
    milliseconds: float


def costs(backend: str, digits: Digits, settings: Settings) -> dict[str, Cost]:
    """Return the cost of each kernel in a step, the mean of a few, after two that warm up."""
    with wk.use_backend(backend):
        trainer = Trainer(settings)
        batch = next(batches(digits, settings.batch, settings.seed, epoch=0))
        for _ in range(2):
            trainer.step(batch)
        profile = wk.profile(lambda: [trainer.step(batch) for _ in range(STEPS)])
    return dict(_rows(profile.by_kernel(), backend))


def _rows(
    sums: dict[tuple[str, str], tuple[int, float, float | None]], backend: str
) -> Iterator[tuple[str, Cost]]:
    on_device = any(device is not None for _, _, device in sums.values())
    for (kernel, ran_on), (calls, wall, device) in sums.items():
        if ran_on == backend:
            spent = (device or 0.0) if on_device else wall
            yield kernel, Cost(round(calls / STEPS), spent / STEPS)
