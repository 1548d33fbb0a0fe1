"""Warming up compiles what a function needs, and leaves no other trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.gpu


def pipelines() -> int:
    """Return how many pipelines the device has compiled."""
    driver: Any = find_driver("webgpu")
    made: int = driver.open().pipelines.made
    return made


def odd(x: wk.Tensor, number: int) -> wk.Tensor:
    """Return a chain of maps that no other test has, and reductions of it."""
    for step in range(number):
        x = wk.sin(x) * (x + float(step)) if step % 2 else wk.maximum(wk.cos(x), x * 0.25)
    return wk.sum(x, axis=1) + wk.max(x, axis=1)


def test_what_was_warmed_compiles_nothing_when_it_is_used() -> None:
    x = wk.tensor(np.ones((6, 10), np.float32))
    with wk.use_backend("webgpu"):
        seen: list[tuple[int, int]] = []
        before = pipelines()
        report = wk.warmup(odd, x, 7, threads=2, progress=lambda *counts: seen.append(counts))
        assert report.pipelines == pipelines() - before > 0
        assert report.threads == 2
        assert report.seconds > 0
        assert max(seen) == (report.pipelines, report.pipelines)
        warm = pipelines()
        first = odd(x, 7).numpy()
        second = odd(x, 7).numpy()
        assert pipelines() == warm
        assert np.array_equal(first, second)
        assert wk.warmup(odd, x, 7).pipelines == 0
    with wk.use_backend("cpu"):
        assert np.allclose(odd(x, 7).numpy(), first, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_variables_optimizers_and_random_numbers_are_as_before(backend: str) -> None:
    with wk.use_backend(backend):
        weight = wk.variable([1.0, 2.0], name="weight")
        other = wk.variable([0.5], name="other")
        known, fresh = wk.train.Adam(0.1), wk.train.Adam(0.1)
        known.minimize(lambda: wk.sum(weight * weight))
        wk.random.seed(5)
        states = known.state_dict(), fresh.state_dict()
        values = weight.numpy(), other.numpy(), wk.random.key.numpy()

        def step() -> wk.Tensor:
            noise = wk.random_uniform((2,))
            loss = known.minimize(lambda: wk.sum(weight * weight * noise))
            return loss + fresh.minimize(lambda: wk.sum(other * other))

        wk.warmup(step)
        after = weight.numpy(), other.numpy(), wk.random.key.numpy()
        for one, two in zip(values, after, strict=True):
            assert np.array_equal(one, two)
        for state, optimizer in zip(states, (known, fresh), strict=True):
            now = optimizer.state_dict()
            assert now.keys() == state.keys()
            for name, value in state.items():
                assert np.array_equal(now[name].numpy(), value.numpy()), name
        step()
        assert fresh.step.item() == 1


def test_an_exception_inside_puts_everything_back_too() -> None:
    weight = wk.variable([1.0])

    def step() -> None:
        weight.assign(weight + 1.0)
        raise KeyError("on purpose")

    with wk.use_backend("webgpu"), pytest.raises(KeyError, match="on purpose"):
        wk.warmup(step)
    assert weight.item() == 1.0


def test_a_read_inside_waits_for_what_it_needs() -> None:
    x = wk.tensor(np.full((3, 11), 0.5, np.float32))
    found = []

    def f() -> wk.Tensor:
        first = odd(x, 4)
        found.append(first.numpy())
        return first * float(found[-1][0])

    with wk.use_backend("webgpu"):
        wk.warmup(f)
        assert np.array_equal(found[0], odd(x, 4).numpy())


def test_a_captured_function_and_a_bad_shader_and_bad_options() -> None:
    fast = wk.capture(odd)
    x = wk.tensor(np.ones((2, 5), np.float32))
    with wk.use_backend("webgpu"):
        wk.warmup(fast, x, 3)
        assert fast.why is None
        expected = odd(x, 3).numpy()
        assert np.array_equal(fast(x, 3).numpy(), expected)
        assert np.array_equal(fast(x, 3).numpy(), expected)
        wk.signature("WarmupBroken")(lambda x, /: x.like())
        wk.wgsl_kernel("WarmupBroken", "fn op(x: T) -> T { return x + nothing;\n}")
        with pytest.raises(wk.ShaderError, match="nothing"):
            wk.warmup(lambda: wk.engine().run_kernel("WarmupBroken", {"x": x}))
    with pytest.raises(wk.ArgumentError, match="threads is 0; want 1 or more"):
        wk.warmup(odd, x, 3, threads=0)


def test_a_bar_is_drawn_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    with wk.use_backend("webgpu"):
        wk.warmup(odd, wk.tensor(np.ones((2, 13), np.float32)), 9, progress=True)
        wk.warmup(odd, wk.tensor(np.ones((2, 13), np.float32)), 10)
    assert "compiling" in capfd.readouterr().err


def test_what_a_warm_up_that_failed_asked_for_is_compiled_whole() -> None:
    wk.wgsl_kernel("WarmupUnused", "fn op(x: T) -> T {\n  return x * 3.25 - 0.125;\n}")
    try:
        with wk.use_backend("webgpu"):
            x = wk.tensor(np.ones(300, np.float32))

            def run() -> Any:
                return wk.engine().run_kernel("WarmupUnused", {"x": x})

            def failing() -> wk.Tensor:
                run()
                raise RuntimeError("it was not to be")

            with pytest.raises(RuntimeError, match="not to be"):
                wk.warmup(failing)
            with wk.config.using(fusion="never"):
                assert np.array_equal(run().numpy(), np.full(300, 3.125, np.float32))
    finally:
        wk.unregister_kernel("WarmupUnused", "webgpu")
