"""Work in parts on the CPU: each once, errors told, the same results on any number of cores."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu import products, threads

if TYPE_CHECKING:
    from collections.abc import Callable


def _on(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(threads, "cores", lambda: cores)


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_every_part_is_done_once(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    _on(monkeypatch, cores)
    done: list[int] = []

    threads.each(done.append, range(20))

    assert sorted(done) == list(range(20))


def test_parts_are_done_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    _on(monkeypatch, 2)
    both = threading.Barrier(2, timeout=30)

    def wait(part: int) -> None:
        both.wait()  # alone, one would wait in vain

    threads.each(wait, range(2))


@pytest.mark.parametrize("cores", [1, 2])
def test_an_error_of_a_part_is_raised(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    _on(monkeypatch, cores)

    def work(part: int) -> None:
        if part == 3:
            raise ValueError("part 3")

    with pytest.raises(ValueError, match="part 3"):
        threads.each(work, range(8))


def test_threads_keep_numpy_as_silent_as_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    _on(monkeypatch, 2)
    both = threading.Barrier(2, timeout=30)

    def divide(part: int) -> None:
        both.wait()
        np.divide(np.float32(1), np.float32(0))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        threads.each(divide, range(2))


def _depthwise(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
    return wk.sum(wk.square(wk.depthwise_conv2d(x, filter, pad="same")))


def _pools(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
    pools = wk.max_pool(x, 3, strides=2) * wk.avg_pool(x, 3, strides=2)
    return wk.sum(wk.square(pools)) * wk.sum(filter)


def _maps(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
    many = wk.concat([x, x, x, x], axis=0)
    return wk.sum(wk.exp(many) * wk.sqrt(wk.square(many) + 1.0)) * wk.sum(filter)


def _order(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
    values, _ = wk.topk(wk.reshape(x, (-1, 512)), 10)
    return wk.sum(values) * wk.sum(filter)


@pytest.mark.parametrize("f", [_depthwise, _pools, _maps, _order])
def test_results_are_the_same_bits_on_any_number_of_cores(
    monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any]
) -> None:
    random = np.random.default_rng(0)
    x, filter = random.standard_normal((5, 64, 64, 64)), random.standard_normal((3, 3, 64, 1))
    found = []
    with wk.use_backend("cpu"):
        for cores in (1, 2, 3):
            _on(monkeypatch, cores)
            slopes = wk.grads(f)(wk.tensor(x), wk.tensor(filter))
            found.append([one.numpy() for one in slopes if one is not None])

    for other in found[1:]:
        for one, wanted in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(one.view(np.int32), wanted.view(np.int32))


def test_a_large_array_broadcast_with_an_empty_one_is_empty() -> None:
    with wk.use_backend("cpu"):
        large, empty = wk.ones((1 << 22, 1)), wk.ones((1, 0))
        assert wk.pow(large, empty).shape == (1 << 22, 0)


def test_where_no_thread_can_start_the_caller_does_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    _on(monkeypatch, 4)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads._asked.cache_clear()  # or the threads of other tests serve
    try:
        done: list[int] = []
        threads.each(done.append, range(20))
        queue, started = threads._asked()  # nothing may pile up in it
        assert (sorted(done), started, queue.empty()) == (list(range(20)), 0, True)
    finally:
        threads._asked.cache_clear()  # the next test has threads again


def test_small_products_leave_the_threads_of_blas_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[tuple[int, ...]] = []
    multiply = np.matmul

    def counted(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        counts.append(tuple(one.get_num_threads() for one in products._libraries()))
        return multiply(left, right)  # type: ignore[no-any-return]  # a stand-in for NumPy's

    monkeypatch.setattr(np, "matmul", counted)
    before = tuple(one.get_num_threads() for one in products._libraries())
    for left, right in (((64, 64), (64, 256)), ((16, 64, 64), (64, 256)), ((512, 256), (256, 256))):
        products.matmul(np.ones(left, np.float32), np.ones(right, np.float32))
    ones = tuple(min(count, 1) for count in before)
    assert counts == [ones, ones, before]
    assert tuple(one.get_num_threads() for one in products._libraries()) == before


def test_a_stack_times_a_matrix_is_one_product() -> None:
    draw = np.random.default_rng(0)
    stack, matrix = draw.normal(size=(3, 2, 5, 4)), draw.normal(size=(4, 6))
    for left in (stack, stack[:, ::-1], np.swapaxes(draw.normal(size=(3, 2, 4, 5)), -1, -2)):
        np.testing.assert_allclose(products.matmul(left, matrix), left @ matrix, rtol=1e-12)
    assert products.matmul(np.zeros((0, 5, 4)), matrix).shape == (0, 5, 6)
