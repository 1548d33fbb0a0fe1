"""Linked text is WGSL that a compiler takes and a GPU runs."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import wgsl_kernels as wk

MODULES = {
    "main.wesl": """
import package::math::poly;
import package::math as m;
import constants::OFFSET;

struct Params { x_size: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

fn max(a: f32) -> f32 { return a + OFFSET; }  // hides a name that another module uses

@compute @workgroup_size(m::SIZE)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let step = id.x; // hides a name that is linked
  if (step < params.x_size) {
    let scale = 2.0;
    y[step] = max(poly(x[step])) * scale * m::scale + m::step(f32(step));
  }
}
""",
    "math.wesl": """
import super::more::*;
const SIZE = 64u;
const scale = 0.5;
fn poly(x: f32) -> f32 {
  @if(cubic) { return helper(x) * x; }
  @else { return helper(x); }
}
fn helper(x: f32) -> f32 { return max(square(x), 1.0); }
fn step(x: f32) -> f32 { return select(0.0, 1.0, x > 2.0); }
""",
    "more.wesl": """
fn square(x: f32) -> f32 { return helper(x, x); }
fn helper(a: f32, b: f32) -> f32 { return a * b; }
""",
}


def _like_x(x: wk.Spec, /) -> wk.Spec:
    return x


@pytest.mark.gpu
@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize("mangle", ["clash", "path"])
@pytest.mark.parametrize("cubic", [False, True])
def test_a_kernel_of_linked_text_computes_what_its_modules_say(
    mangle: Literal["clash", "path"], cubic: bool
) -> None:
    linked = wk.link(
        MODULES, conditions={"cubic": cubic}, constants={"OFFSET": 0.25}, mangle=mangle
    )
    wk.signature("Linked")(_like_x)
    wk.wgsl_kernel("Linked", linked.text)
    x = np.linspace(-3, 3, 11, dtype=np.float32)
    y = wk.engine().run_kernel("Linked", {"x": wk.tensor(x)})
    assert isinstance(y, wk.Tensor)

    poly = np.maximum(x * x, 1) * (x if cubic else 1)
    np.testing.assert_allclose(y.numpy(), poly + 0.25 + (np.arange(11) > 2), rtol=1e-6)
