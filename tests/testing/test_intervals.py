"""Bounds from syntax trees: they hold what devices give, and nothing twice as far off."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import ALL_MODES, some

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.comparison.derived import BoundedResults, derived, run_on_intervals
from wgsl_kernels.bench.comparison.judging import exact_of, mismatch
from wgsl_kernels.bench.intervals import arithmetic
from wgsl_kernels.bench.intervals.functions import BUILTINS
from wgsl_kernels.bench.intervals.numbers import between, exact
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.testing import Sample, all_samples, check_kernel
from wgsl_kernels.testing.bounds import contains
from wgsl_kernels.testing.inputs import arrays_for, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
NO_FORMULA = ("NextAfter", "RandomNormal", "RandomUniform")
"""Kernels that are no formula of real numbers, so that float64 has another result."""
FEW = ("Elu", "Softmax", "Sum", "Conv2D", "Cumsum", "AvgPool", "Pow", "LRN", "BatchMatMul", "Atan2")
"""Kernels of all forms, of which a sample is tried in each run of the suite."""


def _chosen() -> list[Sample]:
    floats = [
        one
        for one in all_samples()
        if one.kernel not in NO_FORMULA
        and not {"string", "float16"} & {*one.input_dtypes}
        and np.prod([max(1, *shape, 1) for shape in one.shapes]) < 10_000_000
    ]
    if ALL_MODES:
        return floats
    return [next(one for one in floats if one.kernel == name) for name in FEW]


def _run(sample: Sample, arrays: list[Array]) -> BoundedResults:
    driver = find_driver("webgpu")
    assert isinstance(driver, WebGpuBackend)
    with only("webgpu", sample), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return run_on_intervals(driver.open(), sample, tensors_for(arrays))


@pytest.mark.gpu
@pytest.mark.parametrize("sample", _chosen(), ids=lambda one: one.id)
def test_what_the_device_gives_is_inside_and_twice_the_bound_is_not(sample: Sample) -> None:
    arrays = arrays_for(sample)
    expected = exact_of(sample, arrays)

    run = _run(sample, arrays)

    wrong = mismatch(run.may.bounds, arrays, run.found, [expected])
    is_known = run.may.words == "from the kernel's own syntax tree"
    assert wrong is None or (not is_known and sample.bound is not None), (wrong, run.may.words)
    if not is_known:
        return
    draw = np.random.default_rng(7)
    for bound, (_, values), exactly in zip(run.may.bounds, run.found, expected, strict=True):
        if values.dtype != np.float32:
            continue
        with np.errstate(all="ignore"):
            low, high = bound(arrays, exactly)
            off = np.where(draw.random(values.shape) < 0.5, high, low) - exactly
            moved = (exactly + 2 * off).astype(np.float32)
        finite = np.isfinite(exactly)
        assert (low <= high)[finite].all()
        assert np.isfinite(low[finite]).all()
        assert np.isfinite(high[finite]).all()
        refused = ~contains((low, high), moved.astype(np.float64))[finite]
        assert refused.size == 0 or refused.mean() >= 0.99


DOMAINS = {"acosh": (1.1, 4), "atanh": (-0.9, 0.9), "acos": (-0.9, 0.9), "asin": (-0.9, 0.9)}
EXACTLY: dict[str, Any] = {
    "inverseSqrt": lambda x: 1 / np.sqrt(x),
    "pow": np.power,
    "log": np.log,
    "fma": lambda a, b, c: a * b + c,
    "mix": lambda a, b, t: a * (1 - t) + b * t,
    "atan2": np.arctan2,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "asinh": np.arcsinh,
}
ARITY = {"pow": 2, "atan2": 2, "fma": 3, "mix": 3, "min": 2, "max": 2}
POSITIVE = ("log", "log2", "pow", "sqrt", "inverseSqrt")


NUMPYS = [
    "exp",
    "exp2",
    "log2",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "floor",
    "abs",
    "min",
    "max",
]


@pytest.mark.parametrize("name", [*NUMPYS, "min", "max", *EXACTLY])
def test_a_function_of_wgsl_holds_all_that_its_arguments_may_be(name: str) -> None:
    draw = np.random.default_rng(3)
    low, high = DOMAINS.get(name, (0.1, 4) if name in POSITIVE else (-1.5, 1.5))
    f = EXACTLY.get(name) or {"min": np.minimum, "max": np.maximum}.get(name) or getattr(np, name)
    given, least, most = [], [], []
    for _ in range(ARITY.get(name, 1)):
        v = draw.uniform(low, high, 500).astype(np.float32).astype(np.float64)
        error = draw.uniform(0, 1e-3, 500) * np.minimum(v - low, high - v)
        given.append(between("f32", v, v - error, v + error))
        least.append(v - error)
        most.append(v + error)

    found = BUILTINS[name](*given)

    for weight in (0.0, 0.3, 0.5, 1.0):
        values = f(*[a + weight * (b - a) for a, b in zip(least, most, strict=True)])
        assert (found.low <= values).all()
        assert (values <= found.high).all()
    assert np.isfinite(found.low).all()
    assert np.isfinite(found.high).all()


def test_roundings_go_to_either_neighbour_and_what_is_exact_stays_so() -> None:
    third = arithmetic.binary("*", exact("f32", np.float32(1 / 3)), exact("f32", np.float32(0.7)))
    whole = arithmetic.binary("+", exact("f32", 3.0), exact("f32", 0.5))

    assert whole.is_exact
    assert np.nextafter(np.float32(third.low), np.float32(1)) == np.float32(third.high)
    assert third.low < third.v < third.high


def test_a_comparison_of_what_overlaps_is_in_doubt() -> None:
    x = between("f32", *(np.asarray(one) for one in (1.0, 0.9, 1.1)))

    assert arithmetic.binary("<", x, exact("f32", 1.05)).doubt
    assert not arithmetic.binary("<", x, exact("f32", 1.2)).doubt


def test_a_bound_that_is_infinite_is_four_ulp_instead() -> None:
    bound = derived(np.array([np.inf, 0.0]), np.array([np.inf, 0.0]))

    low, high = bound([], np.array([1.0, 1.0]))

    assert high[0] - low[0] > high[1] - low[1]
    assert np.isfinite(high).all()


GELU = """
fn op(x: T) -> T_y {
  let inner = 0.7978846 * (x + 0.044715 * x * x * x);
  return T_y(0.5 * x * (1.0 + tanh(inner)));
}
"""


@pytest.fixture
def gelu() -> Iterator[str]:
    @wk.signature("BoundGelu")
    def _(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    @wk.cpu_kernel("BoundGelu")
    def _(x: Array) -> Array:
        inner = 0.7978845608028654 * (x + 0.044715 * x**3)
        return np.asarray(0.5 * x * (1 + np.tanh(inner)))

    yield "BoundGelu"
    for backend in ("cpu", "webgpu"):
        wk.unregister_kernel("BoundGelu", backend)


def _sample(name: str) -> Sample:
    def run(x: wk.Tensor) -> Any:
        return wk.engine().run_kernel(name, {"x": x})

    return Sample(name, run, ((3, 5),), low=-3, high=3)


@pytest.mark.gpu
def test_a_kernel_that_states_nothing_is_held_to_its_own_roundings(gelu: str) -> None:
    wk.wgsl_kernel(gelu, GELU)

    report = check_kernel(gelu, [_sample(gelu)], sections=("right",))

    assert report.passed, str(report)
    (row,) = [one for one in report.rows if (one.check, one.backend) == ("forward", "webgpu")]
    assert "from the kernel's own syntax tree" in row.note


@pytest.mark.gpu
def test_an_error_above_them_is_found_with_where_the_bound_comes_from(gelu: str) -> None:
    wk.wgsl_kernel(gelu, GELU.replace("0.044715", "0.0457"))

    report = check_kernel(gelu, [_sample(gelu)], sections=("right",))

    found = next(one for one in report.findings if one.code == "wrong-values")
    assert dict(found.evidence)["bound"] == "from the kernel's own syntax tree"


@pytest.mark.gpu
@pytest.mark.gpu
@pytest.mark.usefixtures("own_kernels")
def test_products_of_ones_own_are_bounded_also_where_lanes_share_what_they_load() -> None:
    @wk.signature("Scores")
    def _(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        return a.like(shape=(a.shape[0], b.shape[1]))

    text = """fn a_at(batch: u32, row: u32, k: u32) -> T_a { return a[row * params.depth + k]; }
fn b_at(batch: u32, k: u32, col: u32) -> T_b { return b[k * params.cols + col]; }
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 { return exp(-abs(sum)); }
"""
    wk.wgsl_kernel("Scores", text, form="product", params=lambda a_shape: {"depth": a_shape[1]})
    wk.cpu_kernel("Scores")(lambda a, b: np.exp(-np.abs(a @ b)))
    sample = Sample("Scores", lambda a, b: wk.run("Scores", a, b), ((9, 12), (12, 20)))
    arrays = arrays_for(sample)
    run = _run(sample, arrays)
    assert run.may.words == "from the kernel's own syntax tree"
    assert mismatch(run.may.bounds, arrays, run.found, [exact_of(sample, arrays)]) is None


def test_samples_of_each_kernel_that_is_out_of_reach_state_a_bound() -> None:
    names = {one.kernel for one in some(all_samples(), 1000, "reach")} if ALL_MODES else set(FEW)
    for name in sorted(names):
        own = [one for one in all_samples() if one.kernel == name]
        assert any(one.bound is not None for one in own) or not _gives_floats(own[0]), name


def _gives_floats(sample: Sample) -> bool:
    if {"string"} & {*sample.input_dtypes}:
        return False
    return any(one.dtype.kind == "f" for one in exact_of(sample, arrays_for(sample)))
