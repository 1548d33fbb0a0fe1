"""After a loss of the device nothing that was kept for it is used, or even there, any more."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.gpu

ROWS, COLUMNS, HIDDEN, CLASSES = 16, 8, 64, 4


@pytest.fixture(autouse=True)
def random_key_as_before() -> Iterator[None]:
    """Seed `wk.random` anew: its key is lost with the device, like any variable."""
    yield
    wk.random.seed(0)


def network() -> dict[str, wk.Variable]:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> wk.Variable:
        return wk.variable(rng.normal(size=shape).astype(np.float32))

    return {
        "w1": normal(COLUMNS, HIDDEN),
        "b1": normal(HIDDEN),
        "w2": normal(HIDDEN, CLASSES),
        "b2": normal(CLASSES),
    }


def cross_entropy(m: dict[str, wk.Variable], x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
    scores = wk.relu(x @ m["w1"] + m["b1"]) @ m["w2"] + m["b2"]
    return -(wk.log_softmax(scores) * y).sum() / ROWS


def step_of(kind: str, m: dict[str, wk.Variable], optimizer: Any) -> Callable[..., wk.Tensor]:
    """Return a training step: eager, captured, or with a scan inside."""

    def step(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        def loss() -> wk.Tensor:
            if kind != "scan":
                return cross_entropy(m, x, y)
            total: wk.Tensor = wk.scan(turn, wk.tensor(0.0), wk.arange(3))[0]
            return total

        def turn(total: wk.Tensor, _: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
            return total * 0.9 + cross_entropy(m, x, y), total

        found = optimizer.minimize(loss, list(m.values()))
        assert isinstance(found, wk.Tensor)
        return found

    return wk.capture(step) if kind == "captured" else step


def data() -> tuple[wk.Tensor, wk.Tensor]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    return wk.tensor(x), wk.tensor(np.eye(CLASSES, dtype=np.float32)[rng.integers(0, 4, ROWS)])


def device() -> Any:
    driver: Any = find_driver("webgpu")
    return driver.open()


@pytest.mark.parametrize("kind", ["eager", "captured", "scan"])
def test_training_goes_on_from_a_file_after_a_loss(kind: str, tmp_path: Path) -> None:
    with wk.use_backend("webgpu"):
        m, optimizer = network(), wk.train.Adam(0.01)
        step = step_of(kind, m, optimizer)
        x, y = data()
        for _ in range(4):
            step(x, y).item()
        path = tmp_path / "state.safetensors"
        wk.save(path, {"m": m, "o": optimizer})
        expected = step(x, y).item()
        lost = device()
        pipelines = [weakref.ref(one) for one in lost.pipelines._alive.values()]
        assert pipelines
        lost._device.destroy()
        with pytest.raises(wk.DeviceLostError) as caught:
            step(x, y).item()
        wk.load(path, into={"m": m, "o": optimizer})
        x, y = data()
        assert step(x, y).item() == expected  # though the failed step is held by its traceback
        del caught
        gc.collect()
        assert [one() for one in pipelines if one() is not None] == []
        assert lost.pool.held_bytes < 1 << 20


def test_kernels_that_wait_when_the_device_goes_do_not_stop_others() -> None:
    with wk.use_backend("webgpu"):
        made = wk.exp(wk.tensor(np.ones((4, 4), np.float32)))
        made.numpy()
        waiting = [wk.sum(made * float(n), axis=0) for n in range(4)]
        device()._device.destroy()
        with pytest.raises(wk.DeviceLostError):
            device().wait()
        x = wk.tensor(np.ones((4, 4), np.float32))
        after = [wk.sum(x * float(n), axis=0) for n in range(4)]
        assert [one.tolist() for one in after] == [[4.0 * n] * 4 for n in range(4)]
        for one in waiting:
            with pytest.raises(wk.DeviceLostError, match="lost with the device"):
                one.numpy()


def test_captured_functions_that_nobody_calls_again_let_go() -> None:
    with wk.use_backend("webgpu"):
        fast = wk.capture(lambda x: wk.sum(wk.exp(x)))
        for rows in (3, 4):
            fast(wk.tensor(np.zeros((rows, 4), np.float32))).item()
        lost = device()
        pipelines = [weakref.ref(one) for one in lost.pipelines._alive.values()]
        lost._device.destroy()
        with pytest.raises(wk.DeviceLostError):
            lost.wait()
        assert wk.sum(wk.tensor([1.0, 2.0]) * 2.0).item() == 6.0
        gc.collect()
        assert [one() for one in pipelines if one() is not None] == []
        assert fast(wk.tensor(np.zeros((3, 4), np.float32))).item() == 12.0
