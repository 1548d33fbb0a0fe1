"""Captured functions on views: sums in the order of the eager ones, wherever the elements lie."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import bits

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ON_BOTH = [pytest.param("webgpu", marks=pytest.mark.gpu), "cpu"]

FUNCTIONS: dict[str, Callable[[wk.Tensor], Any]] = {
    "sums": lambda x: (wk.sum(x), wk.sum(x, axis=0), wk.mean(x, axis=-1), wk.max(x, axis=0)),
    "softmax": lambda x: (wk.softmax(x), wk.log_softmax(wk.exp(x) * 0.5)),
    "products": lambda x: (wk.matmul(x, wk.transpose(x)), wk.matmul(wk.transpose(x), x + 1.0)),
    "cumulative": lambda x: (wk.cumsum(x, axis=-1), wk.cumsum(x, axis=0, reverse=True)),
    "gradient": wk.grad(lambda x: wk.sum(wk.square(wk.softmax(x)) * wk.tanh(wk.sum(x, axis=0)))),
    "views": lambda x: (x[1:], wk.transpose(x), wk.flip(x)[0], wk.reshape(x, (-1,)), x),
}

VIEWS: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "plain": lambda x: x,
    "transposed": wk.transpose,
    "rows from 3": lambda x: x[3:],
    "columns from 5": lambda x: x[:, 5:],
    "every other": lambda x: x[1::2, ::3],
    "reversed": wk.flip,
    "one row for all": lambda x: wk.broadcast_to(x[2], (33, x.shape[1])),
    "one column for all": lambda x: wk.broadcast_to(x[:, 4:5], (x.shape[0], 40)),
}


class Counted:
    """A function that counts its runs, and what is captured of it."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.runs = 0
        self._f = f
        self.captured: Any = wk.capture(self._counting)

    def _counting(self, *given: Any) -> Any:
        self.runs += 1
        return self._f(*given)


def drawn(draw: np.random.Generator, *shape: int) -> wk.Tensor:
    """Return a tensor of random numbers."""
    return wk.tensor(draw.normal(size=shape), dtype="float32")


def some_view(draw: np.random.Generator, x: wk.Tensor) -> wk.Tensor:
    """Return a random view of a matrix, a matrix again with some rows and columns."""
    for _ in range(int(draw.integers(1, 4))):
        kind = draw.integers(4)
        if kind == 0:
            x = wk.transpose(x)
        elif kind == 1:
            x = wk.flip(x, axis=int(draw.integers(2)))
        elif kind == 2:
            top, left = (int(draw.integers(0, max(length // 3, 1))) for length in x.shape)
            x = x[top:, left:]
        elif min(x.shape) > 12:
            down, right = (int(one) for one in draw.integers(1, 3, 2))
            x = x[::down, ::right]
    return x


@pytest.fixture
def _on_the_gpu() -> Iterator[None]:
    with wk.use_backend("webgpu"):
        yield


on_the_gpu = [pytest.mark.gpu, pytest.mark.usefixtures("_on_the_gpu")]


def marked(test: Any) -> Any:
    """Have a test run on the GPU's backend."""
    for mark in on_the_gpu:
        test = mark(test)
    return test


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("backend", ON_BOTH)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(61, 38), (64, 96)], ids=str)
def test_a_view_gives_the_bits_of_the_eager_run(
    backend: str, name: str, shape: tuple[int, int]
) -> None:
    draw = np.random.default_rng(1)
    one = Counted(FUNCTIONS[name])
    with wk.use_backend(backend):
        for view in VIEWS.values():
            for _ in range(2):
                x = view(drawn(draw, *shape))
                assert bits(one.captured(x)) == bits(FUNCTIONS[name](x))
    assert one.runs == len(VIEWS) * (1 if backend == "webgpu" else 2)


@pytest.mark.parametrize("backend", ON_BOTH)
@pytest.mark.parametrize("seed", range(12))
def test_any_view_gives_the_bits_of_the_eager_run(backend: str, seed: int) -> None:
    f = FUNCTIONS[list(FUNCTIONS)[seed % len(FUNCTIONS)]]
    fast = wk.capture(f)
    values = np.random.default_rng(seed)
    with wk.use_backend(backend):
        for number in range(3):
            for _ in range(2):  # the same view of other values
                choose = np.random.default_rng((seed, number))
                down, right = (int(one) for one in choose.integers(14, 80, 2))
                x = some_view(choose, drawn(values, down, right))
                assert bits(fast(x)) == bits(f(x))


@marked
@pytest.mark.parametrize("rows", [64, 7, 10])
def test_items_of_a_batch_share_recordings(rows: int) -> None:
    batch = drawn(np.random.default_rng(2), 60, rows, 20)
    one = Counted(FUNCTIONS["sums"])
    for n in range(60):
        assert bits(one.captured(batch[n])) == bits(FUNCTIONS["sums"](batch[n]))
    assert one.runs <= 4  # the first item is no view; the others begin at few places mod 32 bytes


@marked
def test_columns_of_a_matrix_share_recordings() -> None:
    x = drawn(np.random.default_rng(3), 300, 50)
    one = Counted(lambda column: (wk.sum(column), wk.cumsum(column)))
    for n in range(50):
        column = x[:, n]
        assert bits(one.captured(column)) == bits((wk.sum(column), wk.cumsum(column)))
    assert one.runs <= 16


@marked
@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
def test_items_of_other_dtypes_are_found_where_they_lie(dtype: str) -> None:
    values = np.random.default_rng(4).integers(0, 2, (30, 5, 9)).astype(dtype)
    batch = wk.tensor(values)
    fast = wk.capture(lambda x: (wk.where(x == x[0], x, x[:1]), x[2:]))
    for n in range(30):
        found, rest = fast(batch[n])
        assert np.array_equal(
            found.numpy(), np.where(values[n] == values[n, 0], values[n], values[n, :1])
        )
        assert np.array_equal(rest.numpy(), values[n, 2:])


@marked
def test_views_of_one_buffer_may_come_in_together() -> None:
    draw = np.random.default_rng(5)
    held = wk.variable(draw.normal(size=(40, 40)), dtype="float32")

    def f(x: wk.Tensor, y: wk.Tensor) -> list[wk.Tensor]:
        before = wk.sum(held, axis=0)
        held.assign(held * 0.5 + y)
        return [before, wk.matmul(x, y), x - y, wk.sum(x * held), held + 0.0]

    fast = wk.capture(f)
    start = held.numpy()
    results = []
    for run in (f, fast):
        held.assign(start)
        found = []
        for n in range(5):
            own = wk.stop_gradient(held)
            x = drawn(np.random.default_rng(n), 41, 40)
            found += bits(run(wk.transpose(own), own))
            found += bits(run(own, own))
            found += bits(run(x[1:], wk.flip(x[:40])))
        results.append((found, held.numpy().tobytes()))
    assert results[0] == results[1]
    assert fast.why is None


@marked
@pytest.mark.parametrize("turn", [wk.transpose, wk.flip], ids=["transposed", "reversed"])
def test_a_variable_keeps_the_layout_that_it_has_without_capture(turn: Any) -> None:
    weight = wk.variable(np.random.default_rng(6).normal(size=(48, 48)), dtype="float32")

    def f(x: wk.Tensor) -> list[wk.Tensor]:
        result = [wk.sum(weight, axis=0), wk.softmax(weight), wk.matmul(x, weight)]
        weight.assign(turn(weight + wk.mean(result[2])))
        return result

    one = Counted(f)
    x = drawn(np.random.default_rng(7), 5, 48)
    start = weight.numpy()
    results = []
    for run in (f, one.captured):
        weight.assign(start)
        found = []
        for n in range(8):
            if n == 4:
                weight.assign(wk.transpose(weight))
            found += bits(run(x))
        results.append((found, weight.numpy().tobytes()))
    assert results[0] == results[1]
    assert one.captured.why is None
    assert one.runs <= 4


@marked
def test_a_result_that_is_a_view_of_an_argument_stays_where_that_is() -> None:
    batch = drawn(np.random.default_rng(8), 20, 16, 8)
    state = wk.variable(np.zeros((8, 16), np.float32))

    def f(x: wk.Tensor) -> tuple[wk.Tensor, ...]:
        state.assign(wk.transpose(x))
        return x[3], wk.flip(x), wk.reshape(x, (8, 16)), wk.sum(state, axis=1)

    fast = wk.capture(f)
    kept = []
    for n in range(20):
        kept.append((fast(batch[n]), state.numpy()))
    for n, (found, assigned) in enumerate(kept):
        assert np.array_equal(assigned, batch[n].numpy().T)
        assert bits(found) == bits(f(batch[n]))


@marked
def test_an_argument_without_elements_may_be_a_view() -> None:
    fast = wk.capture(lambda x, y: (wk.concat([x, y], axis=1), wk.sum(x)))
    x = drawn(np.random.default_rng(9), 6, 4)
    for n in (2, 3, 2):
        both, total = fast(wk.transpose(x)[:, n:n], x[:4, 4 - n :])
        assert both.shape == (4, n)
        assert total.item() == 0.0


@marked
def test_small_tensors_on_the_host_are_taken_as_they_are() -> None:
    f = FUNCTIONS["sums"]
    fast = wk.capture(f)
    draw = np.random.default_rng(10)
    with wk.config.using(small_ops="host"):
        for view in VIEWS.values():
            x = view(drawn(draw, 6, 7))
            assert bits(fast(x)) == bits(f(x))


@marked
@pytest.mark.usefixtures("_unchecked")
def test_many_layouts_are_told_and_stay() -> None:
    x = drawn(np.random.default_rng(11), 64, 64)
    one = Counted(lambda rows: wk.sum(rows, axis=0))
    for step in range(1, 33):
        one.captured(x[:34:step])
    with pytest.warns(RuntimeWarning, match=r"more than 32 .* tensors of the same layout"):
        one.captured(x[:34:33])
    assert one.runs == 33
    assert bits(one.captured(x[:34:33])) == bits(wk.sum(x[:34:33], axis=0))
    assert one.runs == 33
    assert bits(one.captured(x[:34])) == bits(wk.sum(x[:34], axis=0))
    assert one.runs == 33


@pytest.mark.usefixtures("_unchecked")
@marked
def test_a_loop_over_views_is_steady_from_the_second_turn_on() -> None:
    driver: Any = find_driver("webgpu")
    weight = wk.variable(np.random.default_rng(12).normal(size=(24, 10)), dtype="float32")
    adam = wk.train.Adam(0.01)
    one = Counted(
        lambda x, y: adam.minimize(lambda: wk.mean(wk.square(wk.matmul(x, weight) - wk.softmax(y))))
    )
    xs, ys = (drawn(np.random.default_rng(n), 16 * 8, n) for n in (24, 10))
    made = []
    for _ in range(5):
        parts = [slice(16 * n, 16 * (n + 1)) for n in range(1, 8)]
        losses = [one.captured(xs[part], ys[part]) for part in parts]
        losses[-1].numpy()
        del losses
        gc.collect()
        use = driver.open().memory()
        made.append((one.runs, len(driver.open().pipelines), use.held_bytes))
    assert made[1:] == made[1:2] * 4
    assert one.runs == 1
