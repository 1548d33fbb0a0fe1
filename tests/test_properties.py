"""Properties over random shapes: both backends and NumPy agree. The same examples every time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgsl_kernels as wk
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing import assert_close

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.gpu

few = settings(derandomize=True, max_examples=40, deadline=None, database=None)
lengths = st.integers(0, 5)
shapes = st.lists(lengths, max_size=4).map(tuple)


def filled(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Return whole numbers, so that sums in any order are exact."""
    draw = np.random.default_rng([seed, *shape])
    return draw.integers(-8, 9, shape).astype(np.float32)


def both(f: Callable[..., Any], *arrays: Array) -> list[Array]:
    """Return what both backends give, having compared them."""
    found: dict[str, list[Array]] = {}
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend), wk.config.using(fallback="error"):
            outputs = tensors_in(f(*[wk.tensor(one) for one in arrays]))
            found[backend] = [one.numpy() for one in outputs]
    for have, want in zip(found["webgpu"], found["cpu"], strict=True):
        assert have.dtype == want.dtype
        assert_close(have, want)
    return found["webgpu"]


@st.composite
def broadcasting(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw two shapes that broadcast to each other."""
    full = draw(shapes)
    found = []
    for _ in range(2):
        kept = full[draw(st.integers(0, len(full))) :]
        found.append(tuple(1 if draw(st.booleans()) else length for length in kept))
    return found[0], found[1]


@few
@given(broadcasting())
def test_any_two_shapes_broadcast_as_numpy_has_it(
    pair: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    a, b = (filled(shape, seed) for seed, shape in enumerate(pair))

    assert_close(both(wk.subtract, a, b)[0], a - b)


@few
@given(broadcasting())
def test_gradients_have_the_shapes_of_what_was_broadcast(
    pair: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    a, b = (filled(shape, seed) for seed, shape in enumerate(pair))
    da, db = both(lambda x, y: wk.grads(lambda u, v: u * v)(x, y), a, b)
    ones = np.ones(np.broadcast_shapes(*pair), np.float32)

    assert_close(da, _summed_to(ones * b, a.shape))
    assert_close(db, _summed_to(ones * a, b.shape))


def _summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    axes = tuple(axis for axis, length in enumerate(shape) if length == 1)
    return np.asarray(x.sum(axis=axes, keepdims=True) if axes else x, np.float32)


@st.composite
def reductions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Draw a shape, some of its axes, a few of them negative, and whether they stay."""
    shape = draw(shapes)
    axes = draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True)) if shape else []
    return (
        shape,
        tuple(axis - len(shape) if draw(st.booleans()) else axis for axis in axes),
        draw(st.booleans()),
    )


@few
@given(reductions())
def test_sums_over_any_axes_are_those_of_numpy(
    case: tuple[tuple[int, ...], tuple[int, ...], bool],
) -> None:
    shape, axes, keepdims = case
    x = filled(shape)

    assert_close(
        both(lambda t: wk.sum(t, axis=axes, keepdims=keepdims), x)[0],
        np.sum(x, axis=axes, keepdims=keepdims),
    )


@few
@given(reductions())
def test_the_largest_of_a_view_is_that_of_its_copy(
    case: tuple[tuple[int, ...], tuple[int, ...], bool],
) -> None:
    shape, axes, _ = case
    x = filled(tuple(length + 1 for length in shape))

    def f(t: wk.Tensor) -> wk.Tensor:
        flipped = wk.flip(wk.permute_dims(t, tuple(reversed(range(t.ndim)))))
        return wk.max(flipped, axis=axes or None)

    assert_close(both(f, x)[0], np.max(np.flip(x.T), axis=axes or None))


@st.composite
def sliced(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Draw a shape and an index of slices, positions, an ellipsis and new axes."""
    shape = draw(shapes)
    index: list[Any] = []
    for length in shape[: draw(st.integers(0, len(shape)))]:
        if length and draw(st.integers(0, 3)) == 0:
            index.append(draw(st.integers(-length, length - 1)))
        else:
            ends = st.none() | st.integers(-length - 2, length + 2)
            step = draw(st.sampled_from([None, 1, 2, -1, -3]))
            index.append(slice(draw(ends), draw(ends), step))
    if draw(st.booleans()):
        index.append(...)
    if draw(st.booleans()):
        index.insert(draw(st.integers(0, len(index))), None)
    return shape, tuple(index)


@few
@given(sliced())
def test_any_index_takes_what_numpy_takes(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, index = case
    x = filled(shape)

    assert_close(both(lambda t: t[index], x)[0], x[index])
    assert_close(both(lambda t: t[index] * 2.0 + 1.0, x)[0], x[index] * 2 + 1)


@few
@given(sliced())
def test_the_gradient_of_an_index_counts_what_it_took(
    case: tuple[tuple[int, ...], tuple[Any, ...]],
) -> None:
    shape, index = case
    x = filled(shape)
    expected = np.zeros(shape, np.float32)
    expected[index] = 1

    slope: Any = wk.grad(lambda t: wk.sum(t[index]))
    assert_close(both(slope, x)[0], expected)


@st.composite
def chains(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[str, Any]]]:
    """Draw a shape and a chain of views."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    steps: list[tuple[str, Any]] = []
    now = np.zeros(shape)
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["transpose", "flip", "slice", "reshape", "broadcast"]))
        argument: Any
        if kind == "transpose":
            argument = tuple(draw(st.permutations(range(now.ndim))))
        elif kind == "flip":
            argument = draw(st.integers(0, now.ndim - 1))
        elif kind == "slice":
            argument = draw(st.sampled_from([2, -1]))
        elif kind == "reshape":
            argument = (now.shape[0], math.prod(now.shape[1:]))
        else:
            argument = (2, *now.shape) if now.ndim < 5 else now.shape
        steps.append((kind, argument))
        now = _numpy_view(now, kind, argument)
    return shape, steps


def _numpy_view(x: Array, kind: str, argument: Any) -> Array:
    if kind == "transpose":
        return x.transpose(argument)
    if kind == "flip":
        return np.flip(x, argument)
    if kind == "slice":
        return x[::argument]
    return x.reshape(argument) if kind == "reshape" else np.broadcast_to(x, argument)


def _view(x: wk.Tensor, kind: str, argument: Any) -> wk.Tensor:
    if kind == "transpose":
        return wk.permute_dims(x, argument)
    if kind == "flip":
        return wk.flip(x, axis=argument)
    if kind == "slice":
        return x[::argument]
    return wk.reshape(x, argument) if kind == "reshape" else wk.broadcast_to(x, argument)


@few
@given(chains())
def test_a_chain_of_views_is_read_right_by_every_form_of_kernel(
    case: tuple[tuple[int, ...], list[tuple[str, Any]]],
) -> None:
    shape, steps = case
    x = expected = filled(shape)
    for kind, argument in steps:
        expected = _numpy_view(expected, kind, argument)

    def f(t: wk.Tensor) -> Sequence[wk.Tensor]:
        for kind, argument in steps:
            t = _view(t, kind, argument)
        return t, t + 1.0, wk.sum(t, axis=-1), wk.concat([t, t], axis=0)

    seen, mapped, summed, joined = both(f, x)
    assert_close(seen, expected)
    assert_close(mapped, expected + 1)
    assert_close(summed, expected.sum(axis=-1))
    assert_close(joined, np.concatenate([expected, expected]))


@few
@given(st.lists(st.integers(1, 3), max_size=2), *[st.integers(0, 9)] * 3, *[st.booleans()] * 2)
def test_products_of_any_sizes_are_those_of_numpy(
    batch: list[int], rows: int, inner: int, cols: int, flip_a: bool, flip_b: bool
) -> None:
    a = filled((*batch, inner, rows) if flip_a else (*batch, rows, inner), 1)
    b = filled((cols, inner) if flip_b else (inner, cols), 2)
    left = np.swapaxes(a, -1, -2) if flip_a else a
    right = np.swapaxes(b, -1, -2) if flip_b else b

    def f(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        return wk.matmul(
            wk.matrix_transpose(x) if flip_a else x, wk.matrix_transpose(y) if flip_b else y
        )

    assert_close(both(f, a, b)[0], left @ right)


@few
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9), st.data())
def test_integers_divide_as_wgsl_has_it(numbers: list[int], data: st.DataObject) -> None:
    divisors = data.draw(
        st.lists(
            st.sampled_from([0, 1, -1, 2, -3, 7, -(2**31), 2**31 - 1]),
            min_size=len(numbers),
            max_size=len(numbers),
        )
    )
    a, b = np.array(numbers, np.int32), np.array(divisors, np.int32)

    quotients = both(wk.floor_divide, a, b)[0].tolist()
    for x, y, quotient in zip(numbers, divisors, quotients, strict=True):
        exact = x if y == 0 else (x // y + 2**31) % 2**32 - 2**31
        assert quotient == exact
