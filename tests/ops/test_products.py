"""Products: the array API's rules, views, long sums, both kinds of tiles, and refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.policy import GPU, SOFTWARE
from wgsl_kernels.backends.webgpu.products.tilings import (
    ITERATIONS,
    LANES,
    STRIDED,
    VARIANTS,
    VEC4_KN,
    Product,
    Vec4Axes,
    candidates_for,
)
from wgsl_kernels.backends.webgpu.tuning.tuner import forced, watching
from wgsl_kernels.testing.bounds import contains, matmul_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy

BACKENDS = ["cpu", "webgpu"]
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def assert_product(y: wk.Tensor, a: np.ndarray, b: np.ndarray) -> None:
    """Hold ``y`` against the product of ``a`` and ``b``, in what any order of sums allows."""
    wide = [a.astype(np.float64), b.astype(np.float64)]
    expected = wide[0] @ wide[1]
    assert y.shape == expected.shape
    assert np.all(contains(matmul_bound()(wide, expected), y.numpy()))


@EVERYWHERE
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((4, 2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((0,), (0,)),
        ((2, 0), (0, 3)),
        ((0, 2, 3), (3, 2)),
        ((70, 1), (1, 70)),
        ((130, 5), (5, 3)),
        ((3, 5), (5, 130)),
        ((1, 1), (1, 1)),
    ],
    ids=str,
)
def test_matmul_takes_the_shapes_of_the_array_api(
    left: tuple[int, ...], right: tuple[int, ...], backend: str
) -> None:
    a, b = drawn(*left), drawn(*right, seed=1)
    with wk.use_backend(backend):
        y = wk.tensor(a) @ wk.tensor(b)
        assert y.shape == (a @ b).shape
        np.testing.assert_allclose(y.numpy(), a @ b, rtol=1e-5, atol=1e-5)


VIEWS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "transposed": (lambda x: wk.matrix_transpose(x), (9, 7)),
    "reversed": (lambda x: wk.flip(x), (7, 9)),
    "cut": (lambda x: x[2:9, 1:10], (11, 12)),
    "every other": (lambda x: x[::2, ::3], (14, 27)),
    "broadcast": (lambda x: wk.broadcast_to(x, (7, 9)), (7, 1)),
}


@EVERYWHERE
@pytest.mark.parametrize("left", VIEWS)
@pytest.mark.parametrize("right", VIEWS)
def test_views_are_multiplied_as_they_are(left: str, right: str, backend: str) -> None:
    with wk.use_backend(backend):
        a = VIEWS[left][0](wk.tensor(drawn(*VIEWS[left][1])))
        b = VIEWS[right][0](wk.tensor(drawn(*VIEWS[right][1], seed=1)))
        assert_product(wk.matmul(a, b, transpose_b=True), a.numpy(), b.numpy().T)


def test_views_are_not_copied() -> None:
    with wk.use_backend("webgpu"):
        a, b = wk.tensor(drawn(40, 50)), wk.tensor(drawn(40, 50))
        seen = wk.profile(lambda: wk.matmul(wk.matrix_transpose(a)[1:], b[:, ::-1]))
        assert [row.kernels for row in seen.dispatches] == [("BatchMatMul",)]


@pytest.mark.sampled(one_in=6)
@pytest.mark.gpu
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("rows", "terms", "cols"),
    [(70, 37, 90), (1, 16, 1), (64, 15, 65), (33, 700, 17), (76, 36, 84), (1, 640, 40)],
    ids=str,
)
def test_every_variant_is_right_at_the_edges(
    rows: int, terms: int, cols: int, variant: str
) -> None:
    with wk.use_backend("webgpu"), forced("BatchMatMul", variant):
        a, b = drawn(3, rows, terms), drawn(terms, cols, seed=1)
        assert_product(wk.matmul(wk.tensor(a), wk.tensor(b)), a, b)


@pytest.mark.sampled(one_in=8)
@pytest.mark.gpu
@pytest.mark.parametrize("variant", ["rows_4", "rows_8", "staged_64", *LANES])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 68, 70])
@pytest.mark.parametrize("cols", [1, 2, 4, 72, 73])
def test_operands_read_as_vec4_are_right_in_every_layout(
    rows: int, cols: int, transpose_a: bool, transpose_b: bool, variant: str
) -> None:
    a, b = drawn(2, rows, 40), drawn(40, cols, seed=1)
    left, right = np.swapaxes(a, 1, 2) if transpose_a else a, b.T if transpose_b else b
    with wk.use_backend("webgpu"), forced("BatchMatMul", variant):
        y = wk.matmul(
            wk.tensor(left.copy()),
            wk.tensor(right.copy()),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
        )
        assert_product(y, a, b)


@pytest.mark.sampled(one_in=18)
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize(("rows", "terms", "cols"), [(71, 39, 83), (72, 38, 84), (70, 40, 84)])
def test_every_tile_gives_the_same_bits(
    rows: int, terms: int, cols: int, transposed: tuple[bool, bool], dtype: str
) -> None:
    transpose_a, transpose_b = transposed
    a, b = drawn(rows, terms), drawn(terms, cols, seed=1)
    left, right = a.T.copy() if transpose_a else a, b.T.copy() if transpose_b else b
    if dtype == "int32":
        left, right = (left * 1e5).astype(np.int32), (right * 1e5).astype(np.int32)
    found = {}
    with wk.use_backend("webgpu"), watching() as seen:
        for name in ("rows_4", "rows_8", "staged_64", *LANES):
            with forced("BatchMatMul", name):
                x1, x2 = wk.tensor(left), wk.tensor(right)
                y = wk.matmul(x1, x2, transpose_a=transpose_a, transpose_b=transpose_b)
                found[name] = y.numpy().tobytes()
    assert len(set(found.values())) == 1
    assert seen["BatchMatMul"] >= {"rows_4", "staged_64"}


def test_lanes_share_whatever_the_layout_is() -> None:
    product = Product(1, 511, 511, 1, 511)
    candidates = candidates_for(product, STRIDED, replace(SOFTWARE, shares_lanes=True))
    assert candidates.static == "lanes_32"
    assert set(LANES) < candidates.by_name.keys()
    assert not set(LANES) & candidates_for(product, STRIDED, SOFTWARE).by_name.keys()


def test_a_small_product_takes_the_tiles_that_compile_soonest_on_software() -> None:
    small, large = Product(12, 128, 128, 1, 32), Product(1, 128, 384, 1, 384)
    software = replace(SOFTWARE, shares_lanes=True)
    assert candidates_for(small, VEC4_KN, software).static == "lanes_8"
    assert candidates_for(large, VEC4_KN, software).static == "lanes_32"
    assert candidates_for(small, VEC4_KN, GPU).static.startswith("staged")


def test_lanes_that_share_split_a_sum_as_others_do() -> None:
    product = Product(1, 18, 3, 180, 18)
    alone = candidates_for(product, STRIDED, SOFTWARE)
    shared = candidates_for(product, STRIDED, replace(SOFTWARE, shares_lanes=True))
    assert (alone.static, shared.static) == ("split", "split")
    blocks = [
        [one.by_name["split"].fields[name] for name in ("tap_block", "channel_block")]
        for one in (alone, shared)
    ]
    assert blocks[0] == blocks[1]


@pytest.mark.parametrize("is_software", [True, False])
@pytest.mark.parametrize("terms", [65_534, 65_537, 200_001])
def test_sums_longer_than_a_driver_loops_are_whole(
    terms: int, is_software: bool, follow_rules: Callable[[bool], None]
) -> None:
    follow_rules(is_software)
    with wk.use_backend("webgpu"):
        ones = wk.tensor(np.ones((2, terms), np.float32))
        y = wk.matmul(ones, ones, transpose_b=True)
        assert y.tolist() == [[terms, terms], [terms, terms]]


def test_many_small_matrices_fill_more_groups_than_one_axis_holds() -> None:
    with wk.use_backend("webgpu"):
        a, b = drawn(70_000, 1, 2), drawn(70_000, 2, 1, seed=1)
        assert_product(wk.matmul(wk.tensor(a), wk.tensor(b)), a, b)


@pytest.mark.parametrize("layout", [STRIDED, VEC4_KN], ids=lambda one: one.name)
@pytest.mark.parametrize("policy", [SOFTWARE, GPU], ids=["software", "gpu"])
@pytest.mark.parametrize("taps", [1, 9, 100_000])
@pytest.mark.parametrize("channels", [1, 15, 3_000, 1_000_000])
@pytest.mark.parametrize("results", [1, 2_000])
def test_no_part_loops_longer_than_drivers_allow(
    layout: Vec4Axes, policy: Policy, taps: int, channels: int, results: int
) -> None:
    product = Product(1, results, results, taps, channels)
    candidates = candidates_for(product, layout, policy)
    assert candidates.static in candidates.by_name
    for one in candidates.by_name.values():
        tap_block, channel_block = one.fields["tap_block"], one.fields["channel_block"]
        assert 1 <= tap_block <= taps
        assert 1 <= channel_block <= channels
        assert one.iterations <= ITERATIONS
        assert one.parts == math.ceil(taps / tap_block) * math.ceil(channels / channel_block)


@EVERYWHERE
def test_nan_and_infinity_propagate(backend: str) -> None:
    a = np.array([[np.nan, 1], [np.inf, 1], [-np.inf, np.inf], [0, 2]], np.float32)
    b = np.array([[1, 0], [1, 2]], np.float32)
    with wk.use_backend(backend), np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(wk.matmul(wk.tensor(a), wk.tensor(b)).numpy(), a @ b)


@EVERYWHERE
def test_whole_numbers_wrap(backend: str) -> None:
    with wk.use_backend(backend):
        big = wk.tensor([[2**30, 2**30]])
        assert wk.matmul(big, wk.tensor([[2], [2]])).tolist() == [[0]]


@EVERYWHERE
def test_integers_meet_floats_as_floats(backend: str) -> None:
    with wk.use_backend(backend):
        y = wk.matmul(wk.tensor([[1, 2]]), wk.tensor([[0.5], [0.25]]))
        assert (y.dtype, y.tolist()) == ("float32", [[1.0]])


@EVERYWHERE
def test_gradients_of_broadcast_batches_are_summed(backend: str) -> None:
    a, b = drawn(1, 2, 3), drawn(4, 3, 5, seed=1)
    with wk.use_backend(backend):
        da, db = wk.grads(wk.matmul)(wk.tensor(a), wk.tensor(b))
        ones = np.ones((4, 2, 5), np.float32)
        np.testing.assert_allclose(
            da.numpy(), (ones @ np.swapaxes(b, 1, 2)).sum(0, keepdims=True), rtol=1e-5
        )
        np.testing.assert_allclose(db.numpy(), np.swapaxes(a, 1, 2) @ ones, rtol=1e-5)


def test_dot_and_outer_take_vectors() -> None:
    assert wk.dot([1.0, 2.0], [3.0, 4.0]).item() == 11.0
    assert wk.dot([[1.0, 2.0]], [3.0, 4.0]).tolist() == [11.0]
    assert wk.outer([1.0, 2.0], [3.0, 4.0]).tolist() == [[3.0, 4.0], [6.0, 8.0]]
    with pytest.raises(wk.ShapeError, match=r"dot: x1 is \[\], x2 is \[2\]; want 1 or 2 axes"):
        wk.dot(1.0, [1.0, 2.0])
    with pytest.raises(wk.ShapeError, match=r"outer: x1 is \[1, 1\], x2 is \[1\]; want two vec"):
        wk.outer([[1.0]], [1.0])


@EVERYWHERE
@pytest.mark.parametrize(
    ("left", "right", "options", "message"),
    [
        ((4, 3), (5, 2), {}, r"inner sizes differ: a is \[4, 3\], b is \[5, 2\]; want a\[1\] =="),
        ((3, 4), (5, 2), {"transpose_a": True}, r"want a\[0\] == b\[0\]"),
        ((2, 4, 3), (3, 3, 2), {}, r"the axes before the matrices do not broadcast: a is \[2, 4,"),
        ((), (2, 2), {}, r"BatchMatMul\): a has shape \[\], rank 0; want a matrix, or up to 6"),
    ],
)
def test_refusals_name_what_is_wrong(
    left: tuple[int, ...],
    right: tuple[int, ...],
    options: dict[str, Any],
    message: str,
    backend: str,
) -> None:
    with wk.use_backend(backend), pytest.raises(wk.ShapeError, match=message):
        wk.matmul(wk.tensor(drawn(*left)), wk.tensor(drawn(*right)), **options)


def test_bools_are_refused() -> None:
    with pytest.raises(
        wk.DTypeError, match=r"BatchMatMul\): a has dtype bool; want float32 or int32"
    ):
        wk.matmul([[True]], [[True]])


@pytest.mark.sampled(one_in=36)
@pytest.mark.gpu
@pytest.mark.parametrize("variant", ["rows_4", "rows_8", "staged_64", *LANES, "split"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("terms", "cols"), [(40, 72), (37, 7), (700, 12)])
def test_bias_and_activation_follow_in_every_variant(
    terms: int, cols: int, transpose_a: bool, transpose_b: bool, variant: str
) -> None:
    a, b = drawn(2, 68, terms), drawn(terms, cols, seed=1)
    bias, slopes = drawn(cols, seed=2), drawn(68, 1, seed=3)
    z = a @ b + bias
    with wk.use_backend("webgpu"), forced("_FusedMatMul", variant):
        y = wk.fused_mat_mul(
            wk.tensor(np.swapaxes(a, 1, 2).copy() if transpose_a else a),
            wk.tensor(b.T.copy() if transpose_b else b),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            bias=bias,
            activation="prelu",
            prelu_activation_weights=slopes,
        )
        np.testing.assert_allclose(y.numpy(), np.where(z < 0, slopes * z, z), rtol=1e-4, atol=1e-4)


def test_a_bias_that_does_not_fit_the_product_is_named() -> None:
    with pytest.raises(wk.ShapeError, match=r"^_FusedMatMul: bias is \[3\], the product \[2, 4\]"):
        wk.fused_mat_mul(drawn(2, 5), drawn(5, 4), bias=drawn(3))
