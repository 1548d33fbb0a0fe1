"""The dictionaries that forget what was not used for longest, and the budget that they share."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.engine.environment import recent
from wgsl_kernels.engine.environment.recent import Budget, Recent, Remembered
from wgsl_kernels.engine.execution import plans

if TYPE_CHECKING:
    import pytest


def kept_in(budget: Budget, nbytes: int = 1) -> Recent[int, str]:
    return Recent(nbytes, budget=budget)


def test_what_is_used_stays_however_much_comes_and_goes() -> None:
    kept = kept_in(Budget(8))
    kept.keep(-1, "used")
    for number in range(1000):
        kept.keep(number, str(number))
        assert kept[-1] == "used"
        assert kept.held <= 8


def test_at_least_the_latest_are_there_and_the_others_go_a_few_at_a_time() -> None:
    gone: list[int] = []
    kept: Recent[int, str] = Recent(1, lambda key, _: gone.append(key), Budget(8))
    for number in range(100):
        kept.keep(number, str(number))
    assert kept.held + len(gone) == 100
    assert gone == list(range(len(gone)))
    assert [kept[number] for number in range(96, 100)] == ["96", "97", "98", "99"]
    assert kept[0] is None


def test_what_is_dropped_goes_though_the_caches_age_meanwhile() -> None:
    kept = kept_in(Budget(100))
    for number in range(3):
        kept.keep(number, str(number))

    def is_gone(key: int, _: str) -> bool:
        if key == 0:
            kept.age()
        return key == 1

    kept.drop(is_gone)
    assert [kept[number] for number in range(3)] == ["0", None, "2"]


def test_caches_share_a_budget_by_what_their_entries_take() -> None:
    budget = Budget(1000)
    small, large = kept_in(budget, 1), kept_in(budget, 100)
    for number in range(400):
        small.keep(number, "")
    large.keep(0, "")
    assert small.held == 400
    for number in range(1, 10):
        large.keep(number, "")
    assert small.held == 0
    assert large.held <= 10


def test_an_entry_may_say_what_it_takes() -> None:
    kept: Recent[int, bytes] = Recent(len, budget=Budget(1000))
    for number in range(100):
        kept.keep(number, b"x" * 100)
        assert kept.held <= 10
    kept.keep(-1, b"x" * 2000)  # more than there is: it is kept, alone with what came last
    assert kept[-1] is not None


def test_what_comes_again_and_again_within_half_of_a_budget_is_never_forgotten() -> None:
    budget = Budget(100)
    kept = kept_in(budget)
    for number in range(1000):  # what was before
        kept.keep(-number, "before")
    for turn in range(5):
        found = [kept[number] for number in range(1, 46)]
        assert turn == 0 or None not in found
        for number in range(1, 46):
            if found[number - 1] is None:
                kept.keep(number, "again")


def test_the_first_that_is_kept_under_a_key_stays() -> None:
    kept: Recent[str, list[int]] = Recent(1, budget=Budget(4))
    first = kept.keep("a", [1])
    assert kept.keep("a", [2]) is first


def test_what_is_dropped_or_cleared_is_gone_from_both_generations() -> None:
    kept: Recent[int, int] = Recent(1, budget=Budget(8))
    for number in range(7):
        kept.keep(number, number)
    kept.drop(lambda _, value: value % 2 == 1)
    assert [kept[number] for number in range(7)] == [0, None, 2, None, 4, None, 6]
    kept.clear()
    assert kept.held == 0
    assert kept[6] is None


def test_a_function_is_called_once_for_the_same_arguments() -> None:
    calls: list[tuple[int, int]] = []

    def total(a: int, b: int) -> int:
        calls.append((a, b))
        return a + b

    kept = Remembered(total, 1)
    assert [kept[1, 2], kept[1, 2], kept[2, 1]] == [3, 3, 3]
    assert calls == [(1, 2), (2, 1)]
    same = Remembered(lambda pair: pair[::-1], 1)
    assert same[(1, 2)] == (2, 1)


SHAPES = 1000 if ALL_MODES else 450
"""Each has five plans and more; without a budget 450 would take four times what is allowed."""


def test_thousands_of_shapes_keep_to_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent.caches, "nbytes", 1 << 20)
    w = wk.variable(np.ones((3, 2), np.float32))

    def step(size: int) -> None:
        x = wk.ones((size, 3))
        wk.variable_grads(lambda: wk.mean(wk.relu(x @ w)))

    most = 0
    with wk.use_backend("cpu"):
        for size in range(1, 50):
            step(size)
        gc.collect()
        tracemalloc.start()
        try:
            for size in range(50, SHAPES):
                step(size)
                if size % 100 == 0:
                    gc.collect()
                    most = max(most, tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert most < 5 << 18
    assert plans.plans.held < 500
