"""Reductions by a few lanes of a subgroup: rows of the sample tables, odd lengths, the bits.

On an adapter without subgroups the same rows are reduced in another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import some

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.forms.totals import can_exchange
from wgsl_kernels.backends.webgpu.composing.text.operands import classify
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.lowering import reduce as lower_reduce
from wgsl_kernels.backends.webgpu.lowering import spreads as lower_spreads
from wgsl_kernels.backends.webgpu.lowering.spreads import ReductionSizes, Spread, spreads
from wgsl_kernels.backends.webgpu.modules.source import load_file, load_text, shaders_folder
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.bench.comparison.checks import check_forward
from wgsl_kernels.engine.registry import registry
from wgsl_kernels.testing import Sample, all_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu


def _reduces(sample: Sample) -> bool:
    kernel = wk.get_kernel(sample.kernel, "webgpu")
    is_shader = kernel is not None and isinstance(kernel.func, ShaderKernel)
    reals = {"float16", "string"}.isdisjoint(sample.input_dtypes)
    return is_shader and reals and classify(kernel.func.source) == "reduce"  # type: ignore[union-attr]  # it is one


SAMPLES = [sample for sample in all_samples() if _reduces(sample)]


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Have every reduction go by subgroups where it can; give the variants that were taken."""
    found: list[str] = []

    def preferred(layout: ReductionSizes) -> list[Spread]:
        order = sorted(spreads(layout), key=lambda one: one.variant != "subgroups")
        assert (order[0].variant == "subgroups") == layout.has_subgroups
        found.append(order[0].variant)
        return order

    monkeypatch.setattr(lower_reduce, "spreads", preferred)
    _forget_plans()
    yield found
    _forget_plans()


def _forget_plans() -> None:
    registry.announce_change()


@pytest.mark.parametrize("sample", some(SAMPLES, 4, "subgroups"), ids=lambda one: one.id)
def test_every_sample_is_within_its_bound(sample: Sample) -> None:
    row = check_forward(sample, "webgpu")
    assert row.passed, str(row)


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("rows", [1, 7, 9, 64, 700])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 31, 32, 33, 100, 4096, 4099])
def test_rows_of_every_length_are_reduced(rows: int, count: int) -> None:
    x = np.random.default_rng(rows).uniform(-1, 1, (rows, count)).astype(np.float32)
    wide = x.astype(np.float64)
    with wk.use_backend("webgpu"):
        total, at, share = wk.sum(x, axis=1), wk.argmax(x, axis=1), wk.softmax(x)
        np.testing.assert_array_equal(at.numpy(), x.argmax(1))
        np.testing.assert_allclose(total.numpy(), wide.sum(1), atol=1e-4)
        power = np.exp(wide - wide.max(1, keepdims=True))
        wanted = power / power.sum(1, keepdims=True)
        np.testing.assert_allclose(share.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("count", [20_000, 50_001])
def test_long_rows_go_in_parts(count: int) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (3, count)).astype(np.float32)
    wide = x.astype(np.float64)
    with wk.use_backend("webgpu"):
        np.testing.assert_allclose(wk.sum(x, axis=1).numpy(), wide.sum(1), atol=1e-3)
        share = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
        np.testing.assert_allclose(wk.softmax(x).numpy(), share, rtol=1e-5)


def test_more_rows_than_a_grid_is_wide_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_reduce, "fold", lambda total: fold(total, 5))
    x = np.random.default_rng(1).integers(-9, 9, (1000, 40)).astype(np.float32)
    with wk.use_backend("webgpu"):
        np.testing.assert_array_equal(wk.sum(x, axis=1).numpy(), x.sum(1))
        np.testing.assert_array_equal(wk.max(x, axis=1).numpy(), x.max(1))


@pytest.mark.parametrize("lanes", [1, 2, 4, 16, 32])
def test_a_subgroup_may_be_smaller_or_larger_than_a_team(
    lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stand in for devices with other subgroups: here they have 8 lanes, as a team has."""
    monkeypatch.setattr(lower_spreads, "TEAM", lanes)
    monkeypatch.setitem(lower_spreads.LANES, "subgroups", lanes)
    x = np.random.default_rng(1).integers(-9, 9, (70, 301)).astype(np.float32)
    with wk.use_backend("webgpu"):
        np.testing.assert_array_equal(wk.sum(x, axis=1).numpy(), x.sum(1))
        np.testing.assert_array_equal(wk.argmin(x, axis=1).numpy(), x.argmin(1))
        power = np.exp(x.astype(np.float64))
        wanted = power / power.sum(1, keepdims=True)
        np.testing.assert_allclose(wk.softmax(x).numpy(), wanted, rtol=1e-5)


def test_nan_and_infinity_go_through() -> None:
    x = np.ones((4, 50), np.float32)
    x[0, 33], x[1, 7], x[2, 49] = np.nan, np.inf, -np.inf
    with wk.use_backend("webgpu"):
        sums, tops = wk.sum(x, axis=1).numpy(), wk.max(x, axis=1).numpy()
    np.testing.assert_array_equal(sums, [np.nan, np.inf, -np.inf, 50])
    np.testing.assert_array_equal(tops, [np.nan, np.inf, 1, 1])


def test_fused_unfused_and_captured_give_the_same_bits() -> None:
    x = np.random.default_rng(1).normal(size=(77, 203)).astype(np.float32)

    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.softmax(x * 1.5) + 0.25

    found: list[Any] = []
    with wk.use_backend("webgpu"):
        for mode in ("never", "always"):
            with wk.config.using(fusion=mode):
                found.append(f(wk.tensor(x)).numpy().tobytes())
        fast = wk.capture(f)
        found += [fast(wk.tensor(x)).numpy().tobytes() for _ in range(2)]

    assert len(set(found)) == 1


def test_accumulators_of_numbers_vectors_and_structs_can_be_exchanged(taken: list[str]) -> None:
    del taken
    struct = "struct Pair { a: f32, b: vec2<u32> }\n"
    for init, wanted in (
        ("fn init() -> T { return T(0); }", True),
        ("fn init() -> bool { return false; }", True),
        ("fn init() -> vec4<i32> { return vec4<i32>(); }", True),
        (f"{struct}fn init() -> Pair {{ return Pair(); }}", True),
        ("fn init() -> mat2x2<f32> { return mat2x2<f32>(); }", False),
        ("fn init() -> array<f32, 3> { return array<f32, 3>(); }", False),
    ):
        assert can_exchange(load_text(init, "<test>", shaders_folder()), ["x"]) == wanted
    softmax = load_file(shaders_folder() / "reductions/softmax/softmax.wesl")
    assert can_exchange(softmax, ["logits"])
