"""The backend ``simulator``: the kernels of webgpu, users' too, without a GPU."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from tests.modes import rows, some

import wgsl_kernels as wk
from wgsl_kernels.backends.simulator.backend import simulated_choice
from wgsl_kernels.backends.simulator.noting import having, noting
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.bench.comparison.checks import check_forward
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing import Sample
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import arrays_for, call_of, tensors_for


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = take_snapshot()
    with wk.use_backend("simulator"):
        yield
    before.restore()


def device() -> Device:
    driver = find_driver("simulator")
    assert isinstance(driver, WebGpuBackend)
    return driver.open()


HALVES = "shader-f16" in simulated_choice().info.features
ROWS = [one for one in rows() if HALVES or "float16" not in one.input_dtypes]
"""Those whose dtypes the adapter has that is simulated."""


@pytest.mark.parametrize("sample", some(ROWS, 5, "simulated"), ids=lambda one: one.id)
def test_a_sample_is_within_its_bound(sample: Sample) -> None:
    with wk.config.using(small_ops="device"):
        row = check_forward(sample, "simulator")

    assert row.passed, row.note


@pytest.mark.parametrize("sample", some(ROWS, 8, "accesses"), ids=lambda one: one.id)
def test_a_sample_has_no_race_and_no_order(sample: Sample) -> None:
    arrays = arrays_for(sample)

    def results() -> list[np.ndarray]:
        return [one.numpy() for one in outputs_of(call_of(sample), tensors_for(arrays))]

    with wk.config.using(small_ops="device", fusion="never"):
        with noting(device()) as wrong:
            plain = results()
        with having(device(), "order", "shuffled"):
            turned = results()

    assert wrong == []
    for one, other in zip(plain, turned, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_users_kernel_runs_on_it() -> None:
    assert wk.get_kernel("Thrice", "simulator") is None
    wk.wgsl_kernel("Thrice", "fn op(x: f32) -> f32 {\n  return 3.0 * x;\n}\n")
    wk.signature("Thrice")(lambda x, /: x.like())

    assert wk.run("Thrice", [1.0, 2.0]).tolist() == [3.0, 6.0]
    assert wk.run("Thrice", [1.0]).backend == "simulator"
    wk.unregister_kernel("Thrice", "webgpu")
    with pytest.raises(wk.KernelNotFound):
        wk.run("Thrice", [1.0, 2.0])


def test_one_of_its_own_comes_first() -> None:
    wk.wgsl_kernel("Thrice", "fn op(x: f32) -> f32 {\n  return 3.0 * x;\n}\n")
    wk.register_kernel("Thrice", "simulator", lambda gpu, x: gpu.fill(x.shape, x.dtype, 7))
    wk.signature("Thrice")(lambda x, /: x.like())

    kernel = wk.get_kernel("Thrice", "simulator")
    assert kernel is not None
    assert kernel.backend == "simulator"


def test_gradients_go_through_it() -> None:
    w = wk.variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
    x = wk.tensor(np.ones((5, 4), np.float32))
    loss = lambda: wk.sum(wk.tanh(x @ w))  # noqa: E731  called by both

    _, found = wk.variable_grads(loss, [w])
    with wk.use_backend("cpu"):
        _, want = wk.variable_grads(loss, [w])

    np.testing.assert_allclose(found[w].numpy(), want[w].numpy(), rtol=1e-5)


def test_it_is_never_chosen_and_not_counted() -> None:
    assert "simulator" in wk.backends()
    code = "import wgsl_kernels as wk; print(wk.get_backend())"
    chosen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert chosen.stdout.strip() in ("cpu", "webgpu"), chosen.stderr
    assert "simulator" not in str(wk.coverage())


WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in %r:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
import wgsl_kernels as wk

wk.wgsl_kernel("Cube", "fn op(x: f32) -> f32 {\\n  return x * x * x;\\n}\\n")
wk.signature("Cube")(lambda x, /: x.like())
with wk.use_backend("simulator"):
    print(wk.run("Cube", [1.0, 2.0]).tolist(), float(wk.ones((70, 50)).sum()))
"""


def test_it_runs_where_nothing_else_is_installed() -> None:
    missing = ("wgpu", "watchfiles", "rich", "typer", "safetensors", "threadpoolctl")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT % (missing,)], capture_output=True, text=True
    )

    assert run.stdout.strip() == "[1.0, 8.0] 3500.0", run.stderr


def test_what_is_simulated_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "default, subgroup-size=8, max-compute-workgroup-storage-size=8192"
    monkeypatch.setenv("WGSL_KERNELS_SIMULATE", said)
    info = simulated_choice().info

    assert info.lanes == 8
    assert info.limits["max-compute-workgroup-storage-size"] == 8192
    assert "timestamp-query" not in info.features


@pytest.mark.parametrize("said", ["defaults", "subgroup-size", "subgroup-size=0", "max-thing=3"])
def test_odd_words_about_it_are_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGSL_KERNELS_SIMULATE", said)
    with pytest.raises(wk.ArgumentError, match=f"WGSL_KERNELS_SIMULATE: '{said}'"):
        simulated_choice()


def test_what_is_not_simulated_is_told_at_the_authors_line() -> None:
    text = "fn op(x: f32) -> f32 {\n  return bitcast<vec2<f16>>(x).x;\n}\n"
    wk.wgsl_kernel("Halves", "enable f16;\n" + text.replace(".x;", ".x * 1.0h;"))
    wk.signature("Halves")(lambda x, /: x.like())
    with pytest.raises(wk.ShaderError, match=r":3:"):
        wk.run("Halves", [1.0]).numpy()
