"""A program of many shapes: what is ready for one stays, and the caches count what they hold."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
from wgsl_kernels.engine.environment.recent import caches
from wgsl_kernels.engine.execution import plans

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu

SHAPES = 130 if ALL_MODES else 40


def training() -> Callable[[int], float]:
    """Return a training step of a perceptron for a batch of any size."""
    w, b = wk.variable(np.full((8, 16), 0.1, np.float32)), wk.variable(np.zeros(16, np.float32))
    v = wk.variable(np.full((16, 4), 0.1, np.float32))
    adam = wk.train.Adam(1e-3)

    def step(size: int) -> float:
        x = wk.tensor(np.ones((size, 8), np.float32))
        return float(adam.minimize(lambda: ((wk.relu(x @ w + b) @ v - 1.0) ** 2).mean()))

    return step


def test_a_shape_that_came_before_is_planned_and_lowered_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    load, plan = Loaded.__init__, plans._planned

    def loading(self: Loaded, device: Any, program: Any) -> None:
        made.append("program")
        load(self, device, program)

    def planning(name: str, *args: Any) -> Any:
        made.append(name)
        return plan(name, *args)

    with wk.use_backend("webgpu"):
        step = training()
        sizes = range(5, 5 + SHAPES)
        for _ in range(2):
            for size in sizes:
                step(size)
        monkeypatch.setattr(Loaded, "__init__", loading)
        monkeypatch.setattr(plans, "_planned", planning)
        for size in sizes:
            step(size)
        assert made == []
        step(200)
        assert made.count("program") > 3


def test_the_caches_count_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "nbytes", 1 << 40)  # nothing goes meanwhile
    with wk.use_backend("webgpu"):
        step = training()
        for size in range(300, 315):
            step(size)
        gc.collect()
        counted = caches._counted
        tracemalloc.start()
        try:
            for size in range(315, 335):
                step(size)
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert 0.6 * held < caches._counted - counted < 1.6 * held
