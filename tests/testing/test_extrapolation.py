"""Slopes by differences: as good as float64 allows, and none at kinks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.bench.comparison.checks import check_gradient_by_numbers
from wgsl_kernels.engine.registry.signature import forget_signature
from wgsl_kernels.testing import Sample, check_kernel, compute_gradient_error
from wgsl_kernels.testing.gradients.extrapolation import slope_at

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("x", [-3.0, 0.1, 1.0, 20.0])
@pytest.mark.parametrize(
    ("f", "slope"),
    [(math.exp, math.exp), (math.sin, math.cos), (math.atan, lambda x: 1 / (1 + x * x))],
)
def test_a_slope_is_better_than_a_plain_difference(f: Any, slope: Any, x: float) -> None:
    found = slope_at(lambda step: f(x + step), f(x), abs(x))

    assert found == pytest.approx(slope(x), rel=2e-10)


@pytest.mark.parametrize("shift", [0.0, 1e-9, 3e-8])
def test_there_is_no_slope_at_a_kink(shift: float) -> None:
    assert slope_at(lambda step: abs(shift + step), abs(shift), 0.0) is None


@pytest.mark.parametrize("shift", [5e-7, 1e-5, 8e-5, 1e-3])
def test_beside_a_kink_there_is_one(shift: float) -> None:
    assert slope_at(lambda step: abs(shift + step), abs(shift), 0.0) == pytest.approx(1)


def test_what_is_not_finite_stays_so() -> None:
    found = slope_at(lambda step: math.nan, 0.0, 1.0)

    assert found is not None
    assert math.isnan(found)


def test_elements_at_a_kink_or_a_tie_are_left_out_and_counted() -> None:
    x = np.array([[0.0, 0.0], [1.0, 3.0]], np.float32)
    tied = Sample("Max", wk.max, ((2, 2),), attrs={"axis": 1}, values=(x,))

    row = check_gradient_by_numbers(tied)

    assert row.passed
    assert "2 elements at kinks or ties" in row.note
    assert compute_gradient_error(wk.relu, [np.array([0.0, 2.0])]) < 1e-6


TWO = """
struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y0: array<T>;
@group(0) @binding(2) var<storage, read_write> y1: array<T>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) {
    y0[i] = x[i] * x[i];
    y1[i] = T(3) * x[i];
  }
}
"""


@pytest.fixture
def two() -> Iterator[Sample]:
    """Return a sample of a kernel with two outputs, which has no gradient yet."""

    @wk.signature("TwoPowers")
    def _(x: wk.Spec, /) -> tuple[wk.Spec, wk.Spec]:
        return x.like(), x.like()

    @wk.cpu_kernel("TwoPowers")
    def _(x: Any) -> Any:
        return x * x, 3 * x

    wk.wgsl_kernel("TwoPowers", TWO)
    yield Sample(
        "TwoPowers", lambda x: wk.engine().run_kernel("TwoPowers", {"x": x}), ((2, 3),), ulp=4
    )
    for backend in ("cpu", "webgpu"):
        wk.unregister_kernel("TwoPowers", backend)
    wk.unregister_gradient("TwoPowers")
    forget_signature("TwoPowers")


@pytest.mark.gpu
def test_a_rule_that_wants_all_outputs_used_is_found(two: Sample) -> None:
    @wk.gradient("TwoPowers")
    def _(dy: Any, x: wk.Tensor) -> Any:
        first, second = dy
        return first * 2.0 * x * (second / second) + second * 3.0

    report = check_kernel("TwoPowers", [two], sections=("gradient",))

    assert {one.code for one in report.findings} == {"gradient-of-one-output"}, str(report)


@pytest.mark.gpu
def test_a_gradient_that_differs_from_run_to_run_is_found(two: Sample) -> None:
    runs: list[int] = []

    @wk.gradient("TwoPowers")
    def _(dy: Any, x: wk.Tensor) -> Any:
        runs.append(1)
        first, second = dy
        return first * 2.0 * x + second * 3.0 + (len(runs) % 2) * 1e-7

    report = check_kernel("TwoPowers", [two], sections=("gradient",))

    assert "gradient-unstable" in {one.code for one in report.findings}
