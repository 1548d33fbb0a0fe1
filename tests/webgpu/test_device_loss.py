"""A device that is lost, closed or forked raises; the process goes on."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.environment.errors import DeviceLostError

pytestmark = pytest.mark.gpu

COPY = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1)
fn main() { y[0] = x[0]; }
"""
NOTHING = "@compute @workgroup_size(1) fn main() {}"


def test_a_lost_device_raises_from_every_call_and_a_new_one_works() -> None:
    device = Device()
    pipeline = device.pipeline(COPY, ((0, "read"), (1, "read_write")), "Copy")
    x, y = device.storage(64), device.storage(8)
    dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    device._device.destroy()
    for _ in range(2):
        with pytest.raises(DeviceLostError, match="The GPU device was lost"):
            device.read(y, 0, 8)
    with pytest.raises(DeviceLostError):
        device.storage(64)
    with pytest.raises(DeviceLostError):
        device.upload(x, 0, np.zeros(4, np.float32))
    with pytest.raises(DeviceLostError):
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    with pytest.raises(DeviceLostError):
        device.flush()
    assert isinstance(device.refusal, DeviceLostError)
    fresh = Device()
    assert fresh.read(fresh.put(np.ones(1, np.float32)), 0, 4).view(np.float32)[0] == 1
    fresh.close()


@pytest.mark.parametrize("first", ["flush", "upload", "storage", "pipeline", "group", "wait"])
def test_any_call_may_be_the_first_to_find_the_loss(first: str) -> None:
    device = Device()
    pipeline = device.pipeline(COPY, ((0, "read"), (1, "read_write")), "Copy")
    x, y = device.storage(64), device.storage(8)
    dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    device._device.destroy()
    calls = {
        "flush": device.flush,
        "upload": lambda: device.upload(x, 0, np.zeros(4, np.float32)),
        "storage": lambda: device.storage(1 << 20),
        "pipeline": lambda: device.pipeline(NOTHING, (), "Nothing"),
        "group": lambda: dispatch(device, pipeline, (y, x), None, b"", (1, 1, 1)),
        "wait": device.wait,
    }
    with pytest.raises(DeviceLostError, match="The GPU device was lost"):
        calls[first]()


def test_a_closed_device_raises() -> None:
    device = Device()
    device.close()
    device.close()
    with pytest.raises(DeviceLostError, match="closed"):
        device.wait()


FORK = """
import os, signal
from wgsl_kernels.backends.webgpu.devices.device import Device
device = Device()
storage = device.storage(64)
device.lock.acquire()
child = os.fork()
if not child:
    signal.alarm(20)
    for call in (device.wait, lambda: device.storage(64), Device):
        try:
            call()
        except RuntimeError as error:
            assert "forked" in str(error), error
        else:
            os._exit(3)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
device.lock.release()
device.wait()
"""


def test_a_forked_child_raises_where_it_would_hang() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)


def test_importing_the_modules_does_not_import_wgpu() -> None:
    code = (
        "import wgsl_kernels.backends.webgpu.devices.device, sys; assert 'wgpu' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
