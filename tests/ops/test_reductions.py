"""What the samples of reductions cannot say: NaN, ties, zeros, nothing at all, very long rows."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.ops.indexing import segment, sort
from wgsl_kernels.ops.normalization import normalization
from wgsl_kernels.ops.reductions import extremes, reduce, softmax, statistics

NAN, INF = np.nan, np.inf
BACKENDS = ["cpu", "webgpu"]


@pytest.fixture(params=BACKENDS, autouse=True)
def _backend(request: pytest.FixtureRequest) -> object:
    with wk.use_backend(request.param):
        yield


def test_the_first_nan_wins_in_extremes() -> None:
    x = wk.tensor([[1.0, NAN, INF, NAN], [-0.0, 0.0, -INF, 0.0]])
    np.testing.assert_array_equal(extremes.max(x, axis=1).numpy(), [NAN, 0])
    np.testing.assert_array_equal(extremes.min(x, axis=1).numpy(), [NAN, -INF])
    assert extremes.argmax(x, axis=1).tolist() == [1, 0]
    assert extremes.argmin(x, axis=1).tolist() == [1, 2]


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF])
def test_a_nan_of_either_sign_wins_anywhere(bits: int) -> None:
    x = np.random.default_rng(3).normal(size=(40, 1030)).astype(np.float32)
    x[3], x[9] = np.inf, -np.inf
    x[17, 5:90:7] = np.array(bits, np.uint32).view(np.float32)
    for axis in (0, 1):
        for name in ("max", "min", "argmax", "argmin"):
            found = getattr(extremes, name)(wk.tensor(x), axis=axis).numpy()
            np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))


def test_the_smallest_numbers_are_told_apart() -> None:
    x = np.array([[1e-45, 3e-45, -1e-45], [-1e-45, -3e-45, -4e-45]], np.float32)
    assert extremes.argmax(x, axis=1).tolist() == [1, 0]
    assert extremes.argmin(x, axis=1).tolist() == [2, 2]
    zeros = np.array([-0.0, 0.0, -0.0], np.float32)
    assert extremes.argmax(zeros).item() == extremes.argmin(zeros).item() == 0
    assert extremes.max(zeros).item() == extremes.min(zeros).item() == 0


def test_the_first_of_equal_elements_wins_also_where_nothing_is_beyond_them() -> None:
    for end in (np.int32(-(2**31)), np.int32(2**31 - 1), np.float32(INF), np.float32(-INF)):
        same = np.full((301, 1031), end)
        but_one = same.copy()
        but_one[1, 2] = but_one[7, 2] = but_one[1, 3] = 0
        for x in (same, but_one):
            for axis in (0, 1):
                for name in ("argmax", "argmin"):
                    found = getattr(extremes, name)(wk.tensor(x), axis=axis).numpy()
                    np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))


def test_integers_at_both_ends_are_compared_and_wrap() -> None:
    low, high = -(2**31), 2**31 - 1
    x = wk.tensor([[low, high], [high, high]])
    assert extremes.max(x, axis=0).tolist() == [high, high]
    assert extremes.min(x, axis=0).tolist() == [low, high]
    assert extremes.argmin(x).item() == 0
    assert reduce.sum(x, axis=1).tolist() == [-1, -2]
    assert reduce.prod(x, axis=1).tolist() == [low, 1]


@pytest.mark.parametrize(
    ("dtype", "largest", "smallest"),
    [("float32", -INF, INF), ("int32", 0, 0), ("bool", False, True)],
)
def test_reductions_of_nothing_give_what_changes_nothing(
    dtype: Any, largest: float, smallest: float
) -> None:
    x = wk.tensor(np.zeros((2, 0)), dtype=dtype)
    assert extremes.max(x, axis=1).tolist() == [largest] * 2
    assert extremes.min(x, axis=1).tolist() == [smallest] * 2
    assert extremes.argmax(x, axis=1).tolist() == [0, 0]
    assert reduce.sum(x, axis=1).tolist() == [0, 0]
    assert reduce.prod(x, axis=1).tolist() == [1, 1]
    assert np.isnan(reduce.mean(x, axis=1).numpy()).all()


def test_every_largest_element_gets_the_gradient() -> None:
    x = wk.tensor([[1.0, 2.0, 2.0], [INF, 0.0, NAN]])
    found = wk.grad(lambda x: extremes.max(x, axis=1))(x, dy=wk.tensor([3.0, 5.0]))
    assert found.tolist() == [[0, 3, 3], [0, 0, 0]]


def test_the_gradient_of_a_product_is_right_where_factors_are_zero() -> None:
    x = wk.tensor([[2.0, 0.0, 5.0], [0.0, 0.0, 3.0], [4.0, 3.0, 2.0]])
    first = wk.grad(lambda x: reduce.prod(x, axis=1))
    assert first(x).tolist() == [[0, 10, 0], [0, 0, 0], [6, 8, 12]]
    second = wk.grad(lambda x: first(x)[:, 0])
    assert second(x).tolist() == [[0, 5, 0], [0, 3, 0], [0, 2, 3]]


@pytest.mark.parametrize("log", [False, True])
def test_softmax_of_rows_longer_than_a_workgroup_measures(log: bool) -> None:
    x = np.full((2, 1_200_000), -INF, np.float32)
    x[:, 700_000:700_003] = [-200, -201, -199]
    x[1, 5] = -198
    run = softmax.log_softmax if log else softmax.softmax
    found = run(wk.tensor(x)).numpy()
    exact = x.astype(np.float64) + 198
    exact -= np.log(np.exp(exact).sum(1, keepdims=True))
    np.testing.assert_allclose(found, exact if log else np.exp(exact), rtol=1e-5)


def test_softmax_keeps_infinities_and_nan() -> None:
    x = wk.tensor([[-INF, 0.0, 0.0], [-INF, -INF, -INF], [INF, 0.0, 1.0], [NAN, 0.0, 1.0]])
    expected = [[0, 0.5, 0.5], [NAN] * 3, [NAN] * 3, [NAN] * 3]
    np.testing.assert_allclose(softmax.softmax(x).numpy(), expected)
    total = softmax.logsumexp(x, axis=1).numpy()
    np.testing.assert_allclose(total, [np.log(2), -INF, INF, NAN], rtol=1e-6)


def test_logsumexp_of_nothing_and_of_very_long_columns() -> None:
    assert softmax.logsumexp(wk.tensor(np.zeros((2, 0), np.float32)), axis=1).tolist() == [-INF] * 2
    x = np.random.default_rng(3).normal(0, 9, (5000, 8))
    found = softmax.logsumexp(wk.tensor(x), axis=0).numpy()
    np.testing.assert_allclose(found, np.log(np.exp(x).sum(0)), rtol=1e-5)


def test_the_gradient_of_logsumexp_is_the_softmax_also_where_all_is_lost() -> None:
    x = wk.tensor([[0.0, 0.0], [-INF, -INF], [1.0, -INF]])
    found = wk.grad(lambda x: softmax.logsumexp(x, axis=1))(x)
    assert found.tolist() == [[0.5, 0.5], [0, 0], [1, 0]]


def test_variance_survives_a_mean_far_from_zero_and_a_first_element_far_from_the_mean() -> None:
    x = np.random.default_rng(4).normal(0, 1, (3, 5000)).astype(np.float32)
    x[1] += 1e4
    x[2, 0] = 1e3
    exact = x.astype(np.float64).var(1)
    close = [1e-5, 1e-5, 129 * 2.0**-21]  # the last by what the head of deviations.wgsl says
    rows = statistics.var(wk.tensor(x), axis=1).numpy()
    assert (np.abs(rows - exact) <= close * exact).all()
    columns = statistics.var(wk.tensor(np.ascontiguousarray(x.T)), axis=0).numpy()
    assert (np.abs(columns - exact) <= close * exact).all()


def test_variance_of_few_elements_and_of_none() -> None:
    x = wk.tensor([[3.0], [INF]])
    np.testing.assert_array_equal(statistics.var(x, axis=1).numpy(), [0, NAN])
    np.testing.assert_array_equal(statistics.var(x, axis=1, correction=1).numpy(), [NAN, NAN])
    pair = wk.tensor([[1.0, 3.0], [NAN, 1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(
        statistics.var(pair, axis=1, correction=2).numpy(), [INF, NAN, NAN]
    )
    assert np.isnan(statistics.var(wk.tensor(np.zeros((2, 0), np.float32)), axis=1).numpy()).all()
    assert statistics.std(wk.tensor([1.0, 3.0])).item() == 1
    mean, variance = statistics.moments(wk.tensor([[1.0, 3.0], [5.0, 5.0]]), axis=1, keepdims=True)
    assert mean.tolist() == [[2], [5]]
    assert variance.tolist() == [[1], [0]]


def test_layer_norm_takes_rows_longer_than_an_invocation_reduces() -> None:
    x = np.random.default_rng(5).normal(7, 3, (2, 40_003)).astype(np.float32)
    scale, offset = np.linspace(0, 2, 40_003), np.linspace(-1, 1, 40_003)
    found = normalization.layer_norm(x, scale, offset).numpy()
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    np.testing.assert_allclose(found, normal * scale + offset, rtol=1e-4, atol=1e-4)


def test_layer_norm_keeps_nan_and_infinities_in_their_rows() -> None:
    x = wk.tensor([[1.0, 2.0, 3.0], [NAN, 0.0, 1.0], [INF, 0.0, 1.0], [2.0, 2.0, 2.0]])
    found = normalization.layer_norm(x).numpy()
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1:3]).all()
    np.testing.assert_array_equal(found[3], [0, 0, 0])


def test_layer_norm_names_the_shape_that_it_wants() -> None:
    x = wk.tensor(np.zeros((2, 3, 4), np.float32))
    with pytest.raises(
        wk.ShapeError, match=r"offset is \[4\], x is \[2, 3, 4\] and axis 1; want \[3, 4\]"
    ):
        normalization.layer_norm(x, np.ones((3, 4)), np.ones(4), axis=1)


def test_topk_is_stable_and_puts_nan_first() -> None:
    x = wk.tensor([1.0, NAN, -0.0, INF, 0.0, NAN, 1.0])
    values, indices = sort.topk(x, 7)
    assert indices.tolist() == [1, 5, 3, 0, 6, 2, 4]
    np.testing.assert_array_equal(values.numpy(), [NAN, NAN, INF, 1, 1, 0, 0])


def test_topk_sorts_rows_longer_than_a_block() -> None:
    x = np.random.default_rng(2).integers(0, 100, (2, 5000)).astype(np.int32)
    values, indices = sort.topk(wk.tensor(x), 5000)
    expected = np.argsort(-x, axis=1, kind="stable")
    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, 1))


def test_topk_hands_its_gradient_back_to_the_places() -> None:
    x = wk.tensor([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]])
    found = wk.grad(lambda x: sort.topk(x, 2)[0])(x, dy=wk.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert found.tolist() == [[0, 1, 2], [3, 4, 0]]


def test_unique_counts_nan_as_one_and_zero_as_one() -> None:
    values, indices = sort.unique(wk.tensor([NAN, 0.0, -0.0, 1.0, NAN, 1.0]))
    np.testing.assert_array_equal(values.numpy(), [NAN, 0, 1])
    assert indices.tolist() == [0, 1, 1, 2, 0, 2]


@pytest.mark.parametrize(("shape", "axis"), [((4000,), 0), ((3, 300, 2), 1), ((4, 20_000), 0)])
def test_unique_finds_slices_in_the_order_they_come(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(1).integers(0, 2 if len(shape) > 1 else 900, shape)
    x = x.astype(np.int32)
    x[(slice(None),) * axis + (-1,)] = np.take(x, 0, axis)
    values, indices = sort.unique(wk.tensor(x), axis=axis)
    np.testing.assert_array_equal(np.take(values.numpy(), indices.numpy(), axis), x)
    _, first = np.unique(indices.numpy(), return_index=True)
    assert sorted(first) == list(first)
    assert values.shape[axis] == np.unique(x, axis=axis).shape[axis]


def test_sums_over_many_segments_are_exact_and_leave_out_strange_ids() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(-2, 5, 70_000).astype(np.int32)
    x = rng.integers(-(2**20), 2**20, (70_000, 3)).astype(np.int32)
    expected = np.zeros((3, 3), np.int32)
    inside = (ids >= 0) & (ids < 3)
    np.add.at(expected, ids[inside], x[inside])
    found = segment.unsorted_segment_sum(wk.tensor(x), wk.tensor(ids), num_segments=3)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_sums_over_segments_repeat_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    x = wk.tensor(rng.normal(size=(50_000, 2)))
    ids = wk.tensor(rng.integers(0, 7, 50_000))
    runs = [segment.unsorted_segment_sum(x, ids, num_segments=7).numpy() for _ in range(3)]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16", "complex64"])
@pytest.mark.usefixtures("halves_anywhere")
def test_all_and_any_take_what_is_not_0_for_true(backend: str, dtype: str) -> None:
    rows = [[0, 0], [0, 2], [3, 1]]
    with wk.use_backend(backend):
        x = wk.tensor(rows, dtype="float32").astype(cast("Any", dtype))
        assert reduce.any(x, 1).tolist() == [False, True, True]
        assert x.all(axis=1, keepdims=True).tolist() == [[False], [False], [True]]
        if dtype in ("float32", "complex64"):
            odd = wk.tensor([np.nan, -0.0], dtype=cast("Any", dtype))
            assert (reduce.any(odd).item(), reduce.all(odd).item()) == (True, False)
            assert reduce.any(odd[1:]).item() is False
    assert reduce.any(wk.tensor([0, 1j])).item() is True


def test_bad_arguments_are_refused_alike() -> None:
    x = wk.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(wk.ArgumentError, match=r"Sum: axis is 2, but the tensor has rank 2"):
        reduce.sum(x, axis=2)
    with pytest.raises(wk.DTypeError, match="All: x has dtype string; want bool"):
        reduce.all(["a"])
    with pytest.raises(
        wk.ArgumentError, match=r"TopK: k is 3, but the last axis of x has length 2"
    ):
        sort.topk(x, 3)
    with pytest.raises(wk.ShapeError, match="TopK: x is a scalar; want at least one axis"):
        sort.topk(wk.tensor(1.0))
    with pytest.raises(wk.ShapeError, match=r"segment_ids has shape \[3\], x \[2, 2\]"):
        segment.unsorted_segment_sum(x, [0, 1, 2], num_segments=3)
    with pytest.raises(wk.ArgumentError, match="num_segments is -1; want at least 0"):
        segment.unsorted_segment_sum(x, [0, 1], num_segments=-1)
