"""Variables of functions above what WGSL allows are refused where they stand; naga takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

OP = "fn op(x: f32) -> f32 {{\n  {}\n  a[u32(x)] = {};\n  return f32(a[1]);\n}}\n"
LARGE = {
    "declared": OP.format("var a: array<f32, 2049>;", "x"),
    "inferred, a count with a name": "const N = 4096;\n"
    + OP.format("var a = array<f32, N>();", "x"),
    "beside a number in storage": "const N = 4096u;\n"
    "@group(0) @binding(0) var<storage, read> n: u32;\n"
    + OP.format("var a: array<f32, N>;", "x * f32(n)"),
    "below a comment": "// var<storage, read> n\nconst N = 4096; // of what\n"
    + OP.format("var a: array<f32, N>;", "x"),
    "several": OP.format("var b: array<f32, 2047>; var a: array<i32, 2>;", "i32(b[0])"),
    "private": f"var<private> a: array<f32, 2049>;\n{OP.format('', 'x')}",
    "a struct": "struct S { v: array<vec4f, 513> }\n"
    + OP.format("var a: S;", "x").replace("a[u32(x)]", "a.v[0].x").replace("f32(a[1])", "a.v[1].x"),
}
FITTING = {
    "as large as allowed": OP.format("var a: array<f32, 2048>;", "x"),
    "bools are bytes": OP.format("var a: array<bool, 8192>;", "x > 0"),
    "no memory of its own": f"var<workgroup> a: array<f32, 4096>;\n{OP.format('', 'x')}",
}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


@pytest.mark.parametrize("case", LARGE)
def test_what_is_too_large_is_found(case: str) -> None:
    (one,) = diagnose(Text("k.wgsl", LARGE[case]))

    assert one.code == "over-default-limits"
    assert "WGSL allows 8192" in one.words
    assert LARGE[case][one.span.begin] == ("b" if case == "several" else "a")


@pytest.mark.parametrize("case", FITTING)
def test_what_fits_is_not_found(case: str) -> None:
    assert diagnose(Text("k.wgsl", FITTING[case])) == []


@pytest.mark.gpu
def test_a_kernel_with_such_a_variable_is_refused_before_it_compiles() -> None:
    wk.wgsl_kernel("Large", LARGE["declared"])

    with (
        wk.use_backend("webgpu"),
        pytest.raises(wk.ShaderError, match=r":2:7: the variables of op take 8196 bytes") as caught,
    ):
        wk.evaluate(wk.engine().run_kernel("Large", {"x": wk.tensor([1.0])}))

    assert [one.code for one in caught.value.findings] == ["over-default-limits"]
