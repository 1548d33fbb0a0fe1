"""What wgpu-py 0.32 does that the device layer works around.

A test that fails after an upgrade of wgpu says that a workaround can go. These tests use wgpu
alone; how the layer answers is tested beside it.
"""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu

STORAGE, COPIES = 128, 12  # wgpu.BufferUsage: STORAGE; COPY_SRC and COPY_DST
MIB = 1 << 20

WRITE = """
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) id: vec3<u32>) { y[0] = 7u; }
"""

OPEN = """
import wgpu
adapter = next(a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] != "OpenGL")
device = adapter.request_device_sync()
buffer = device.create_buffer(size=64, usage=128 | 12)
entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage"}}
layout = device.create_bind_group_layout(entries=[entry])
"""


@pytest.fixture(scope="module")
def adapter() -> Any:
    import wgpu

    adapters = wgpu.gpu.enumerate_adapters_sync()
    return min(adapters, key=lambda one: "OpenGL" in one.info["backend_type"])


@pytest.fixture
def device(adapter: Any) -> Iterator[Any]:
    device = adapter.request_device_sync()
    yield device
    device.destroy()


def exit_code(ending: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", OPEN + ending], capture_output=True, timeout=60, check=False
    )
    return done.returncode


def prepare(device: Any, text: str, *buffers: Any) -> tuple[Any, Any]:
    entries = [
        {"binding": number, "visibility": 4, "buffer": {"type": "storage"}}
        for number in range(len(buffers))
    ]
    layout = device.create_bind_group_layout(entries=entries)
    pipeline = device.create_compute_pipeline(
        layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
        compute={"module": device.create_shader_module(code=text), "entry_point": "main"},
    )
    bound = [
        {"binding": number, "resource": {"buffer": one, "offset": 0, "size": one.size}}
        for number, one in enumerate(buffers)
    ]
    return pipeline, device.create_bind_group(layout=layout, entries=bound)


def finish(device: Any, *dispatches: tuple[Any, Any, int]) -> Any:
    encoder = device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    for pipeline, group, count in dispatches:
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(count)
    compute.end()
    return encoder.finish()


def test_binding_no_bytes_aborts_the_process() -> None:
    resource = "{'buffer': buffer, 'offset': 0, 'size': 0}"
    entries = f"[{{'binding': 0, 'resource': {resource}}}]"
    assert exit_code(f"device.create_bind_group(layout=layout, entries={entries})") == -6


def test_submitting_on_a_lost_device_aborts_the_process() -> None:
    assert exit_code("device.destroy()\ndevice.queue.submit([])") == -6


def test_reading_a_destroyed_buffer_aborts_the_process() -> None:
    assert exit_code("buffer.destroy()\ndevice.queue.read_buffer(buffer)") == -6


def test_submitting_a_command_buffer_twice_aborts_the_process() -> None:
    ending = "done = device.create_command_encoder().finish()\n"
    assert exit_code(ending + "device.queue.submit([done])\ndevice.queue.submit([done])") == -6


def test_limits_that_are_not_named_come_from_the_adapter(adapter: Any) -> None:
    name = "max-compute-workgroup-storage-size"
    device = adapter.request_device_sync(required_limits={"max-bind-groups": 4})
    assert device.limits[name] == adapter.limits[name]
    device.destroy()


def test_workgroup_memory_is_not_checked(adapter: Any) -> None:
    device = adapter.request_device_sync(
        required_limits={"max-compute-workgroup-storage-size": 16384}
    )
    text = WRITE.replace("y[0] = 7u;", "tile[id.x] = id.x; y[0] = tile[0];")
    text += "var<workgroup> tile: array<u32, 8192>;"
    buffer = device.create_buffer(size=16, usage=STORAGE)
    prepare(device, text, buffer)
    device.destroy()


def test_a_loss_shows_only_in_the_text_of_a_validation_error(device: Any) -> None:
    import wgpu

    encoder = device.create_command_encoder()
    device.destroy()
    with pytest.raises(wgpu.GPUValidationError, match=r"Parent device is lost$"):
        encoder.finish()
    with pytest.raises(AttributeError):
        device.lost  # noqa: B018  reading it is what fails


def test_compilation_info_is_empty(device: Any) -> None:
    module = device.create_shader_module(code=WRITE)
    assert module.get_compilation_info_sync() == []


def test_waiting_for_submitted_work_fails(device: Any) -> None:
    with pytest.raises(TypeError):
        device.queue.on_submitted_work_done_sync()


def test_reading_no_bytes_reads_the_whole_buffer(device: Any) -> None:
    buffer = device.create_buffer(size=64, usage=STORAGE | COPIES)
    assert device.queue.read_buffer(buffer, 0, 0).nbytes == 64


def test_writing_no_bytes_is_refused(device: Any) -> None:
    buffer = device.create_buffer(size=64, usage=STORAGE | COPIES)
    with pytest.raises(ValueError, match="data_offset"):
        device.queue.write_buffer(buffer, 0, np.empty(0, np.uint8))


def test_uploads_keep_their_staging_memory_until_a_submit(device: Any) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    buffer = device.create_buffer(size=4 * MIB, usage=STORAGE | COPIES)
    values = np.ones(4 * MIB, np.uint8)
    device.queue.write_buffer(buffer, 0, values)
    before = resident()
    for _ in range(32):
        device.queue.write_buffer(buffer, 0, values)
    held = resident() - before
    assert held > 96 * MIB
    device.queue.submit([device.create_command_encoder().finish()])
    device.queue.read_buffer(buffer, 0, 4)
    assert resident() - before < held / 2


def test_a_buffer_above_the_largest_raises(device: Any) -> None:
    import wgpu

    with pytest.raises(wgpu.GPUValidationError, match="greater than the maximum"):
        device.create_buffer(size=device.limits["max-buffer-size"] + 1, usage=STORAGE)


def test_writes_run_before_everything_not_yet_submitted(device: Any) -> None:
    text = """
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(1) fn main() { y[0] = x[0]; }
    """
    x, y = (device.create_buffer(size=16, usage=STORAGE | COPIES) for _ in range(2))
    device.queue.write_buffer(x, 0, np.array([1], np.uint32))
    pipeline, group = prepare(device, text, x, y)
    commands = finish(device, (pipeline, group, 1))
    device.queue.write_buffer(x, 0, np.array([2], np.uint32))
    device.queue.submit([commands])
    assert np.frombuffer(device.queue.read_buffer(y, 0, 4), np.uint32)[0] == 2


def test_one_bad_dispatch_spoils_its_batch_and_shows_at_finish(device: Any) -> None:
    import wgpu

    buffer = device.create_buffer(size=16, usage=STORAGE | COPIES)
    pipeline, group = prepare(device, WRITE, buffer)
    most = device.limits["max-compute-workgroups-per-dimension"]
    with pytest.raises(wgpu.GPUValidationError, match="must be less or equal to"):
        finish(device, (pipeline, group, 1), (pipeline, group, most + 1))


def test_a_dispatch_of_no_workgroups_does_nothing(device: Any) -> None:
    buffer = device.create_buffer(size=16, usage=STORAGE | COPIES)
    device.queue.submit([finish(device, (*prepare(device, WRITE, buffer), 0))])
    assert np.frombuffer(device.queue.read_buffer(buffer), np.uint32)[0] == 0


def test_a_buffer_may_be_written_through_two_bindings_unnoticed(device: Any) -> None:
    text = WRITE + "@group(0) @binding(1) var<storage, read_write> z: array<u32>;"
    text = text.replace("y[0] = 7u;", "y[0] = 7u; z[1] = 8u;")
    buffer = device.create_buffer(size=16, usage=STORAGE | COPIES)
    device.queue.submit([finish(device, (*prepare(device, text, buffer, buffer), 1))])
    assert np.frombuffer(device.queue.read_buffer(buffer), np.uint32)[:2].tolist() == [7, 8]


def test_the_feature_for_subgroups_is_called_subgroup(adapter: Any) -> None:
    assert "subgroups" not in adapter.features
    with pytest.raises(KeyError):
        adapter.request_device_sync(required_features=["no-such-feature"])


def test_binding_sizes_are_checked_only_when_the_encoder_is_finished(device: Any) -> None:
    import wgpu

    text = WRITE.replace("array<u32>", "array<vec4<u32>>").replace("7u", "vec4<u32>(7u)")
    entry = {"binding": 0, "visibility": 4, "buffer": {"type": "storage"}}
    layout = device.create_bind_group_layout(entries=[entry])
    pipeline = device.create_compute_pipeline(
        layout=device.create_pipeline_layout(bind_group_layouts=[layout]),
        compute={"module": device.create_shader_module(code=text), "entry_point": "main"},
    )
    buffer = device.create_buffer(size=16, usage=STORAGE)
    resource = {"buffer": buffer, "offset": 0, "size": 4}
    group = device.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": resource}])
    with pytest.raises(wgpu.GPUValidationError, match="is bound with size 4"):
        finish(device, (pipeline, group, 1))
