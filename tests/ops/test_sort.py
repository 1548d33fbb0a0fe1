"""Every way to sort: of short and long rows, few and many, on software adapters and real GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter import policy
from wgsl_kernels.backends.webgpu.control import array_making
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.backends.webgpu.tuning.tuner import forced, watching
from wgsl_kernels.ops.indexing import pairs

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(3)
LEAST = -(2**31)


@pytest.fixture(params=[True, False], ids=["software", "gpu"], autouse=True)
def _is_software(request: pytest.FixtureRequest, follow_rules: Callable[[bool], None]) -> None:
    follow_rules(request.param)


@pytest.mark.parametrize(
    ("shape", "k"),
    [
        ((1,), 1),
        ((7,), 7),
        ((30, 20), 16),
        ((70, 19), 5),
        ((3, 1025), 16),
        ((2, 5001), 3),
        ((40_003,), 10),
        ((5000,), 256),
        ((3, 2, 300), 100),
        ((20, 700), 17),
        ((9000,), 9000),
    ],
)
def test_topk_keeps_the_first_of_equal_elements(shape: tuple[int, ...], k: int) -> None:
    x = RNG.integers(-40, 40, shape).astype(np.int32)
    x[x == -40] = LEAST  # the word 0 among pairs
    expected = np.argsort(~x, axis=-1, kind="stable")[..., :k]
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        values, indices = wk.topk(x, k)

        np.testing.assert_array_equal(indices.numpy(), expected)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, -1))


@pytest.mark.parametrize("method", pairs.METHODS)
@pytest.mark.parametrize(("shape", "k"), [((3, 2000), 400), ((5001,), 300), ((40, 256), 256)])
def test_every_method_gives_the_same_order(shape: tuple[int, ...], k: int, method: str) -> None:
    x = RNG.integers(-40, 40, shape).astype(np.int32)
    expected = np.argsort(~x, axis=-1, kind="stable")[..., :k]
    with wk.use_backend("webgpu"), watching() as seen, forced("TopK", method):
        found = wk.topk(x, k)[1].numpy()

    assert method in seen["TopK"]
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def _by_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have short rows sorted by digits too, in small parts, on grids that fold early."""
    monkeypatch.setattr(policy, "DIGITS_LEAST_ON_GPU", 1)
    monkeypatch.setattr(policy, "DIGITS_LEAST", 1)
    monkeypatch.setattr(pairs, "DIGITS_LEAST", 1)
    monkeypatch.setattr(pairs, "_PART", 600)
    monkeypatch.setattr(array_making, "fold", lambda total: fold(total, 5))


@pytest.mark.usefixtures("_by_digits")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 255, 257, 600, 601, 7001])
def test_sorting_by_digits_is_numpys_stable_order_either_way(rows: int, length: int) -> None:
    x = RNG.integers(-(2**31) + 1, 2**31, (rows, length)).astype(np.int32)
    x[:, length // 3 :: 2] = x[:, length // 2, None] // 256 * 256  # many are equal
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        for keys in (x, -x):
            values, indices = wk.topk(keys, length)
            expected = np.argsort(~keys, axis=1, kind="stable")
            np.testing.assert_array_equal(indices.numpy(), expected)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(keys, expected, 1))


@pytest.mark.usefixtures("_by_digits")
def test_sorting_by_digits_puts_nan_first_and_infinity_next() -> None:
    x = RNG.choice(np.array([np.nan, np.inf, -0.0, 0.0, 1e-40, -np.inf, 7], np.float32), 3001)
    keys = np.where(np.isnan(x), np.inf, np.where(x == np.inf, 3e38, x + 0))
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        _, indices = wk.topk(x, 3001)

        np.testing.assert_array_equal(indices.numpy(), np.argsort(-keys, kind="stable"))


@pytest.mark.usefixtures("_by_digits")
def test_unique_and_segments_by_digits_agree_with_numpy() -> None:
    test_unique_and_segments_agree_with_numpy(3001)


def test_a_row_that_a_gpu_sorts_by_digits_unforced_is_in_order() -> None:
    x = RNG.integers(-40_000, 40_000, 20_011).astype(np.int32)
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        _, indices = wk.topk(x, 20_011)

        np.testing.assert_array_equal(indices.numpy(), np.argsort(~x, kind="stable"))


@pytest.mark.parametrize("k", [3, 16, 40, 3000])
def test_topk_puts_nan_first_and_does_not_tell_zeros_apart(k: int) -> None:
    x = RNG.choice(np.array([np.nan, np.inf, -0.0, 0.0, 1e-40, -np.inf], np.float32), 3000)
    keys = np.where(np.isnan(x), np.inf, np.where(x == np.inf, 3e38, x + 0))
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        _, indices = wk.topk(x, k)

        np.testing.assert_array_equal(indices.numpy(), np.argsort(-keys, kind="stable")[:k])


@pytest.mark.parametrize(("dtype", "length"), [("int32", 3000), ("float32", 3000), ("float32", 12)])
@pytest.mark.parametrize("k", [3, 16, 40, 3000])
def test_the_smallest_come_in_numpys_order_the_first_of_equals_first(
    dtype: str, length: int, k: int
) -> None:
    x = RNG.integers(-5, 5, (2, length)).astype(dtype)
    least, most = (LEAST, 2**31 - 1) if dtype == "int32" else (-np.inf, np.nan)
    x[x == -5], x[x == 4] = least, most
    k = min(k, length)
    expected = np.argsort(x, axis=-1, kind="stable")[:, :k]
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend), wk.config.using(fallback="error"):
            values, indices = wk.topk(x, k, largest=False)

            np.testing.assert_array_equal(indices.numpy(), expected)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, -1))


def test_topk_of_a_view_reads_it_where_it_lies() -> None:
    x = RNG.standard_normal((64, 96), dtype=np.float32)
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        _, indices = wk.topk(wk.permute_dims(wk.tensor(x), (1, 0)), 4)

        np.testing.assert_array_equal(indices.numpy(), np.argsort(-x.T, axis=1)[:, :4])


@pytest.mark.parametrize("count", [5, 300, 2000])
def test_unique_and_segments_agree_with_numpy(count: int) -> None:
    ids = RNG.integers(-3, 210, count).astype(np.int32)
    x = RNG.integers(-9, 9, (count, 8)).astype(np.float32)
    total = np.zeros((200, 8), np.float32)
    inside = (ids >= 0) & (ids < 200)
    np.add.at(total, ids[inside], x[inside])
    first = np.unique(ids, return_index=True)[1]
    with wk.use_backend("webgpu"), wk.config.using(fallback="error"):
        values, kinds = wk.unique(ids)
        sums = wk.unsorted_segment_sum(x, ids, num_segments=200).numpy()

        np.testing.assert_array_equal(values.numpy(), ids[np.sort(first)])
        np.testing.assert_array_equal(values.numpy()[kinds.numpy()], ids)
        np.testing.assert_array_equal(sums, total)
