"""The sign of zero: kept by maps and running sums; -0 is below 0 where values are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

Function = Callable[..., Any]
Array = np.ndarray[Any, Any]

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
ZEROS = np.array([0.0, -0.0] * 40, np.float32)
EITHER, OTHER = np.array([[0, 0], [0, -0.0], [-0.0, 0], [-0.0, -0.0]] * 33, np.float32).T
KEPT: list[tuple[Function, Function]] = [
    (wk.sin, np.sin),
    (wk.tan, np.tan),
    (wk.tanh, np.tanh),
    (wk.expm1, np.expm1),
    (wk.elu, np.expm1),
    (wk.selu, np.expm1),
    (wk.relu, np.positive),
    (wk.relu6, np.positive),
    (lambda x: wk.clip(x, 0.0, 1.0), np.positive),
    (lambda x: wk.clip(x, -1.0, -0.0), np.positive),
    (wk.sign, np.sign),
    (lambda x: wk.cumulative_sum(wk.reshape(x, (-1, 1)), axis=1).reshape(-1), np.positive),
    (wk.asin, np.arcsin),
    (wk.atan, np.arctan),
    (wk.sinh, np.sinh),
    (wk.asinh, np.arcsinh),
    (wk.atanh, np.arctanh),
    (wk.log1p, np.log1p),
    (wk.erf, np.positive),
    (wk.erfinv, np.positive),
    (wk.sqrt, np.sqrt),
    (wk.ceil, np.ceil),
    (wk.floor, np.floor),
    (wk.round, np.round),
    (wk.trunc, np.trunc),
    (wk.leaky_relu, np.positive),
    (lambda x: wk.prelu(x, 0.25), np.positive),
]


def bits(x: Array) -> Array:
    return x.view(f"u{x.itemsize}")


@BACKENDS
def test_the_sign_of_zero_is_numpys(backend: str) -> None:
    with wk.use_backend(backend):
        found = [f(wk.tensor(ZEROS)).numpy() for f, _ in KEPT]
        angles = wk.atan2(wk.sin(wk.tensor(ZEROS)), -1.0).numpy()
        quotients = wk.floor_divide(wk.tensor(ZEROS), -np.inf).numpy()
    for (_, same), one in zip(KEPT, found, strict=True):
        np.testing.assert_array_equal(bits(one), bits(same(ZEROS)))
    np.testing.assert_array_equal(np.signbit(angles), np.signbit(ZEROS))
    np.testing.assert_array_equal(np.signbit(quotients), ~np.signbit(ZEROS))


@BACKENDS
@pytest.mark.parametrize("shape", [(5,), (3, 300), (2, 20_000), (300, 66)])
def test_a_running_sum_of_zeros_without_a_plus_is_one(backend: str, shape: tuple[int, ...]) -> None:
    x = np.full(shape, -0.0, np.float32)
    x[..., -2:] = 0.0
    with wk.use_backend(backend):
        sums = wk.cumulative_sum(x, axis=-1).numpy()
        without = wk.cumulative_sum(x, axis=-1, exclusive=True).numpy()
        nothing = wk.cumulative_sum(wk.tensor(x, dtype="float32")[..., :0], axis=-1).numpy()

    np.testing.assert_array_equal(bits(sums), bits(x))
    np.testing.assert_array_equal(np.signbit(without[..., 0]), False)
    np.testing.assert_array_equal(np.signbit(without[..., 1:]), np.signbit(x[..., :-1]))
    assert nothing.size == 0


@BACKENDS
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.usefixtures("halves_anywhere")
def test_minus_zero_is_below_zero(backend: str, dtype: str) -> None:
    a, b = EITHER.astype(dtype), OTHER.astype(dtype)
    both, either = np.signbit(a) & np.signbit(b), np.signbit(a) | np.signbit(b)
    pairs = np.stack([a, b])
    images = np.stack([a, b], axis=-1).reshape(1, -1, 2, 1)
    with wk.use_backend(backend):
        larger = [wk.maximum(a, b), wk.maximum(b, a), wk.max(pairs, axis=0), wk.max(pairs.T, 1)]
        smaller = [wk.minimum(a, b), wk.minimum(b, a), wk.min(pairs, axis=0), wk.min(pairs.T, 1)]
        pooled = wk.max_pool(images, (1, 2), strides=(1, 2), pad="valid").numpy()
        few = wk.maximum(a, 0.0), wk.minimum(a, wk.tensor(-0.0, dtype=a.dtype))
        rows = wk.max(np.full((2, 300), -0.0, a.dtype), axis=1), wk.min(a), wk.max(a)
    for one in (*larger, pooled.reshape(-1)):
        np.testing.assert_array_equal(np.signbit(np.asarray(one)), both)
    for one in smaller:
        np.testing.assert_array_equal(np.signbit(np.asarray(one)), either)
    assert [np.signbit(np.asarray(one)).tolist() for one in rows] == [[True] * 2, True, False]
    assert not np.signbit(np.asarray(few[0])).any()
    assert np.signbit(np.asarray(few[1])).all()


@BACKENDS
def test_zeros_among_other_numbers_keep_them(backend: str) -> None:
    x = np.random.default_rng(5).choice(
        np.array([0, -0.0, 1, -1, np.nan, np.inf, 1e-45, -1e-45], np.float32), (40, 50)
    )
    y = x[::-1].copy()
    with wk.use_backend(backend):
        found = [
            wk.maximum(x, y),
            wk.minimum(x, y),
            wk.clip(x, 0.0, 1.0),
            wk.max(x, 0),
            wk.min(x, 1),
        ]
        values = [one.numpy() for one in found]
    want = [np.maximum(x, y), np.minimum(x, y), np.clip(x, 0.0, 1.0), np.max(x, 0), np.min(x, 1)]
    for one, other in zip(values, want, strict=True):
        np.testing.assert_array_equal(one, other)


PAIRS: list[Function] = [
    wk.add, wk.atan2, wk.copysign, wk.divide, wk.floor_divide, wk.hypot, wk.logaddexp, wk.maximum,
    wk.minimum, wk.multiply, wk.nextafter, wk.pow, wk.prelu, wk.remainder, wk.squared_difference,
    wk.subtract,
]  # fmt: skip
NEAR_AND_FAR = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 100.0, 3e38, np.inf], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.usefixtures("halves_anywhere")
def test_the_sign_of_a_zero_of_two_numbers_is_the_same_on_both(dtype: str) -> None:
    numbers = np.concatenate([NEAR_AND_FAR, -NEAR_AND_FAR])
    with np.errstate(over="ignore"):
        grid = [one.astype(dtype).reshape(-1) for one in np.meshgrid(numbers, numbers)]
    for f in PAIRS:
        found = []
        for backend in ("cpu", "webgpu"):
            with wk.use_backend(backend):
                found.append(np.asarray(f(*map(wk.tensor, grid))))
        zeros = (found[0] == 0) & (found[1] == 0)
        signs = [np.signbit(one[zeros]) for one in found]
        np.testing.assert_array_equal(signs[0], signs[1], f.__name__)


@BACKENDS
def test_a_pair_has_the_zero_that_its_definition_has(backend: str) -> None:
    with wk.use_backend(backend):
        sums = wk.logaddexp([-0.0, -np.inf, -0.0], [-np.inf, -0.0, -3e38]).numpy()
        for dtype in (np.float32, np.float16):
            a, b = (np.array(one, dtype) for one in ([0.0, -0.0], [-0.0, 0.0]))
            np.testing.assert_array_equal(np.signbit(wk.nextafter(a, b).numpy()), [True, False])
    np.testing.assert_array_equal(np.signbit(sums), False)
