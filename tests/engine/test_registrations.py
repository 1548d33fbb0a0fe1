"""What came from a registration that changes is made anew, and nothing else is."""

from __future__ import annotations

import dataclasses
import functools
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.pipeline import PipelineCache
from wgsl_kernels.backends.webgpu.runtime.evaluator import Evaluator
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.drivers.driver import Usage
from wgsl_kernels.engine.execution import plans
from wgsl_kernels.engine.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Counted = dict[str, int]


@contextmanager
def counted() -> Iterator[Counted]:
    """Count the plans, fused groups and pipelines that are made in a block."""
    made: Counted = {}
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            (plans, "_planned"),
            (Evaluator, "_loaded"),
            (PipelineCache, "_compile"),
        ):
            patch.setattr(owner, name, _counting(getattr(owner, name), name, made))
        yield made


def _counting(f: Callable[..., Any], name: str, made: Counted) -> Callable[..., Any]:
    def counting(*args: Any, **kwargs: Any) -> Any:
        made[name] = made.get(name, 0) + 1
        return f(*args, **kwargs)

    return counting


def shift(by: float) -> None:
    """Register the kernel "Shifted" on both backends, which adds ``by``."""
    wk.wgsl_kernel("Shifted", f"fn op(x: T) -> T {{ return x + T({by});\n}}", override=True)
    wk.register_kernel("Shifted", "cpu", lambda x: x + np.float32(by), override=True)


def shifted(x: wk.Tensor) -> wk.Tensor:
    found = wk.engine().run_kernel("Shifted", {"x": x})
    assert isinstance(found, wk.Tensor)
    return found


@pytest.fixture(autouse=True)
def _declared() -> None:
    wk.signature("Shifted", override=True)(lambda x, /: x.like())
    wk.register_gradient("Shifted", lambda dy: dy, override=True)
    shift(1.0)


def others(x: wk.Tensor) -> list[Any]:
    """Run kernels alone, fused and for a gradient."""
    with wk.config.using(fusion="always"):
        fused = wk.sqrt(x * x + 3.0)
    product = wk.matmul(x, x) + 1.0
    return [one.tolist() for one in (wk.exp(x), fused, product, wk.grad(wk.relu)(x))]


def test_a_changed_kernel_leaves_plans_groups_and_pipelines_of_others(backend: str) -> None:
    x = wk.tensor(np.arange(400, dtype=np.float32).reshape(20, 20) / 400)
    wanted = [others(x) for _ in range(3)][-1]
    first = shifted(x).numpy()
    shift(2.0)

    with counted() as made:
        assert others(x) == wanted
    assert made == {}
    with counted() as made:
        assert np.allclose(shifted(x).numpy(), first + 1.0)
    assert made["_planned"] == 1
    assert backend in ("cpu", "webgpu")


def test_a_fused_group_has_the_new_kernel_and_other_groups_are_as_they_were() -> None:
    x = wk.tensor(np.linspace(0, 1, 100, dtype=np.float32))

    def mine() -> Any:
        return (wk.sqrt(shifted(x * 2.0)) + 1.0).numpy()

    def behind() -> Any:
        return (shifted(wk.softmax(x)) * 2.0).numpy()

    def other() -> Any:
        return (wk.sqrt(wk.abs(x * 2.0)) + 1.0).numpy()

    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        for f in (mine, behind, other) * 2:
            f()
        shift(5.0)
        with counted() as made:
            other()
        assert made == {}
        assert np.allclose(mine(), np.sqrt(x.numpy() * 2 + 5) + 1, rtol=1e-6)
        soft = wk.softmax(x).numpy()
        assert np.allclose(behind(), (soft + 5) * 2, rtol=1e-6)


def test_what_is_kept_of_groups_with_a_changed_kernel_goes() -> None:
    x = wk.tensor(np.linspace(0, 1, 100, dtype=np.float32))
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        driver: Any = find_driver("webgpu")
        made = driver.evaluator
        held: list[int] = []
        for by in range(20):
            shift(float(by))
            (wk.sqrt(shifted(x * 2.0)) + 1.0).numpy()
            (shifted(wk.softmax(x)) * 2.0).numpy()
            held.append(made._runs.held)
    assert len(set(held[2:])) == 1


@pytest.mark.usefixtures("_unchecked")
def test_a_capture_is_recorded_anew_only_where_it_met_what_changed() -> None:
    runs: list[str] = []

    def other(x: wk.Tensor) -> wk.Tensor:
        runs.append("other")
        return wk.exp(x) * 2.0

    def mine(x: wk.Tensor) -> wk.Tensor:
        runs.append("mine")
        return shifted(x) * 2.0

    x = wk.tensor(np.ones(100, np.float32))
    with wk.use_backend("webgpu"):
        fast, faster = wk.capture(other), wk.capture(mine)
        for _ in range(2):
            fast(x)
            faster(x)
        assert runs == ["other", "mine"]
        shift(3.0)
        with counted() as made:
            fast(x)
        assert made == {}
        assert faster(x).numpy()[0] == 8.0
        assert faster(x).numpy()[0] == 8.0
        assert fast(x).numpy()[0] == pytest.approx(2 * math.e)
    assert runs == ["other", "mine", "mine"]


@pytest.mark.usefixtures("_unchecked")
def test_of_one_captured_function_only_the_signatures_that_met_it_go() -> None:
    runs: list[str] = []

    def f(x: wk.Tensor, which: str) -> wk.Tensor:
        runs.append(which)
        return shifted(x) if which == "mine" else wk.exp(x)

    x = wk.tensor(np.ones(100, np.float32))
    with wk.use_backend("webgpu"):
        fast = wk.capture(f)
        for which in ("mine", "other") * 2:
            fast(x, which)
        shift(4.0)
        assert fast(x, "other").numpy()[0] == pytest.approx(math.e)
        assert fast(x, "mine").numpy()[0] == 5.0
    assert runs == ["mine", "other", "mine"]


@pytest.mark.usefixtures("_unchecked")
def test_a_changed_gradient_reaches_captured_gradients_and_leaves_what_took_none() -> None:
    runs: list[str] = []

    def forward(x: wk.Tensor) -> wk.Tensor:
        runs.append("forward")
        return shifted(x)

    def backward(x: wk.Tensor) -> wk.Tensor:
        runs.append("backward")
        found = wk.grad(lambda x: wk.sum(shifted(x)))(x)
        assert isinstance(found, wk.Tensor)
        return found

    x = wk.tensor(np.ones(100, np.float32))
    with wk.use_backend("webgpu"):
        fast, faster = wk.capture(forward), wk.capture(backward)
        for _ in range(2):
            fast(x)
            faster(x)
        wk.register_gradient("Shifted", lambda dy: dy * 7.0, override=True)
        assert faster(x).numpy()[0] == 7.0
        fast(x)
        assert wk.grad(lambda x: wk.sum(shifted(x)))(x).numpy()[0] == 7.0
        wk.unregister_gradient("Shifted")
        with pytest.raises(wk.GradientNotFound):
            faster(x)
    assert runs == ["forward", "backward", "backward", "backward"]


def test_a_changed_gradient_is_seen_at_known_shapes(backend: str) -> None:
    x = wk.tensor([1.0, 2.0])
    assert wk.grad(shifted)(x).tolist() == [1.0, 1.0]
    wk.register_gradient("Shifted", lambda dy: dy * 7.0, override=True)
    assert wk.grad(shifted)(x).tolist() == [7.0, 7.0]
    assert backend in ("cpu", "webgpu")


def test_a_changed_signature_is_seen_at_known_shapes_and_in_captures(backend: str) -> None:
    fast = wk.capture(shifted)
    x = wk.tensor(np.ones((4, 25), np.float32))
    assert shifted(x).shape == fast(x).shape == (4, 25)

    wk.signature("Shifted", override=True)(lambda x, /: x.like(shape=(100,)))
    wk.wgsl_kernel("Shifted", "fn op(i: u32) -> T { return T(i);\n}", override=True)
    wk.register_kernel("Shifted", "cpu", lambda x: x.ravel(), override=True)
    if backend == "cpu":
        assert shifted(x).shape == fast(x).shape == (100,)
        return
    with pytest.raises(wk.WgslKernelsError):  # such a map has no input
        shifted(x)
    with pytest.raises(wk.WgslKernelsError):
        fast(x)


def test_a_kernel_that_was_missing_ends_the_fallback_of_a_capture() -> None:
    wk.unregister_kernel("Shifted", "webgpu")
    x = wk.tensor(np.ones(100, np.float32))
    with wk.use_backend("webgpu"), wk.config.using(fallback="silent"):
        fast = wk.capture(shifted)
        with pytest.warns(RuntimeWarning, match="runs without replay"):
            fast(x)
        wk.register_gradient("Exp", lambda dy, y: dy * y, override=True)  # of no concern to it
        assert fast(x).numpy()[0] == 2.0
        assert fast.why is not None
        wk.wgsl_kernel("Shifted", "fn op(x: T) -> T { return x + T(9);\n}")
        assert fast(x).numpy()[0] == 10.0
        assert fast.why is None


@pytest.mark.usefixtures("_unchecked")
def test_a_capture_notes_the_kernels_that_it_asks_for_itself() -> None:
    runs = []

    def f(x: wk.Tensor) -> wk.Tensor:
        runs.append(1)
        return x * 2.0 if wk.get_kernel("Unheard", "webgpu") is None else x * 3.0

    x = wk.tensor(np.ones(100, np.float32))
    with wk.use_backend("webgpu"):
        fast = wk.capture(f)
        fast(x)
        fast(x)
        wk.wgsl_kernel("Unheard", "fn op(x: T) -> T { return x;\n}")
        assert fast(x).numpy()[0] == 3.0
    assert len(runs) == 2


def test_the_cpu_kernel_that_small_ones_run_on_counts_as_met() -> None:
    x = wk.tensor([2.0])
    with wk.use_backend("webgpu"):
        assert wk.abs(x).tolist() == [2.0]
        wk.register_kernel("Abs", "cpu", lambda x: x * 100, override=True)
        assert wk.abs(x).tolist() == [2.0]  # its shader runs, which is as it was
    with wk.use_backend("cpu"):
        assert wk.abs(wk.tensor([2.0])).tolist() == [200.0]


class Held:
    """A backend whose arrays are lists of one."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def upload(self, values: Any) -> Any:
        """Put the values into a list."""
        return [values]

    def download(self, array: Any) -> Any:
        """Take them out again."""
        return array[0]

    def free(self, array: Any) -> None:
        """Empty the list."""
        array.clear()

    def run(self, kernel: Any, arrays: Any, attrs: Any, outputs: Any) -> Any:
        """Call the kernel on the values, and multiply."""
        return [[kernel.func(*[one[0] for one in arrays], **attrs) * self.factor]]

    def memory(self) -> Usage:
        """Count nothing."""
        return Usage(0, 0)

    def close(self) -> None:
        """Refuse to run from now on."""
        self.factor = 0


def test_a_backend_that_is_registered_anew_runs_what_has_run_before() -> None:
    for factor in (2, 3):
        wk.register_backend("held", functools.partial(Held, factor), -1, override=True)
        wk.register_kernel("Shifted", "held", lambda x: x, override=factor == 2)
        with wk.use_backend("held"):
            assert shifted(wk.tensor([1.0])).tolist() == [factor]


def test_files_that_two_kernels_share_change_for_both(tmp_path: Path) -> None:
    file = tmp_path / "shared.wgsl"
    file.write_text("fn op(x: T) -> T { return x; }\n")
    wk.wgsl_kernel("Shared", file)
    kernel = wk.get_kernel("Shared", "webgpu")
    assert kernel is not None
    registry.add_kernel(dataclasses.replace(kernel, name="SharedToo"))
    for name in ("Shared", "SharedToo"):
        with wk.use_backend("webgpu"):
            found: Any = wk.engine().run_kernel(name, {"x": wk.tensor(np.ones(100))})
            assert found.numpy()[0] == 1.0
    file.write_text("fn op(x: T) -> T { return x + T(1); }\n")
    assert wk.reload_kernels() == ["Shared", "SharedToo"]
    for name in ("Shared", "SharedToo"):
        with wk.use_backend("webgpu"):
            found = wk.engine().run_kernel(name, {"x": wk.tensor(np.ones(100))})
            assert found.numpy()[0] == 2.0
