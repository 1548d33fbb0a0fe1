"""What threads that run ops meet while another registers kernels anew: the old one or the new."""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.interrupts import in_other_thread

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers import backends
from wgsl_kernels.engine.environment.recent import Budget, Recent
from wgsl_kernels.engine.registry import gradients, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def scaled(factor: float) -> None:
    wk.cpu_kernel("Meanwhile", override=True)(lambda x: x * factor)
    wk.wgsl_kernel("Meanwhile", f"fn op(x: T) -> T {{ return x * T({factor}); }}", override=True)


@pytest.fixture
def _switching() -> Iterator[None]:
    """Have threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_kernel_is_never_away_while_it_is_replaced() -> None:
    found: list[Any] = []

    def dispose(_: Any) -> None:
        with wk.use_backend("cpu"):
            found.append(wk.run("Meanwhile", wk.tensor([1.0, 2.0])).tolist())

    wk.get_backend()
    with wk.use_backend("cpu"):
        wk.register_kernel("Meanwhile", "cpu", lambda x: x * 2, dispose=dispose)
        wk.register_kernel("Meanwhile", "cpu", lambda x: x * 3, override=True)
    assert found == [[3.0, 6.0]]


@pytest.mark.gpu
@pytest.mark.usefixtures("_switching")
def test_threads_run_on_while_their_kernel_is_registered_anew() -> None:
    wk.signature("Meanwhile")(lambda x, /: x.like())
    scaled(3.0)
    end = time.monotonic() + 2
    wrong: list[Any] = []

    def work(backend: str) -> None:
        count = 0
        with wk.use_backend(backend):
            while time.monotonic() < end and not wrong:
                count = count % 400 + 1
                found = wk.run("Meanwhile", wk.ones((count,))).tolist()
                if found != [3.0] * count:
                    wrong.append(found)

    def caught(f: Callable[[str], None], backend: str) -> None:
        try:
            f(backend)
        except Exception as error:  # whatever it is, the test shows it
            wrong.append(error)

    threads = [threading.Thread(target=caught, args=(work, one)) for one in ("cpu", "webgpu")]
    for one in threads:
        one.start()
    while time.monotonic() < end and not wrong:
        scaled(3.0)
    for one in threads:
        one.join()
    assert not wrong


class Registering(str):
    """A name that registers another kernel whenever it is compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        wk.register_kernel(f"Other {time.perf_counter_ns()}", "cpu", lambda x: x, override=True)
        return str(self) == other

    def __hash__(self) -> int:
        return hash(str(self))


@pytest.mark.parametrize(
    "ask",
    [registry.kernels_for_backend, registry.backends_of, registry.note_failure],
    ids=lambda one: one.__name__,
)
def test_who_goes_through_the_kernels_does_not_mind_new_ones(ask: Callable[[str], Any]) -> None:
    ask(Registering("Exp"))


def test_an_advice_on_a_gradient_does_not_mind_new_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    class Origin:
        @property
        def is_ours(self) -> bool:
            wk.register_gradient(f"Other {time.perf_counter_ns()}", lambda dy: dy)
            return False

    origin: Any = Origin()
    for name in ("Meanwhile", "Meantime"):
        rule = gradients.GradientRule(name, None, (), origin)
        monkeypatch.setitem(gradients.gradient_rules(), name, rule)
    assert "there is one of 'Meantime'" in str(gradients.missing("Meantim", ["x"]))


def test_the_choice_of_a_backend_does_not_mind_a_new_one() -> None:
    def priority() -> None:
        backends.register_backend("another", list, override=True)

    backends.register_backend("asking", list, priority)
    backends.register_backend("asked", list, 0)
    assert backends._best()


def test_what_is_dropped_may_be_added_to_meanwhile() -> None:
    kept: Recent[int, tuple[int]] = Recent(1, budget=Budget(1 << 20))
    for number in range(5000):
        kept.keep(number, (number,))
    threshold = gc.get_threshold()

    def adding(*_: Any) -> None:  # as a finalizer, or another thread, that comes in between
        kept.keep(-1 - kept.held, (0,))

    gc.callbacks.append(adding)
    gc.set_threshold(1)
    try:
        kept.drop(lambda key, _: key == 7)
        kept.age()
        kept.age()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(adding)


def test_what_is_dropped_while_it_is_brought_back_goes() -> None:
    def nbytes(_: str) -> int:
        if is_back:
            kept.drop(lambda key, _: key == "old")
        return 1

    is_back: list[bool] = []
    kept: Recent[str, str] = Recent(nbytes, budget=Budget(100))
    kept.keep("old", "value")
    kept.age()
    is_back.append(True)
    assert kept["old"] == "value"
    assert kept["old"] is None


@pytest.mark.gpu
def test_a_recording_of_a_kernel_that_is_replaced_meanwhile_is_not_replayed() -> None:
    wk.signature("Meanwhile")(lambda x, /: x.like())
    scaled(2.0)

    def f(x: wk.Tensor) -> wk.Tensor:
        found = wk.run("Meanwhile", x + 1.0)
        if first_call:
            first_call.pop()
            in_other_thread(elsewhere)
        return found * 1.0

    def elsewhere() -> None:
        scaled(5.0)
        with wk.use_backend("webgpu"):
            fast(wk.ones((3,)))

    first_call = [True]
    fast = wk.capture(f)
    with wk.use_backend("webgpu"):
        assert fast(wk.ones((2,))).tolist() == [4.0, 4.0]
        assert fast(wk.ones((2,))).tolist() == [10.0, 10.0]
