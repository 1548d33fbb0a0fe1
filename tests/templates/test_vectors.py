"""Element functions have a vec4 form where tree and layouts prove it; else the reason is told."""

from __future__ import annotations

import pytest

from wgsl_kernels.wgsl.specialize.vectors import (
    HostFacts,
    ScalarLoads,
    Vec4Load,
    vec4_load,
)
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

FACTS = HostFacts(
    frozenset({"x", "w", "a"}), frozenset({"view"}), {"params.depth": 4, "params.rows": 1, "N": 8}
)


def widened(body: str, along: str = "k") -> Vec4Load | ScalarLoads:
    text = Text("a.wgsl", f"fn a_at(batch: u32, row: u32, k: u32) -> f32 {{\n{body}\n}}\n")
    function = parse(text).declarations[0]
    assert isinstance(function, tree.Function)
    return vec4_load(text, function, along, FACTS)


PROVED = [
    ("return x[row * params.depth + k];",
     "return x_as_vec4[(row*params.depth+k) / 4u];"),
    ("return load_x(k + 4u * (row + batch * params.rows));",
     "return x_as_vec4[(k+4u*(row+batch*params.rows)) / 4u];"),
    ("let at = row * params.depth; return x[at + k] * 2.0;",
     "let at = row * params.depth; return x_as_vec4[(at+k) / 4u] * 2.0;"),
    ("let i = (row << 2u) + k; let v = x[i]; return v - w[row];",
     "let i = (row << 2u) + k; let v = x_as_vec4[(i) / 4u]; return v - w[row];"),
    ("return fma(x[k], w[k + N], f32(row));",
     "return fma(x_as_vec4[(k) / 4u], w_as_vec4[(k+N) / 4u], vec4(f32(row)));"),
    ("return select(0.0, f32(x[k]), x[k] > 1.0);",
     "return select(vec4(0.0), vec4<f32>(x_as_vec4[(k) / 4u]), "
     "x_as_vec4[(k) / 4u] > vec4(1.0));"),
    ("return max(-(x[k + row * 8u]), w[batch]) / params.scale;",
     "return max(-(x_as_vec4[(k+row*8u) / 4u]), vec4(w[batch])) / params.scale;"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "lines"), PROVED)
def test_four_elements_are_one_load_where_it_is_proved(body: str, lines: str) -> None:
    found = widened(body)
    assert isinstance(found, Vec4Load), found
    head = "fn wk_vec4_of_a_at(batch: u32, row: u32, k: u32) -> vec4<f32>"
    assert found.text == f"{head} {{ {lines} }}"
    assert parse(Text("b.wgsl", found.text)).problems == ()
    assert set(found.buffers) == {name for name in ("x", "w") if f"{name}_as_vec4" in lines}


REASONS = [
    ("return x[row * params.rows + k];",
     "four elements of x may begin between two vec4s: row*params.rows is no known multiple of 4",
     "2:10"),
    ("return x[k + row];", "row is no known multiple of 4", "2:10"),
    ("return x[k * params.depth + row];", "k is multiplied by params.depth", "2:10"),
    ("return x[2u * k];", "elements of x are 2 apart along k", "2:10"),
    ("return x[k / 2u];", "k/2u moves with k in another way", "2:10"),
    ("return x[row * params.depth];", "no buffer is read along k", "1:1"),
    ("return view[k];", "view is a view, whose elements may be apart", "2:8"),
    ("return load_view(k);", "view is a view, whose elements may be apart", "2:8"),
    ("return x[k] * f32(k);", "k differs from one element to the next", "2:19"),
    ("let t = k + 1u; return x[k] + f32(t);", "t differs from one element to the next", "2:35"),
    ("return helper(x[k]);", "helper is none of WGSL's elementwise functions", "2:8"),
    ("return f32(unpack4xI8(w[k / 4u])[k % 4u]);", "differs from one element to the next", "2:"),
    ("if (row > 2u) { return 0.0; } return x[k];", "it has statements beside let and return",
     "2:1"),
    ("let x = vec4<f32>(1.0); return x[k];", "x is no contiguous buffer", "2:32"),
    ("return select(0.0, x[k], k < params.rows);", "k differs from one element", "2:26"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason", "place"), REASONS)
def test_where_it_is_not_proved_the_reason_is_told(body: str, reason: str, place: str) -> None:
    found = widened(body)
    assert isinstance(found, ScalarLoads), found
    assert reason in found.reason
    assert found.place.startswith(f"a.wgsl:{place}")
    assert str(found) == f"scalar loads: {found.reason} ({found.place})"


def test_a_parameter_may_shadow_a_buffer() -> None:
    text = Text("a.wgsl", "fn f(a: vec4<f32>, k: u32) -> f32 { return a[k % 4u] + x[k]; }")
    function = parse(text).declarations[0]
    assert isinstance(function, tree.Function)
    found = vec4_load(text, function, "k", FACTS)
    assert isinstance(found, ScalarLoads)
    assert found.reason == "a is no contiguous buffer"


def test_the_same_function_along_another_parameter() -> None:
    found = widened("return x[k * params.depth + row];", "row")
    assert isinstance(found, Vec4Load)
    assert "x_as_vec4[(k*params.depth+row) / 4u]" in found.text
