"""Every kernel in tests/wrong_kernels is wrong, and a check says so with the code it names.

A file begins with what is wrong and with lines ``// name: value`` that say how it is registered:
``finds`` the codes (any of them will do), ``cpu`` the right formula, ``shapes``, and where needed
``sig``, ``y``, ``attrs``, ``grad``, ``groups``, ``init``, ``dtype``, ``low``, ``high``, ``values``,
``f``, ``form``, ``domain``, ``rtol``, ``atol``, ``ulp``.
"""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.bench.checking import bits
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.engine.registry.signature import forget_signature
from wgsl_kernels.testing import Sample, all_samples, check_kernel
from wgsl_kernels.wgsl.errors.finding_codes import CODES, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.wgsl.errors.finding_codes import Section

FILES = sorted((Path(__file__).parents[1] / "wrong_kernels").glob("*.wgsl"))
IS_WRONG: dict[str, Callable[[AdapterInfo], bool]] = {
    "accumulates_in_half_precision": lambda info: "shader-f16" in info.features,
    "squares_halves": lambda info: "shader-f16" in info.features,
    "sums_long_rows_in_half_precision": lambda info: "shader-f16" in info.features,
    "sums_rows_of_halves_in_half_precision": lambda info: "shader-f16" in info.features,
    "sums_the_shorter_axis_in_half_precision": lambda info: "shader-f16" in info.features,
    "takes_subgroups_to_be_of_four": lambda info: "subgroup" in info.features,
    # whose compiler divides by zero as it likes, here to what the formula says
    "divides_by_a_zero_that_is_never_drawn": lambda info: info.backend != "OpenGL",
    "nan_by_comparison": lambda info: info.backend != "OpenGL",  # whose compiler folds no x != x
}
"""Where a kernel is wrong that is right, or cannot run, on some adapters."""
CHOICE = choose_adapter()
HERE = [
    one
    for one in FILES
    if CHOICE is None or one.stem not in IS_WRONG or IS_WRONG[one.stem](CHOICE.info)
]
TRUSTED = ("Relu", "Sum", "Softmax", "BatchMatMul", "Cumsum", "MaxPool", "GatherV2", "Transpose")
"""Kernels of ours that are right, one of each form; with every mode, all of them."""

pytestmark = pytest.mark.gpu


def flat_scale(dy: wk.Tensor, x: wk.Tensor) -> wk.Tensor:
    """Return 2 * dy * x by a kernel that forgets where a view of dy begins."""
    found = wk.engine().run_kernel("FlatScale", {"dy": dy, "x": x})
    assert isinstance(found, wk.Tensor)
    return found


FLAT = """
struct Params { dy_strides: vec2<u32>, dy_offset: u32, x_shape: vec2<u32>, y_size: u32 }

@group(0) @binding(0) var<storage, read> dy: array<T>;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read_write> y: array<T>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.y_size) {
    let row = i / params.x_shape[1];
    let col = i % params.x_shape[1];
    y[i] = T(2) * x[i] * dy[row * params.dy_strides[0] + col * params.dy_strides[1]];
  }
}
"""


class Wrong:
    """One wrong kernel, registered while it is needed."""

    def __init__(self, file: Path) -> None:
        lines = file.read_text().splitlines()
        pairs = [one[3:].split(": ", 1) for one in lines if one.startswith("// ") and ": " in one]
        self.facts = dict(pairs)
        self.file = file
        self.name = file.stem

    @property
    def codes(self) -> set[str]:
        """What it must be found by."""
        return set(self.facts["finds"].split())

    def value(self, name: str, default: Any = None) -> Any:
        """Return a fact as Python understands it."""
        names = {"np": np, "wk": wk, "flat_scale": flat_scale}
        return eval(self.facts[name], names) if name in self.facts else default

    def register(self) -> Sample:
        """Register it, and return how it is tried."""
        attrs = eval(f"dict({self.facts.get('attrs', '')})")
        keywords = "".join(f", {name}" for name in attrs)
        spec = self.facts.get("y", "x.like()")
        rule = f"lambda x, /{', *' if attrs else ''}{keywords}: {spec}"
        signature = self.value("sig") or eval(rule)
        names = [
            one.name
            for one in inspect.signature(signature).parameters.values()
            if one.kind is one.POSITIONAL_ONLY
        ]
        inner = f"lambda {', '.join(names)}{', *' if attrs else ''}{keywords}: {self.facts['cpu']}"
        wk.register_kernel(self.name, "cpu", eval(inner, {"np": np}), signature=signature)
        options = {one: self.value(one) for one in ("form", "groups", "init") if one in self.facts}
        with warnings.catch_warnings():
            if "warns" in self.facts:
                warnings.simplefilter("ignore", RuntimeWarning)
            wk.wgsl_kernel(self.name, str(self.file), **options)
        if "grad" in self.facts:
            wk.register_gradient(self.name, self.value("grad"))

        def run(*xs: wk.Tensor, **given: Any) -> Any:
            pairs = zip(names, xs, strict=True)
            return wk.engine().run_kernel(self.name, dict(pairs), given)

        shapes = self.value("shapes")
        shapes = shapes if isinstance(shapes[0], tuple) else (shapes,)
        facts = {
            one: self.value(one)
            for one in ("domain", "low", "high", "rtol", "atol", "ulp")
            if one in self.facts
        }
        values = (np.array(self.value("values")),) if "values" in self.facts else None
        f = self.value("f", run)
        dtypes = tuple(self.facts.get("dtype", "float32").split())
        dtypes = dtypes * len(shapes) if len(dtypes) == 1 else dtypes
        return Sample(self.name, f, shapes, dtypes, attrs, values=values, **facts)

    def forget(self) -> None:
        """Take it out of the registry."""
        for backend in ("cpu", "webgpu"):
            if wk.get_kernel(self.name, backend) is not None:
                wk.unregister_kernel(self.name, backend)
        forget_signature(self.name)
        if wk.get_gradient(self.name) is not None:
            wk.unregister_gradient(self.name)


@pytest.fixture(scope="module", autouse=True)
def _helper() -> Iterator[None]:
    wk.register_kernel(
        "FlatScale", "cpu", lambda dy, x: 2 * dy * x, signature=lambda dy, x, /: x.like()
    )
    wk.wgsl_kernel("FlatScale", FLAT)
    wk.register_gradient("FlatScale", lambda d, dy, x: (d * 2.0 * x, d * 2.0 * dy))
    yield
    wk.unregister_kernel("FlatScale", "cpu")
    wk.unregister_kernel("FlatScale", "webgpu")
    wk.unregister_gradient("FlatScale")
    forget_signature("FlatScale")


def test_there_are_enough_of_them_and_of_many_kinds() -> None:
    wanted = {code for file in FILES for code in Wrong(file).codes}

    assert len(FILES) >= 40
    assert wanted <= set(CODES)
    assert {CODES[code].section for code in wanted} == set(SECTIONS) - {"fast"}


@pytest.mark.parametrize("file", HERE, ids=lambda file: file.stem)
def test_a_wrong_kernel_is_found_by_its_code(file: Path) -> None:
    wrong = Wrong(file)
    sections: tuple[Section, ...] = SECTIONS[:-1]
    if not ALL_MODES:
        sections = tuple({CODES[code].section for code in wrong.codes})
    sample = wrong.register()
    try:
        report = check_kernel(wrong.name, [sample], sections=sections)
    finally:
        wrong.forget()

    found = {one.code for one in report.findings}
    assert found & wrong.codes, str(report)
    told = [one for one in report.findings if one.code in wrong.codes]
    assert all(one.file for one in told), told


@pytest.mark.parametrize(
    "name", sorted({one.kernel for one in all_samples()}) if ALL_MODES else TRUSTED
)
def test_a_right_kernel_of_ours_is_not_flagged(name: str) -> None:
    samples = [one for one in all_samples() if one.kernel == name]

    report = check_kernel(name, samples[:1])

    assert report.passed, str(report)
    assert [one for one in report.findings if one.severity == "error"] == []


def test_no_map_of_ours_gives_a_zero_of_another_sign_than_its_cpu_kernel() -> None:
    first = {one.kernel: one for one in reversed(all_samples()) if "float32" in one.input_dtypes}
    cases = 0
    for sample in first.values():
        subject = Subject(sample.kernel, (sample,), ("cpu", "webgpu"))
        for found in bits.signs_of_zero(subject, sample):
            assert found == [], sample.id
            cases += 1

    assert cases >= 60


READ_PAST_THE_END = (
    "TopK-2x3-k=2",
    "TopK-2x1500-k=9",
    "SparseSegmentSum-3x4_5_5-float32_int32_int32",
    "SparseSegmentSum-9x8_20_20-float32_int32_int32",
)
"""Samples that once read behind the end of an input, and dropped what came."""


@pytest.mark.parametrize("sample", READ_PAST_THE_END)
def test_no_kernel_reads_behind_the_end_of_an_input(sample: str) -> None:
    (chosen,) = [one for one in all_samples() if one.id == sample]

    report = check_kernel(chosen.kernel, [chosen], sections=("safe",))

    assert report.passed, str(report)
