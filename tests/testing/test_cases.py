"""The cases that a check makes of a sample, and what is held against a kernel in each of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.bench.checking import cases, simulated
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.testing import Sample, check_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("own_kernels")]


def codes(
    cpu: Callable[..., Any], shader: str, sample: dict[str, Any], sections: Any = ("right",),
    rule: Callable[..., Any] = lambda x, /: x.like(), **options: Any,
) -> dict[str, str]:  # fmt: skip
    """Return the codes that a check of a kernel finds, each with how grave it is."""
    wk.register_kernel("Tried", "cpu", cpu, signature=rule)
    wk.wgsl_kernel("Tried", shader, **options)
    tried = Sample("Tried", functools.partial(wk.run, "Tried"), **sample)
    report = check_kernel("Tried", [tried], sections=sections)
    return {one.code: one.severity for one in report.findings}


PRODUCT = """
struct Params { x_shape: vec2<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let n = params.x_shape.x;
  if (id.x >= n || id.y >= n) { return; }
  var sum = 0.0;
  for (var k = 0u; k < n; k++) { sum += x[id.y * n + k] * x[k * n + id.x]; }
  y[id.y * n + id.x] = SUM;
}
"""


def squared(x: wk.Spec, /) -> wk.Spec:
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        raise wk.ShapeError("Tried: want a square")
    return x.like()


@pytest.mark.parametrize(
    ("cpu", "last", "found"),
    [
        (lambda x: x @ x, "sum", {}),
        (
            lambda x: np.logaddexp(x @ x, 0),
            "log(1.0 + exp(sum))",
            {"wrong-at-extreme": "warning"},
        ),
    ],
)
def test_sums_whose_huge_terms_cancel_are_right(
    cpu: Callable[..., Any], last: str, found: dict[str, str]
) -> None:
    shader = PRODUCT.replace("SUM", last)
    facts = {"shapes": ((16, 16),), "rtol": 1e-3, "atol": 1e-3, "special": ("NaN", "+Inf", "-Inf")}

    assert codes(cpu, shader, facts, rule=squared, groups=lambda x_shape: (
        -(-x_shape[0] // 8), -(-x_shape[0] // 8)
    )) == found  # fmt: skip


VARIANCE = """
struct Moments { n: f32, mean: f32, m2: f32 }
fn init() -> Moments { return Moments(0.0, 0.0, 0.0); }
fn lift(x: T) -> Moments { return Moments(1.0, x, 0.0); }
fn combine(a: Moments, b: Moments) -> Moments {
  let n = a.n + b.n;
  if (n == 0.0) { return a; }
  let d = b.mean - a.mean;
  let part = b.n / n;
  return Moments(n, a.mean + d * part, a.m2 + b.m2 + d * d * a.n * part);
}
fn finish(a: Moments, n: u32) -> T { return a.m2 / f32(n); }
"""


def test_infinities_that_cancel_by_another_order_are_no_matter_of_comparisons() -> None:
    def rule(x: wk.Spec, /, *, axis: int = -1) -> wk.Spec:
        if not x.shape or not x.shape[-1] or axis % len(x.shape) != len(x.shape) - 1:
            raise wk.ShapeError("Tried: want rows")
        return x.like(shape=x.shape[:-1])

    found = codes(
        lambda x, *, axis: np.var(x, axis=axis), VARIANCE,
        {"shapes": ((3, 6),), "rtol": 1e-3, "atol": 1e-4, "attrs": {"axis": -1}}, rule=rule,
        dtypes=("float32",),
    )  # fmt: skip

    assert found == {"nan-of-infinities": "warning"}


@pytest.mark.parametrize("domain", [None, (-1000, 1000)])
def test_wrong_values_inside_of_a_stated_domain_are_errors(domain: Any) -> None:
    found = codes(
        lambda x: np.logaddexp(x, 0), "fn op(x: T) -> T { return log(1.0 + exp(x)); }",
        {"shapes": ((4, 4),), "rtol": 1e-5, "atol": 1e-6, "domain": domain, "special": ("NaN",)},
        ("right", "gradient"), dtypes=("float32",), gradient="derive",
    )  # fmt: skip

    if domain:
        assert found.items() >= {"wrong-in-domain": "error", "gradient-parity": "error"}.items()
    else:
        assert set(found.values()) == {"warning"}


def test_integers_below_zero_are_tried_though_none_is_drawn() -> None:
    shader = "fn op(x: i32) -> i32 { return (x << 5u) | (x >> 27u); }"
    facts = {"shapes": ((20,),), "dtypes": "int32", "low": 0, "high": 1000}

    def cpu(x: Any) -> Any:
        return (x << 5 | x.view(np.uint32) >> 27).astype(x.dtype)

    assert codes(cpu, shader, facts, dtypes=("int32",)) == {"wrong-at-edge": "error"}
    assert codes(cpu, shader, {**facts, "domain": (0, 1000)}, dtypes=("int32",)) == {}


COUNTS = """
struct Params { x_size: u32, bins: i32 }
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<i32>>;
@group(0) @binding(2) var<uniform> params: Params;
const MOST = 64u;
var<workgroup> local: array<atomic<i32>, MOST>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32,
        @builtin(num_workgroups) groups: vec3<u32>) {
  atomicStore(&local[lane], 0);
  workgroupBarrier();
  let i = AT;
  if (i < params.x_size && x[i] >= 0 && x[i] < params.bins) { atomicAdd(&local[x[i]], 1); }
  workgroupBarrier();
  if (i32(lane) < params.bins) { atomicAdd(&y[lane], atomicLoad(&local[lane])); }
}
"""
FOLDED = "id.x + id.y * groups.x * 64u"


def counted(most: int, at: str, folds: bool) -> dict[str, str]:
    def rule(x: wk.Spec, /, *, bins: int = 8) -> wk.Spec:
        if not 1 <= bins <= most:
            raise wk.ArgumentError("Tried: bins")
        return x.like(shape=(bins,))

    def groups(x_size: int) -> tuple[int, int]:
        count = -(-x_size // 64)
        return (min(count, 65535), -(-count // 65535)) if folds else (count, 1)

    return codes(
        lambda x, *, bins: np.bincount(x[(x >= 0) & (x < bins)], minlength=bins).astype(x.dtype),
        COUNTS.replace("AT;", f"{at};"),
        {"shapes": ((300,),), "dtypes": "int32", "low": -2, "high": 11, "attrs": {"bins": 8}},
        ("portable", "right"), rule, groups=groups, init={"y": 0}, dtypes=("int32",),
    )  # fmt: skip


def test_attributes_are_tried_as_large_as_the_arrays_of_a_shader() -> None:
    assert counted(64, FOLDED, True) == {}
    assert counted(1000, FOLDED, True).keys() == {"wrong-for-attribute", "out-of-bounds-write"}


def test_grids_of_an_author_are_tried_where_they_fold() -> None:
    found = counted(64, "id.x", True)

    assert found == {"unfolded-grid": "warning", "wrong-where-folded": "error"}
    assert counted(64, FOLDED, False) == {"grid-limit": "note"}


SUMS_OF_BLOCKS = """
enable subgroups;
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> sum: atomic<i32>;
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32,
        @builtin(subgroup_invocation_id) member: u32) {
  if (lane == 0u) { atomicStore(&sum, 0); }
  workgroupBarrier();
  let i = group.x * 128u + lane;
  let all = subgroupAdd(select(0, x[i], i < params.x_size));
  if (member == 0u) { atomicAdd(&sum, all); }
  workgroupBarrier();
  if (lane == 0u) { y[group.x] = atomicLoad(&sum); }
}
"""


def test_subgroups_are_not_warned_of_where_every_size_of_them_is_right() -> None:
    def sums(x: Any) -> Any:
        return np.pad(x, (0, -len(x) % 128)).reshape(-1, 128).sum(axis=1).astype(x.dtype)

    found = codes(
        sums, SUMS_OF_BLOCKS, {"shapes": ((300,),), "dtypes": "int32", "low": -9, "high": 9},
        ("portable",), lambda x, /: x.like(shape=(-(-x.shape[0] // 128),)),
        groups=lambda y_size: (y_size,), dtypes=("int32",),
    )  # fmt: skip

    assert "subgroup-width" not in found


def test_a_grid_that_grows_no_more_is_right_where_workgroups_go_on() -> None:
    shader = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < params.x_size; i += groups.x * 64u) { y[i] = x[i] * 2.0; }
}
"""
    facts = {"shapes": ((300,),)}

    def groups(x_size: int) -> tuple[int]:
        return (min(-(-x_size // 64), 1000),)

    assert codes(lambda x: x * 2, shader, facts, ("portable", "right"), groups=groups) == {}


def test_a_dtype_that_is_stated_and_does_not_compile_is_an_error() -> None:
    shader = "fn op(x: T) -> T { return x / (1.0f + abs(x)); }"
    info = find_driver("webgpu").open().info  # type: ignore[attr-defined]  # it is that backend

    def cpu(x: Any) -> Any:
        return x / (1 + np.abs(x))

    stated = codes(cpu, shader, {"shapes": ((4,),)}, dtypes=("float32", "float16"))
    claimed = codes(cpu, shader, {"shapes": ((4,),)})

    has_f16 = "shader-f16" in info.features
    assert stated == ({"stated-dtype": "error"} if has_f16 else {})
    assert claimed == ({"claimed-dtype": "warning"} if has_f16 else {})


@pytest.mark.parametrize("has_full_control", [False, True])
def test_a_binding_that_two_variables_have_is_told_at_the_authors_second(
    has_full_control: bool,
) -> None:
    shader = PRODUCT.replace("SUM", "sum").replace("@binding(1)", "@binding(0)")
    wk.register_kernel("Tried", "cpu", lambda x: x @ x, signature=squared)

    def groups(x_shape: tuple[int, ...]) -> tuple[int, int]:
        return (-(-x_shape[0] // 8), -(-x_shape[0] // 8))

    if has_full_control:

        @wk.wgsl_kernel("Tried")
        def tried(gpu: Any, x: Any) -> Any:
            y = gpu.empty(x.shape, x.dtype)
            gpu.dispatch(shader, {"x": gpu.contiguous(x), "y": y}, groups=groups(x.shape))
            return y
    else:
        wk.wgsl_kernel("Tried", shader, groups=groups)
    sample = Sample("Tried", functools.partial(wk.run, "Tried"), ((16, 16),), rtol=1e-3, atol=1e-3)
    report = check_kernel("Tried", [sample], sections=("compiles", "portable"))

    assert report.passed
    (found,) = report.findings
    assert found.code == "shared-binding"
    assert found.source.strip().startswith("@group(0) @binding(0) var<storage, read_write> y")


@pytest.mark.parametrize("cpu", [lambda x: x / 2.0, lambda x: x @ x.missing])
def test_a_dtype_that_is_stated_and_that_the_cpu_kernel_refuses_is_an_error(cpu: Any) -> None:
    def halved(x: Any) -> Any:
        return cpu(x) if x.dtype.kind == "i" else x / 2

    shader = "fn op(x: T) -> T { return x / T(2); }"

    assert codes(halved, shader, {"shapes": ((4,),)}, dtypes=("float32", "int32")) == {
        "stated-dtype": "error"
    }


def test_a_dtype_that_is_stated_and_that_the_signature_refuses_is_no_case() -> None:
    def floats(x: wk.Spec, /) -> wk.Spec:
        if not x.dtype.startswith("float"):
            raise wk.DTypeError("Tried: want floats")
        return x.like()

    shader = "fn op(x: T) -> T { return x / T(2); }"
    facts = {"shapes": ((4,),)}

    assert codes(lambda x: x / 2, shader, facts, rule=floats, dtypes=("float32", "int32")) == {}


def test_sizes_that_the_signature_refuses_are_no_cases_where_a_reference_takes_them() -> None:
    def rule(x: wk.Spec, s: wk.Spec, /) -> wk.Spec:
        if s.shape != x.shape[-1:]:
            raise wk.ShapeError(f"Tried: s is {s.shape}; want {x.shape[-1:]}")
        return x.like()

    def gradient(dy: wk.Tensor, x: wk.Tensor, s: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        return dy * s, wk.sum(dy * x, axis=tuple(range(x.ndim - 1)))

    wk.register_gradient("Tried", gradient)
    facts = {"shapes": ((4, 6), (6,)), "reference": lambda x, s: x * s}
    shader = "fn op(x: T, s: T) -> T { return x * s; }"

    assert codes(lambda x, s: x * s, shader, facts, ("right", "gradient"), rule=rule) == {}


ENDLESS = """
fn op(x: T) -> T {
  var y = x;
  for (var k = 1; k <= 3; ) { y *= x; }
  return y;
}
"""


def test_a_derived_kernel_that_does_not_end_is_told_at_its_loop_and_once() -> None:
    wk.signature("Tried")(lambda x, /: x.like())
    wk.wgsl_kernel("Tried", ENDLESS, cpu="derive", dtypes=("float32",))
    samples = [Sample("Tried", lambda x: wk.run("Tried", x), ((n,),)) for n in (3, 4)]
    report = check_kernel("Tried", samples, sections=("right", "gradient", "safe"))

    (found,) = report.findings
    assert found.code == "runaway-loop"
    assert found.source.strip().startswith("for (var k = 1;")
    assert len(report.rows) == 1


HALVING = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var step = 32u; step > 0u; step /= 1u) { sum += 1.0; }
  for (var i = lane; i < params.x_size; i += 64u) { y[i] = x[i] + sum; }
}
"""


def test_of_several_loops_the_one_that_does_not_end_is_told() -> None:
    shader = HALVING.replace("/= 1u", "/= 2u")
    assert codes(lambda x: x + 6, shader, {"shapes": ((5,),)}, groups=lambda x_size: (1,)) == {}
    wk.wgsl_kernel("Tried", HALVING, groups=lambda x_size: (1,), override=True)
    sample = Sample("Tried", functools.partial(wk.run, "Tried"), ((5,),))
    found = simulated.endless_loop(Subject("Tried", (sample,), ("webgpu",)), cases.plain(sample))

    assert found is not None
    assert (found.code, found.source.strip()[:24]) == ("runaway-loop", "for (var step = 32u; ste")
    driver: Any = find_driver("webgpu")
    if driver.open().policy.ends_loops:
        places = [o.place for o in check_kernel("Tried", [sample], sections=("right",)).findings]
        assert found.place in places
        if driver.open().info.backend == "Vulkan":  # OpenGL's drops what is behind an endless loop
            assert places == [found.place]


def test_a_text_that_is_not_derived_is_shown_at_its_line() -> None:
    shader = "fn op(x: T) -> T {\n  let k = 2;\n  return x / k;\n}\n"
    with pytest.raises(wk.ShaderError, match=r"return x / k;\n +\^"):
        wk.wgsl_kernel("Tried", shader, cpu="derive", dtypes=("float32",))


@pytest.mark.parametrize(
    ("cpu", "shader", "found"),
    [
        (lambda t: np.log1p(t), "log(1.0 + t)", {"bound-wider-than-result": "warning"}),
        (lambda t: t * (1 + t), "t * (1.0 + t)", {}),
    ],
)
def test_digits_that_are_lost_at_an_end_of_the_range_are_told(
    cpu: Callable[..., Any], shader: str, found: dict[str, str]
) -> None:
    facts = {"shapes": ((4, 4),), "low": -12.0, "high": 12.0}
    text = f"fn op(x: T) -> T {{ let t = exp(-abs(x)); return {shader}; }}"

    assert codes(
        lambda x: cpu(np.exp(-np.abs(x))), text, {**facts, "special": ("NaN", "+Inf", "-Inf")},
        dtypes=("float32",),
    ) == found  # fmt: skip


GIVEN = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * 64u;
  if (i < params.x_size) { y[i] = x[i] + x[i]; }
}
"""


def test_lengths_of_inputs_that_a_sample_gives_are_not_replaced() -> None:
    sample = {"shapes": ((300,),), "values": (np.arange(300, dtype=np.float32),)}

    assert codes(lambda x: x + x, GIVEN, sample, ("right", "safe", "portable")) == {}


@pytest.mark.parametrize(
    ("text", "names_any"),
    [
        ("// no subgroups, no quadSwapX\nfn op(x: f32) -> f32 {\n  return x;\n}\n", False),
        ("fn op(x: f32) -> f32 {\n  return subgroupAdd(x);\n}\n", True),
        ("fn op(x: f32) -> f32 {\n  return quadSwapX(x);\n}\n", True),
    ],
)
def test_a_comment_names_no_subgroups(text: str, *, names_any: bool) -> None:
    wk.wgsl_kernel("Tried", text)
    sample = Sample("Tried", functools.partial(wk.run, "Tried"), ((4,),))

    assert Subject("Tried", (sample,), ("webgpu",)).uses_subgroups == names_any
