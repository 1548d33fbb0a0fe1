"""Order, places and counts where no sample goes: NaN, equals, numbers that a device finds wrong."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
ODD = np.array([np.nan, 1.0, -0.0, np.inf, 0.0, -np.inf, 1.0, 1e-45, -1e-45, np.nan], np.float32)


@BACKENDS
def test_nan_is_largest_and_equals_keep_their_order(backend: str) -> None:
    with wk.use_backend(backend):
        up, down = wk.argsort(ODD), wk.argsort(ODD, descending=True)
        values = wk.sort(ODD)

    assert up.tolist() == [5, 8, 2, 4, 7, 1, 6, 3, 0, 9]
    assert down.tolist() == [0, 9, 3, 1, 6, 7, 2, 4, 8, 5]
    np.testing.assert_array_equal(values.numpy(), np.sort(ODD))


@BACKENDS
def test_long_rows_are_sorted_as_numpy_does(backend: str) -> None:
    x = np.random.default_rng(1).integers(-50, 50, (2, 3, 5000)).astype(np.float32)
    with wk.use_backend(backend):
        found = wk.argsort(x)
        across = wk.sort(x, axis=1, descending=True)

    np.testing.assert_array_equal(found.numpy(), np.argsort(x, -1, kind="stable"))
    np.testing.assert_array_equal(across.numpy(), -np.sort(-x, 1))


@BACKENDS
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_a_row_are_numpys(backend: str, side: str) -> None:
    row = np.sort(np.random.default_rng(2).integers(0, 20, 33)).astype(np.float32)
    values = np.arange(-2, 22, 0.5).astype(np.float32).reshape(4, -1)
    order = np.arange(33)[::-1].astype(np.int32)
    with wk.use_backend(backend):
        found = wk.searchsorted(row, values, side=side)
        unsorted = wk.searchsorted(row[::-1].copy(), values, side=side, sorter=order.copy())
        empty = wk.searchsorted(row[:0], values, side=side)

    want = np.searchsorted(row, values, side="right" if side == "right" else "left")
    np.testing.assert_array_equal(found.numpy(), want)
    np.testing.assert_array_equal(unsorted.numpy(), want)
    assert not empty.numpy().any()


EXTREMES = {
    "int32": [-(2**31), -(2**31) + 1, -1, 0, 2**31 - 2, 2**31 - 1],
    "int8": [-128, -1, 0, 126, 127],
    "uint8": [0, 1, 128, 254, 255],
    "float16": [np.nan, np.inf, -np.inf, -0.0, 65504, -65504, 6e-8],
    "float32": [np.nan, -np.nan, np.inf, -np.inf, -0.0, 3.4028235e38, -3.4028235e38, 1e-45],
}


@BACKENDS
@pytest.mark.parametrize("dtype", EXTREMES)
@pytest.mark.usefixtures("halves_anywhere")
def test_the_extremes_of_a_dtype_and_nan_have_numpys_places(backend: str, dtype: str) -> None:
    ends = np.array(EXTREMES[dtype], dtype)
    drawn = np.random.default_rng(3).choice(ends, 40)
    rows = [drawn, *(np.full(3, one) for one in ends)]
    with wk.use_backend(backend):
        ours = [wk.tensor(row) for row in rows]
        assert ours[0].dtype == dtype
        order = [wk.argsort(row) for row in ours]
        down = [wk.topk(row, 3)[1] for row in ours]
        best = [(wk.argmax(row), wk.argmin(row), wk.max(row), wk.min(row)) for row in ours]
        wanted = wk.tensor(ends)
        sides = {
            side: [wk.searchsorted(wk.sort(row), wanted, side=side) for row in ours]
            for side in ("left", "right")
        }
        bounds = wk.lower_bound(wk.sort(ours[0]), wanted), wk.upper_bound(wk.sort(ours[0]), wanted)

    for row, up, top, four in zip(rows, order, down, best, strict=True):
        np.testing.assert_array_equal(up.numpy(), np.argsort(row, kind="stable"))
        last = len(row) - 1 - np.argsort(row[::-1], kind="stable")[::-1]
        np.testing.assert_array_equal(top.numpy(), last[:3])
        whole = (np.argmax(row), np.argmin(row), np.max(row), np.min(row))
        np.testing.assert_array_equal([one.numpy() for one in four], whole)
    for side, places in sides.items():
        for row, found in zip(rows, places, strict=True):
            want = np.searchsorted(np.sort(row), ends, "right" if side == "right" else "left")
            np.testing.assert_array_equal(found.numpy(), want)
    for one, found in zip(("left", "right"), bounds, strict=True):
        np.testing.assert_array_equal(found.numpy(), sides[one][0].numpy())


@BACKENDS
def test_what_is_not_zero_is_found(backend: str) -> None:
    x = np.array([[0, np.nan, -0.0], [1e-45, 0, np.inf]], np.float32)
    with wk.use_backend(backend):
        rows, cols = wk.nonzero(x)
        counts = wk.count_nonzero(x, axis=1)
        none = wk.nonzero(wk.zeros((3,)))[0]
        parts = wk.nonzero(wk.tensor(np.array([0, 1j, 2], np.complex64)))[0]

    assert (rows.tolist(), cols.tolist()) == ([0, 1, 1], [1, 0, 2])
    assert counts.tolist() == [1, 2]
    assert none.shape == (0,)
    assert parts.tolist() == [1, 2]


@BACKENDS
@pytest.mark.parametrize("weights", [[0.5, 1.0, 2.0], [1, 2, 3], []])
def test_a_negative_number_is_never_counted(backend: str, weights: list[float]) -> None:
    given = wk.tensor(weights, dtype=None if weights else "float32")
    with wk.use_backend(backend), pytest.raises(wk.IndexOutOfRange, match="Bincount: x holds -2"):
        wk.bincount(wk.tensor([1, 0, 1]) - wk.tensor([0, 2, 0]), given, 3).numpy()


@BACKENDS
def test_long_rows_of_a_sort_have_a_gradient(backend: str) -> None:
    x = np.random.default_rng(3).normal(size=(3, 400)).astype(np.float32)
    weights = np.arange(400, dtype=np.float32)
    with wk.use_backend(backend):
        dx = wk.grad(lambda x: wk.sum(wk.sort(x) * weights))(wk.tensor(x))

    np.testing.assert_array_equal(dx.numpy(), np.argsort(np.argsort(x, -1), -1))


@pytest.mark.parametrize(
    ("words", "attrs"), [("side is 'odd'", {"side": "odd"}), ("want as many rows", {})]
)
def test_bad_input_is_named(words: str, attrs: dict[str, str]) -> None:
    inputs = {"sorted_sequence": wk.ones((2, 3)), "values": wk.ones((2 if attrs else 3, 1))}
    with pytest.raises(wk.WgslKernelsError, match=words):
        wk.engine().run_kernel("SearchSorted", inputs, attrs)
