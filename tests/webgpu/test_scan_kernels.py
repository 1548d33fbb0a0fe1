"""Scans beside other kernels: fused, captured, refused, mended, replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.webgpu.user_scans import (
    ANY,
    LOG_CUMSUM_EXP,
    MEAN,
    RUNNING_MAX,
    SQUARES,
)

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(6)


@pytest.mark.parametrize("shape", [(50,), (2051,), (70, 12), (3, 8, 5)])
@pytest.mark.parametrize("text", [RUNNING_MAX, SQUARES, LOG_CUMSUM_EXP], ids=["max", "sum", "log"])
def test_maps_ride_before_and_behind_bit_for_bit(scan: Any, text: str, shape: Any) -> None:
    run = scan(text)
    x = wk.tensor(RNG.normal(size=shape).astype(np.float32))

    def f() -> wk.Tensor:
        return wk.tanh(run(wk.exp(x) * 0.3, axis=0) - 0.125)

    with wk.config.using(fusion="never"):
        alone = f().numpy()
    with wk.config.using(fusion="always"):
        found = wk.explain(f)

    np.testing.assert_array_equal(found.result.numpy().view(np.int32), alone.view(np.int32))
    assert found.dispatches[-1].label == "Exp + Multiply + Running + Sub + Tanh"


def test_a_result_that_is_needed_too_is_written_beside_what_follows(scan: Any) -> None:
    run = scan(RUNNING_MAX)
    x = RNG.normal(size=400).astype(np.float32)
    with wk.config.using(fusion="always"):
        y = run(wk.tensor(x))
        twice = (y * 2.0).numpy()
        np.testing.assert_array_equal(y.numpy(), np.maximum.accumulate(x))
    np.testing.assert_array_equal(twice, 2 * np.maximum.accumulate(x))


def test_a_captured_scan_replays(scan: Any) -> None:
    run = scan(RUNNING_MAX)
    fast = wk.capture(lambda x: run(x, axis=1) + 1.0)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(2, 3000)).astype(np.float32)
        expected = np.maximum.accumulate(x, axis=1) + 1
        np.testing.assert_array_equal(fast(wk.tensor(x)).numpy(), expected)
    fast.dispose()


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (
            "fn init() -> f32 { return 0.0; }\n",
            "1:4",
            "a scan needs fn combine, which is missing; want fn combine(a: A, b: A) -> A. "
            "There is fn init.",
        ),
        ("fn op(x: T) -> T { return x; }\n", "1:4", "a scan needs fn init, which is missing"),
        (
            "fn init() -> f32 { return 0.0; }\nfn combine(a: f32, b: i32) -> f32 { return a; }\n",
            "2:4",
            "combine has (f32, i32) -> f32; want fn combine(a: f32, b: f32) -> f32, since init "
            "returns f32.",
        ),
        (
            ANY.strip() + "\nfn lift(x: T) -> f32 { return x; }\n",
            "3:4",
            "lift has (T) -> f32; want fn lift(x: T, i: u32) -> bool, since init returns bool.",
        ),
        (
            MEAN.strip() + "\nfn append(a: f32) { }\n",
            "4:4",
            "append has (f32); want fn append(a: f32, x: T, i: u32) -> f32",
        ),
        (ANY.strip() + "\n", "1:4", "init has bool where the tensor has f32"),
        (
            "fn init() -> f32 { return 0.0; }\nfn combine(a: f32, b: f32) -> f32 { return a }\n",
            "2:",
            "",
        ),
    ],
)
def test_a_function_that_does_not_fit_is_shown_with_what_was_wanted(
    scan: Any, text: str, place: str, says: str
) -> None:
    run = scan(text)
    with pytest.raises(wk.ShaderError) as caught:
        run(wk.tensor([1.0, 2.0]))
    message = str(caught.value)
    assert f"running.wgsl:{place}" in message
    assert says in message


def test_a_file_that_is_mended_runs_once_it_is_read_again(scan: Any, tmp_path: Path) -> None:
    run = scan("fn init() -> f32 { return 0.0; }\n")
    with pytest.raises(wk.ShaderError):
        run(wk.tensor([1.0]))
    (tmp_path / "running.wgsl").write_text(MEAN)
    assert wk.reload_kernels() == ["Running"]
    assert run(wk.tensor([1.0, 3.0])).tolist() == [1.0, 2.0]


def test_a_scan_may_be_replaced_by_another(scan: Any) -> None:
    x = wk.tensor([2.0, 1.0, 4.0])
    assert scan(RUNNING_MAX)(x).tolist() == [2.0, 2.0, 4.0]
    assert scan(MEAN)(x).tolist() == [2.0, 1.5, pytest.approx(7 / 3)]


def test_a_scan_wants_one_axis(scan: Any) -> None:
    run = scan(RUNNING_MAX)
    wk.signature("Running", override=True)(lambda x, /: x.like())
    with pytest.raises(wk.ArgumentError, match=r"goes along one axis of \[2, 3\]; want the attr"):
        run(wk.tensor(np.zeros((2, 3), np.float32)))


def test_a_form_that_is_none_is_refused_where_it_is_registered() -> None:
    with pytest.raises(wk.ArgumentError, match=r"Odd: form is 'skan'; want 'scan'"):
        wk.wgsl_kernel("Odd", RUNNING_MAX, form="skan")  # type: ignore[call-overload]  # no such form


SUM = "fn init() -> f32 { return 0.0; }\nfn combine(a: f32, b: f32) -> f32 { return a + b; }"
FILL = """
struct Params { y_size: u32, value: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) { y[id.x] = params.value; }
}
"""


@pytest.mark.parametrize("fusion", ["always", "never"])
def test_a_kernel_may_write_again_where_its_scan_read(fusion: str) -> None:
    name = "ScanThenWrite"
    wk.signature(name)(lambda x, /: x.like())

    def kernel(gpu: Any, x: Any) -> Any:
        own = gpu.empty(x.shape, "float32")
        gpu.dispatch(FILL, {"y": own}, params={"value": 1.0})
        totals = gpu.scan(SUM, own, "float32", axis=0)
        gpu.dispatch(FILL, {"y": own}, params={"value": 5.0})
        return totals

    wk.wgsl_kernel(name, override=True)(kernel)
    with wk.use_backend("webgpu"), wk.config.using(fusion=fusion):
        found = wk.engine().run_kernel(name, {"x": wk.zeros((6,))})
        assert found.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    wk.unregister_kernel(name, "webgpu")
