"""What a recording and a warm-up do to variables while other threads use them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.interrupts import in_other_thread

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def elsewhere(backend: str, f: Callable[[], Any]) -> Any:
    """Return what ``f`` gives in another thread on the same backend."""

    def run() -> Any:
        with wk.use_backend(backend):
            return f()

    return in_other_thread(run)


@pytest.mark.parametrize("runs", ["captured", "warmed up"])
def test_others_keep_what_they_assign_meanwhile(backend: str, runs: str) -> None:
    other = wk.variable([1.0, 2.0])
    other.assign(other * 2.0)

    def f(x: wk.Tensor) -> wk.Tensor:
        first = x + 1.0
        seen.append(elsewhere(backend, lambda: other.assign(other + 1.0).tolist()))
        return first * 2.0

    seen: list[Any] = []
    x = wk.tensor([1.0, 1.0])
    if runs == "captured":
        assert wk.capture(f)(x).tolist() == [4.0, 4.0]
    else:
        wk.warmup(f, x)  # which may run it more than once
    assert seen == [[3.0 + run, 5.0 + run] for run in range(len(seen))]
    assert other.tolist() == seen[-1]


def test_a_recording_reads_a_variable_as_it_was_when_it_first_did(backend: str) -> None:
    v = wk.variable([1.0])

    def f() -> wk.Tensor:
        first = v * 10.0
        if first_call:
            elsewhere(backend, lambda: v.assign([first_call.pop()]))
        return first + v

    first_call = [7.0]
    fast = wk.capture(f)
    assert fast().tolist() == ([11.0] if backend == "webgpu" else [17.0])
    assert v.tolist() == [7.0]
    assert fast().tolist() == [77.0]


@pytest.fixture
def on_webgpu() -> Iterator[None]:
    """Run the test where captured functions are recorded."""
    with wk.use_backend("webgpu"):
        yield


@pytest.mark.usefixtures("on_webgpu")
@pytest.mark.parametrize("runs", ["captured", "warmed up"])
def test_others_see_no_value_of_a_run_that_is_under_way(runs: str) -> None:
    v, w = wk.variable([1.0]), wk.variable([5.0])

    def f() -> None:
        v.assign(wk.matmul(wk.reshape(v, (1, 1)), [[2.0]])[0])
        w.assign(v + w)
        if not seen:
            seen.append(elsewhere("webgpu", lambda: (v.tolist(), w.tolist())))
        v.assign(v + 1.0)

    seen: list[Any] = []
    if runs == "captured":
        fast = wk.capture(f)
        fast()
        assert (v.tolist(), w.tolist()) == ([3.0], [7.0])
        fast()
        assert fast.why is None
        assert (v.tolist(), w.tolist()) == ([7.0], [13.0])
    else:
        wk.warmup(f)
        assert (v.tolist(), w.tolist()) == ([1.0], [5.0])
    assert seen == [([1.0], [5.0])]


@pytest.mark.usefixtures("on_webgpu")
def test_the_last_who_assigns_a_variable_wins() -> None:
    v = wk.variable([1.0])

    def f() -> None:
        v.assign(v + 1.0)
        elsewhere("webgpu", lambda: v.assign([9.0]))

    wk.capture(f)()
    assert v.tolist() == [2.0]


def test_what_was_assigned_before_an_error_stays(backend: str) -> None:
    v, w = wk.variable([1.0]), wk.variable([1.0])

    @wk.capture
    def f() -> None:
        v.assign(v + 1.0)
        if fails:
            raise ValueError("in between")
        w.assign(w + v)

    fails = [True]
    for _ in range(2):
        with pytest.raises(ValueError, match="in between"):
            f()
    assert (v.tolist(), w.tolist()) == ([3.0], [1.0])
    fails.clear()
    f()
    f()
    assert (v.tolist(), w.tolist()) == ([5.0], [10.0])
    assert f.why is None or backend == "cpu"


@pytest.mark.usefixtures("on_webgpu")
def test_a_recording_is_left_what_it_has_pending() -> None:
    """Of too many pending kernels the oldest is made: by the thread that asked for it."""
    matrix = wk.tensor(np.eye(4, dtype=np.float32) * 2.0)

    def f(x: wk.Tensor) -> wk.Tensor:
        y = wk.matmul(x, matrix)
        elsewhere("webgpu", many)
        return y + 1.0

    def many() -> list[Any]:
        return [one.tolist() for one in [wk.matmul(matrix, matrix) for _ in range(12)]]

    with wk.config.using(fusion="always"):
        fast = wk.capture(f)
        for number in range(3):
            assert (fast(wk.full((1, 4), float(number))).numpy() == 2.0 * number + 1.0).all()
        assert fast.why is None


@pytest.mark.usefixtures("on_webgpu")
def test_a_disposed_variable_is_disposed_for_all_at_the_end() -> None:
    v = wk.variable([1.0])

    def f() -> wk.Tensor:
        y = v * 2.0
        v.dispose()
        assert v.is_disposed
        assert elsewhere("webgpu", v.tolist) == [1.0]
        return y

    with pytest.warns(RuntimeWarning, match="disposes the variable"):
        assert wk.capture(f)().tolist() == [2.0]
    assert v.is_disposed


@pytest.mark.usefixtures("on_webgpu")
def test_threads_that_capture_train_as_each_does_alone() -> None:
    def train(number: int) -> bytes:
        rng = np.random.default_rng(number)
        x, y = (wk.tensor(rng.normal(size=(16, n))) for n in (8, 4))
        w = wk.variable(rng.normal(size=(8, 4)).astype(np.float32), name="w")
        adam = wk.train.Adam(0.05)

        @wk.capture
        def step(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
            return adam.minimize(lambda: wk.mean(wk.square(wk.matmul(x, w) - y)))

        for _ in range(8):
            step(x, y)
        return w.numpy().tobytes()

    def run(number: int) -> None:
        with wk.use_backend("webgpu"):
            found[number] = train(number)

    found: dict[int, bytes] = {}
    alone = [train(number) for number in range(6)]
    for _ in range(3):
        found.clear()
        threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert [found.get(n) for n in range(6)] == alone
