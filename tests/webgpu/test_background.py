"""Pipelines compiled in threads: batches wait for them, and name those that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

from wgsl_kernels.backends.webgpu.devices.compiling import Background
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.environment.errors import DeviceLostError, ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.ready import Kind

pytestmark = pytest.mark.gpu


def adding(number: int) -> str:
    """Return a shader that adds a number."""
    return f"""
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1)
fn main() {{ y[0] = x[0] + {number}.0; }}
"""


def test_a_batch_waits_for_its_pipelines_and_a_refused_one_spares_the_others() -> None:
    device = Device()
    told: list[tuple[int, int]] = []
    background = Background(2, lambda *counts: told.append(counts))
    device.compile_in(background)
    x = device.put(np.array([1.0], np.float32))
    outputs = [device.storage(16) for _ in range(4)]
    bindings: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"))
    for number, y in enumerate(outputs):
        pipeline = device.pipeline(adding(number), bindings, f"Add{number}")
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    values = [device.read(y, 0, 4).view(np.float32)[0] for y in outputs]
    assert values == [1.0, 2.0, 3.0, 4.0]
    assert told[-1] == (4, 4)

    wrong = device.pipeline(adding(7), ((0, "read"), (2, "read_write")), "Wrong")
    right = device.pipeline(adding(8), bindings, "Right")
    dispatch(device, wrong, (x, outputs[0]), None, b"", (1, 1, 1))
    dispatch(device, right, (x, outputs[1]), None, b"", (1, 1, 1))
    with pytest.raises(ShaderError, match="Wrong: refused by wgpu"):
        device.read(outputs[1], 0, 4)
    assert device.read(outputs[1], 0, 4).view(np.float32)[0] == 9.0
    device.compile_in(None)
    device.close()


def test_texts_of_the_package_are_compiled_in_threads_until_they_are_submitted() -> None:
    device = Device()
    own = device.pipelines.own
    if own is None:  # another kind of adapter, or one core
        assert device.pipelines.ahead is None
        return
    x = device.put(np.array([1.0], np.float32))
    outputs = [device.storage(16) for _ in range(3)]
    bindings: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"))
    for number, y in enumerate(outputs):
        pipeline = device.pipeline(adding(number + 40), bindings, "Add", is_ours=True)
        assert device.pipeline(adding(number + 40), bindings, "Add", is_ours=True) is pipeline
        assert pipeline.handle is None
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    assert len(own.compiling) == 3
    values = [device.read(y, 0, 4).view(np.float32)[0] for y in outputs]
    assert values == [41.0, 42.0, 43.0]
    assert own.compiling == []

    wrong = device.pipeline(adding(50), ((0, "read"), (2, "read_write")), "Wrong", is_ours=True)
    dispatch(device, wrong, (x, outputs[0]), None, b"", (1, 1, 1))
    with pytest.raises(ShaderError, match="Wrong: refused by wgpu"):
        device.read(outputs[1], 0, 4)
    assert device.read(outputs[1], 0, 4).view(np.float32)[0] == 42.0
    device.close()


def test_a_device_that_is_lost_while_pipelines_are_compiled_says_so() -> None:
    device = Device()
    bindings: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"))
    x, y = device.put(np.array([1.0], np.float32)), device.storage(16)
    vars(device)["_device"].destroy()

    def run() -> None:
        pipeline = device.pipeline(adding(60), bindings, "Add", is_ours=True)
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
        device.read(y, 0, 4)

    for _ in range(2):
        with pytest.raises(DeviceLostError):
            run()
