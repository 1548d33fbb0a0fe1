"""Reductions: all variants, one stage and two, over any axes, give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.webgpu.lab import Array, inline, lab, operand, strides_of, values_of

from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.lowering.spreads import CHUNK, reduce_loop
from wgsl_kernels.engine.environment.errors import ShaderError

pytestmark = pytest.mark.gpu

SUM = """
fn init() -> T { return T(0); }
fn combine(a: T, b: T) -> T { return a + b; }
"""
MEAN = SUM + "fn finish(total: T, n: u32) -> T_y { return total / f32(n); }\n"
ARG_MAX = """
struct Best { value: f32, index: u32 }
fn init() -> Best { return Best(-3.4e38, 0xffffffffu); }
fn lift(x: T, i: u32) -> Best { return Best(x, i); }
fn combine(a: Best, b: Best) -> Best {
  if (a.value > b.value || (a.value == b.value && a.index < b.index)) { return a; }
  return b;
}
fn finish(best: Best) -> i32 { return i32(best.index); }
"""
FIRST_MAX = (
    ARG_MAX
    + """
fn append(a: Best, x: T, i: u32) -> Best {
  if (x > a.value) { return Best(x, i); }
  return a;
}
"""
)
ANY = """
fn init() -> bool { return false; }
fn combine(a: bool, b: bool) -> bool { return a || b; }
"""
NORM = """
struct Attrs { scale: f32 }
fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return attrs.scale * x * x; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(a: f32, n: u32) -> f32 { return sqrt(a) + f32(n); }
"""
VARIANTS: list[Any] = ["lanes", "rows"]
BESIDE: list[Any] = ["columns", "eights"]
GROUPS = {"eights": 16}


def grid(
    variant: str, rows: int, parts: int = 1, inner: int = 1, *, packed: bool = False
) -> tuple[int, int, int]:
    """Return workgroup counts, folded to show that any fold will do."""
    runs = {"columns": rows // inner * -(-inner // 4), "eights": rows // 8}.get(variant, rows)
    group = GROUPS.get(variant, 64)
    if packed:
        return (runs * parts // group + 1, 3, 1)
    groups = runs if variant == "lanes" else -(-runs // group)
    return (-(-groups // 3), 3, parts)


def reduce(
    text: str,
    x: Array,
    axes: tuple[int, ...],
    expected: Array,
    variant: Any,
    *,
    flat: bool = False,
    part: int = 0,
    wide: bool = False,
    attrs: dict[str, Any] | None = None,
) -> Array:
    """Run a reduction of ``x``, in two stages if ``part`` is given; return y."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    view = x.transpose(*kept, *axes)
    n = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    whole = x if x.base is None else x.base
    assert isinstance(whole, np.ndarray)
    start = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    facts = {
        "y_size": expected.size,
        "wk_n": n,
        "wk_rows": expected.size,
        "wk_inner": expected.shape[-1] if expected.ndim else 1,
        "wk_shape": view.shape,
        "wk_x_strides": strides_of(view),
        "wk_x_offset": start // x.itemsize,
        "wk_step": strides_of(view)[-1] if view.ndim else 1,
        **(attrs or {}),
    }
    inputs = [operand("x", view, "flat" if flat else "strided")]
    outputs = [operand("y", expected)]
    arrays = {"x": whole.reshape(-1), "y": np.zeros(expected.shape, expected.dtype)}

    last: Any = "rows" if variant in BESIDE else variant

    def made(**choices: Any) -> Any:
        chosen = last if choices.get("stage") == "final" else variant
        packs = packed and choices.get("stage") == "partial"
        loop = reduce_loop(
            chosen,
            choices.get("stage", "whole"),
            maps=False,
            packed=packs,
            vectors=x.dtype != np.complex64,
            lines=len(kept) > 1,
            even=not flat and len(axes) == 1,
        )
        options = Options(loop=loop, kept=len(kept), wide=wide, **choices)
        names = tuple(attrs or ())
        return compose("Reduce", inline(text), inputs, outputs, attrs=names, options=options)

    rows = expected.size
    packed = variant != "lanes" and (-(-n // part) if part else 1) % 2 == 0
    inner = facts["wk_inner"]
    if not part:
        found = lab().run(made(), arrays, facts, grid(variant, rows, 1, inner))
        return values_of(found["y"], expected)
    parts = -(-n // part)
    facts |= {"wk_parts": parts, "wk_part_size": part, "wk_first_part": 0, "wk_last_part": parts}
    first, second = made(stage="partial"), made(stage="final")
    room = np.zeros(rows * parts * first.partial_bytes // 4, np.uint32)
    cells = grid(variant, rows, parts, inner, packed=packed)
    partials = lab().run(first, {**arrays, "wk_partials": room}, facts, cells)
    words = np.frombuffer(partials["wk_partials"], np.uint32)[: room.size].copy()
    found = lab().run(second, {**arrays, "wk_partials": words}, facts, grid(last, rows))
    return values_of(found["y"], expected)


@pytest.fixture
def x() -> Array:
    return np.random.default_rng(3).uniform(-1, 1, (3, 70, 5)).astype(np.float32)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2), ()])
def test_sums_over_any_axes(x: Array, axes: tuple[int, ...], variant: Any) -> None:
    want = x.sum(axes, dtype=np.float32) if axes else x
    found = reduce(SUM, x, axes, np.asarray(want), variant)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("part", [0, 8, 100, 352])
def test_two_stages_give_the_same(x: Array, variant: Any, part: int) -> None:
    mean = reduce(MEAN, x, (1, 2), x.mean((1, 2)), variant, flat=True, part=part)
    np.testing.assert_allclose(mean, x.mean((1, 2)), rtol=1e-5, atol=1e-6)
    rows = x.reshape(3, 350)
    want = rows.argmax(1).astype(np.int32)
    np.testing.assert_array_equal(reduce(ARG_MAX, rows, (1,), want, variant, part=part), want)
    flags = x > 0.99
    want_any: Array = np.asarray(flags.any((1, 2)))
    np.testing.assert_array_equal(
        reduce(ANY, flags, (1, 2), want_any, variant, part=part), want_any
    )


@pytest.mark.parametrize("inner", [4, 5, 7, 8, 64, 70])
@pytest.mark.parametrize("part", [0, 16])
def test_four_columns_are_reduced_together(inner: int, part: int) -> None:
    x = np.random.default_rng(4).uniform(-1, 1, (2, 140, inner)).astype(np.float32)
    want = x.argmax(1).astype(np.int32)
    np.testing.assert_array_equal(reduce(ARG_MAX, x, (1,), want, "columns", part=part), want)
    flags = x > 0.99
    want_any: Array = np.asarray(flags.any(1))
    found = reduce(ANY, flags, (1,), want_any, "columns", part=part)
    np.testing.assert_array_equal(found, want_any)
    if inner % 4 == 0:
        means = reduce(MEAN, x, (1,), x.mean(1), "columns", part=part, wide=True)
        np.testing.assert_allclose(means, x.mean(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inner", [8, 64, 200])
@pytest.mark.parametrize("part", [0, 16])
@pytest.mark.parametrize("wide", [False, True])
def test_eight_columns_are_reduced_together(inner: int, part: int, wide: bool) -> None:
    x = np.random.default_rng(4).uniform(-1, 1, (2, 140, inner)).astype(np.float32)
    want = x.argmax(1).astype(np.int32)
    found = reduce(ARG_MAX, x, (1,), want, "eights", part=part, wide=wide)
    np.testing.assert_array_equal(found, want)
    means = reduce(MEAN, x, (1,), x.mean(1), "eights", part=part, wide=wide)
    np.testing.assert_allclose(means, x.mean(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", [*VARIANTS, *BESIDE])
@pytest.mark.parametrize("part", [0, 16])
def test_elements_are_appended_in_order(variant: Any, part: int) -> None:
    x = np.random.default_rng(4).integers(0, 9, (2, 143, 8)).astype(np.float32)  # equal ones
    want = x.argmax(1).astype(np.int32)
    found = reduce(FIRST_MAX, x, (1,), want, variant, part=part)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("part", [0, 16])
def test_rows_are_loaded_by_fours_where_they_lie_so(variant: Any, part: int) -> None:
    x = np.random.default_rng(4).uniform(-1, 1, (3, 140)).astype(np.float32)
    want = x.argmax(1).astype(np.int32)
    found = reduce(ARG_MAX, x, (1,), want, variant, part=part, wide=True)
    np.testing.assert_array_equal(found, want)
    flags = x > 0.99
    want_any: Array = np.asarray(flags.any(1))
    found = reduce(ANY, flags, (1,), want_any, variant, flat=True, part=part, wide=True)
    np.testing.assert_array_equal(found, want_any)
    view = x[::-1, 4:132]
    found = reduce(SUM, view, (1,), view.sum(1), variant, part=part, wide=True)
    np.testing.assert_allclose(found, view.sum(1), atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("count", [1, 3, 6, 513, 515])
def test_ragged_ends_are_loaded_one_by_one(variant: Any, count: int) -> None:
    x = np.random.default_rng(4).uniform(-1, 1, count).astype(np.float32)
    for wide in (False, True):
        found = reduce(SUM, x, (0,), np.zeros((), np.float32), variant, flat=True, wide=wide)
        np.testing.assert_allclose(found, x.sum(), atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_reductions_read_views(x: Array, variant: Any) -> None:
    view = x[::-1, 3:60:4]
    want = view.sum((0, 2), dtype=np.float32)
    np.testing.assert_allclose(reduce(SUM, view, (0, 2), want, variant), want, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_attrs_lift_and_finish(x: Array, variant: Any) -> None:
    want = np.sqrt((2 * x * x).sum(1)) + 70
    found = reduce(NORM, x, (1,), want, variant, attrs={"scale": 2.0})
    np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_full_chunk_is_reduced_within_the_bound(variant: Any) -> None:
    x = np.random.default_rng(5).uniform(0, 1, CHUNK).astype(np.float32)
    exact = x.astype(np.float64).sum()
    found = reduce(SUM, x, (0,), np.zeros((), np.float32), variant, flat=True)
    assert abs(float(found) - exact) <= 165 * np.spacing(np.float32(exact))
    ones = np.ones(3 * CHUNK + 5, np.int32)
    count = reduce(SUM, ones, (0,), np.zeros((), np.int32), variant, flat=True, part=CHUNK)
    assert count == ones.size


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_value_is_counted_n_times(variant: Any) -> None:
    options = Options(loop=reduce_loop(variant, "whole", maps=False))
    y = np.zeros((), np.float32)
    inputs = [Operand("x", "float32", 0, "value")]
    composed = compose("Sum", inline(SUM), inputs, [operand("y", y)], options=options)
    found = lab().run(composed, {"y": y}, {"y_size": 1, "wk_rows": 1, "wk_n": 10, "x_value": 1.5})
    assert values_of(found["y"], y) == 15


def test_workgroup_memory_is_summed() -> None:
    y = np.zeros(1, np.int32)
    x = np.zeros((1, 9), np.float32)
    composed = compose("ArgMax", inline(ARG_MAX), [operand("x", x)], [operand("y", y)])
    assert composed.workgroup_bytes == 64 * 8
    assert composed.workgroup_size == (64, 1, 1)


def test_a_reduction_to_another_type_needs_lift() -> None:
    text = "fn init() -> f32 { return 0.0; }\nfn combine(a: f32, b: f32) -> f32 { return a; }\n"
    x = np.zeros((2, 3), np.int32)
    y = np.zeros(2, np.float32)
    with pytest.raises(ShaderError, match="init has f32 where the tensor has i32; want fn lift"):
        compose("Sum", inline(text), [operand("x", x)], [operand("y", y)])
