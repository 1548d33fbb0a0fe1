"""Normalizations: all variants, in one stage and in two, give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.webgpu.lab import Array, inline, lab, operand, strides_of, values_of
from tests.webgpu.test_compose_reductions import grid

from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.lowering.spreads import reduce_loop
from wgsl_kernels.engine.environment.errors import ShaderError

pytestmark = pytest.mark.gpu

SHARE = """
fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn settle(total: f32, n: u32) -> vec2<f32> { return vec2<f32>(total, f32(n)); }
fn apply(x: T, weight: T_weight, i: u32, n: u32, row: vec2<f32>) -> T_y {
  return x / row.x * weight + f32(n) - row.y + f32(i);
}
"""
LESS = """
fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn apply(x: T, total: f32) -> T_y { return x - total; }
"""
VARIANTS: list[Any] = ["rows", "lanes"]


def share(x: Array, axis: int, variant: Any, part: int = 0, wide: bool = False) -> Array:
    """Run SHARE along one axis of ``x``, with weights, in two stages if ``part`` is given."""
    kept = [one for one in range(x.ndim) if one != axis]
    count = x.shape[axis]
    rows, inner = x.size // count, x.shape[-1] if variant == "columns" else 1
    weight = np.linspace(1, 2, count).astype(np.float32)
    y = np.zeros(x.shape, np.float32)
    order = (*kept, axis)
    view, written = x.transpose(order), y.transpose(order)
    parts = -(-count // part) if part else 1
    packed = parts > 1 and wide and variant != "lanes"
    facts = {
        "y_size": x.size,
        "wk_n": count,
        "wk_rows": rows,
        "wk_inner": inner,
        "wk_shape": view.shape,
        "wk_x_strides": strides_of(view),
        "wk_y_strides": strides_of(written),
        "wk_x_offset": 0,
        "wk_step": strides_of(view)[-1],
        "wk_parts": parts,
        "wk_part_size": part,
        "wk_first_part": 0,
        "wk_last_part": parts,
    }
    inputs = [operand("x", view, "strided"), operand("weight", weight)]

    def made(stage: Any) -> Any:
        packs = packed and stage != "whole"
        lines, even = len(kept) > 1, True
        loop = reduce_loop(variant, stage, maps=True, packed=packs, lines=lines, even=even)
        options = Options(loop=loop, kept=len(kept), wide=wide, stage=stage)
        return compose("Share", inline(SHARE), inputs, [operand("y", y)], options=options)

    whole = x if x.base is None else x.base
    assert isinstance(whole, np.ndarray)
    arrays = {"x": whole.reshape(-1), "weight": weight, "y": y}
    if part:
        first = made("partial")
        room = np.zeros(rows * parts * first.partial_bytes // 4, np.uint32)
        cells = grid(variant, rows, parts, inner, packed=packed)
        found = lab().run(first, {**arrays, "wk_partials": room}, facts, cells)
        words = np.frombuffer(found["wk_partials"], np.uint32)[: room.size].copy()
        arrays["wk_partials"] = words
    shader = made("apply" if part else "whole")
    cells = grid(variant, rows, parts, inner, packed=packed)
    found = lab().run(shader, arrays, facts, cells)
    return values_of(found["y"], y)


def expected(x: Array, axis: int) -> Array:
    """Return what SHARE computes."""
    count = x.shape[axis]
    along = [1] * x.ndim
    along[axis] = count
    weight = np.linspace(1, 2, count).reshape(along)
    return np.asarray(x / x.sum(axis, keepdims=True) * weight + np.arange(count).reshape(along))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("count", "wide"), [(140, True), (140, False), (141, False), (3, False)])
@pytest.mark.parametrize("part", [0, 16])
def test_rows_are_normalized(variant: Any, count: int, wide: bool, part: int) -> None:
    x = np.random.default_rng(1).uniform(1, 2, (70, count)).astype(np.float32)
    found = share(x, 1, variant, part, wide)
    np.testing.assert_allclose(found, expected(x, 1), rtol=1e-5)


@pytest.mark.parametrize(("inner", "wide"), [(8, True), (8, False), (5, False), (70, False)])
@pytest.mark.parametrize("part", [0, 16])
def test_columns_are_normalized(inner: int, wide: bool, part: int) -> None:
    x = np.random.default_rng(1).uniform(1, 2, (3, 50, inner)).astype(np.float32)
    found = share(x, 1, "columns", part, wide)
    np.testing.assert_allclose(found, expected(x, 1), rtol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_views_are_normalized_into_plain_arrays(variant: Any) -> None:
    x = np.random.default_rng(1).uniform(1, 2, (5, 6, 7)).astype(np.float32)
    found = share(x.transpose(2, 0, 1), 1, variant)
    np.testing.assert_allclose(found, expected(x.transpose(2, 0, 1), 1), rtol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_value_is_normalized(variant: Any) -> None:
    y = np.zeros(1, np.float32)
    inputs = [Operand("x", "float32", 0, "value")]
    options = Options(loop=reduce_loop(variant, "whole", maps=True))
    composed = compose("Less", inline(LESS), inputs, [operand("y", y)], options=options)
    facts = {"y_size": 1, "wk_rows": 1, "wk_n": 1, "x_value": 1.5}
    assert values_of(lab().run(composed, {"y": y}, facts)["y"], y) == 0


def test_what_has_no_vectors_cannot_be_normalized() -> None:
    x = np.zeros((2, 3), np.complex64)
    with pytest.raises(ShaderError, match="apply has x of complex64; want a real number"):
        compose("Less", inline(LESS), [operand("x", x)], [operand("y", x)])
