"""What watches kernels run: interceptors, profile and time; and threads beside each other."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result


def test_an_interceptor_sees_every_run_of_its_block(backend: str) -> None:
    seen = []

    def note(call: KernelRun, proceed: Proceed) -> Result:
        result = proceed(call)
        seen.append((call.name, [one.shape for one in call.inputs]))
        return result

    x = wk.tensor([1.0, 2.0])
    with wk.engine().intercept(note):
        wk.sum(wk.exp(x))
    wk.exp(x)
    assert seen == [("Exp", [(2,)]), ("Sum", [(2,)])]


def test_the_last_interceptor_stands_innermost_to_the_caller(backend: str) -> None:
    order = []

    def named(name: str) -> Callable[[KernelRun, Proceed], Result]:
        def intercept(call: KernelRun, proceed: Proceed) -> Result:
            order.append(name)
            return proceed(call)

        return intercept

    with wk.engine().intercept(named("first")), wk.engine().intercept(named("second")):
        wk.exp(wk.tensor(1.0))
    assert order == ["second", "first"]


def test_an_interceptor_may_replace_inputs_attributes_and_result(backend: str) -> None:
    def meddle(call: KernelRun, proceed: Proceed) -> Result:
        call.inputs = (wk.tensor([[5.0, 6.0]]),)
        call.attrs = {**call.attrs, "axis": 1}
        result = proceed(call)
        assert isinstance(result, wk.Tensor)
        return wk.stop_gradient(result)

    x = wk.tensor([[1.0, 2.0], [3.0, 4.0]])
    with wk.engine().intercept(meddle):
        assert wk.sum(x, axis=0).tolist() == [11.0]


@pytest.mark.usefixtures("auto_fusion")
def test_profile_has_a_row_per_kernel_run(backend: str) -> None:
    x = wk.tensor(np.ones((4, 8), np.float32))
    with wk.config.using(fusion="never"):
        seen = wk.profile(lambda: wk.sum(wk.exp(x), axis=1))

    assert [row.name for row in seen.kernels] == ["Exp", "Sum"]
    first, second = seen.kernels
    assert (first.backend, first.input_shapes, first.output_shapes) == (
        backend,
        ((4, 8),),
        ((4, 8),),
    )
    assert (first.bytes, second.bytes) == (128, 16)
    assert first.wall_ms >= 0
    assert seen.result.shape == (4,)
    assert seen.peak_bytes >= 128 * 2
    assert len(seen.dispatches) == (2 if backend == "webgpu" else 0)
    assert "Exp" in str(seen)
    assert "peak" in str(seen)


def test_profile_sees_the_backward_pass(backend: str) -> None:
    names = [row.name for row in wk.profile(lambda: wk.grad(wk.exp)(1.0)).kernels]

    assert names[0] == "Exp"
    assert "Multiply" in names


@pytest.mark.gpu
def test_profile_names_the_kernels_of_each_dispatch() -> None:
    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        x = wk.tensor([1.0, 2.0])
        seen = wk.profile(lambda: wk.exp(x) + 1.0)
    assert [row.kernels for row in seen.dispatches] == [("Exp",), ("Add",)]


def test_time_measures_a_call(backend: str) -> None:
    x = wk.tensor(np.ones(1000, np.float32))
    taken = wk.time(lambda: wk.exp(x))

    assert taken.wall_ms > 0
    assert backend == "webgpu" or taken.device_ms is None


def test_evaluate_flush_and_synchronize_take_what_there_is(backend: str) -> None:
    x = wk.exp(wk.tensor([0.0]))
    wk.evaluate(x, [x])
    wk.flush()
    wk.synchronize()
    assert x.item() == 1.0


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Return what ``work`` gives in as many threads at once; an error in any is raised here."""
    found: list[Any] = [None] * count
    start = threading.Barrier(count)

    def run(index: int) -> None:
        start.wait()
        try:
            found[index] = work(index)
        except BaseException as error:
            found[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_threads_run_ops_and_gradients_at_once(name: str) -> None:
    def work(index: int) -> list[float]:
        with wk.use_backend(name):
            x = wk.tensor(np.full(100, float(index), np.float32))
            found = []
            for turn in range(8):
                slope = wk.grad(lambda t, n=turn: wk.sum(t * t * float(n)))(x)
                found.append(float(slope.numpy().sum()))
            return found

    for index, found in enumerate(in_threads(4, work)):
        assert found == [2.0 * index * turn * 100 for turn in range(8)]


def test_each_thread_has_its_own_backend_tape_and_scope() -> None:
    x = wk.tensor(2.0)
    with wk.use_backend("cpu"), wk.GradientTape() as tape, wk.tidy():
        tape.watch(x)
        (elsewhere,) = in_threads(1, lambda _: x * x)
        here = x * x
        assert tape.gradient([elsewhere], [x]) == [None]
    assert here.is_disposed
    assert not elsewhere.is_disposed
    assert elsewhere.item() == 4.0


def test_interceptors_and_configuration_stay_in_their_thread() -> None:
    seen = []

    def note(call: KernelRun, proceed: Proceed) -> Result:
        seen.append(call.name)
        return proceed(call)

    with wk.use_backend("cpu"), wk.engine().intercept(note), wk.config.using(deterministic=True):
        (found,) = in_threads(1, lambda _: (wk.tensor(1.0) + 1.0, wk.config.deterministic))
    assert seen == []
    assert found[1] is False
