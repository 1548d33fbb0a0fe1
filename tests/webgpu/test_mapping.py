"""Buffers of shaders that the host reads and writes where they lie."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

from wgsl_kernels.backends.webgpu.devices.native import READ_BYTES, HostAccess

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Kind

pytestmark = pytest.mark.gpu

ADD = """
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> amount: u32;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[id.x] + amount; }
"""
BINDINGS: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"), (2, "uniform"))
COUNT = READ_BYTES // 4


def add(device: Device, x: Storage, y: Storage, amount: int) -> None:
    pipeline = device.pipeline(ADD, BINDINGS, "Add")
    groups = (COUNT // 64, 1, 1)
    dispatch(device, pipeline, (x, y), None, struct.pack("I", amount), groups)


def whole(value: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return np.full(COUNT, value, np.uint32)


def read(device: Device, storage: Storage) -> list[int]:
    """Return the different numbers in a buffer."""
    found = device.read(storage, 0, storage.nbytes).view(np.uint32)
    return sorted({int(one) for one in found})


def test_writes_land_between_dispatches_wherever_the_buffer_is(device: Device) -> None:
    x, y = device.put(whole(1)), device.put(whole(0))
    add(device, x, y, 1)
    device.upload(x, 0, whole(10))  # recorded
    add(device, x, y, 2)
    device.flush()
    device.upload(x, 0, whole(20))  # under way
    assert read(device, y) == [12]
    add(device, x, y, 3)
    assert read(device, y) == [23]
    device.upload(x, 0, whole(30))  # idle
    add(device, x, y, 4)
    assert read(device, y) == [34]


def test_a_long_write_lands_behind_short_ones(device: Device) -> None:
    x, y = device.put(whole(0)), device.put(whole(0))
    device.wait()
    device.upload(x, 0, np.full(1, 5, np.uint32))
    device.upload(x, 0, whole(6))
    device.upload(x, 8, np.full(1, 7, np.uint32))
    assert read(device, x) == [6, 7]
    add(device, x, y, 1)
    assert read(device, y) == [7, 8]


def test_long_and_short_reads_come_together(device: Device) -> None:
    x = device.put(np.arange(2 * COUNT, dtype=np.uint32))
    long, short = device.peek([(x, 8 * COUNT), (x, 8)])
    assert long.view(np.uint32).tolist() == list(range(2 * COUNT))
    assert short.view(np.uint32).tolist() == [0, 1]
    part = device.read(x, 7, READ_BYTES + 2)
    assert part.tobytes() == long.tobytes()[7 : READ_BYTES + 9]


@pytest.mark.parametrize("is_mapped", [True, False])
@pytest.mark.parametrize("way", ["read", "write"])
def test_what_an_interrupt_leaves_mapped_is_unmapped(
    device: Device, monkeypatch: pytest.MonkeyPatch, way: str, is_mapped: bool
) -> None:
    x, y = device.put(whole(1)), device.put(whole(0))
    device.wait()
    access = device.recorder._mapping
    if access is not None:
        calls = access._calls

        def interrupted(*given: Any) -> memoryview:
            if is_mapped:
                (calls.map_for_reading if way == "read" else calls.map_for_writing)(*given)
            raise KeyboardInterrupt

        stopped = replace(calls, map_for_reading=interrupted, map_for_writing=interrupted)
        monkeypatch.setattr(access, "_calls", stopped)
        with pytest.raises(KeyboardInterrupt):
            read(device, x) if way == "read" else device.upload(x, 0, whole(2))
        monkeypatch.undo()
    add(device, x, y, 1)
    device.flush()
    device.upload(x, 0, whole(3))
    add(device, x, y, 1)
    assert read(device, y) == [4]


def test_a_software_adapter_maps_and_a_gpu_does_not(device: Device) -> None:
    maps = device.policy.maps_memory and "mappable-primary-buffers" in device.features
    assert isinstance(device.recorder._mapping, HostAccess) == maps
