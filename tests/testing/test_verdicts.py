"""What a sample says of how its kernel is tried, and what a report says of what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.testing.kernels import registered

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.bench.checking import sizes, specials
from wgsl_kernels.bench.checking.portable import is_open_to_nan
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.bench.comparison.checks import check_second_order
from wgsl_kernels.bench.comparison.patterns import pattern
from wgsl_kernels.bench.pictures import painted, titled
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.testing import Sample, all_samples, check_kernel

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("own_kernels")


def doubled(**facts: Any) -> Sample:
    f = registered("Doubled", lambda x: x * 2, "fn op(x: T) -> T { return x + x; }", like_x)
    return Sample("Doubled", f, facts.pop("shapes", ((4, 4),)), **facts)


def like_x(x: wk.Spec, /) -> wk.Spec:
    return x.like()


GATHERED = """
struct Params { x_size: u32, at_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> at: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.at_size) { y[i] = x[MOST]; }
}
"""


def test_inputs_that_depend_on_each_other_are_drawn_at_every_size() -> None:
    drawn: list[int] = []

    def make(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
        drawn.append(n)
        return rng.uniform(-1, 1, n + 1), rng.integers(0, n + 1, n)

    f = registered(
        "Gathered", lambda x, at: x[at],
        GATHERED.replace("MOST", "min(u32(at[i]), 63u)"),
        lambda x, at, /: x.like(shape=at.shape),
    )  # fmt: skip
    sample = Sample("Gathered", f, make=make, size=10)
    report = check_kernel("Gathered", [sample], sections=("right",))

    assert sample.shapes == ((11,), (10,))
    assert sample.input_dtypes == ("float32", "int32")
    assert {0, 1, 64, 257} <= set(drawn)
    (found,) = [one for one in report.findings if one.code == "wrong-at-size"]
    assert "-> " in dict(found.evidence)["case"]


def test_a_domain_keeps_cases_inside() -> None:
    inside = doubled(domain=(-1.0, 1.0), low=-1.0, high=1.0)
    cases = [*specials.special(inside), *specials.far(inside)]

    assert {one.what for one in cases} == {"zeros", "subnormals", "tiny", "halves"}
    assert all(np.abs(array).max() <= 1 for one in cases for array in one.arrays)


def test_special_values_that_a_sample_excludes_are_left_out() -> None:
    assert "NaN" in {one.what for one in specials.special(doubled())}
    other = Sample("Doubled", print, ((4, 4),), special=("NaN", "halves"))
    assert "NaN" not in {one.what for one in specials.special(other)}
    assert "halves" not in {one.what for one in specials.far(other)}


SAME = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size && x[i] < 0.0) { y[0] = 1; }
}
"""


def test_a_waived_finding_fails_nothing_and_shows_its_reason() -> None:
    f = registered(
        "AnyBelow", lambda x: np.array([int((x < 0).any())], np.int32), SAME,
        lambda x, /: wk.Spec((1,), "int32"), init={"y": 0},
        groups=lambda x_size: (-(-x_size // 64),),
    )  # fmt: skip
    plain, waived = (
        check_kernel("AnyBelow", [Sample("AnyBelow", f, ((100,),), waive=one)], sections=("safe",))
        for one in ({}, {"write-race": "all write 1"})
    )

    assert [(one.code, one.severity) for one in plain.findings] == [("same-write-race", "warning")]
    assert plain.passed
    assert [one.severity for one in waived.findings] == ["note"]
    assert waived.passed
    assert "waived  all write 1" in " ".join(str(waived).split()).replace(" all", "  all")


def test_invocations_that_write_several_values_to_a_place_race() -> None:
    f = registered(
        "SomeBelow", lambda x: np.array([-1], np.int32),
        SAME.replace("y[0] = 1;", "y[0] = i32(i);"),
        lambda x, /: wk.Spec((1,), "int32"), init={"y": 0},
        groups=lambda x_size: (-(-x_size // 64),),
    )  # fmt: skip
    report = check_kernel("SomeBelow", [Sample("SomeBelow", f, ((100,),))], sections=("safe",))

    assert {one.code for one in report.findings} >= {"write-race"}
    assert not report.passed


IS_NAN = "import wgsl_kernels::lib::safe_math::is_nan;\n"


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("cpu", "shader", "code"),
    [
        (lambda x: np.clip(x, 0, 1), "return saturate(x);", "nan-compared"),
        (np.abs, "return abs(x) * step(-1.0, x * x);", ""),
        (
            np.sign,
            "if (x > 0.0) { return 1.0; } return select(0.0, -1.0, x < 0.0);",
            "nan-compared",
        ),
        (lambda x: np.maximum(x, 0), "return max(x, T(0));", "wrong-nonfinite"),
        (
            lambda x: np.copysign(1, x),
            "return select(-1.0, 1.0, x >= 0.0);",
            "wrong-nonfinite zero-sign",
        ),
        (
            lambda x: np.clip(x, 0, 1),
            "if (is_nan(x)) { return 2.0; } return saturate(x);",
            "wrong-nonfinite",
        ),
    ],
)
def test_nan_that_comparisons_meet_is_a_warning(cpu: Any, shader: str, code: str) -> None:
    text = f"{IS_NAN if 'is_nan' in shader else ''}fn op(x: f32) -> f32 {{ {shader} }}"
    f = registered("Chooses", lambda x: cpu(x).astype(x.dtype), text, like_x, dtypes=("float32",))
    report = check_kernel("Chooses", [Sample("Chooses", f, ((70,),))], sections=("right",))

    found = {one.code: one for one in report.findings}
    assert set(found) == set(code.split())
    assert report.passed == ("wrong-nonfinite" not in code)
    if code:
        assert "special=('NaN',)" in dict(found[code.split()[0]].evidence)["unless"]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("cpu", "shader", "waive", "warned"),
    [
        (np.abs, "return select(x, -x, x < T(0));", {}, True),
        (np.abs, "return select(x, -x, x < T(0));", {"zero-sign": "either will do"}, True),
        (np.trunc, "return T(i32(x));", {}, True),
        (lambda x: 1 / x, "return T(1) / (x + T(0));", {}, True),
        (lambda x: np.maximum(0, x), "return max(x, T(0));", {}, False),
        (lambda x: np.clip(x, 0, 1), "return clamp(T(0), x, T(1));", {}, False),
        (np.abs, "return abs(x);", {}, False),
        (lambda x: np.where(x == 9, x, x - x * 0.5),
         "return x * T(0.5) * select(T(1), T(2), x == T(9));", {}, True),
        (lambda x: x * 0.5, "var y = T(); for (var k = 0; k < 2; k++) { y += x / 4; } return y;",
         {}, False),
    ],
)  # fmt: skip
def test_a_zero_of_the_other_sign_is_a_warning_but_where_either_may_come(
    cpu: Any, shader: str, waive: dict[str, str], warned: bool
) -> None:
    f = registered("Signed", cpu, f"fn op(x: T) -> T {{ {shader} }}", like_x, dtypes=("float32",))
    far = ("NaN", "+Inf", "-Inf", "extreme", "huge")
    sample = Sample("Signed", f, ((70,),), waive=waive, special=far)
    report = check_kernel("Signed", [sample], sections=("right",))

    found = [one for one in report.findings if one.code == "zero-sign"]
    assert report.passed
    assert bool(found) == warned
    assert all(bool(one.waived) == bool(waive) for one in found)
    assert all("zeros, simulator" in dict(one.evidence)["case"] for one in found)


def test_of_two_inputs_zeros_of_each_sign_meet_each() -> None:
    sample = Sample("Added", print, ((6,), (6,)))
    met = {
        (np.signbit(a), np.signbit(b))
        for case in specials.zeros(sample)
        for a, b in zip(*case.arrays, strict=True)
        if a == 0 and b == 0
    }

    assert len(met) == 4
    assert not list(specials.zeros(Sample("Added", print, ((6,), (6,)), special=("zeros",))))
    assert not list(specials.zeros(Sample("Added", print, ((6,), (6,)), low=0.5)))


@pytest.mark.gpu
def test_a_row_that_is_sorted_may_have_zeros_in_either_order() -> None:
    text = GATHERED.replace("x_size: u32, at_size", "x_shape: vec2<u32>, x_size").replace(
        "@group(0) @binding(1) var<storage, read> at: array<i32>;\n", ""
    ).replace("if (i < params.at_size) { y[i] = x[MOST]; }", """
      if (i >= params.x_size) { return; }
      let row = i / params.x_shape[1] * params.x_shape[1];
      var below = 0u;
      for (var k = row; k < row + params.x_shape[1]; k++) {
        if (x[k] < x[i] || (x[k] == x[i] && k > i)) { below++; }
      }
      y[row + below] = x[i];
    """)  # fmt: skip
    f = registered(
        "Sorted", lambda x: np.sort(x), text, like_x, groups=lambda x_size: (-(-x_size // 64),)
    )
    report = check_kernel("Sorted", [Sample("Sorted", f, ((6, 12),))], sections=("right",))

    assert report.passed, str(report)
    assert "signs of zero" in {one.check for one in report.rows}
    assert "zero-sign" not in {one.code for one in report.findings}


def test_our_own_kernels_are_held_to_what_they_promise_for_nan() -> None:
    (sample, *_) = [one for one in all_samples() if one.kernel == "ClipByValue"]

    assert not is_open_to_nan(Subject("ClipByValue", (sample,), ("webgpu",)), sample)


def test_where_no_number_below_zero_is_drawn_infinity_has_one_sign() -> None:
    assert "-Inf" in {one.what for one in specials.special(doubled())}
    above = Sample("Doubled", print, ((4, 4),), low=0.05)
    assert "-Inf" not in {one.what for one in specials.special(above)}
    assert "+Inf" in {one.what for one in specials.special(above)}


def test_indices_of_a_domain_stay_inside_of_what_becomes_shorter() -> None:
    sample = Sample(
        "Doubled", print, ((6, 5), (7,)), ("float32", "int32"), low=(-2.0, 0), high=(2.0, 6),
        domain=(None, (0, 5)),
    )  # fmt: skip
    made = {one.what: one.arrays for one in sizes.sized(sample)}

    assert "size 6 -> 0" not in made
    assert made["size 7 -> 0"][1].size == 0
    for rows in (1, 2):
        assert made[f"size 6 -> {rows}"][1].max() == rows - 1
    assert made["size 6 -> 63"][1].max() == 5


COUNTED = """
struct Params { x_shape: vec2<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i >= params.x_shape[0]) { return; }
  let n = params.x_shape[1];
  var sum = 0u;
  for (var j = 0u; j < n; j++) {
    for (var k = 0u; k < n; k++) { sum += WHAT; }
  }
  y[i] = f32(sum);
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize(("what", "code"), [("1u", "adapter-limit"), ("1u + k / 256u", "wrong-")])
def test_loops_that_an_adapter_ends_are_judged_on_the_simulator(what: str, code: str) -> None:
    f = registered(
        "Counted", lambda x: np.full(x.shape[0], x.shape[1] ** 2, x.dtype),
        COUNTED.replace("WHAT", what), lambda x, /: x.like(shape=(x.shape[0],)),
    )  # fmt: skip
    sample = Sample("Counted", f, ((1, 258),), rtol=1e-6)
    report = check_kernel("Counted", [sample], ("webgpu",), sections=("portable", "right"))

    driver = find_driver("webgpu")
    assert isinstance(driver, WebGpuBackend)
    found = {one.code for one in report.findings if one.section == "right"}
    if driver.open().policy.ends_loops or code == "wrong-":
        assert any(one.startswith(code) for one in found), report
    assert report.passed == (code != "wrong-")


@pytest.mark.gpu
def test_digits_that_a_sample_loses_by_its_formula_are_an_error() -> None:
    f = registered(
        "Versine", lambda x: 2 * np.sin(x / 2) ** 2,
        "fn op(x: f32) -> f32 { return 1.0 - cos(x); }", like_x, dtypes=("float32",),
    )  # fmt: skip
    near, wide = (
        check_kernel("Versine", [Sample("Versine", f, ((100,),), low=-at, high=at)],
                     sections=("right",))
        for at in (1e-3, 2.0)
    )  # fmt: skip

    assert "lost-digits" in {one.code for one in near.findings}
    assert "lost-digits" not in {one.code for one in wide.findings}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"domain": (1, 0)}, "domain is"),
        ({"special": ("nan",)}, "special is"),
        ({"waive": {"write-rase": "why"}}, "waive is"),
        ({"waive": {"write-race": ""}}, "the reason, in words"),
        ({"make": lambda rng, n: 1 / 0}, "make.*raised ZeroDivisionError"),
        ({"make": lambda rng, n: 5}, "what make gave"),
        ({"make": lambda rng, n: (np.ones(n),), "values": (1,)}, "values and make"),
    ],
)
def test_facts_of_the_wrong_kind_are_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Sample("Doubled", print, ((4,),), **facts)


def test_equal_lengths_are_untied_and_one_of_one_is_tried() -> None:
    shapes = {one.sample.shapes for one in sizes.untied(doubled())}
    two = Sample("Doubled", print, ((4, 5), (4, 5)))

    assert {((4, 7),), ((7, 4),)} == shapes
    assert ((1, 5), (4, 5)) in {one.sample.shapes for one in sizes.broadcast(two)}
    assert ((4, 5), (4, 1)) in {one.sample.shapes for one in sizes.broadcast(two)}
    assert any(one.arrays[0].size > 1 << 16 for one in sizes.large(two))


def test_integers_are_tried_at_their_edges_in_all_pairs() -> None:
    sample = Sample("Doubled", print, ((50,), (50,)), "int32")
    pairs = {
        pair
        for one in specials.edges(sample)
        for pair in zip(*(array.tolist() for array in one.arrays), strict=True)
    }

    least, most = -(2**31), 2**31 - 1
    assert {(least, -1), (1, 32), (most, most), (0, 0), (-1, 33)} <= pairs
    from_zero = Sample("Doubled", print, ((50,),), "int32", low=0, high=9)
    assert any(one.arrays[0].min() == least for one in specials.edges(from_zero))
    inside = replace(from_zero, domain=(0, 40))
    assert {one.arrays[0].min() for one in specials.edges(inside)} == {0}


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (np.s_[:, 9], "all in the last column"),
        (np.s_[:, 7:], "all from column 7 on"),
        (np.s_[3], "all in row 3"),
        (np.s_[:, 1::4], "all in every 4th column from 1 on"),
        (np.s_[:], "all elements"),
    ],
)
def test_the_places_of_wrong_elements_are_told(where: Any, words: str) -> None:
    wrong = np.zeros((8, 10), bool)
    wrong[where] = True

    assert pattern(wrong, [], []) == words


def test_the_numbers_of_wrong_elements_are_told() -> None:
    x = np.linspace(-2, 2, 41)

    assert pattern(x < -1.02, [x], ["x"]) == "all with x < -1.05"
    assert pattern(np.abs(x) > 1.5, [x], ["x"]).startswith("all with |x| > 1.5")
    assert pattern(x < -3, [x], ["x"]) == ""


def test_a_wrong_gradient_is_shown_with_its_input_and_what_is_common() -> None:
    sample = doubled(shapes=((20,),))
    wk.register_gradient("Doubled", lambda dy, x: dy * wk.where(x < -1.0, 3.0, 2.0))
    report = check_kernel("Doubled", [sample], sections=("gradient",))

    (found,) = [one for one in report.findings if one.code == "wrong-gradient"]
    facts = dict(found.evidence)
    assert {"got", "expected", "x", "wrong"} <= facts.keys()
    assert "all with x < -" in facts["wrong"]


def test_the_values_that_are_shown_are_those_of_the_worst_gradient() -> None:
    f = registered("Detached", lambda x: x * x, "fn op(x: T) -> T { return x * x; }", like_x)
    wk.register_gradient("Detached", lambda dy, x: wk.tensor(dy.numpy(), dtype=dy.dtype) * (x + x))

    row = check_second_order(Sample("Detached", f, ((5,),)))

    shown = dict(row.evidence)
    assert "dy of output" in row.note
    assert shown["got"] == "0" != shown["expected"]


def test_a_cause_is_told_once_with_where_else_it_shows() -> None:
    sample = doubled()

    def broken(dy: wk.Tensor) -> wk.Tensor:
        raise RuntimeError("no rule yet")

    wk.register_gradient("Doubled", broken)
    report = check_kernel("Doubled", [sample], sections=("gradient",))

    found = [one for one in report.findings if "no rule yet" in one.words]
    assert len(found) == 1
    assert "gradient parity" in dict(found[0].evidence)["also in"]
    assert repr(report) == str(report)


def test_pictures_have_their_titles_above_them() -> None:
    plane = painted(np.zeros((20, 120)))
    picture = titled(plane, ["got 0 to 1"])

    assert picture.shape == (38, 120, 3)
    assert (picture[:18] == 0).any()
    assert (titled(plane, ["got 0 to 1"])[:18] != titled(plane, ["got 0 to 2"])[:18]).any()


@pytest.mark.gpu
def test_every_configuration_of_a_kernel_is_run() -> None:
    (sample,) = [one for one in wk.testing.all_samples() if one.id == "TopK-2x1500-k=9"]
    report = check_kernel("TopK", [sample], sections=("right",))

    (row,) = [one for one in report.rows if one.check == "configurations"]
    assert int(row.note.split()[0]) > 1


def test_one_kernel_of_a_file_is_a_target(tmp_path: Path) -> None:
    from wgsl_kernels.cli.check import CheckOptions, check_target

    file = tmp_path / "two.py"
    lines = ["import wgsl_kernels as wk", "for name in ('One', 'Two'):"]
    lines += ["    wk.register_kernel(name, 'cpu', lambda x: x, signature=lambda x, /: x.like())"]
    lines += ["    f = lambda x, name=name: wk.run(name, x)"]
    lines += ["    wk.testing.add_samples(name, wk.testing.Sample(name, f, ((3,),)))"]
    file.write_text("\n".join(lines))
    verdict = check_target(f"{file}:Two", CheckOptions(backends=("cpu",), sections=("right",)))

    assert [one.kernel for one in verdict.reports] == ["Two"]
    with pytest.raises(wk.KernelNotFound, match="has no kernel 'Three'; known: One, Two"):
        check_target(f"{file}:Three", CheckOptions())


def test_attributes_of_a_function_that_op_declares_are_varied() -> None:
    @wk.op("Scaled")
    def scaled(x: wk.Tensor, *, gain: float = 2.0) -> wk.Tensor:
        """Return x * gain."""
        return x

    wk.cpu_kernel("Scaled")(lambda x, *, gain: x * gain)
    wk.wgsl_kernel("Scaled", "struct Attrs { gain: T }\nfn op(x: T) -> T { return x * 2.0; }")
    report = check_kernel("Scaled", [Sample("Scaled", scaled, ((3, 5),), rtol=1e-5)])
    assert "wrong-for-attribute" in {one.code for one in report.findings}
