"""Batches of arrays: all rows once, in the order of the seed, with what is left over."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

EVERYWHERE = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@EVERYWHERE
@pytest.mark.parametrize("prefetch", [0, 1, 5])
@pytest.mark.parametrize("kind", ["array", "tensor", "list"])
def test_every_row_comes_once_with_its_label(kind: str, prefetch: int, backend: str) -> None:
    with wk.use_backend(backend):
        x, y = np.arange(22, dtype=np.float32).reshape(11, 2), np.arange(11)
        given: Any = {"array": x, "tensor": wk.tensor(x), "list": x.tolist()}[kind]
        data = wk.data.batches(given, y, 4, shuffle=True, seed=3, prefetch=prefetch)
        assert len(data) == 3
        orders = []
        for _ in range(2):
            pairs = list(data)
            assert [len(one) for one, _ in pairs] == [4, 4, 3]
            order = np.concatenate([labels.numpy() for _, labels in pairs])
            rows = np.concatenate([one.numpy() for one, _ in pairs])
            np.testing.assert_array_equal(rows, x[order])
            assert sorted(order.tolist()) == list(range(11))
            orders.append(order.tolist())
        assert orders[0] != orders[1]
        again = wk.data.batches(x, y, 4, shuffle=True, seed=3)
        again.epoch = 1
        found = np.concatenate([labels.numpy() for _, labels in again])
        assert found.tolist() == orders[1]


@EVERYWHERE
def test_a_last_batch_is_dropped_or_filled_up(backend: str) -> None:
    with wk.use_backend(backend):
        x = np.arange(5.0)
        assert [one.tolist() for one in wk.data.batches(x, None, 2, drop_last=True)] == [
            [0.0, 1.0], [2.0, 3.0],
        ]  # fmt: skip
        last, weights = list(wk.data.batches(x, None, 2, pad_last=True))[-1]
        assert (last.tolist(), weights.tolist()) == ([4.0, 4.0], [1.0, 0.0])


def test_steps_go_on_over_epochs_each_in_another_order() -> None:
    data = wk.data.batches(np.arange(6), None, 2, shuffle=True, seed=1)
    rows = np.concatenate([one.numpy() for one in data.steps(8)])
    epochs = [sorted(rows[at : at + 6].tolist()) for at in (0, 6)]
    assert epochs == [list(range(6))] * 2
    assert rows[:6].tolist() != rows[6:12].tolist()
    assert (len(rows), data.epoch) == (16, 3)
    assert list(data.steps(0)) == []


def test_steps_of_no_batch_are_refused() -> None:
    data = wk.data.batches(np.arange(5), None, 8, drop_last=True)
    with pytest.raises(wk.ArgumentError, match="5 rows make no batch of 8"):
        data.steps(1)


def test_an_epoch_that_is_left_ends_its_thread() -> None:
    before = threading.active_count()
    for _ in wk.data.batches(np.zeros((100, 2)), None, 1, prefetch=3):
        break
    assert threading.active_count() == before


def test_errors_of_a_source_reach_the_loop() -> None:
    class Odd:
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: Any) -> Any:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        next(iter(wk.data.batches(Odd(), None, 2)))


@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        ((np.ones(3), np.ones(4), 2), {}, "x has 3 rows, y has 4"),
        ((np.ones(()), None, 2), {}, "x has no rows"),
        ((np.ones((0, 2)), None, 2), {}, "x has no rows"),
        ((3.0, None, 2), {}, "x is 3.0; want an array"),
        (({"a": np.ones(3)}, None, 2), {}, "x is a dict of arrays; .*np.arange"),
        (((np.ones(3), np.ones(3)), None, 2), {}, "x is a tuple of arrays"),
        (([[1.0], [1.0, 2.0]], None, 2), {}, "makes no array"),
        ((np.ones(3), None, 0), {}, "size is 0; want 1 or more"),
        ((np.ones(3), None, 1.5), {}, "size is 1.5"),
        ((np.ones(3), None, 2), {"prefetch": -1}, "prefetch is -1; want 0 or more"),
        ((np.ones(3), None, 2), {"shuffle": 2}, "shuffle is 2"),
        ((np.ones(3), None, 2), {"drop_last": True, "pad_last": True}, "want one of them"),
    ],
)
def test_what_cannot_be_in_batches_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], expected: str
) -> None:
    with pytest.raises((wk.ShapeError, wk.ArgumentError), match=expected):
        wk.data.batches(*arguments, **options)
