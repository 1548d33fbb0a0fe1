"""What a training step costs: dispatches, device memory, and that neither grows."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.train.networks import Attending, Convolutions, Deep, Network, Wide

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.train import Adam

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu

RIDING_BINDINGS = 11
"""Storage buffers of a product that Adam rides in: 2 inputs, 3 of a kernel's own, and the weight
and both moments, each read and written. WebGPU promises 8; there each update is a dispatch."""


UNFUSED_PEAKS: dict[type[Network], int] = {}


@pytest.fixture(autouse=True)
def on_webgpu() -> Iterator[None]:
    gc.collect()  # an error that a test caught may hold pending arrays
    with wk.use_backend("webgpu"), wk.config.using(small_ops="host"):  # as for a user
        yield


def device_of(backend: Any) -> Any:
    """Return the device of the webgpu backend."""
    return backend.open()


def peak_of(step: Callable[[], Any]) -> int:
    """Return the most bytes that were alive at once in one step, after some."""
    for _ in range(4):
        step()
    device = device_of(find_driver("webgpu"))
    gc.collect()
    device.reset_peak()
    step()
    return int(device.memory().peak_bytes)


def unfused_peak_of(kind: type[Network]) -> int:
    """Return the same of the step of a kind of network where nothing is fused."""
    if kind not in UNFUSED_PEAKS:
        with wk.config.using(fusion="never"):
            UNFUSED_PEAKS[kind] = peak_of(kind().step)
    return UNFUSED_PEAKS[kind]


def test_adam_adds_no_dispatch_to_those_of_the_gradients_where_bindings_suffice() -> None:
    network = Network()
    with wk.config.using(fusion="always"):
        network.step()
        rows = [row.label for row in wk.explain(network.step).dispatches]

    others = [label for label in rows if "LogSoftmax" not in label]  # whose own gradient has expm1
    assert not [label for label in others if "Expm1" in label or "GatherV2" in label]
    assert sum("Sqrt" in label for label in rows) == 4
    driver: Any = find_driver("webgpu")
    bindings = driver.open().limits["max-storage-buffers-per-shader-stage"]
    kernels = ("BatchMatMul", "Sum") if bindings >= RIDING_BINDINGS else ("Multiply",)
    assert all(label.startswith(kernels) for label in rows if "Sqrt" in label)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.5), (0.9, 0.9999999)])
def test_captured_steps_are_eager_ones_bit_for_bit(betas: tuple[float, float]) -> None:
    eager, replayed = Network(), Network()
    eager.adam, replayed.adam = Adam(0.01, *betas), Adam(0.01, *betas)
    captured = wk.capture(replayed.step)

    for _ in range(5):
        eager.step()
        captured()
    replayed.step()
    eager.step()

    assert captured.why is None
    assert replayed.values() == eager.values()


def test_the_weight_of_a_late_step_is_that_of_the_last_in_the_table() -> None:
    v = wk.variable([1.0], name="v")
    adam = Adam(0.5, 0.5, 0.5)
    adam.apply_gradients([(wk.tensor([0.0]), v)])
    adam.step.assign(10**6)
    adam.apply_gradients([(wk.tensor([2.0]), v)])

    assert v.numpy() == pytest.approx(1.0 - 0.5 * 1.0 / np.sqrt(2.0), rel=1e-6)


KINDS = [Network, Wide, Deep, Convolutions, Attending]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_needs_little_more_memory_than_the_unfused_one(kind: type[Network]) -> None:
    assert peak_of(kind().step) <= 1.1 * unfused_peak_of(kind)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize(("fusion", "most"), [("auto", 1.1), ("never", 1.2)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_captured_step_needs_little_more_with_what_it_keeps(
    kind: type[Network], fusion: Any, most: float
) -> None:
    unfused = unfused_peak_of(kind)
    captured = wk.capture(kind().step)
    with wk.config.using(fusion=fusion):
        own = peak_of(captured) + wk.memory().by_backend["webgpu"].captured_bytes

    assert captured.why is None
    assert own <= most * unfused


def test_a_loop_of_steps_allocates_nothing_once_it_is_steady() -> None:
    network = Network()
    for _ in range(4):
        network.step()
    device = device_of(find_driver("webgpu"))
    before = device.memory()
    for _ in range(10):
        network.step()
    after = device.memory()

    assert after.held_bytes == before.held_bytes
    assert after.num_bytes == before.num_bytes
