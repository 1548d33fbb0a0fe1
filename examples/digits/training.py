"""Training: the same steps on whichever backend is active."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import wgsl_kernels as wk
from data import Batch, Digits, batches
from model import loss, new_network


@dataclass(frozen=True)
class Settings:
    """What both backends are given alike."""

    epochs: int
    batch: int
    seed: int
    learning_rate: float = 0.005

    def steps(self, digits: Digits) -> int:
        """Return how many steps the whole training has."""
        return self.epochs * (len(digits.labels) // self.batch)


@dataclass
class Run:
    """What one backend made of it.

    Attributes:
        network: As it is after the last epoch.
        losses: The loss before each step.
        values: The variables after each epoch.
        logits: [held-out images, 10], after the last epoch.
        accuracy: The share of held-out images that the network gets right, from 0 to 1.
        seconds: How long the training took, the compiling of shaders included.
        step_seconds: How long each step took, up to reading its loss.
    """

    backend: str
    network: wk.nn.Sequential
    losses: list[float] = field(default_factory=list)
    values: list[list[np.ndarray]] = field(default_factory=list)
    logits: np.ndarray = field(default_factory=lambda: np.empty(0))
    accuracy: float = 0.0
    seconds: float = 0.0
    step_seconds: list[float] = field(default_factory=list)

    @property
    def first_step(self) -> float:
        """The seconds of the first step, in which most shaders are compiled."""
        return self.step_seconds[0]

    @property
    def steady_step(self) -> float:
        """The seconds of a step when nothing is left to compile: the median of the later half."""
        return float(np.median(self.step_seconds[len(self.step_seconds) // 2 :]))

    @property
    def pace(self) -> str:
        """How long it took, in words: the first step, with compiling, apart from a later one."""
        compiling = "" if self.backend == "cpu" else ", with compiling"
        return (
            f"{len(self.losses)} steps in {self.seconds:.1f} s: the first {self.first_step:.2g} s"
            f"{compiling}, then {1e3 * self.steady_step:.1f} ms each"
        )

    @property
    def predictions(self) -> np.ndarray:
        """The class that the network gives each held-out image."""
        found: np.ndarray = np.argmax(self.logits, axis=1)
        return found


class Trainer:
    """A network and its optimizer on the active backend, from the values that the seed gives."""

    def __init__(self, settings: Settings) -> None:
        self.network = new_network(settings.seed)
        self.adam = wk.train.Adam(settings.learning_rate)

    def step(self, batch: Batch) -> wk.Tensor:
        """Change the variables against the gradient of the loss, and return the loss."""
        images, labels = wk.tensor(batch.images), wk.tensor(batch.labels)
        return self.adam.minimize(lambda: loss(self.network, images, labels), self.network)


def train(backend: str, digits: Digits, settings: Settings, watch: Callable[[float], None]) -> Run:
    """Train on ``backend``, telling ``watch`` the loss of each step."""
    start = time.perf_counter()
    with wk.use_backend(backend):
        trainer = Trainer(settings)
        run = Run(backend, trainer.network)
        for epoch in range(settings.epochs):
            for batch in batches(digits, settings.batch, settings.seed, epoch):
                began = time.perf_counter()
                left = 1.0 - len(run.losses) / settings.steps(digits)
                trainer.adam.learning_rate.assign(settings.learning_rate * left)
                run.losses.append(float(trainer.step(batch).item()))
                run.step_seconds.append(time.perf_counter() - began)
                watch(run.losses[-1])
            run.values.append([one.numpy() for one in trainer.adam.owners()])
        run.logits = run.network(wk.tensor(digits.test_images)).numpy()
    run.seconds = time.perf_counter() - start
    run.accuracy = float(np.mean(run.predictions == digits.test_labels))
    return run
