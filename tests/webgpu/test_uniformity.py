"""The lint says of each barrier whether all invocations reach it, as browsers do."""

from __future__ import annotations

import pytest

from wgsl_kernels.bench.checking import tint
from wgsl_kernels.wgsl.lint.lint import lint
from wgsl_kernels.wgsl.syntax.places import Text

HEAD = """struct Params { n: u32 }
struct Lanes { @builtin(local_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u }
struct Grid { @builtin(num_workgroups) groups: vec3<u32> }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
var<workgroup> tile: array<f32, 64>;
var<private> own: u32;
fn helper(v: f32) -> f32 { workgroupBarrier(); return v; }
fn chosen(lane: u32) -> bool { return lane < 3u; }
fn put(p: ptr<function, u32>, v: u32) { *p = v; }
fn through(p: ptr<function, u32>, v: u32) { put(p, v); }
fn look(p: ptr<function, u32>) -> u32 { return *p; }
fn early(p: ptr<function, u32>, v: u32) { if (v > 3u) { return; } *p = 1u; }
fn part(p: ptr<function, array<u32, 4>>, v: u32) { (*p)[v & 3u] = 1u; }
"""
MAIN = """@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3u{more}) {{
  tile[lane] = x[lane];
  {body}
  y[lane] = tile[0];
}}
"""
ASKED = "if (n < 3u) { workgroupBarrier(); }"
FIRST = "if (a[0] < 3u) { workgroupBarrier(); }"
REFUSED = [
    "if (lane < 3u) { workgroupBarrier(); }",
    "if (lane < 3u) { return; } workgroupBarrier();",
    "for (var i = 0u; i < lane; i++) { workgroupBarrier(); }",
    "var n = 0u; if (lane < 2u) { n = 4u; } for (var i = 0u; i < n; i++) { _ = helper(1.0); }",
    "if (tile[0] > 1.0) { workgroupBarrier(); }",
    "if (x[lane] > 1.0) { tile[lane] = helper(1.0); }",
    "if (chosen(lane)) { workgroupBarrier(); }",
    "loop { if (lane == 2u) { break; } workgroupBarrier(); }",
    "switch lane { case 1u: { workgroupBarrier(); } default: {} }",
    "while (true) { workgroupBarrier(); if (y[0] > 0.0) { break; } }",
    # a variable, at the barrier
    f"var n = group.x; n = lane; {ASKED}",
    f"var n = lane; n += 1u; {ASKED}",
    f"var n = group.x; if (lane < 3u) {{ n = 1u; }} {ASKED}",
    "var n = lane; let m = n; n = 1u; if (m < 3u) { workgroupBarrier(); }",
    "var v = vec2(lane, 0u); v.x = 1u; if (v.x < 3u) { workgroupBarrier(); }",
    f"own = 1u; let n = own; {ASKED}",
    # through a pointer
    f"var n = group.x; let p = &n; *p = lane; {ASKED}",
    f"var n = group.x; let p = &n; let q = p; put(q, lane); {ASKED}",
    f"var n = 1u; through(&n, lane); {ASKED}",
    f"var n = 1u; early(&n, lane); {ASKED}",
    f"var a = array<u32, 4>(); part(&a, lane); {FIRST}",
    f"var a = array<u32, 4>(); let p = &a[lane & 3u]; *p = 1u; {FIRST}",
    "var a = array<u32, 4>(); let p = &a[lane & 3u]; if (look(p) > 0u) { workgroupBarrier(); }",
    # what rounds leave behind
    "var n = 0u; loop { if (n > 4u) { break; } workgroupBarrier(); n += lane; }",
    f"var n = 0u; loop {{ n = 1u; if (lane < 3u) {{ break; }} n = 2u; }} {ASKED}",
    "var n = 0u; loop { workgroupBarrier(); continuing { n += 1u; break if n > lane; } }",
    "for (var i = 0u; i < 4u; i++) { if (lane == i) { return; } } workgroupBarrier();",
    "for (var i = 0u; i < lane; i++) { if (group.x == 3u) { return; } } workgroupBarrier();",
    f"var n = 0u; for (var i = 0u; i < 4u; i++) {{ {ASKED} n = i; for (var j = 0u; j < lane; j++) "
    "{ n = j; } }",
    # where branches meet
    f"var n = 0u; switch group.x {{ case 0u: {{ n = lane; break; }} default: {{ }} }} {ASKED}",
    "if (group.x == 0u) { y[0] = 1.0; } else if (lane < 3u) { return; } workgroupBarrier();",
    # operands that some ask
    "let b = lane < 3u && helper(1.0) > 0.0;",
    "let b = (group.x < 3u && lane < 2u) || helper(1.0) > 0.0;",
    # one element for all
    "let v = workgroupUniformLoad(&tile[lane]);",
    "let p = &tile[lane]; let v = workgroupUniformLoad(p);",
]
TAKEN = [
    "workgroupBarrier();",
    "if (params.n > 3u) { workgroupBarrier(); }",
    "if (lane < 3u) { tile[lane] = 1.0; } workgroupBarrier();",
    "for (var i = 0u; i < params.n; i++) { workgroupBarrier(); }",
    "for (var i = 32u; i > 0u; i /= 2u) { if (lane < i) { tile[i] = 2.0; } _ = helper(1.0); }",
    "if (x[group.x] > 1.0) { tile[lane] = helper(x[lane]); }",
    "for (var i = 0u; i < lane; i++) { if (i == 3u) { break; } } workgroupBarrier();",
    "if (workgroupUniformLoad(&tile)[0] > 1.0) { workgroupBarrier(); }",
    "let first = group.x == 0u; if (first) { workgroupBarrier(); }",
    # a variable, at the barrier
    f"var n = group.x; {ASKED} n = lane;",
    f"var n = lane; n = 1u; {ASKED}",
    "var n = 1u; let m = n; n = lane; if (m < 3u) { workgroupBarrier(); }",
    "for (var i = 0u; i < 4u; i++) { var k: u32; if (k > 2u) { workgroupBarrier(); } k = lane; }",
    # through a pointer
    f"var n = lane; let p = &n; put(p, 1u); {ASKED}",
    "var n = 1u; if (look(&n) < 3u) { workgroupBarrier(); } n = lane;",
    "var n = lane; let p = &n; *p = 1u; if (*p < 3u) { workgroupBarrier(); }",
    f"var a = array<u32, 4>(); part(&a, group.x); {FIRST}",
    f"var a = array<u32, 4>(); let p = &a; (*p)[0] = lane; a = array<u32, 4>(); {FIRST}",
    "let p = &y; if (arrayLength(p) > 1u) { workgroupBarrier(); }",
    # what rounds leave behind
    "var n = 0u; loop { if (n > 4u) { break; } n = lane; workgroupBarrier(); n = 5u; }",
    f"var n = 0u; for (var i = 0u; i < 4u; i++) {{ {ASKED} for (var j = 0u; j < lane; j++) "
    "{ n = j; } n = i; }",
    "for (var i = 0u; i < params.n; i++) { if (group.x == 3u) { return; } workgroupBarrier(); }",
    # where branches meet
    f"var n = 0u; if (group.x == 0u) {{ n = lane; return; }} {ASKED}",
    "if (group.x == 0u) { return; } else if (lane < 3u) { y[0] = 1.0; } workgroupBarrier();",
    "switch lane { case 0u: { break; } default: { y[0] = 1.0; } } workgroupBarrier();",
    "if (lane < 3u) { return; workgroupBarrier(); }",
    # operands that all ask
    "let b = group.x < 3u && helper(1.0) > 0.0;",
    "let b = (lane < 3u) & (helper(1.0) > 0.0);",
    "let v = workgroupUniformLoad(&tile[group.x]); if (v > 1.0) { workgroupBarrier(); }",
]


def codes(text: str) -> list[str]:
    return [one.code for one in lint(Text("k.wgsl", text))]


@pytest.mark.parametrize("body", REFUSED)
def test_a_barrier_that_not_all_reach_is_found_as_in_browsers(body: str) -> None:
    text = HEAD + MAIN.format(body=body, more="")

    assert "non-uniform-barrier" in codes(text)
    assert "uniform" in tint.compiled(text)[0].words


@pytest.mark.parametrize("body", TAKEN)
def test_a_barrier_that_all_reach_is_not_found_as_in_browsers(body: str) -> None:
    text = HEAD + MAIN.format(body=body, more="")

    assert codes(text) == []
    assert tint.compiled(text) == ()


def test_a_struct_of_built_in_values_is_uniform_as_a_whole() -> None:
    body = "if (given.groups.x > 1u) { workgroupBarrier(); }"
    mixed, alone = (
        HEAD + MAIN.format(body=body, more=f", given: {one}") for one in ("Lanes", "Grid")
    )

    (found,) = lint(Text("k.wgsl", mixed))

    assert "so make groups a parameter of its own" in found.words
    assert tint.compiled(mixed) != ()
    assert codes(alone) == []
    assert tint.compiled(alone) == ()


def test_loops_in_loops_take_no_longer_than_their_number() -> None:
    loops = "".join(f"for (var i{at} = n; i{at} < 3u; i{at}++) {{ " for at in range(60))
    body = f"var n = 0u; {loops} workgroupBarrier(); n = lane; {'}' * 60}"

    assert "non-uniform-barrier" in codes(HEAD + MAIN.format(body=body, more=""))
