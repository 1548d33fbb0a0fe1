"""Reading a few numbers back: it waits for the device, and for no more than that."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.gpu

READ_MS = 0.3
"""What a small read takes; a machine with other work lets some of them through so soon."""


def test_a_small_result_is_read_within_a_third_of_a_millisecond() -> None:
    with wk.use_backend("webgpu"):
        x, w = wk.ones((4, 4)), wk.ones((4, 4))
        taken: list[float] = []
        for _ in range(300):
            y = x + w
            wk.evaluate(y)
            start = time.perf_counter()
            assert y.numpy()[0, 0] == 2.0
            taken.append((time.perf_counter() - start) * 1e3)
    assert np.percentile(taken[50:], 10) < READ_MS


@pytest.mark.parametrize(("outcomes", "lanes"), [(2, 8), (8, 8), (9, 64), (64, 64), (65, 256)])
def test_rows_of_few_outcomes_are_drawn_from_by_few_lanes(outcomes: int, lanes: int) -> None:
    with wk.use_backend("webgpu"):
        driver: Any = find_driver("webgpu")
        driver.profile(True)
        try:
            wk.multinomial(wk.zeros((3, outcomes)), 2, seed=1).numpy()
            seen = [at[1] for names, *_, at in driver.take_timings() if "Multinomial" in names]
        finally:
            driver.profile(False)
        assert seen[0].module.composed.workgroup_size[0] == lanes
