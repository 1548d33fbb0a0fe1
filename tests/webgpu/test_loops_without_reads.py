"""A loop that never waits holds as much at its end as at its beginning."""

from __future__ import annotations

import gc
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.deadlines import Deadlines
from wgsl_kernels.backends.webgpu.devices.status import SLOTS, STATUS_BYTES
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _on_the_gpu() -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(small_ops="host"):
        yield
        wk.synchronize()


def held() -> tuple[int, int, int]:
    """Return what is alive now, and all bytes that the device has been asked for."""
    gc.collect()
    driver: Any = find_driver("webgpu")
    device = driver.open()
    use = wk.memory().by_backend["webgpu"]
    return use.num_buffers, use.num_bytes, device.pool.held_bytes


def scans() -> Callable[[], Any]:
    """Return what scans, which records a run each time, and drops the results."""
    x = wk.tensor(np.ones((8, 10), np.float32))
    return lambda: wk.scan(lambda c, t: (c * 0.5 + t, c), wk.zeros(10), x)


def trains() -> Callable[[], Any]:
    """Return a step of training through a scan."""
    x = wk.tensor(np.ones((8, 100), np.float32))
    w, rule = wk.variable(np.full(100, 0.01, np.float32)), wk.train.SGD(1e-9)

    def loss() -> Any:
        return wk.mean(wk.scan(lambda c, t: (wk.tanh(c * 0.5 + t * w), c), wk.zeros(100), x)[0])

    return lambda: rule.minimize(loss)


def captures() -> Callable[[], Any]:
    """Return what captures anew, calls and drops a function with a check of values."""
    table, at = wk.tensor(np.ones((4, 3), np.float32)), wk.tensor([1, 3], dtype="int32")

    def step() -> None:
        fast = wk.capture(lambda at: wk.gather(table, at + 0))
        fast(at)
        fast(at)

    return step


@pytest.mark.parametrize("make", [scans, trains, captures])
@pytest.mark.parametrize("evaluates", [False, True])
def test_runs_that_are_recorded_and_dropped_hold_no_buffer(
    make: Callable[[], Callable[[], Any]], evaluates: bool
) -> None:
    step, other = make(), wk.tensor(np.ones(100, np.float32))

    def turn() -> None:
        step()
        if evaluates:
            wk.evaluate(other + 1.0)

    for _ in range(8):
        turn()
    *alive, asked_for = held()
    for _ in range(24):
        turn()
    assert held()[:2] == tuple(alive)
    assert held()[2] <= asked_for + STATUS_BYTES  # where one is full there is another


def gathers(table: wk.Tensor, at: wk.Tensor) -> Any:
    """Run once a captured function that is dropped."""
    return wk.capture(lambda at: wk.gather(table, at + 0))(at)


def test_what_a_dropped_run_has_found_is_told_at_the_next_read() -> None:
    table = wk.tensor(np.ones((4, 3), np.float32))
    good, bad = (wk.tensor([1, one], dtype="int32") for one in (3, 9))
    for at in (good, good, bad, good):
        gathers(table, at)
    gc.collect()
    with pytest.raises(wk.IndexOutOfRange, match=r"indices .*9"):
        wk.synchronize()
    wk.synchronize()


def test_dropped_runs_that_fill_their_status_are_waited_for_once() -> None:
    table = wk.tensor(np.ones((4, 3), np.float32))
    good, bad = (wk.tensor([1, one], dtype="int32") for one in (3, 9))
    gathers(table, bad)

    def fill() -> None:
        for _ in range(SLOTS):
            gathers(table, good)

    with pytest.raises(wk.IndexOutOfRange, match=r"indices .*9"):
        fill()
    for _ in range(3):
        gathers(table, good)
    wk.synchronize()


def test_a_run_with_more_checks_than_one_status_has_is_replayed() -> None:
    table = wk.tensor(np.arange(12, dtype=np.float32).reshape(4, 3))

    def f(at: wk.Tensor) -> Any:
        return [wk.gather(table, at + n)[0] for n in range(2) for _ in range(SLOTS // 2 + 9)]

    fast = wk.capture(f)
    good, bad = (wk.tensor([one], dtype="int32") for one in (2, 3))
    for _ in range(3):
        assert [one.tolist() for one in fast(good)[:: SLOTS // 2 + 9]] == [[6, 7, 8], [9, 10, 11]]
    assert fast.why is None
    fast(bad)
    with pytest.raises(wk.IndexOutOfRange, match=r"indices .*4"):
        wk.synchronize()
    fast(good)
    wk.synchronize()


def test_pipelines_that_are_gone_are_waited_for_no_longer() -> None:
    policy: Any = SimpleNamespace(
        compiles_when_run=True, dispatch_timeout=None, runs_in_submit=False
    )
    deadlines = Deadlines(policy)

    class Made:
        """Stands for a pipeline."""

    kept: Any = Made()
    several: list[Any] = [kept, *(Made() for _ in range(9))]
    for _ in range(2):
        deque(map(deadlines.is_made, several))
    del several
    gc.collect()
    assert [each() for each in deadlines.fresh] == [kept]
    deadlines.are_done()
    deadlines.is_made(kept)
    del kept
    gc.collect()
    assert not deadlines.fresh


@pytest.mark.usefixtures("registries_as_before")
def test_what_a_kernel_does_wrong_at_each_turn_is_noted_once() -> None:
    wk.signature("Undefined")(lambda x, /: x.like())
    wk.wgsl_kernel("Undefined", "fn op(x: T) -> T { return sqrt(x); }\n")
    x = wk.tensor([4.0, -1.0, 9.0])
    driver: Any = find_driver("webgpu")
    found: list[int] = []

    def run() -> None:
        with wk.config.using(debug=True):
            for _ in range(20):
                wk.evaluate(wk.engine().run_kernel("Undefined", {"x": x}))
            found.append(len(driver._debugging.faults))

    with pytest.raises(wk.KernelFault, match="NaN"):
        run()
    assert found == [1]
