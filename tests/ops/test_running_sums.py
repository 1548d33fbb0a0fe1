"""Running sums on the CPU of more elements than one block holds."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu.scans import accumulated


@pytest.mark.parametrize("shape", [(70_001,), (3, 33_000), (40, 900), (30, 5, 300), (9000, 3)])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_blocks_carry_the_sum_of_those_before(
    shape: tuple[int, ...], axis: int, reverse: bool, exclusive: bool
) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    ahead = np.flip(x, axis) if reverse else x
    expected = np.cumsum(ahead, axis=axis, dtype=np.float64)
    if exclusive:
        expected = expected - ahead
    expected = np.flip(expected, axis) if reverse else expected

    with wk.use_backend("cpu"):
        y = wk.cumulative_sum(x, axis=axis, reverse=reverse, exclusive=exclusive).numpy()

    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=2e-5)


def test_running_sums_of_integers_wrap() -> None:
    x = np.full((20_000, 2), 2**30, np.int32)

    with wk.use_backend("cpu"):
        y = wk.cumulative_sum(x, axis=0).numpy()

    np.testing.assert_array_equal(y, np.cumsum(x, axis=0, dtype=np.int64).astype(np.int32))


@pytest.mark.parametrize("shape", [(7000, 5), (20_000, 7), (3, 2, 5)])
def test_what_memory_held_before_is_in_no_sum(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 1, dtype))
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)

    found = accumulated(np.add, x, 0, x.dtype)

    np.testing.assert_array_equal(found, np.cumsum(x, 0, np.float64))
