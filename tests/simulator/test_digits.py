"""Digits lost: which operation took them, through branches, memory, functions and dispatches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.bench.checking.cases import plain
from wgsl_kernels.bench.checking.lossy import explained
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.bench.digits import digits_of
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.simulator.digits import DigitsModule, DigitsView, digits, wrong_bits
from wgsl_kernels.simulator.dispatch import EntryPoint, compile_entry
from wgsl_kernels.simulator.domains import ShadowedWords
from wgsl_kernels.testing import Sample
from wgsl_kernels.wgsl.syntax.places import Text

Array = np.ndarray[Any, Any]
COUNT = 64
HEAD = """@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> raw: array<u32>;
var<workgroup> shared_x: array<f32, 32>;

fn own(x: f32) -> f32 {
  return 1.0 + x - 1.0;
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = id.x;
"""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


class Run:
    """A program whose main has this body, run once."""

    def __init__(self, body: str, leaves: Any = None) -> None:
        text = Text("program.wgsl", f"{HEAD}{body}\n}}\n")
        self.entry: EntryPoint = compile_entry(text, "main", {}, digits(leaves or {}), DigitsModule)
        self.x = np.linspace(0.1, 0.9, COUNT, dtype=np.float32)
        memory = [self.x.view(np.uint32), *(np.zeros(COUNT, np.uint32) for _ in range(2))]
        self.words = [ShadowedWords(one, DigitsView) for one in memory]
        self.entry.run((2, 1, 1), {(0, at): one for at, one in enumerate(self.words)})
        self.y = self.words[1].views["f32"][:]

    def blamed(self) -> list[str]:
        """Return the text of what lost the most digits, of each element."""
        text, sites = self.entry.module.text.text, self.entry.module.sites
        spans = [sites[one].span for one in self.y.lost.site]
        return [text[one.begin : one.end] for one in spans]


LOSSES = {
    "a difference": ("let big = x[i] + 4096.0; y[i] = big - 4096.0;", "big - 4096.0"),
    "a difference that is assigned": ("var s = x[i] + 4096.0; s -= 4096.0; y[i] = s;", "4096.0"),
    "a branch": (
        """var s = x[i]; if (lane < 32u) { s = (s + 4096.0) - 4096.0; } else { s = s * 3.0; }
        y[i] = s;""",
        "(s + 4096.0) - 4096.0",
    ),
    "workgroup memory": (
        """shared_x[lane] = (x[i] + 4096.0) - 4096.0;
        workgroupBarrier(); y[i] = sqrt(shared_x[31u - lane]);""",
        "(x[i] + 4096.0) - 4096.0",
    ),
    "an array": (
        """var a = array<f32, 40>(); for (var k = 0u; k < 40u; k++) { a[k] = x[i] + 4096.0; }
        y[i] = a[lane] - 4096.0;""",
        "a[lane] - 4096.0",
    ),
    "a vector": ("let v = vec2(x[i]) + 4096.0; y[i] = (v - 4096.0).y * 3.0;", "v - 4096.0"),
    "a builtin": ("y[i] = cos(x[i] * 1e5);", "cos(x[i] * 1e5)"),
    "select": ("y[i] = select(1.0, x[i] + 4096.0 - 4096.0, i < 64u);", "x[i] + 4096.0 - 4096.0"),
    "a part in parentheses": ("y[i] = (x[i] - (x[i] + 1e-6)) * 3.0;", "x[i] - (x[i] + 1e-6)"),
    "a function": ("y[i] = own(x[i] * 0.001);", "1.0 + x - 1.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_the_operation_that_loses_digits_is_blamed(name: str) -> None:
    body, guilty = LOSSES[name]
    run = Run(body)

    bits = wrong_bits(run.y.near, run.y.wide)
    assert np.median(bits) > 8
    at = int(np.argmax(bits))
    assert run.blamed()[at] == guilty
    assert run.y.lost.most[at] > 8


def test_what_loses_nothing_is_not_blamed() -> None:
    run = Run("y[i] = sqrt(x[i] * 3.0) / (1.0 + x[i]);")

    assert float(wrong_bits(run.y.near, run.y.wide).max()) < 3


def test_digits_that_are_absorbed_again_are_not_lost() -> None:
    run = Run("let small = (x[i] + 4096.0) - 4096.0; y[i] = 1e6 + small;")

    assert float(wrong_bits(run.y.near, run.y.wide).max()) < 2


def test_the_device_has_the_bits_of_float32() -> None:
    body = "y[i] = bitcast<f32>(bitcast<u32>(x[i] / 3.0) & 0xfffffff0u) * own(x[i]);"
    plain = np.zeros(COUNT, np.uint32)
    run = Run(body, {"own": lambda x: x})
    entry = compile_entry(run.entry.module.text, "main", {})
    entry.run((2, 1, 1), {(0, 0): run.x.view(np.uint32), (0, 1): plain})

    np.testing.assert_array_equal(run.words[1].words, plain)


def test_a_library_function_is_its_text_on_the_device_and_exact_in_float64() -> None:
    run = Run("y[i] = own(x[i] * 0.001);", {"own": lambda x: x})

    np.testing.assert_allclose(run.y.wide, run.x.astype(np.float64) * 0.001, rtol=1e-7)
    assert run.blamed()[0] == "own(x[i] * 0.001)"


def spread(low: float, **facts: Any) -> Sample:
    """Return how a variance by E[x²] - m² is tried, which is registered."""
    wk.wgsl_kernel("Spread", SPREAD, groups=lambda x_shape: (1, 1))
    wk.signature("Spread")(lambda x, /: x.like(shape=x.shape[:1]))
    wk.cpu_kernel("Spread")(lambda x: np.var(x, axis=1))
    return Sample(
        "Spread", lambda x: wk.run("Spread", x), ((3, 24),), low=low, high=low + 1, **facts
    )


SPREAD = """struct Params { x_shape: vec2<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= params.x_shape[0]) { return; }
  var sum = 0.0;
  var squares = 0.0;
  for (var k = 0u; k < params.x_shape[1]; k++) {
    let value = x[id.x * params.x_shape[1] + k];
    sum += value;
    squares += value * value;
  }
  let mean = sum / f32(params.x_shape[1]);
  y[id.x] = squares / f32(params.x_shape[1]) - mean * mean;
}
"""
LAST = "y[id.x] = squares"
LINE = 1 + next(n for n, one in enumerate(Path(__file__).read_text().splitlines()) if LAST in one)


def test_a_kernels_result_has_both_values_and_the_place() -> None:
    sample = spread(1000.0)
    case = plain(sample)
    (found,) = digits_of(sample, case.arrays)

    assert found is not None
    np.testing.assert_allclose(found.wide, np.var(case.arrays[0].astype(float), axis=1), rtol=1e-6)
    assert found.near.dtype == np.float32
    assert (found.most > 12).all()
    assert {found.places[one][0].module.composed.kernel for one in found.sites} == {"Spread"}


def test_digits_are_followed_from_dispatch_to_dispatch() -> None:
    sample = spread(1000.0)
    case = plain(sample)
    f = lambda x: wk.sqrt(wk.run("Spread", x)) + 1.0  # noqa: E731  a sample's function
    (found,) = digits_of(Sample("Spread", f, ((3, 24),), low=1000.0, high=1001.0), case.arrays)

    assert found is not None
    assert {found.places[one][0].module.composed.kernel for one in found.sites} == {"Spread"}


def test_wrong_values_of_a_right_formula_are_explained() -> None:
    sample = spread(1000.0, ulp=4)
    report = wk.testing.check_kernel("Spread", [sample], backends=("webgpu",), sections=("right",))

    (wrong,) = [one for one in report.findings if one.code == "wrong-values"]
    shown = dict(wrong.evidence)["digits"]
    assert "of 24 bits at" in shown
    assert f":{LINE}:13: y[id.x] = squares / f32(params.x_shape[1]) - mean * mean;" in shown


def test_a_wrong_formula_is_not_explained_by_digits() -> None:
    sample = spread(1000.0, ulp=4)
    wk.register_kernel("Spread", "cpu", lambda x: np.var(x, axis=1) + 1, override=True)
    subject = Subject("Spread", (sample,), ("webgpu",))
    found = [subject.finding("wrong-values", "got 1, expected 2.")]

    assert explained(subject, plain(sample), found) == found


@pytest.mark.parametrize(("low", "codes"), [(1000.0, ["bound-wider-than-result"]), (0.0, [])])
def test_a_bound_wider_than_the_result_is_told_at_its_line(low: float, codes: list[str]) -> None:
    report = wk.testing.check_kernel(
        "Spread", [spread(low)], backends=("webgpu",), sections=("right",)
    )

    found = [one for one in report.findings if one.code == "bound-wider-than-result"]
    assert [one.code for one in found] == codes
    for one in found:
        assert (one.severity, one.line) == ("warning", LINE)
        assert "of 24 bits, so that roundings may make up the whole result" in one.words


@pytest.mark.parametrize(("low", "count"), [(1000.0, 1), (0.0, 0)])
def test_digits_that_a_samples_own_numbers_lose_are_told_at_their_line(
    low: float, count: int
) -> None:
    report = wk.testing.check_kernel(
        "Spread", [spread(low)], backends=("webgpu",), sections=("right",)
    )

    found = [one for one in report.findings if "in the sample's own range" in one.words]
    assert len(found) == count
    for one in found:
        assert (one.code, one.severity, one.line) == ("lost-digits", "error", LINE)
        assert "of 24 bits" in one.words
