"""Running sums and products: long rows, wrapping, products that leave the range on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ("cpu", "webgpu")
RNG = np.random.default_rng(7)


@pytest.mark.gpu
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((100_003,), 0), ((2, 9001, 3), 1), ((1500, 70), 0), ((70_000, 3), 1)]
)
def test_long_rows_and_many_rows_keep_the_promised_accuracy(
    shape: tuple[int, ...], axis: int, reverse: bool
) -> None:
    x = RNG.uniform(-1, 1, shape).astype(np.float32)
    ahead = np.flip(x, axis) if reverse else x
    expected = np.cumsum(ahead, axis=axis, dtype=np.float64)
    size = np.cumsum(np.abs(ahead), axis=axis, dtype=np.float64)
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        y = wk.cumulative_sum(x, axis=axis, reverse=reverse).numpy()

    steps = 1024 + 3 * np.sqrt(shape[axis])
    assert np.all(np.abs((np.flip(y, axis) if reverse else y) - expected) <= steps * 2**-23 * size)


@pytest.mark.gpu
@pytest.mark.parametrize("is_software", [False, True])
@pytest.mark.parametrize("flags", [{}, {"reverse": True}, {"exclusive": True, "reverse": True}])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((5003,), 0),
        ((1 << 21,), 0),
        ((3, 1028), 1),
        ((3, 1027), 1),
        ((2, 1500, 8), 1),
        ((2, 1500, 3), 1),
        ((70, 300, 64), 1),
        ((40, 70), 0),
    ],
)
def test_every_method_gives_the_same_whole_numbers(
    follow_rules: Callable[[bool], None],
    is_software: bool,
    flags: dict[str, Any],
    shape: tuple[int, ...],
    axis: int,
) -> None:
    follow_rules(is_software)
    x = RNG.integers(-9, 9, shape).astype(np.float32)
    with wk.use_backend("cpu"):
        expected = wk.cumulative_sum(x, axis=axis, **flags).numpy()
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        y = wk.cumulative_sum(x, axis=axis, **flags).numpy()

    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("combine", [wk.cumulative_sum, wk.cumulative_prod])
def test_integers_wrap_over_all_parts_of_a_row(
    backend: str, combine: Callable[..., wk.Tensor]
) -> None:
    x = RNG.integers(-(2**31), 2**31, 40_000).astype(np.int32) | 1
    ufunc = np.add if combine is wk.cumulative_sum else np.multiply
    with wk.use_backend(backend):
        y = combine(x).numpy()

    np.testing.assert_array_equal(y, ufunc.accumulate(x, dtype=np.int32))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_product_may_leave_the_range_of_floats_and_come_back(backend: str) -> None:
    x = np.array([1e-30, 1e-30, 1e30, 1e30, 0.0, 1e30, 1e30, -2.0], np.float32)
    with wk.use_backend(backend):
        there, back = (wk.cumulative_prod(x, reverse=one).numpy() for one in (False, True))

    wk.testing.assert_close(
        there, np.array([1e-30, 0, 1e-30, 1, 0, 0, 0, 0], np.float32), rtol=1e-6
    )
    wk.testing.assert_close(back[4:], np.array([0, -np.inf, -2e30, -2], np.float32), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_infinities_and_nan_stay_from_where_they_stand(backend: str) -> None:
    with wk.use_backend(backend):
        sums = wk.cumulative_sum([1.0, np.inf, 2.0, -np.inf, 3.0]).numpy()
        products = wk.cumulative_prod([2.0, -np.inf, 3.0, 0.0, 3.0]).numpy()

    np.testing.assert_array_equal(sums, [1, np.inf, np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(products, [2, -np.inf, -np.inf, np.nan, np.nan])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("zeros", [(), (1,), (0, 3), (4,)])
def test_the_gradient_of_a_product_is_right_where_factors_are_zero(
    backend: str, exclusive: bool, zeros: tuple[int, ...]
) -> None:
    x = np.array([2.0, -1.5, 0.5, 3.0, -2.0], np.float32)
    x[list(zeros)] = 0.0
    with wk.use_backend(backend):
        wk.testing.check_gradient(lambda t: wk.cumulative_prod(t, exclusive=exclusive), x)


def test_an_axis_out_of_range_is_named() -> None:
    with pytest.raises(wk.ArgumentError, match=r"^Cumsum: axis is 2, but the tensor has rank 2"):
        wk.cumulative_sum(np.zeros((2, 3)), axis=2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("f", "numpys", "dtype"),
    [
        (wk.cumulative_sum, np.cumsum, "float32"),
        (wk.cumulative_prod, np.cumprod, "float32"),
        (wk.cumulative_sum, np.cumsum, "int32"),
        (wk.cumulative_prod, np.cumprod, "complex64"),
    ],
)
def test_the_initial_value_stands_where_the_scan_begins(
    backend: str, f: Callable[..., wk.Tensor], numpys: Callable[..., Any], dtype: str
) -> None:
    x = RNG.integers(1, 5, (2, 3, 4)).astype(dtype)
    first = f is wk.cumulative_prod
    for axis in (0, 1, -1):
        edges = [(0, 0)] * 3
        edges[axis] = (1, 0)
        forward = np.pad(numpys(x, axis), edges, constant_values=first)
        edges[axis] = (0, 1)
        backward = np.pad(
            np.flip(numpys(np.flip(x, axis), axis), axis), edges, constant_values=first
        )
        with wk.use_backend(backend):
            found = f(x, axis, include_initial=True).numpy()
            back = f(x, axis, include_initial=True, reverse=True).numpy()

        np.testing.assert_array_equal(found, forward.astype(found.dtype))
        np.testing.assert_array_equal(back, backward.astype(back.dtype))


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_pass_the_initial_value_by(backend: str) -> None:
    x, dy = np.array([1.0, 2.0, 3.0], np.float32), np.array([1.0, 10, 100, 1000], np.float32)
    with wk.use_backend(backend):
        sums, products = (
            wk.grad(lambda x, f=f: f(x, include_initial=True, reverse=True))(
                wk.tensor(x), dy=wk.tensor(dy)
            )
            for f in (wk.cumulative_sum, wk.cumulative_prod)
        )

    assert sums.tolist() == [1, 11, 111]
    assert products.tolist() == [6, 3 + 30, 2 + 20 + 100]
