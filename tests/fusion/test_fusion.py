"""Which maps share a dispatch, what is written, and what pending arrays cost."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.programs import building
from wgsl_kernels.backends.webgpu.runtime import evaluator as evaluating
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.recent import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def fused() -> Iterator[None]:
    gc.collect()  # an error that a test caught may hold pending arrays
    with wk.use_backend("webgpu"), wk.config.using(fusion="always"):
        yield


def values(*shape: int) -> wk.Tensor:
    return wk.tensor(RNG.standard_normal(shape).astype(np.float32))


def recorded_by(x: wk.Tensor) -> int:
    """Return how many dispatches the tensor's backend was given so far."""
    profiling = abilities_of(x._driver).profiling
    assert profiling is not None
    return profiling.recorded


def labels(f: Callable[[], Any]) -> list[str]:
    return [row.label for row in wk.explain(f).dispatches]


@pytest.mark.parametrize("is_software", [False, True])
def test_maps_alone_and_fused_have_the_loop_that_an_adapter_wants(
    is_software: bool, follow_rules: Callable[[bool], None]
) -> None:
    x = values(64)
    follow_rules(is_software)
    bits = 3 if is_software else 31
    for f in (lambda: wk.exp(x), lambda: wk.exp(x) + 1.0):
        (row,) = wk.explain(f).dispatches
        assert row.dispatch is not None
        assert f"let begin = (number >> {bits}u) * length;" in row.dispatch.module.text


def test_a_chain_of_ten_maps_is_one_dispatch() -> None:
    x = values(64, 64)

    def chain() -> wk.Tensor:
        y = x
        for _ in range(5):
            y = y * 1.01 + 0.5
        return y

    assert labels(chain) == [" + ".join(["Multiply", "Add"] * 5)]


def test_a_map_before_and_a_map_behind_ride_in_a_reduction() -> None:
    x, m = values(40, 30), values(40, 30)

    assert labels(lambda: wk.sqrt(wk.mean(wk.square(x - m), axis=1) + 1.0)) == [
        "Sub + Square + Mean + Add + Sqrt"
    ]


def test_bias_and_activation_ride_in_a_product_and_a_convolution() -> None:
    x, w, b = values(8, 12), values(12, 4), values(4)
    image, kernel = values(2, 9, 9, 4), values(3, 3, 4, 8)

    def dense() -> wk.Tensor:
        return wk.relu(x @ w + b)

    def convolved() -> wk.Tensor:
        return wk.tanh(wk.conv2d(image, kernel, strides=1, pad="same"))

    expected = [labels(f) and f().numpy() for f in (dense, convolved)]
    assert labels(dense) == ["BatchMatMul + Add + Relu"]
    assert labels(convolved) == ["Conv2D + Tanh"]
    for f, before in zip((dense, convolved), expected, strict=True):
        np.testing.assert_array_equal(f().numpy(), before)


def test_a_sum_follows_the_later_of_two_kernels_that_it_reads() -> None:
    x, w, b = values(8, 12), values(12, 12), values(12)

    def residual() -> wk.Tensor:
        y = wk.softmax(x)
        return y + (y @ w + b)

    expected = labels(residual) and residual().numpy()
    assert labels(residual) == ["Softmax", "BatchMatMul + Add + Add"]
    np.testing.assert_array_equal(residual().numpy(), expected)


def test_softmax_takes_scale_and_mask_along() -> None:
    x, mask = values(16, 33), values(1, 33)

    assert labels(lambda: wk.softmax(x * 0.125 + mask)) == ["Multiply + Add + Softmax"]


def test_what_somebody_holds_is_written_by_the_same_dispatch() -> None:
    x = values(100)
    held: list[wk.Tensor] = []

    def f() -> wk.Tensor:
        held.append(wk.exp(x))
        return held[-1] * 2.0

    assert labels(f) == ["Exp + Multiply"]
    assert labels(held[-1].numpy) == []
    np.testing.assert_allclose(held[-1].numpy(), np.exp(x.numpy()), rtol=1e-6)


def test_a_reshape_in_between_cuts_nothing() -> None:
    x, b = values(6, 8), values(4)

    assert labels(lambda: wk.reshape(wk.exp(x), (12, 4)) + b) == ["Exp + Add"]


def test_a_product_of_two_shapes_makes_the_smaller_first() -> None:
    x, b = values(6, 8), values(8)

    assert labels(lambda: x + wk.exp(b)) == ["Exp", "Add"]


def test_a_gradient_is_fused_as_any_map() -> None:
    x = values(50)

    found = wk.explain(lambda: wk.grad(lambda x: wk.sum(wk.tanh(x) * 2.0))(x))

    assert found.kernel_runs > len(found.dispatches)
    np.testing.assert_allclose(
        found.result.numpy(), 2 * (1 - np.tanh(x.numpy()) ** 2), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("step", "dispatches", "most"),
    [(lambda y: y + 1.0, 2, 128), (wk.tanh, 7, 32), (lambda y: wk.tanh(y) + 1.0, 4, 50)],
)
def test_a_group_ends_at_its_limit_of_maps(
    step: Callable[[wk.Tensor], wk.Tensor], dispatches: int, most: int
) -> None:
    x = values(10)

    def long() -> wk.Tensor:
        y = x
        for _ in range(200 if most != 50 else 100):
            y = step(y)
        return y

    rows = wk.explain(long).dispatches
    assert len(rows) == dispatches
    assert max(len(row.kernels) for row in rows) == most
    assert "at most 32 maps, or 128 without calls" in rows[0].cause


def test_a_group_ends_where_bindings_do() -> None:
    many = [values(12) for _ in range(40)]

    def total() -> wk.Tensor:
        y = many[0]
        for one in many[1:20]:
            y = y + one
        return y

    expected = sum(one.numpy() for one in many[1:20])
    np.testing.assert_allclose(
        wk.explain(total).result.numpy(), expected + many[0].numpy(), rtol=1e-4, atol=1e-5
    )
    assert all("fused" not in row.cause for row in wk.explain(total).dispatches)


@pytest.mark.parametrize(("early", "expected"), [(0, [4, 1, 1]), (1, [1, 1, 1])])
def test_in_auto_a_structure_is_fused_at_once_or_when_it_is_seen_again(
    early: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = cast("WebGpuBackend", find_driver("webgpu")).evaluator
    monkeypatch.setattr(evaluator, "seen", evaluating.SeenStructures())
    monkeypatch.setattr(evaluating, "FUSED_EARLY", early)
    monkeypatch.setattr(evaluating, "EARNED_BY", 1 << 60)
    x = values(31 + early)

    def f() -> wk.Tensor:
        return wk.sin(wk.exp(x) * 0.25 - 3.0)

    with wk.config.using(fusion="auto"):
        counts = [len(wk.explain(f).dispatches) for _ in range(3)]

    assert counts == expected


def test_no_optimiser_sees_through_two_maps_that_give_a_value_on() -> None:
    x = wk.tensor([0.0, -0.0, 1.0])

    def sum_of_parts() -> wk.Tensor:  # Complex gives on what ZerosLike and Neg gave
        nothing = wk.zeros_like(x)
        return wk.complex(x, nothing) + wk.complex(nothing, -x)

    with wk.config.using(fusion="never"):
        expected = sum_of_parts().numpy()
    # a zero that is seen is not added, and -0.0 + 0.0 is 0.0
    assert sum_of_parts().numpy().tobytes() == expected.tobytes()
    assert len(labels(sum_of_parts)) == 1


def test_never_dispatches_at_once() -> None:
    x = values(5)
    with wk.config.using(fusion="never"):
        before = recorded_by(x)
        y = wk.exp(x) + 1.0
        assert recorded_by(x) == before + 2
    assert y.shape == (5,)


def test_a_users_map_is_fused_with_ours() -> None:
    wk.wgsl_kernel(
        "FusedHere",
        "struct Attrs { by: f32 }\nfn twice(x: T) -> T { return x * attrs.by; }\n"
        "fn op(x: T) -> T { return twice(x); }\n",
        override=True,
    )
    wk.signature("FusedHere", override=True)(lambda x, /, *, by: x.like())
    x = values(9)
    try:
        run = wk.engine().run_kernel
        found = wk.explain(
            lambda: run("FusedHere", {"x": run("FusedHere", {"x": x}, {"by": 2.0})}, {"by": 3.0})
        )
    finally:
        wk.unregister_kernel("FusedHere", "webgpu")

    assert [row.label for row in found.dispatches] == ["FusedHere + FusedHere"]
    np.testing.assert_allclose(found.result.numpy(), 6 * x.numpy(), rtol=1e-6)


FREE = """
struct Params { y_size: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) { store_y(id.x, load_x(id.x) * 3.0); }
}
"""


def test_a_free_kernel_with_accessors_takes_maps_before_and_behind() -> None:
    wk.wgsl_kernel("TripledHere", FREE, override=True)
    wk.signature("TripledHere", override=True)(lambda x, /: x.like())
    x = values(70)
    try:
        found = wk.explain(lambda: wk.tanh(wk.engine().run_kernel("TripledHere", {"x": x + 1.0})))
    finally:
        wk.unregister_kernel("TripledHere", "webgpu")

    assert [row.label for row in found.dispatches] == ["Add + TripledHere + Tanh"]
    np.testing.assert_allclose(found.result.numpy(), np.tanh((x.numpy() + 1) * 3), rtol=1e-5)


def test_pending_arrays_count_as_tensors_but_not_as_buffers() -> None:
    x = values(1000)
    wk.evaluate(x + 0.0)
    gc.collect()
    before = wk.memory()
    y = wk.exp(x)
    between = wk.memory()
    wk.evaluate(y)
    after = wk.memory()

    assert between.num_tensors == before.num_tensors + 1
    assert (between.num_buffers, between.num_bytes) == (before.num_buffers, before.num_bytes)
    assert after.num_bytes == before.num_bytes + 4000


def test_an_input_may_go_before_the_result_is_asked_for() -> None:
    x = values(20)
    expected = np.exp(x.numpy())
    variable = wk.variable(x)
    y, z = wk.exp(x), wk.exp(variable)
    x.dispose()
    variable.assign(wk.zeros((20,)))

    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(z.numpy(), expected, rtol=1e-6)


def test_a_reduction_of_a_map_beside_the_map_itself_is_right() -> None:
    x = values(30)
    y = wk.exp(x)
    z = y + wk.sum(y)

    np.testing.assert_allclose(z.numpy(), np.exp(x.numpy()) + np.exp(x.numpy()).sum(), rtol=1e-5)


def test_dropping_many_pending_arrays_runs_nothing() -> None:
    x = values(4)
    before = recorded_by(x)
    for _ in range(1000):
        wk.add(wk.exp(x), 1.0)
    assert recorded_by(x) == before


def test_memory_that_is_missing_later_names_the_line_of_the_op() -> None:
    x = values(256, 1024)
    y = [wk.exp(x * float(n)) for n in range(8)]  # this line
    with wk.config.using(memory_limit=3 << 20), pytest.raises(wk.OutOfMemoryError) as caught:
        wk.evaluate(y)

    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, start=1) if text.endswith("# this line"))
    assert f"{__file__}:{line}" in str(caught.value)
    assert wk.sum(y[0]).shape == ()


def test_a_loop_that_reads_once_a_turn_makes_no_pipeline_after_its_second() -> None:
    x, w = values(8, 16), wk.variable(RNG.standard_normal((16, 4)).astype(np.float32))
    optimizer = wk.train.SGD(0.01)
    counts: list[int] = []
    with wk.config.using(fusion="auto"):
        for _ in range(5):
            loss = optimizer.minimize(lambda: wk.mean(wk.square(wk.tanh(x @ w) - 0.5)), [w])
            loss.item()
            device = x._driver.open()  # type: ignore[attr-defined]  # of the webgpu backend
            counts.append(device.pipelines.made)

    assert counts[1] == counts[-1]


def test_a_kernel_that_was_put_off_names_the_line_of_the_op_too() -> None:
    x, w = values(256, 1024), values(1024, 1024)
    wk.evaluate(x @ w)
    y = x @ w  # that line
    device = x._driver.open()  # type: ignore[attr-defined]  # of the webgpu backend
    gc.collect()
    device.trim()
    limit = device.memory().num_bytes + 1000
    with wk.config.using(memory_limit=limit), pytest.raises(wk.OutOfMemoryError) as caught:
        wk.evaluate(y)

    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, start=1) if text.endswith("# that line"))
    assert f"{__file__}:{line}" in str(caught.value)


def test_of_too_many_kernels_that_wait_the_oldest_goes_with_what_follows_it() -> None:
    x = values(16, 16)

    def f() -> wk.Tensor:
        y = x
        for _ in range(12):
            y = wk.softmax(y) * 2.0
        return y

    assert labels(f) == ["Softmax + Multiply"] * 12


def test_the_oldest_that_waits_takes_its_last_map_along_though_nothing_waits_for_that() -> None:
    x = values(16, 16)

    def f() -> list[wk.Tensor]:
        return [wk.softmax(x + float(n)) * 2.0 for n in range(8)]

    assert labels(f) == ["Add + Softmax + Multiply"] * 8


def test_what_is_remembered_of_groups_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Any = find_driver("webgpu")
    fusing = backend.evaluator
    kept, texts = fusing._runs, len(building._composed)
    kept.clear()
    budget = Budget(12)
    budget.add(kept)
    monkeypatch.setattr(kept, "_budget", budget)
    monkeypatch.setattr(kept, "_nbytes", 1)
    x = values(16, 16)

    for count in range(2, 9):
        y = x
        for _ in range(count):
            y = wk.sqrt(y * y + 1.0)
        wk.evaluate(y, wk.softmax(y * 2.0) + float(count))

    assert 3 <= kept.held <= 12
    assert len(building._composed) - texts <= 24


def test_lines_of_fused_maps_keep_their_places() -> None:
    """Before and behind a kernel with a loop of its own, as in a group of maps."""
    x = values(64, 64)

    (row,) = wk.explain(lambda: wk.relu(wk.sum(wk.exp(x), axis=1))).dispatches

    assert row.dispatch is not None
    lines = row.dispatch.module.annotated().split("\n")
    for file in ("exponential/exp.wesl", "activation/relu.wesl"):
        assert any(file in line and "| fn wk_" in line for line in lines), file


HASHED = """
import hashlib
import numpy as np
import wgsl_kernels as wk
x = wk.tensor(np.ones(8, np.float32))
with wk.use_backend("webgpu"), wk.config.using(fusion="always", small_ops="device"):
    (row,) = wk.explain(lambda: wk.exp(wk.atan2(x, x))).dispatches
print(hashlib.sha256(row.dispatch.module.composed.text.encode()).hexdigest())
"""


def test_maps_in_float16_ride_in_kernels_whose_tensors_are_float32() -> None:
    x = values(8, 8)
    half = x.numpy().astype(np.float16) * np.float16(2)

    def doubled(y: wk.Tensor) -> wk.Tensor:
        return wk.cast(wk.cast(y, "float16") * 2.0, "float32")

    with wk.config.using(fallback="silent"):  # an adapter may have no float16
        before, behind = wk.sum(doubled(x), axis=0), doubled(wk.transpose(x) @ wk.eye(8))
        np.testing.assert_allclose(before.numpy(), half.astype(np.float32).sum(0), rtol=1e-6)
        np.testing.assert_array_equal(behind.numpy(), half.T.astype(np.float32))


def test_each_process_composes_the_same_text() -> None:
    """The driver keeps what it has compiled by its text."""
    found = {
        subprocess.run(
            [sys.executable, "-c", HASHED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }

    assert len(found) == 1


def test_a_number_that_a_kernel_reads_from_a_buffer_may_be_another_at_each_run() -> None:
    shader = """
    struct Params { y_size: u32 }
    @group(0) @binding(0) var<storage, read> by: array<f32>;
    @group(0) @binding(1) var<uniform> params: Params;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      if (id.x < params.y_size) { store_y(id.x, load_x(id.x) * by[0]); }
    }
    """

    @wk.signature("ScaledByBuffer")
    def _(x: wk.Spec, by: wk.Spec, /) -> wk.Spec:
        return x.like()

    wk.wgsl_kernel("ScaledByBuffer", shader)
    try:
        x = values(8, 8) + 0.0
        wk.evaluate(x)
        for by in (2.0, 3.0, 4.0):
            found = wk.abs(wk.run("ScaledByBuffer", x, wk.tensor(by))) + 1.0
            assert np.allclose(found.numpy(), np.abs(x.numpy() * by) + 1.0)
    finally:
        wk.unregister_kernel("ScaledByBuffer", "webgpu")
