"""Sums of float16: in float32 or wider on the way and rounded once, on both backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.execution.run import run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("halves_anywhere")]

ROUNDED = 2.0**-11 + 421 * 2.0**-24
"""One rounding to float16, and what docs/numerics.md says of a sum in float32."""
LENGTH = 5000
ROWS = np.random.default_rng(6).uniform(0, 1, (LENGTH, 20)).astype(np.float16)
IMAGES = np.random.default_rng(7).uniform(0, 1, (1, 50, 40, 3)).astype(np.float16)
BACK = np.array([6e4, 6e4, 1.0, -6e4, -5e4] * 2, np.float16)
"""Numbers whose sums leave the range of float16 on the way."""


def _ids(x: wk.Tensor) -> wk.Tensor:
    return wk.zeros(x.shape[:1], dtype="int32")


def _rows_summed(x: wk.Tensor) -> wk.Tensor:
    return wk.sparse_segment_sum(x, wk.arange(x.shape[0]), _ids(x))


SUMS: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "sum": lambda x: wk.sum(x, axis=0),
    "running sum": lambda x: wk.cumulative_sum(x, axis=0)[-1],
    "product": lambda x: wk.matmul(wk.ones((1, x.shape[0]), dtype=x.dtype), x),
    "einsum": lambda x: wk.einsum("ij->j", x),
    "segments": lambda x: wk.unsorted_segment_sum(x, _ids(x), 1),
    "segments of one column": lambda x: wk.unsorted_segment_sum(x[:, :1], _ids(x), 1),
    "sparse segments": _rows_summed,
    "mean of sparse segments": lambda x: wk.sparse_segment_mean(x, wk.arange(x.shape[0]), _ids(x)),
    "scattered": lambda x: wk.scatter_nd(wk.expand_dims(_ids(x), axis=1), x, (1, x.shape[1])),
    "counted": lambda x: wk.bincount(_ids(x), x[:, 0], 1),
    "added": lambda x: wk.zeros((1, x.shape[1]), dtype=x.dtype).at[_ids(x)].add(x),
}
EXPONENTIALS: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "softmax": lambda x: wk.softmax(x, axis=0),
    "softmax of rows": lambda x: wk.softmax(x.T),
    "logsumexp": lambda x: wk.logsumexp(x, axis=0),
    "logsumexp of all": wk.logsumexp,
    "log_softmax": lambda x: wk.log_softmax(x, axis=0),
}
OF_IMAGES: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "resized": lambda x: wk.resize_bilinear(x, (7, 90)),
    "resized back": lambda x: run("ResizeBilinearGrad", x[:, :30, :30], x),
    "nearest taken back": lambda x: run("ResizeNearestNeighborGrad", x[:, :4, :3], x),
    "maxima taken back": lambda x: run(
        "MaxPoolGrad", x[:, :-6, :-6], x, x[:, :-6, :-6], filter_size=7, strides=1, pad="valid"
    ),
    "means taken back": lambda x: run(
        "AvgPoolGrad", x[:, :-6, :-6], x, filter_size=7, strides=1, pad="valid"
    ),
}


def _expected(f: Callable[[wk.Tensor], wk.Tensor], x: Any) -> Any:
    with wk.use_backend("cpu"):
        return f(wk.tensor(x.astype(np.float64))).numpy()


def _check(f: Callable[[wk.Tensor], wk.Tensor], x: Any, backend: str) -> None:
    with wk.use_backend(backend):
        found = f(wk.tensor(x))
    assert found.dtype == wk.float16
    smallest = float(np.finfo(np.float16).tiny)  # below it are fewer digits
    np.testing.assert_allclose(
        found.numpy().astype(np.float64), _expected(f, x), rtol=ROUNDED, atol=smallest * ROUNDED
    )


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("name", [*SUMS, *EXPONENTIALS])
def test_sums_of_many_halves_are_rounded_once(name: str, backend: str) -> None:
    _check({**SUMS, **EXPONENTIALS}[name], ROWS, backend)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_of_halves_may_leave_their_range_on_the_way(name: str, backend: str) -> None:
    _check(SUMS[name], np.repeat(BACK[:, np.newaxis], 4, axis=1), backend)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("name", OF_IMAGES)
def test_sums_of_halves_in_images_are_rounded_once(name: str, backend: str) -> None:
    _check(OF_IMAGES[name], IMAGES, backend)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_softmax_has_more_halves_than_a_half_counts(backend: str) -> None:
    _check(lambda x: wk.softmax(x, axis=0), np.zeros((70_000, 2), np.float16), backend)


def test_sums_of_halves_that_take_several_dispatches_are_rounded_once() -> None:
    few = np.full((200_000, 4), 0.0051, np.float16)
    _check(lambda x: wk.unsorted_segment_sum(x, _ids(x), 1), few, "webgpu")


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_a_gradient_of_local_response_has_norms_past_the_halves(backend: str) -> None:
    x = np.array([300, 200, -250, 100], np.float16).reshape(1, 1, 1, 4)

    def gradient(x: wk.Tensor) -> wk.Tensor:
        attrs = {"depth_radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5}
        return run("LRNGrad", x, x * 0.001, x, **attrs)

    _check(gradient, x, backend)
