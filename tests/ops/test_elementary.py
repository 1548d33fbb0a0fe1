"""Elementary functions where no sample goes: NaN, infinities, zeros, the largest numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import assert_close

Function = Callable[..., Any]

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).tiny)
NUMBERS = [0.0, 1.0, 0.5, 3.0, 1e4, SMALLEST, LARGEST, np.inf]
EDGES = np.array([*NUMBERS, *(-one for one in NUMBERS), np.nan], np.float32)
FIRST, SECOND = (
    np.array(side, np.float32) for side in zip(*itertools.product(EDGES, EDGES), strict=True)
)
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])

UNARY: list[tuple[Function, Function]] = [
    (wk.acos, np.arccos),
    (wk.acosh, np.arccosh),
    (wk.asin, np.arcsin),
    (wk.asinh, np.arcsinh),
    (wk.atan, np.arctan),
    (wk.atanh, np.arctanh),
    (wk.cosh, np.cosh),
    (wk.log2, np.log2),
    (wk.log10, np.log10),
    (wk.sinh, np.sinh),
    (wk.isfinite, np.isfinite),
    (wk.isinf, np.isinf),
    (wk.isnan, np.isnan),
]
BINARY: list[tuple[Function, Function]] = [
    (wk.atan2, np.arctan2),
    (wk.copysign, np.copysign),
    (wk.hypot, np.hypot),
    (wk.logaddexp, np.logaddexp),
]


def _same(ours: wk.Tensor, right: Any) -> None:
    with np.errstate(all="ignore"):
        wanted = np.asarray(right).astype(ours.numpy().dtype)
    assert_close(ours.numpy(), wanted, ulp=16, atol=2.0**-126)


@BACKENDS
@pytest.mark.parametrize(("ours", "right"), UNARY, ids=lambda one: one.__name__)
def test_a_function_is_right_at_the_edges(ours: Function, right: Function, backend: str) -> None:
    with wk.use_backend(backend), np.errstate(all="ignore"):
        _same(ours(EDGES), right(EDGES.astype(np.float64)))


@BACKENDS
@pytest.mark.parametrize(("ours", "right"), BINARY, ids=lambda one: one.__name__)
def test_a_function_of_two_is_right_at_the_edges(
    ours: Function, right: Function, backend: str
) -> None:
    with wk.use_backend(backend), np.errstate(all="ignore"):
        _same(ours(FIRST, SECOND), right(FIRST.astype(np.float64), SECOND.astype(np.float64)))


@BACKENDS
def test_a_remainder_is_pythons(backend: str) -> None:
    with wk.use_backend(backend), np.errstate(all="ignore"):
        _same(wk.remainder(FIRST, SECOND), np.mod(FIRST, SECOND))
        whole = wk.tensor([7, -7, 7, -7, 5, -(2**31)]) % wk.tensor([3, 3, -3, -3, 0, -1])

    assert whole.tolist() == [1, 2, -2, -1, 0, 0]


@BACKENDS
def test_the_next_number_is_found_bit_for_bit(backend: str) -> None:
    steps = np.array([1, 1, -1, 0.5, 2, 3e38, -2, np.inf, np.nan, 1, 4], np.float32)
    aims = np.array([2, 0, -9, np.inf, -np.inf, np.inf, 0, 0, 1, np.nan, 4], np.float32)
    with wk.use_backend(backend), np.errstate(all="ignore"):
        found = wk.nextafter(steps, aims).numpy()
        right = np.nextafter(steps, aims)
        out_of_range = wk.nextafter(wk.tensor([LARGEST]), wk.tensor([np.inf])).numpy()

    np.testing.assert_array_equal(found, right)
    assert out_of_range == [np.inf]


@BACKENDS
def test_shifts_past_the_word_give_what_the_sign_is(backend: str) -> None:
    a, b = wk.tensor([5, -5, 5, -5, 1]), wk.tensor([40, 40, -1, -1, 31])
    with wk.use_backend(backend):
        left, right = wk.bitwise_left_shift(a, b), wk.bitwise_right_shift(a, b)

    assert left.tolist() == [0, 0, 0, 0, -(2**31)]
    assert right.tolist() == [0, -1, 0, -1, 0]


@BACKENDS
def test_the_absolute_value_of_a_complex_number_does_not_overflow(backend: str) -> None:
    x = wk.tensor(np.array([3e30 + 4e30j, 0, -2, complex(np.inf, np.nan)], np.complex64))
    with wk.use_backend(backend):
        found = wk.abs(x).numpy()

    assert_close(found, np.array([5e30, 0, 2, np.inf], np.float32), ulp=10)
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wk.bitwise_and(1.5, 2), "BitwiseAnd: a has dtype float32"),
        (lambda: wk.bitwise_left_shift([True], [1.5]), "BitwiseLeftShift: a has dtype float32"),
        (lambda: wk.nextafter(1, 2), "NextAfter: a has dtype int32; want a float"),
        (lambda: wk.acos(["a"]), "Acos: x has dtype string"),
        (lambda: wk.atan2(["a"], ["b"]), "Atan2: a has dtype string"),
    ],
)
def test_a_wrong_dtype_is_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(wk.DTypeError, match=words):
        call()


def test_even_spaces_are_refused_by_the_kernel_where_float32_has_no_such_end() -> None:
    run = wk.engine().run_kernel
    with pytest.raises(wk.ArgumentError, match=r"LinSpace: stop is 1e\+300"):
        run("LinSpace", {}, {"start": 0.0, "stop": 1e300, "num": 3})
    with pytest.raises(wk.ArgumentError, match="LinSpace: num is 0"):
        run("LinSpace", {}, {"start": 0.0, "stop": 1.0, "num": 0})


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("toward", [np.inf, -np.inf, 1.5])
@pytest.mark.usefixtures("halves_anywhere")
def test_the_next_number_is_right_for_every_half_there_is(backend: str, toward: float) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with wk.use_backend(backend):
        found = wk.nextafter(every, np.array([toward], np.float16)).numpy()

    with np.errstate(all="ignore"):
        expected = np.nextafter(every, np.float16(toward))
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(found.view(np.uint16)[known], expected.view(np.uint16)[known])
