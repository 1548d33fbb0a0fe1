"""How many recordings are kept: so many bytes, of all functions together."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _on_webgpu() -> Iterator[None]:
    gc.collect()  # what other tests have captured
    with wk.use_backend("webgpu"), wk.config.using(capture_check=False):
        yield


class Counted:
    """A captured function that counts its runs."""

    def __init__(self) -> None:
        self.runs: list[float] = []
        self.captured = wk.capture(self._run)
        self.x = wk.tensor([1.0])

    def _run(self, x: wk.Tensor, number: float) -> wk.Tensor:
        self.runs.append(number)
        return x * number

    def __call__(self, number: float) -> None:
        """Call it, and look at what it gives."""
        assert self.captured(self.x, number).tolist() == [number]


def recorded_bytes() -> int:
    """Return what one recording of `Counted` counts."""
    one = Counted()
    one(1.0)
    return sum(run.nbytes for _, run in one.captured.recordings())


def test_those_not_used_for_longest_go_of_whatever_function() -> None:
    limit = 8 * recorded_bytes()
    gc.collect()
    with wk.config.using(capture_limit=limit):
        one, two = Counted(), Counted()
        for number in range(4):
            one(float(number))
            two(float(number))
        one(0.0)
        one(4.0)
        assert (len(one.runs), len(two.runs)) == (5, 4)
        one(0.0)
        two(1.0)
        assert (len(one.runs), len(two.runs)) == (5, 4)
        with pytest.warns(RuntimeWarning, match="recorded again"):
            two(0.0)
        assert len(two.runs) == 5


def test_what_is_dropped_and_made_again_is_told_once() -> None:
    limit = 4 * recorded_bytes()
    gc.collect()
    with wk.config.using(capture_limit=limit):
        one = Counted()
        for number in range(6):
            one(float(number))
        with pytest.warns(RuntimeWarning, match=r"capture_limit.*Pad to a few sizes"):
            one(0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for number in range(1, 6):
                one(float(number))
        assert len(one.runs) == 12


def test_what_is_recorded_for_ever_new_signatures_is_told_once() -> None:
    one = Counted()
    for number in range(32):
        one(float(number))
    with pytest.warns(
        RuntimeWarning, match="more than 32 signatures, and none of them came again. Pad"
    ):
        one(32.0)
    one(33.0)
    for number in range(34):
        one(float(number))
    assert len(one.runs) == 34


def test_as_many_sizes_as_fit_are_recorded_once_each() -> None:
    w = wk.variable(np.ones((4, 4), np.float32))
    runs: list[int] = []

    @wk.capture
    def step(x: wk.Tensor) -> wk.Tensor:
        runs.append(x.shape[0])
        w.assign(w * 0.5)
        return wk.sum(wk.relu(x @ w))

    sizes = range(1, 81)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            for size in sizes:
                step(wk.ones((size, 4)))
    assert runs == list(sizes)


def test_signatures_that_cannot_be_replayed_do_not_gather() -> None:
    captured = wk.capture(lambda x, n: float(x.sum()) + n)
    x = wk.ones((2,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(300):
            assert captured(x, number) == 2.0 + number
    assert len(captured._runs) <= 256


@pytest.mark.parametrize("limit", [0, -1, True, None, "256 MiB"])
def test_a_limit_is_a_number_of_bytes(limit: object) -> None:
    with pytest.raises(wk.ArgumentError, match=r"capture_limit is .*a number of bytes above 0"):
        wk.config.capture_limit = limit  # type: ignore[assignment]  # what is refused
