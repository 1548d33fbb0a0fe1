"""Recording: batches, parameters, hazards between uploads and dispatches, refused dispatches."""

from __future__ import annotations

import struct
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

from wgsl_kernels.backends.webgpu.devices import device as device_module
from wgsl_kernels.backends.webgpu.devices import pipeline as pipeline_module
from wgsl_kernels.backends.webgpu.devices import recorder as recorder_module
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.backends.webgpu.devices.native import load_calls, method_calls
from wgsl_kernels.backends.webgpu.devices.recorder import FIRST_BATCH, FULL_BATCH, PARAMS_BYTES
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Kind

pytestmark = pytest.mark.gpu

ADD = """
struct Params { size: u32, amount: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.size) { y[id.x] = x[id.x] + params.amount; }
}
"""
BINDINGS: tuple[tuple[int, Kind], ...] = ((0, "read"), (1, "read_write"), (2, "uniform"))


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.close()


@pytest.fixture(params=["a buffer", "immediates"])
def add(device: Device, request: pytest.FixtureRequest) -> Pipeline:
    device.flush()
    return compiled(device, immediates=request.param == "immediates")


def compiled(device: Device, *, immediates: bool) -> Pipeline:
    """Return the kernel; without immediates in the device its parameters lie in a buffer anyhow."""
    if not immediates or device.immediates < 8:
        return device.pipeline(ADD, BINDINGS, "Add")
    text = ADD.replace("@group(0) @binding(2) var<uniform>", "var<immediate>")
    return device.pipeline(text, BINDINGS[:2], "Add", immediates=8)


def floats(device: Device, storage: Storage) -> list[float]:
    return [float(one) for one in device.read(storage, 0, storage.nbytes).view(np.float32)]


def run(device: Device, add: Pipeline, x: Storage, y: Storage, amount: float) -> None:
    size = x.nbytes // 4
    dispatch(device, add, (x, y), None, struct.pack("If", size, amount), (-(-size // 64), 1, 1))


def test_every_dispatch_sees_its_own_parameters(device: Device, add: Pipeline) -> None:
    x = device.put(np.zeros(5, np.float32))
    results = [device.storage(20) for _ in range(200)]
    for number, y in enumerate(results):
        run(device, add, x, y, number)
    assert [floats(device, y) for y in results] == [[float(n)] * 5 for n in range(200)]


def test_parameters_hold_from_one_pipeline_to_the_next(device: Device) -> None:
    both = [compiled(device, immediates=immediates) for immediates in (False, True)]
    x = device.put(np.zeros(5, np.float32))
    results = [device.storage(20) for _ in range(60)]
    for number, y in enumerate(results):
        run(device, both[number // 3 % 2], x, y, number // 5)
    assert [floats(device, y)[4] for y in results] == [float(n // 5) for n in range(60)]


def test_parameters_of_another_length_are_refused_before_they_are_read(device: Device) -> None:
    layout = compiled(device, immediates=False).layout
    add = pipeline_module.Pipeline(None, None, layout, "Add", 8)
    x, y = device.put(np.zeros(5, np.float32)), device.storage(20)
    with pytest.raises(ArgumentError, match="Add: got 4 bytes of parameters; its shader takes 8"):
        dispatch(device, add, (x, y), None, bytes(4), (1, 1, 1))


def test_dependent_dispatches_run_in_order(device: Device, add: Pipeline) -> None:
    x, y = device.put(np.zeros(4, np.float32)), device.storage(16)
    for _ in range(250):
        run(device, add, x, y, 1.0)
        run(device, add, y, x, 1.0)
    assert floats(device, x) == [500.0] * 4


def test_batches_grow_after_a_wait(device: Device, add: Pipeline) -> None:
    x, y = device.put(np.zeros(4, np.float32)), device.storage(16)
    device.wait()
    sizes = [0]
    for _ in range(FIRST_BATCH + 2 * FIRST_BATCH + 2 * FULL_BATCH):
        before = device.submits
        run(device, add, x, y, 1.0)
        sizes[-1] += 1
        if device.submits > before:
            sizes.append(0)
    assert sizes[:-1] == [FIRST_BATCH, 2 * FIRST_BATCH, FULL_BATCH, FULL_BATCH]


def test_much_work_is_submitted_at_once(device: Device, add: Pipeline) -> None:
    x, y = device.put(np.zeros(4, np.float32)), device.storage(16)
    device.wait()
    before = device.submits
    dispatch(device, add, (x, y), None, struct.pack("If", 4, 1.0), (40_000, 1, 1))
    assert device.submits == before + 1


def test_a_batch_whose_parameters_fill_the_buffer_is_submitted(device: Device) -> None:
    text = ADD.replace("amount: f32", "amount: f32, rest: array<vec4<f32>, 500>")
    big = device.pipeline(text, BINDINGS, "Big")
    x = device.put(np.zeros(4, np.float32))
    results = [device.storage(16) for _ in range(20)]
    for number, y in enumerate(results):
        dispatch(device, big, (x, y), None, struct.pack("If8008x", 4, number), (1, 1, 1))
    assert [floats(device, y)[0] for y in results] == list(range(20))


def test_too_many_parameters_are_refused(device: Device) -> None:
    add = compiled(device, immediates=False)
    x, y = device.storage(16), device.storage(16)
    with pytest.raises(ArgumentError, match="bytes of parameters; this device takes at most"):
        dispatch(device, add, (x, y), None, bytes(PARAMS_BYTES + 16), (1, 1, 1))


def test_an_upload_waits_for_recorded_reads_of_its_buffer(device: Device, add: Pipeline) -> None:
    x, y = device.put(np.full(4, 1, np.float32)), device.storage(16)
    run(device, add, x, y, 10.0)
    device.upload(x, 0, np.full(4, 5, np.float32))
    assert floats(device, y) == [11.0] * 4
    assert floats(device, x) == [5.0] * 4


def test_an_upload_into_a_recycled_buffer_waits_too(device: Device, add: Pipeline) -> None:
    device.wait()
    x, y = device.put(np.full(900, 1, np.float32)), device.storage(3600)
    run(device, add, x, y, 10.0)
    number = x.id
    del x
    other = device.storage(3600)
    assert other.id == number
    device.upload(other, 0, np.full(900, 5, np.float32))
    assert floats(device, y) == [11.0] * 900


def test_put_takes_an_idle_buffer_and_submits_nothing(device: Device, add: Pipeline) -> None:
    spare = device.storage(5000)
    x, y = device.put(np.full(1250, 1, np.float32)), device.storage(5000)
    device.wait()
    before = device.submits
    run(device, add, x, y, 10.0)
    del x, spare
    fresh = device.put(np.full(1250, 5, np.float32))
    assert device.submits == before
    assert floats(device, y) == [11.0] * 1250
    assert floats(device, fresh) == [5.0] * 1250


def test_an_upload_in_between_lands_in_between(device: Device, add: Pipeline) -> None:
    x, y, z = device.put(np.zeros(4, np.float32)), device.storage(16), device.storage(16)
    run(device, add, x, y, 1.0)
    device.upload(y, 4, np.array([100.0], np.float32))
    run(device, add, y, z, 1.0)
    assert floats(device, z) == [2.0, 101.0, 2.0, 2.0]


def test_many_uploads_are_submitted_so_that_staging_is_freed(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device.recorder, "_mapping", None)
    storage = device.storage(4 << 20)
    values = np.zeros(4 << 20, np.uint8)
    before = device.submits
    for _ in range(16):
        device.upload(storage, 0, values)
    assert device.submits - before >= 3


def test_one_refused_dispatch_is_named_and_the_others_run(device: Device, add: Pipeline) -> None:
    x = device.put(np.zeros(4, np.float32))
    good, bad, after = (device.storage(16) for _ in range(3))
    text = ADD.replace("array<f32>", "array<vec4<f32>>")
    text = text.replace("+ params.amount", "+ vec4<f32>(params.amount)")
    vectors = device.pipeline(text, BINDINGS, "Vectors")
    params = struct.pack("If", 4, 1.0)
    run(device, add, x, good, 3.0)
    dispatch(device, vectors, (x, bad), ((0, 4), (0, 4)), params, (1, 1, 1), "Vectors [1]")
    run(device, add, x, after, 4.0)
    with pytest.raises(ShaderError, match=r"^Vectors \[1\]: refused by wgpu: "):
        device.flush()
    assert floats(device, good) == [3.0] * 4
    assert floats(device, after) == [4.0] * 4


def test_a_read_of_several_chunks(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "READ_CHUNK", 1 << 10)
    values = np.arange(1500, dtype=np.int32)
    storage = device.put(values)
    assert np.array_equal(device.read(storage, 0, 6000).view(np.int32), values)
    assert np.array_equal(device.read(storage, 40, 4000).view(np.int32), values[10:1010])


def test_threads_share_a_device(device: Device, add: Pipeline) -> None:
    results: list[list[float]] = []

    def work(start: float) -> None:
        x, y = device.put(np.full(8, start, np.float32)), device.storage(32)
        for _ in range(60):
            run(device, add, x, y, 1.0)
            x, y = y, x
        results.append(floats(device, x))

    threads = [threading.Thread(target=work, args=(float(start),)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [[start + 60.0] * 8 for start in range(4)]


def test_the_hot_path_calls_wgpu_native_directly() -> None:
    assert load_calls().direct


@pytest.mark.parametrize("immediates", [False, True])
def test_wgpu_py_methods_serve_where_its_internals_are_missing(
    monkeypatch: pytest.MonkeyPatch, immediates: bool
) -> None:
    monkeypatch.setattr(device_module, "load_calls", method_calls)
    device = Device()
    add = compiled(device, immediates=immediates)
    x, y = device.put(np.zeros(70, np.float32)), device.storage(280)
    for _ in range(40):
        run(device, add, x, y, 1.0)
        run(device, add, y, x, 1.0)
    assert floats(device, x) == [80.0] * 70
    device.close()


def test_a_read_that_was_interrupted_leaves_the_device_usable(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = device.put(np.arange(4, dtype=np.float32))
    device.wait()
    recorder = device.recorder
    calls = recorder._calls

    def interrupted(target: Any, buffer: Any, nbytes: int, wait: Any) -> memoryview:
        calls.map_for_reading(target, buffer, nbytes, wait)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recorder, "_calls", replace(calls, map_for_reading=interrupted))
        with pytest.raises(KeyboardInterrupt):
            device.read(storage, 0, 16)
    assert floats(device, storage) == [0.0, 1.0, 2.0, 3.0]


def test_reads_of_many_sizes_keep_two_staging_buffers(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device.recorder, "_mapping", None)
    storage = device.storage(1 << 20)
    for nbytes in (4, 1 << 17, 1 << 19, 4, 1 << 20, 1 << 18):
        device.read(storage, 0, nbytes)
    assert sorted(device.recorder._readers) == [1 << 16, 1 << 20]
