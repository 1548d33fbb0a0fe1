"""What a step of an optimizer runs is fused in the first step: nothing is compiled twice over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.pipeline import PipelineCache
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.engine.observe.profile import Profile

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("auto_fusion")]


@pytest.fixture(autouse=True)
def _on_the_gpu() -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        yield


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give a list that the labels of compiled pipelines are added to."""
    labels: list[str] = []
    compile_ = PipelineCache._compile

    def noted(
        self: PipelineCache, texts: Any, bindings: Any, label: str, *more: Any, **named: Any
    ) -> Any:
        labels.append(label)
        return compile_(self, texts, bindings, label, *more, **named)

    monkeypatch.setattr(PipelineCache, "_compile", noted)
    return labels


class Network:
    """Two dense layers of a size of their own, whose loss is a cross entropy."""

    def __init__(self, width: int, activation: Callable[[wk.Tensor], wk.Tensor] = wk.relu) -> None:
        self.activation = activation
        draw = np.random.default_rng(width)
        self.x = wk.tensor(draw.normal(size=(16, 24)), dtype="float32")
        self.labels = wk.tensor(np.eye(8)[draw.integers(0, 8, 16)], dtype="float32")
        shapes = {"w1": (24, width), "b1": (width,), "w2": (width, 8), "b2": (8,)}
        self.own = {
            name: wk.variable(draw.normal(size=shape), name=name, dtype="float32")
            for name, shape in shapes.items()
        }
        self.adam = wk.train.Adam(0.01)

    def loss(self) -> wk.Tensor:
        """Return the loss."""
        own = self.own
        h = self.activation(self.x @ own["w1"] + own["b1"])
        return wk.softmax_cross_entropy(self.labels, h @ own["w2"] + own["b2"])

    def step(self) -> wk.Tensor:
        """Do one step of training and return its loss."""
        return self.adam.minimize(self.loss)

    def values(self) -> list[bytes]:
        """Return the variables' bits."""
        return [one.numpy().tobytes() for one in self.own.values()]


def _kernels(seen: Profile) -> list[tuple[str, ...]]:
    return [row.kernels for row in seen.dispatches]


def test_the_first_step_of_a_network_is_fused() -> None:
    network = Network(40)
    first = _kernels(wk.profile(network.step))
    assert ("BatchMatMul", "Add", "Relu") in first
    assert not {("Relu",), ("Select",), ("Sqrt",)} & set(first)
    network.step()
    assert len(first) <= len(_kernels(wk.profile(network.step))) + 2


def test_the_same_bits_come_out_whatever_is_fused_when() -> None:
    found: list[list[bytes]] = []
    for fusion in ("auto", "always", "never"):
        network = Network(36)
        with wk.config.using(fusion=fusion):
            losses = [network.step().numpy().tobytes() for _ in range(3)]
        found.append([*network.values(), *losses])
    assert found[0] == found[1] == found[2]


def test_who_says_never_is_heard_in_a_step_too() -> None:
    network = Network(32)
    with wk.config.using(fusion="never"):
        assert max(map(len, _kernels(wk.profile(network.step)))) == 1


def test_gradients_that_are_applied_are_fused_at_first_use() -> None:
    network = Network(28)
    gradients = wk.variable_grads(network.loss)[1]
    seen = wk.profile(lambda: network.adam.apply_gradients(gradients))
    assert any({"Sqrt", "RealDiv"} <= set(row) for row in _kernels(seen))
    assert ("Sqrt",) not in _kernels(seen)


def test_a_map_of_the_library_that_is_fused_is_not_compiled_alone(compiled: list[str]) -> None:
    x = wk.tensor(np.linspace(-1, 1, 77, dtype=np.float32))
    with wk.config.using(fusion="always"):
        found = (wk.tan(x) * 3.0 - wk.softplus(x)).numpy()
    assert [one for one in compiled if "+" not in one] == []
    values = x.numpy().astype(np.float64)
    expected = np.tan(values) * 3 - np.log1p(np.exp(values))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_mistake_in_a_map_of_the_user_shows_where_it_is_called() -> None:
    wk.wgsl_kernel("WrongAtFirstSight", "fn op(x: T) -> T {\n  return vec3(x);\n}\n")
    with wk.config.using(fusion="always"), pytest.raises(wk.ShaderError, match="vec3"):
        wk.engine().run_kernel("WrongAtFirstSight", {"x": wk.tensor([1.0, 2.0, 3.0])})


@pytest.mark.parametrize("way", ["eager", "captured"])
def test_a_warm_up_leaves_nothing_to_compile(way: str, compiled: list[str]) -> None:
    wave = wk.sin if way == "eager" else wk.cos  # which nothing was compiled for before
    network = Network(52, lambda h: wave(h) * wk.sigmoid(h))
    step = network.step if way == "eager" else wk.capture(network.step)
    before = network.values()
    done = wk.warmup(step)
    assert network.values() == before
    assert done.pipelines == len(compiled) > 0
    compiled.clear()
    for _ in range(4):
        step().item()
    assert compiled == []


def test_a_warm_up_runs_until_a_kernel_of_the_user_hands_its_result_on(
    compiled: list[str],
) -> None:
    shader = """
    struct Params { y_size: u32 }
    @group(0) @binding(0) var<storage, read> x: array<T>;
    @group(0) @binding(1) var<storage, read_write> y: array<T>;
    @group(0) @binding(2) var<uniform> params: Params;

    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      if (id.x < params.y_size) {
        store_y(id.x, x[id.x] * T(2.0));
      }
    }
    """

    @wk.signature("DoubledByHand")
    def _(x: Any, /) -> Any:
        return x.like()

    @wk.wgsl_kernel("DoubledByHand")
    def _(gpu: Any, x: Any) -> Any:
        gpu.repeats()
        y = gpu.empty(x.shape, x.dtype)
        gpu.dispatch(shader, {"x": x, "y": y}, groups=gpu.grid(x.size, 64))
        return y

    x = wk.tensor(np.arange(50, dtype=np.float32))

    def work() -> wk.Tensor:
        return wk.exp(wk.engine().run_kernel("DoubledByHand", {"x": x}) - 90.0)

    wk.warmup(work)
    compiled.clear()
    seen = wk.profile(work)
    assert _kernels(seen) == [("DoubledByHand", "Sub", "Exp")]
    assert compiled == []


def test_a_function_of_maps_that_promises_to_repeat_gives_the_same_values() -> None:
    @wk.signature("TwiceInTwo")
    def _(x: Any, /) -> Any:
        return x.like()

    @wk.wgsl_kernel("TwiceInTwo", repeats=True)
    def _(gpu: Any, x: Any) -> Any:
        half = gpu.map("fn op(x: T) -> T {\n  return x;\n}\n", {"x": x}, x.shape, x.dtype)
        return gpu.map("fn op(x: T) -> T {\n  return x + x;\n}\n", {"x": half}, x.shape, x.dtype)

    x = wk.tensor(np.arange(50, dtype=np.float32))
    with wk.config.using(fusion="always"):
        found = (wk.engine().run_kernel("TwiceInTwo", {"x": x}) - 1.0).numpy()
    np.testing.assert_array_equal(found, np.arange(50) * 2 - 1)


def test_what_is_measured_while_a_result_is_handed_on_changes_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WGSL_KERNELS_CACHE", str(tmp_path))
    tuner = cast("WebGpuBackend", find_driver("webgpu")).tuner
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-4, 5, (48, 48)).astype(np.float32) for _ in range(2))
    before = len(tuner.measured)
    with wk.config.using(fusion="always", tuning="on"), tuner.renewing(60.0):
        found = (wk.tensor(a) @ wk.tensor(b) * 2.0 + 1.0).numpy()
    assert [one.choice.kernel for one in tuner.measured[before:]] == ["BatchMatMul"]
    np.testing.assert_array_equal(found, a @ b * 2 + 1)


def test_the_second_step_of_small_variables_needs_no_new_shader() -> None:
    device = cast("WebGpuBackend", find_driver("webgpu")).open()
    draw = np.random.default_rng(1)
    x = wk.tensor(draw.standard_normal((9, 12)).astype(np.float32))
    weights = wk.variable(draw.standard_normal((12, 7)).astype(np.float32))
    bias = wk.variable(np.zeros(7, np.float32))
    adam = wk.train.Adam(0.01)
    made: list[int] = []
    with wk.config.using(small_ops="host", fusion="auto"):
        for _ in range(3):
            adam.minimize(lambda: wk.sum(wk.sigmoid(x @ weights + bias))).numpy()
            made.append(device.pipelines.made)
    assert made[0] == made[1] == made[2]
