"""The backend as a whole: late uploads, views, arrays above the binding limit, a lost device."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend

RNG = np.random.default_rng(7)


@pytest.fixture(name="backend")
def _backend() -> Iterator[Any]:
    with wk.use_backend("webgpu"):
        yield find_driver("webgpu")


def test_host_values_reach_the_device_when_a_kernel_reads_them(backend: WebGpuBackend) -> None:
    x = wk.tensor([1.0, 2.0])
    before = x._array.storage
    y = wk.sqrt(x)
    wk.evaluate(y)
    assert before is None
    assert x._array.storage is not None
    assert y.numpy().tolist() == np.sqrt(np.array([1, 2], np.float32)).tolist()


def test_a_python_scalar_travels_without_a_buffer(backend: WebGpuBackend) -> None:
    x = wk.tensor(RNG.random(5, np.float32))
    doubled = x * 2.0
    before = wk.memory().num_buffers
    again = x * 3.0
    assert wk.memory().num_buffers == before + 1
    assert np.array_equal(again.numpy(), x.numpy() * np.float32(3))
    assert np.array_equal(doubled.numpy(), x.numpy() * np.float32(2))


def test_views_share_the_buffer_of_their_base(backend: WebGpuBackend) -> None:
    x = wk.abs(wk.tensor(RNG.random((4, 6), np.float32)))
    before = wk.memory().num_buffers
    views = [
        wk.permute_dims(x, (1, 0)),
        wk.reshape(x, (3, 8)),
        x[1:3, ::2],
        wk.flip(x, axis=0),
        wk.broadcast_to(x[0], (5, 6)),
    ]
    assert wk.memory().num_buffers == before
    host = x.numpy()
    expected = [
        host.T,
        host.reshape(3, 8),
        host[1:3, ::2],
        host[::-1],
        np.broadcast_to(host[0], (5, 6)),
    ]
    for view, want in zip(views, expected, strict=True):
        assert np.array_equal(view.numpy(), want)
        assert np.array_equal((view + 1.0).numpy(), want + np.float32(1))


def test_an_array_minus_itself_is_nan_where_it_is_nan(backend: WebGpuBackend) -> None:
    x = wk.abs(wk.tensor([1.0, float("nan"), float("inf")]))
    want = np.array([0, np.nan, np.nan], np.float32)
    assert np.array_equal((x - x).numpy(), want, equal_nan=True)


@pytest.mark.parametrize(
    ("shape", "axis"), [((70000,), None), ((300, 300), 0), ((300, 300), None), ((50, 40, 30), 0)]
)
def test_arrays_above_the_binding_limit_go_in_parts(
    backend: WebGpuBackend,
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, ...],
    axis: int | None,
) -> None:
    monkeypatch.setattr(backend.open(), "largest_binding", 1 << 16)
    values = RNG.integers(-5, 5, shape).astype(np.float32)
    x = wk.tensor(values)
    assert np.array_equal((x * x).numpy(), values * values)
    assert np.array_equal((x + 3.0).numpy(), values + 3)
    assert np.array_equal(wk.sum(x, axis=axis).numpy(), values.sum(axis=axis))


def test_what_cannot_go_in_parts_names_the_limit(
    backend: WebGpuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend.open(), "largest_binding", 1 << 16)
    with pytest.raises(wk.OutOfMemoryError, match="max-storage-buffer-binding-size"):
        wk.sum(wk.tensor(np.ones((300, 300), np.float32)), axis=1)


def test_after_a_lost_device_ops_run_again_and_host_values_come_back(
    backend: WebGpuBackend,
) -> None:
    x = wk.tensor([1.0, 4.0])
    y = wk.sqrt(x)
    assert y.numpy().tolist() == [1.0, 2.0]
    backend.open()._device.destroy()
    with pytest.raises(wk.DeviceLostError):
        (x + y).numpy()
    assert wk.sqrt(x).numpy().tolist() == [1.0, 2.0]
    with pytest.raises(wk.DeviceLostError, match=r"tensor of shape \[2\] and dtype float32"):
        y.numpy()


def test_a_kernel_with_full_control_reads_dispatches_and_views(backend: WebGpuBackend) -> None:
    shader = """
    @group(0) @binding(0) var<storage, read> x: array<T>;
    @group(0) @binding(1) var<storage, read_write> out: array<T_out>;
    struct Params { scale: f32, x_shape: vec2<u32> }
    @group(0) @binding(2) var<uniform> params: Params;

    @compute @workgroup_size(8)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      if (id.x < params.x_shape.x * params.x_shape.y) {
        out[id.x] = x[id.x] * params.scale;
      }
    }
    """

    @wk.signature("TestScaledTranspose")
    def _(x: wk.Spec, /, *, scale: float) -> wk.Spec:
        return x.like(shape=x.shape[::-1])

    @wk.wgsl_kernel("TestScaledTranspose")
    def _(gpu: Any, x: Any, *, scale: float) -> Any:
        turned = gpu.view(x, x.shape[::-1], x.strides[::-1], x.offset)
        out = gpu.empty(turned.shape, x.dtype)
        gpu.dispatch(shader, {"x": turned, "out": out}, params={"scale": scale})
        assert gpu.read(out).shape == turned.shape
        return out

    values = RNG.random((3, 5), np.float32)
    try:
        for scale in (2.0, 0.5, 2.0):
            y = wk.engine().run_kernel("TestScaledTranspose", {"x": values}, {"scale": scale})
            assert isinstance(y, wk.Tensor)
            assert np.array_equal(y.numpy(), values.T * np.float32(scale))
    finally:
        wk.unregister_kernel("TestScaledTranspose", "webgpu")


def test_a_thousand_steps_leave_memory_flat(backend: WebGpuBackend) -> None:
    weights = wk.variable(RNG.random((8, 8), np.float32))
    x = wk.tensor(RNG.random((4, 8), np.float32))

    def step() -> None:
        _, found = wk.variable_grads(lambda: wk.mean(wk.square(wk.tanh(x @ weights))))
        weights.assign(weights - 0.1 * found[weights])

    for _ in range(20):
        step()
    wk.synchronize()
    gc.collect()
    before = wk.memory()
    for _ in range(1000):
        step()
    wk.synchronize()
    gc.collect()
    after = wk.memory()
    assert (after.num_tensors, after.num_buffers) == (before.num_tensors, before.num_buffers)
    assert after.num_bytes == before.num_bytes
    assert after.by_backend["webgpu"].pool_bytes <= 2 * before.by_backend["webgpu"].pool_bytes


def test_a_number_of_the_host_and_one_of_the_device_take_recipes_of_their_own(
    backend: WebGpuBackend,
) -> None:
    shader = """
    @group(0) @binding(0) var<storage, read_write> out: array<f32>;

    @compute @workgroup_size(1)
    fn main() {
      out[0] = load_x(0u) * 2.0;
    }
    """

    @wk.signature("TestDoubledNumber")
    def _(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    @wk.wgsl_kernel("TestDoubledNumber")
    def _(gpu: Any, x: Any) -> Any:
        out = gpu.empty(x.shape, x.dtype)
        gpu.dispatch(shader, {"x": x, "out": out})
        return out

    try:
        uploaded = wk.tensor([3.0])
        backend.make_resident(uploaded._array)
        for x, want in (
            (uploaded, 6.0),
            (wk.sqrt(wk.tensor([16.0])), 8.0),
            (wk.tensor([5.0]), 10.0),
        ):
            y = wk.engine().run_kernel("TestDoubledNumber", {"x": x})
            assert y.tolist() == [want]
    finally:
        wk.unregister_kernel("TestDoubledNumber", "webgpu")
