"""What a check says of causes: its own faults, memory that shows, accesses that nothing orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.testing.kernels import registered

import wgsl_kernels as wk
from wgsl_kernels.bench.checking import cases, safe, sizes
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.intervals import running
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.testing import Report, Sample, check_kernel
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.errors.placed import placed_finding

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("own_kernels")]


def codes(report: Report) -> set[str]:
    return {one.code for one in report.findings}


def words(report: Report, code: str) -> str:
    return next(one.words for one in report.findings if one.code == code)


HEAD = """
struct Params { x_size: u32, x_shape: vec2<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
"""
ROWS = (
    HEAD
    + """
var<workgroup> part: array<f32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var j = lane; j < params.x_shape.y; j += 64u) { sum += x[group.x * params.x_shape.y + j]; }
  BODY
}
"""
)


def row_sums(body: str, name: str = "RowSums", cpu: Any = None) -> Callable[..., Any]:
    def signature(x: wk.Spec, /) -> wk.Spec:
        if len(x.shape) != 2 or x.shape[0] > 65535:
            raise wk.ShapeError(f"{name}: a matrix of at most 65,535 rows")
        return x.like(shape=(x.shape[0],))

    return registered(
        name, cpu or (lambda x: x.sum(axis=1)), ROWS.replace("BODY", body), signature,
        groups=lambda x_shape: (x_shape[0], 1), dtypes=("float32",),
    )  # fmt: skip


COUNTED = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> count: array<atomic<i32>>;
@group(0) @binding(3) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size && x[i] > 0.0) {
    let place = atomicAdd(&count[0], 1);
    y[place] = VALUE;
  }
}
"""


def ones(x: np.ndarray[Any, Any]) -> Any:
    y, number = np.zeros_like(x), int((x > 0).sum())
    y[:number] = 1
    return y, np.array([number], np.int32)


def counted(value: str) -> Sample:
    def signature(x: wk.Spec, /) -> Any:
        if len(x.shape) != 1:
            raise wk.ShapeError("Counted: a vector")
        return {"y": x.like(), "count": x.like(shape=(1,), dtype="int32")}

    f = registered(
        "Counted", ones, COUNTED.replace("VALUE", value), signature,
        init={"y": 0, "count": 0}, dtypes=("float32",),
    )  # fmt: skip
    return Sample("Counted", f, ((40,),), special=("NaN",))


def test_places_that_an_atomic_function_gives_have_no_bound_and_no_fault() -> None:
    report = check_kernel("Counted", [counted("1.0")], sections=("right",))
    assert report.passed, str(report)
    assert report.findings == ()


def test_values_at_such_places_are_still_judged() -> None:
    report = check_kernel("Counted", [counted("1.001")], sections=("right",))
    assert codes(report) == {"wrong-values"}


def test_a_fault_of_intervals_is_the_checks_own_and_values_are_judged_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "run_on_intervals", None)
    f = row_sums("part[lane] = sum; workgroupBarrier(); if (lane == 0u) {" + ADDED)
    report = check_kernel("RowSums", [Sample("RowSums", f, ((3, 2),))], sections=("right",))
    assert report.passed
    assert codes(report) <= {"check-failed", "unknown-bound"}
    assert "says nothing of the kernel" in words(report, "check-failed")
    assert "bench.intervals.running" in words(report, "check-failed")

    f = row_sums(WRONG_SUM, "WrongSums")
    report = check_kernel("WrongSums", [Sample("WrongSums", f, ((3, 2),))], sections=("right",))
    assert {"wrong-values", "check-failed"} <= codes(report)


ADDED = "var all = 0.0; for (var k = 0u; k < 64u; k++) { all += part[k]; } y[group.x] = all; }"
WRONG_SUM = "part[lane] = sum; workgroupBarrier(); if (lane == 0u) { y[group.x] = part[0]; }"


def test_a_fault_of_the_watchers_is_told_and_the_check_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(safe, "accesses", None)
    f = registered(
        "Doubled", lambda x: x * 2, "fn op(x: T) -> T { return x + x; }", lambda x, /: x.like()
    )
    report = check_kernel("Doubled", [Sample("Doubled", f, ((4, 4),))])
    assert report.passed
    assert codes(report) == {"check-failed"}
    assert {"repeated", "undefined", "leaks"} <= {row.check for row in report.rows}


@pytest.mark.parametrize(("module", "name"), [(cases, "exact_of"), (sizes, "_timed")])
def test_a_fault_where_a_case_is_tried_is_told(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    monkeypatch.setattr(module, name, None)
    f = registered(
        "Doubled", lambda x: x * 2, "fn op(x: T) -> T { return x + x; }", lambda x, /: x.like()
    )
    report = check_kernel("Doubled", [Sample("Doubled", f, ((4, 5),))], sections=("right",))
    assert codes(report) == {"check-failed"}
    assert module.__name__.removeprefix("wgsl_kernels.") in words(report, "check-failed")


def test_what_an_author_raises_is_no_fault_of_the_check() -> None:
    def raises(x: object) -> object:
        raise TypeError(f"no {x}")

    with pytest.raises(TypeError) as raised:
        np.vectorize(raises)(np.ones(1))
    assert not faults.note(raised.value)
    f = registered("Odd", raises, "fn op(x: T) -> T { return x; }", lambda x, /: x.like())
    report = check_kernel("Odd", [Sample("Odd", f, ((4,),))], sections=("right",))
    assert codes(report) == {"raises"}


def test_a_bound_that_is_no_pair_is_the_authors() -> None:
    f = registered(
        "Doubled", lambda x: x * 2, "fn op(x: T) -> T { return x + x; }", lambda x, /: x.like()
    )
    sample = Sample("Doubled", f, ((4, 4),), bound=lambda inputs, expected: 3)  # type: ignore[arg-type,return-value]  # meant
    report = check_kernel("Doubled", [sample], sections=("right",))
    assert "give the pair (low, high)" in words(report, "raises")


SOFTMAX = """
  var top = -3.4028234e38;
  for (var j = lane; j < params.x_shape.y; j += 64u) {
    top = max(top, x[group.x * params.x_shape.y + j]);
  }
  part[lane] = top;
  workgroupBarrier();
  for (var k = 0u; k < 64u; k++) { top = max(top, part[k]); }
  workgroupBarrier();
  sum = 0.0;
  for (var j = lane; j < params.x_shape.y; j += 64u) {
    sum += exp(x[group.x * params.x_shape.y + j] - top);
  }
  part[lane] = sum;
  workgroupBarrier();
  sum = 0.0;
  for (var k = 0u; k < 64u; k++) { sum += part[k]; }
  for (var j = lane; j < params.x_shape.y; j += 64u) {
    y[group.x * params.x_shape.y + j] = FACTOR * exp(x[group.x * params.x_shape.y + j] - top) / sum;
  }
"""


def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not x.size:
        return x.copy()
    e = np.exp(x - x.max(axis=1, keepdims=True))
    shares: np.ndarray[Any, Any] = e / e.sum(axis=1, keepdims=True)
    return shares


def soft_rows(factor: str) -> Sample:
    def signature(x: wk.Spec, /) -> wk.Spec:
        if len(x.shape) != 2 or x.shape[0] > 65535:
            raise wk.ShapeError("SoftRows: a matrix of at most 65,535 rows")
        return x.like()

    f = registered(
        "SoftRows", softmax, ROWS.replace("BODY", SOFTMAX.replace("FACTOR", factor)), signature,
        groups=lambda x_shape: (x_shape[0], 1), dtypes=("float32",),
    )  # fmt: skip
    return Sample("SoftRows", f, ((300, 20),), special=("NaN", "+Inf", "-Inf"))


def test_values_without_a_known_bound_are_a_warning_that_asks_for_a_tolerance() -> None:
    report = check_kernel("SoftRows", [soft_rows("1.0")], sections=("right",))
    assert report.passed, str(report)
    assert codes(report) == {"unknown-bound"}
    assert "State rtol=, atol= or bound=" in words(report, "unknown-bound")


def test_values_that_no_roundings_explain_are_errors_without_a_known_bound() -> None:
    report = check_kernel("SoftRows", [soft_rows("1.0001")], sections=("right",))
    assert "wrong-values" in codes(report)


def test_integers_are_off_by_a_number_and_have_no_bound() -> None:
    f = registered(
        "Tripled", lambda x: x * 3, "fn op(x: T) -> T { return x * T(3) + T(5); }",
        lambda x, /: x.like(), dtypes=("int32",),
    )  # fmt: skip
    report = check_kernel("Tripled", [Sample("Tripled", f, ((4,),), "int32")], sections=("right",))
    facts = dict(next(one for one in report.findings if one.code == "wrong-values").evidence)
    assert facts["off"] == "5"
    assert "bound" not in facts


HISTOGRAM = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> bins: array<atomic<i32>, 64>;
@compute @workgroup_size(64)
fn main(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  atomicStore(&bins[lane], 0);
  FIRST
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) { atomicAdd(&bins[x[i]], 1); }
  SECOND
  if (lane < 8u) {
    let found = atomicLoad(&bins[lane]);
    if (found > 0) { atomicAdd(&y[lane], found); }
  }
}
"""


def counts(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.bincount(x.ravel(), minlength=8).astype(np.int32)


@pytest.mark.parametrize("missing", ["FIRST", "SECOND", ""])
def test_a_missing_barrier_between_atomic_functions_is_seen(missing: str) -> None:
    text = HISTOGRAM.replace(missing, "") if missing else HISTOGRAM
    text = text.replace("FIRST", "workgroupBarrier();").replace("SECOND", "workgroupBarrier();")
    f = registered(
        "Counts", counts, text, lambda x, /: x.like(shape=(8,)), init={"y": 0}, dtypes=("int32",)
    )
    sample = Sample("Counts", f, ((300,),), "int32", domain=(0, 7), low=0, high=7)
    report = check_kernel("Counts", [sample], sections=("safe",))
    expected = {"": set[str](), "FIRST": {"atomic-race"}, "SECOND": {"unordered-atomics"}}
    assert codes(report) == expected[missing]
    if missing:
        found = report.findings[0]
        function = "atomicAdd" if missing == "FIRST" else "atomicLoad"
        assert f"{function}(&bins" in found.source
        assert "atomic functions order nothing" in found.words


def test_atomics_that_nothing_set_are_read_unset_and_the_output_is_not_blamed() -> None:
    text = HISTOGRAM.replace("atomicStore(&bins[lane], 0);", "")
    text = text.replace("FIRST", "workgroupBarrier();").replace("SECOND", "workgroupBarrier();")
    f = registered(
        "Counts", counts, text, lambda x, /: x.like(shape=(8,)), init={"y": 0}, dtypes=("int32",)
    )
    sample = Sample("Counts", f, ((300,),), "int32", domain=(0, 7), low=0, high=7)
    report = check_kernel("Counts", [sample], sections=("safe",))
    assert codes(report) == {"unset-workgroup-read"}


def test_a_race_within_one_line_is_told_with_what_helps() -> None:
    body = """
  part[lane] = sum;
  workgroupBarrier();
  for (var step = 32u; step > 0u; step /= 2u) {
    part[lane] += part[(lane + step) % 64u];
    workgroupBarrier();
  }
  if (lane == 0u) { y[group.x] = part[0]; }
"""
    f = row_sums(body)
    sample = Sample("RowSums", f, ((3, 2),), rtol=1e-4, atol=1e-4)
    report = check_kernel("RowSums", [sample], sections=("safe",))
    assert "within one, let no invocation write what another reads" in words(report, "read-race")


def test_wrong_values_stand_behind_the_race_that_explains_them() -> None:
    body = "part[63u - lane] = sum; if (lane == 0u) {" + ADDED
    f = row_sums(body)
    sample = Sample("RowSums", f, ((300, 70),), rtol=1e-4, atol=1e-4)
    report = check_kernel("RowSums", [sample], sections=("right", "safe"))
    if "wrong-values" in codes(report):  # where the machine shows it
        assert [one.code for one in report.found_in("right")][:2] == ["read-race", "wrong-values"]
    assert "read-race" in codes(report)


def test_a_buffer_between_dispatches_that_is_written_in_part_is_named() -> None:
    part = (
        HEAD.replace("x_shape: vec2<u32>", "count: u32")
        + """
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane != 0u) { return; }
  for (var i = 0u; i < params.count; i++) { y[i] = x[i]; }
}
"""
    )
    total = (
        HEAD.replace("x_shape: vec2<u32>", "count: u32")
        + """
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane != 0u) { return; }
  var sum = 0.0;
  for (var i = 0u; i < params.x_size; i++) { sum += x[i]; }
  y[0] = sum + 0.0 * f32(params.count);
}
"""
    )

    wk.register_kernel(
        "Total", "cpu", lambda x: np.asarray(x.sum()), signature=lambda x, /: x.like(shape=())
    )

    @wk.wgsl_kernel("Total", dtypes=("float32",))
    def _total(gpu: Any, x: Any) -> Any:
        if x.size == 0:
            return gpu.full((), x.dtype, 0.0)
        middle, y = gpu.empty((x.size + 3,), x.dtype), gpu.empty((), x.dtype)
        gpu.dispatch(part, {"x": x, "y": middle}, params={"count": x.size}, groups=(1, 1, 1))
        gpu.dispatch(total, {"x": middle, "y": y}, params={"count": x.size}, groups=(1, 1, 1))
        return y

    sample = Sample("Total", lambda x: wk.run("Total", x), ((20,),), rtol=1e-4, atol=1e-4)
    report = check_kernel("Total", [sample], sections=("safe",))
    said = words(report, "never-written")
    assert "3 of 23 elements of the buffer that one dispatch writes as y" in said
    assert "pass init=" not in said


def test_an_output_that_is_read_where_it_is_written_is_named() -> None:
    text = (
        HEAD.replace(", x_shape: vec2<u32>", "")
        + """
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) { y[i] = x[i] + min(abs(y[i]), 1.0); }
}
"""
    )
    f = registered("Read", lambda x: x, text, lambda x, /: x.like(), dtypes=("float32",))
    report = check_kernel("Read", [Sample("Read", f, ((20,),))], sections=("safe",))
    assert "every element is written: y is read, too" in words(report, "never-written")


def test_a_kernel_is_named_once_where_its_error_names_it_behind_the_place() -> None:
    error = ShaderError("Soft: soft.py:3:7: Soft: op's parameter 'z' names no input.\n    fn op(z")
    found = placed_finding(error, "Soft")
    assert found is not None
    assert found.words == "op's parameter 'z' names no input."


@pytest.mark.parametrize(
    ("cpu", "facts", "said"),
    [
        (lambda x: x + x.dtype.itemsize, {}, "the CPU kernel is the odd one, which gives"),
        (lambda x: x + 4 * (x.dtype == float), {"reference": lambda x: x + 4},
         "the CPU kernel is the odd one, webgpu gives what is expected"),
        (lambda x: x + 4, {"reference": lambda x: x + 5}, "reference= is the odd one"),
        (lambda x: x + 5, {}, "if it is meant, the CPU kernel is the odd one"),
    ],
)  # fmt: skip
def test_of_values_that_differ_the_odd_one_is_named(
    cpu: Any, facts: dict[str, Any], said: str
) -> None:
    f = registered("Shifted", cpu, "fn op(x: T) -> T { return x + T(4); }", lambda x, /: x.like())
    report = check_kernel(
        "Shifted", [Sample("Shifted", f, ((4, 5),), **facts)], sections=("right",)
    )
    assert said in words(report, "wrong-values")


MAIN = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[id.x]; }
"""


@pytest.mark.parametrize("shader", ["fn op(x: T) -> T { return x; }", MAIN])
@pytest.mark.parametrize("said", [{"shape": (7,)}, {"dtype": "int32"}])
def test_what_a_signature_says_wrongly_is_told_once_and_there(
    shader: str, said: dict[str, Any]
) -> None:
    def rule(x: wk.Spec, /) -> wk.Spec:
        return x.like(**said)

    f = registered("Said", lambda x: x, shader, rule)
    report = check_kernel("Said", [Sample("Said", f, ((n,),)) for n in (5, 6)])
    (found,) = [one for one in report.findings if one.severity == "error"]
    declared = find_signature("Said")
    assert found.code == "wrong-shape"
    assert declared is not None
    assert (found.file, found.line) == (declared.origin.file, declared.origin.line)


def test_a_hook_that_is_misspelt_is_said_first_of_values_that_are_wrong() -> None:
    text = "fn init() -> T { return T(); } fn combine(a: T, b: T) -> T { return a + b; }"
    text += " fn finished(a: T) -> T { return a * T(2); }"
    with pytest.warns(RuntimeWarning, match="nothing calls finished"):
        f = registered(
            "Folded", lambda x, *, axis: 2 * x.sum(-1), text,
            lambda x, /, *, axis=-1: x.like(shape=x.shape[:-1]), dtypes=("float32",),
        )  # fmt: skip
    report = check_kernel("Folded", [Sample("Folded", f, ((4, 9),))], sections=("right",))
    first = words(report, "wrong-values")
    assert first.startswith(
        "nothing calls finished. Did you mean 'finish'? It is the likely cause: got"
    )


def test_truths_are_checked_where_the_mean_is_large() -> None:
    f = registered(
        "Within", lambda x: np.abs(x) <= 0.5, "fn op(x: T) -> bool { return abs(x) <= 0.5; }",
        lambda x, /: x.like(dtype="bool"), dtypes=("float32",),
    )  # fmt: skip
    report = check_kernel("Within", [Sample("Within", f, ((4, 5),))], sections=("right",))
    assert "check-failed" not in codes(report)


def test_an_access_that_is_wrong_is_told_once_whatever_index_shows_it() -> None:
    f = row_sums(
        "part[lane] = sum; workgroupBarrier(); if (lane == 0u) { y[group.x + 1u] = part[0]; }"
    )
    report = check_kernel("RowSums", [Sample("RowSums", f, ((3, 2),))], sections=("right", "safe"))

    outside = [one for one in report.findings if one.code == "out-of-bounds-write"]
    assert len(outside) == 1
    assert "accesses, webgpu" in dict(outside[0].evidence)["also in"]


def test_a_text_that_cannot_be_read_ends_no_check() -> None:
    text = "fn f(a: f32) -> f32 { return op(a); } fn op(x: T) -> T { return T(f(f32(x))); }"
    f = registered("Circle", lambda x: x, text, lambda x, /: x.like())
    report = check_kernel("Circle", [Sample("Circle", f, ((4,),))])

    assert codes(report) == {"does-not-compile"}
    assert {"compiles", "forward", "leaks"} <= {row.check for row in report.rows}


def test_a_check_warns_of_no_numbers_that_a_cpu_kernel_makes_of_others(
    recwarn: pytest.WarningsRecorder,
) -> None:
    f = registered("Logs", np.log, "fn op(x: T) -> T { return log(x); }", lambda x, /: x.like())
    check_kernel("Logs", [Sample("Logs", f, ((3, 4),))], rows_only=True)

    assert [str(one.message) for one in recwarn.list] == []
