"""A device: bindings of exact size, uploads and reads, limits, status and clocks."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np
import pytest
from tests.webgpu.lab import dispatch

from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS
from wgsl_kernels.backends.webgpu.devices import pipeline as pipeline_module
from wgsl_kernels.backends.webgpu.devices.adapters import list_adapters
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure
from wgsl_kernels.backends.webgpu.devices.status import SLOTS
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    IndexOutOfRange,
    OutOfMemoryError,
    ShaderError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.ready import Kind

pytestmark = pytest.mark.gpu

Bindings = tuple[tuple[int, "Kind"], ...]

LENGTHS = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1)
fn main() { y[0] = arrayLength(&x); y[1] = arrayLength(&y); }
"""
LENGTHS_BINDINGS: Bindings = ((0, "read"), (1, "read_write"))

STATUS = """
struct Params { slot: u32, code: i32, value: i32 }
@group(0) @binding(0) var<storage, read_write> status: array<i32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main() { status[2 * params.slot] = params.code; status[2 * params.slot + 1] = params.value; }
"""
STATUS_BINDINGS: Bindings = ((0, "read_write"), (1, "uniform"))

NOTHING = "@compute @workgroup_size(1) fn main() {}"


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.close()


def test_every_adapter_here_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in list_adapters():
        monkeypatch.setenv("WGSL_KERNELS_ADAPTER", str(one.index))
        device = Device()
        assert device.info.name == one.name
        pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
        x, y = device.storage(28), device.storage(8)
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
        assert device.read(y, 0, 8).view(np.uint32).tolist() == [7, 2]
        device.close()


def test_default_limits_are_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGSL_KERNELS_LIMITS", "default")
    device = Device()
    for name in ("max-storage-buffers-per-shader-stage", "max-compute-workgroup-storage-size"):
        assert device.limits[name] == DEFAULT_LIMITS[name]
    nine: Bindings = tuple((number, "read") for number in range(9))
    with pytest.raises(ShaderError, match=r"needs 9 storage bindings; this device allows 8 "):
        device.pipeline(NOTHING, nine, "Nine")
    device.close()


def test_of_pipelines_that_nobody_holds_the_one_asked_for_longest_ago_is_let_go(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_module, "KEPT_PIPELINES", 2)

    def find(number: int) -> Pipeline:
        return device.pipeline(f"// {number}\n{LENGTHS}", LENGTHS_BINDINGS, "Lengths")

    first, second = ref(find(1)), find(2)
    find(1)
    find(3)
    find(4)
    assert first() is None
    assert find(2) is second
    assert len(device.pipelines) == 2
    x, y = device.storage(20), device.storage(8)
    dispatch(device, second, (x, y), None, b"", (1, 1, 1))
    assert device.read(y, 0, 8).view(np.uint32).tolist() == [5, 2]


def test_bindings_have_the_exact_size(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    x, y = device.storage(68), device.storage(8)
    dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    assert device.read(y, 0, 8).view(np.uint32).tolist() == [17, 2]


def test_ranges_bind_a_part(device: Device) -> None:
    step = device.limits["min-storage-buffer-offset-alignment"]
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    x, y = device.storage(4 * step), device.storage(8)
    dispatch(device, pipeline, (x, y), ((2 * step, 12), (0, 8)), b"", (1, 1, 1))
    assert device.read(y, 0, 8).view(np.uint32).tolist() == [3, 2]


def test_a_pooled_buffer_of_another_size_gets_its_own_binding(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    y = device.storage(8)
    for nbytes in (100, 104, 112):
        x = device.storage(nbytes)
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
        assert device.read(y, 0, 4).view(np.uint32)[0] == nbytes // 4
        del x


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (((4, 16), (0, 8)), r"Lengths: binding 0: offset 4 is no multiple of \d+ bytes"),
        (((0, 68), (0, 8)), "binding 0: bytes 0 to 68 are past the buffer's 64"),
        (((0, 1 << 40), (0, 8)), r"bytes; this device binds at most .* \(max-storage-buffer-bind"),
        (((0, 16),), "got 2 storages and 1 ranges for 2 storage bindings"),
    ],
)
def test_bad_ranges_are_refused(
    device: Device, ranges: tuple[tuple[int, int], ...], message: str
) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    with pytest.raises(ArgumentError, match=message):
        dispatch(device, pipeline, (device.storage(64), device.storage(8)), ranges, b"", (1, 1, 1))


def test_an_output_that_shares_its_buffer_with_an_input_is_refused(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    x = device.storage(1024)
    with pytest.raises(ArgumentError, match="Lengths: binding 1 is written and shares its buffer"):
        dispatch(device, pipeline, (x, x), ((0, 256), (512, 256)), b"", (1, 1, 1))


def test_grids_past_the_limit_are_refused_and_empty_ones_do_nothing(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    x, y = device.storage(64), device.put(np.zeros(2, np.uint32))
    with pytest.raises(ArgumentError, match=r"a grid of \[65536, 1, 1\] workgroups; this device"):
        dispatch(device, pipeline, (x, y), None, b"", (65536, 1, 1))
    dispatch(device, pipeline, (x, y), None, b"", (0, 1, 1))
    assert device.read(y, 0, 8).view(np.uint32).tolist() == [0, 0]


def test_empty_storages_can_be_bound_read_and_written(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    empty, y = device.put(np.empty(0, np.float32)), device.storage(8)
    dispatch(device, pipeline, (empty, y), None, b"", (1, 1, 1))
    assert device.read(y, 0, 4).view(np.uint32)[0] == 1
    assert device.read(empty, 0, 0).nbytes == 0


@pytest.mark.parametrize("nbytes", [1, 2, 3, 4, 6, 7, 70_001])
def test_uploads_and_reads_of_any_length(device: Device, nbytes: int) -> None:
    values = np.random.default_rng(1).integers(0, 256, nbytes, np.uint8)
    storage = device.put(values)
    assert np.array_equal(device.read(storage, 0, nbytes), values)
    assert np.array_equal(
        device.read(storage, nbytes // 2, nbytes - nbytes // 2), values[nbytes // 2 :]
    )


def test_what_was_read_stays_when_the_device_writes_again(device: Device) -> None:
    storage = device.put(np.arange(4, dtype=np.float32))
    before = device.read(storage, 0, 16).view(np.float32)
    device.upload(storage, 0, np.zeros(4, np.float32))
    device.read(storage, 0, 16)
    before += 1
    assert before.tolist() == [1, 2, 3, 4]


def test_uploads_take_strided_arrays_and_memoryviews(device: Device) -> None:
    grid = np.arange(12, dtype=np.int32).reshape(3, 4)
    storage = device.put(grid.T)
    assert device.read(storage, 0, 48).view(np.int32).tolist() == grid.T.ravel().tolist()
    device.upload(storage, 8, memoryview(b"\1\0\0\0"))
    assert device.read(storage, 8, 4).view(np.int32).tolist() == [1]


@pytest.mark.parametrize(("offset", "nbytes"), [(2, 4), (0, 80), (64, 4), (-4, 4)])
def test_uploads_outside_the_buffer_are_refused(device: Device, offset: int, nbytes: int) -> None:
    with pytest.raises(ArgumentError, match="do not fit a buffer of 64"):
        device.upload(device.storage(64), offset, np.zeros(nbytes, np.uint8))


def test_reads_outside_the_buffer_are_refused(device: Device) -> None:
    with pytest.raises(ArgumentError, match="bytes 60 to 68 are past the buffer's 64"):
        device.read(device.storage(64), 60, 8)


def test_more_than_the_largest_buffer_is_out_of_memory(device: Device) -> None:
    with pytest.raises(OutOfMemoryError, match=r"^asked for 1125899906842624 bytes \(huge\)"):
        device.storage(1 << 50, what="huge")


def test_the_memory_limit_is_asked_at_every_growth() -> None:
    limits: list[int | None] = [1 << 20]
    device = Device(memory_limit=lambda: limits[0])
    with pytest.raises(OutOfMemoryError, match="1048576 bytes in all"):
        device.storage(2 << 20)
    limits[0] = None
    assert device.storage(2 << 20).nbytes == 2 << 20
    device.close()


def test_memory_counts_live_buffers_and_the_pool_apart() -> None:
    device = Device()
    assert (device.memory().num_buffers, device.memory().num_bytes) == (0, 0)
    storage = device.storage(1000)
    assert (device.memory().num_buffers, device.memory().num_bytes) == (1, 1000)
    del storage
    use = device.memory()
    assert (use.num_buffers, use.num_bytes, use.peak_bytes, use.pool_bytes) == (0, 0, 1000, 1024)
    device.reset_peak()
    assert device.trim() == 1024
    assert (device.memory().peak_bytes, device.memory().pool_bytes) == (0, 0)
    device.close()


def test_bind_groups_are_dropped_with_their_buffers(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    x, y = device.storage(20_000), device.storage(8)
    dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
    block = x.block
    assert block.keys
    del x
    device.trim()
    assert not block.keys
    assert device.read(y, 0, 4).view(np.uint32)[0] == 5000


def test_a_storage_of_another_device_is_refused(device: Device) -> None:
    other = Device()
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    with pytest.raises(ArgumentError, match="binding 0: the storage belongs to another device"):
        dispatch(device, pipeline, (other.storage(64), device.storage(8)), None, b"", (1, 1, 1))
    other.close()


def test_pipelines_are_compiled_once(device: Device) -> None:
    text = LENGTHS + "// once"
    first = device.pipeline(text, LENGTHS_BINDINGS, "Lengths")
    assert device.pipeline(text, LENGTHS_BINDINGS, "Lengths") is first


def test_override_constants_make_pipelines_of_their_own(device: Device) -> None:
    text = LENGTHS.replace("arrayLength(&x)", "N").replace("@compute", "override N: u32;\n@compute")
    x, y = device.storage(16), device.storage(8)
    for value in (3, 9):
        pipeline = device.pipeline(text, LENGTHS_BINDINGS, "N", constants={"N": value})
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1))
        assert device.read(y, 0, 4).view(np.uint32)[0] == value


def test_override_constants_of_either_zero_are_told_apart(device: Device) -> None:
    made = [
        device.pipeline(
            "override N: f32;\n" + LENGTHS, LENGTHS_BINDINGS, "N", constants={"N": zero}
        )
        for zero in (0.0, -0.0, 0.0)
    ]

    assert made[0] is made[2] is not made[1]


def test_compile_errors_keep_the_compilers_words_and_position(device: Device) -> None:
    with pytest.raises(CompileFailure) as caught:
        device.pipeline("fn main() { let x = ; }", (), "Broken")
    assert "wgsl:1:21" in caught.value.message
    with pytest.raises(CompileFailure, match="entry point"):
        device.pipeline(NOTHING, (), "Nothing", entry="absent")


def test_workgroups_beyond_the_limits_are_refused_before_the_compiler(device: Device) -> None:
    most = device.limits["max-compute-workgroup-storage-size"]
    with pytest.raises(ShaderError, match=f"Tiles: needs {most + 16} bytes of workgroup memory"):
        device.pipeline(NOTHING, (), "Tiles", most + 16)
    with pytest.raises(ShaderError, match="max-compute-invocations-per-workgroup"):
        device.pipeline(NOTHING, (), "Wide", workgroup_size=(64, 64))
    with pytest.raises(ShaderError, match="more than one uniform"):
        device.pipeline(NOTHING, ((0, "uniform"), (1, "uniform")), "Two")


def report(device: Device, code: int, value: int, name: str) -> None:
    pipeline = device.pipeline(STATUS, STATUS_BINDINGS, "Status")

    def describe(code: int, value: int) -> Exception:
        return IndexOutOfRange(f"{name}: code {code}, index {value}")

    with device.lock:
        slot = device.report_slot(describe)
        params = struct.pack("Iii", slot, code, value)
        dispatch(device, pipeline, (device.status_storage,), None, params, (1, 1, 1))


def test_the_next_read_raises_the_first_error_that_a_kernel_reported(device: Device) -> None:
    storage = device.storage(16)
    report(device, 0, 5, "Fine")
    report(device, 1, -7, "Gather")
    report(device, 1, 8, "Later")
    with pytest.raises(IndexOutOfRange, match="Gather: code 1, index -7"):
        device.read(storage, 0, 4)
    device.read(storage, 0, 4)
    report(device, 0, 5, "Fine again")
    device.wait()


def test_a_full_status_buffer_is_read_before_it_gives_another_slot(device: Device) -> None:
    device.wait()
    report(device, 2, 3, "First")
    for _ in range(SLOTS - 1):
        report(device, 0, 0, "Fine")
    with pytest.raises(IndexOutOfRange, match="First: code 2, index 3"):
        report(device, 0, 0, "One more")


def test_profile_gives_nanoseconds_for_each_dispatch(device: Device) -> None:
    pipeline = device.pipeline(LENGTHS, LENGTHS_BINDINGS, "Lengths")
    x, y = device.storage(64), device.storage(8)
    device.profile(True)
    for number in range(70):
        dispatch(device, pipeline, (x, y), None, b"", (1, 1, 1), f"Lengths {number}" * (number > 0))
    rows = device.take_timings()
    device.profile(False)
    assert [row.kernels for row in rows] == [
        ("Lengths",),
        *((f"Lengths {n}",) for n in range(1, 70)),
    ]
    assert all(row.nanoseconds is not None and row.nanoseconds < 1_000_000_000 for row in rows)
    assert device.take_timings() == []
