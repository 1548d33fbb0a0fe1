"""Indices out of range: the same words wherever they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.ops.indexing.gather import take
from wgsl_kernels.ops.indexing.ragged import ragged_gather
from wgsl_kernels.ops.shapes.ranges import arange

BOTH = pytest.mark.parametrize("backend", ["cpu", "webgpu"])

BACKENDS = ["cpu", "webgpu"]
WORDS = (
    r"^GatherV2: indices holds 3, which is out of range; "
    r"x is \[3\], indices is \[4\], y is \[4\]\. Called at .*test_gather\.py:\d+\.$"
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_on_the_host_is_refused_at_once(backend: str) -> None:
    with wk.use_backend(backend), pytest.raises(wk.IndexOutOfRange, match=WORDS):
        take(wk.tensor([1.0, 2.0, 3.0]), wk.tensor([0, 3, 1, 2]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_that_was_computed_is_refused_when_values_are_read(backend: str) -> None:
    def gathered() -> None:
        take(wk.tensor([1.0, 2.0, 3.0]), arange(4)).numpy()

    with wk.use_backend(backend):
        with pytest.raises(wk.IndexOutOfRange, match=WORDS):
            gathered()

        np.testing.assert_array_equal(take(wk.tensor([5.0]), arange(1)).numpy(), [5.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_are_taken_from_separately_and_their_gradients_kept_apart(backend: str) -> None:
    x = np.arange(2 * 3 * 4 * 2, dtype=np.float32).reshape(2, 3, 4, 2)
    indices = np.array([[0, 3, 3], [1, 1, 1]], np.int32)

    def taken(x: wk.Tensor) -> wk.Tensor:
        return take(x, wk.tensor(indices), axis=2, batch_dims=1)

    with wk.use_backend(backend):
        y = taken(wk.tensor(x))
        dx = wk.grad(taken)(wk.tensor(x))

    counts = np.array([[1, 0, 0, 2], [0, 3, 0, 0]], np.float32)
    np.testing.assert_array_equal(y.numpy(), np.stack([x[b][:, indices[b]] for b in range(2)]))
    np.testing.assert_array_equal(dx.numpy(), np.broadcast_to(counts[:, None, :, None], x.shape))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("splits", [[-1, 3], [0, 2, 1], [0, 4]], ids=str)
def test_ragged_gather_names_the_splits_that_are_wrong(splits: list[int], backend: str) -> None:
    words = r"RaggedGather: params_nested_splits\[0\] is .* want numbers in \[0, 3\]"

    with wk.use_backend(backend), pytest.raises(wk.ArgumentError, match=words):
        ragged_gather([wk.tensor(splits)], wk.tensor([1.0, 2.0, 3.0]), wk.tensor([0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_ragged_gather_follows_nested_splits(backend: str) -> None:
    with wk.use_backend(backend):
        found = ragged_gather(
            [wk.tensor([0, 1, 3]), wk.tensor([0, 3, 3, 5])],
            wk.tensor([1.0, 2.0, 3.0, 4.0, 5.0]),
            wk.tensor([[1, 0]]),
        )

    splits = [one.tolist() for one in found.output_nested_splits]
    assert splits == [[0, 2], [0, 2, 3], [0, 0, 2, 5]]
    assert found.output_dense_values.tolist() == [4.0, 5.0, 1.0, 2.0, 3.0]


@BOTH
@pytest.mark.parametrize(
    "f",
    [
        lambda x, at: x[at][:0],
        lambda x, at: x[at[:, None], wk.tensor([1, 2])][:0],
        lambda x, at: x[at] * wk.ones((0, 1, 4)),
        lambda x, at: x[wk.tensor([False] * 3)][:, at],
        lambda x, at: wk.gather_nd(wk.ones((3, 0)), wk.expand_dims(at, axis=1)),
    ],
)
def test_an_index_out_of_range_is_reported_by_the_read_of_an_empty_result(
    f: Any, backend: str
) -> None:
    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        x, at = wk.reshape(wk.arange(12.0), (3, 4)), wk.tensor([8]) + 1
        with pytest.raises(wk.IndexOutOfRange, match="indices holds 9"):
            f(x, at).numpy()
        assert (wk.ones((2,)) + 1.0).tolist() == [2.0, 2.0]


COUNT = 70_000
"""So many squared are more than numbers of 32 bits tell apart."""
LOOKUPS: dict[str, Any] = {
    "take": lambda x, at: take(x, at, axis=0),
    "take columns": lambda x, at: take(x, at, axis=1),
    "take_along_axis": lambda x, at: wk.take_along_axis(x, wk.broadcast_to(at, (COUNT, 2)), 1),
    "index": lambda x, at: x[at, at],
    "topk": lambda x, at: wk.topk(x, 2),
    "segments": lambda x, at: wk.unsorted_segment_sum(x, wk.zeros((COUNT,), dtype="int32"), 1),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_views_of_more_elements_than_a_number_of_32_bits_counts_are_refused(name: str) -> None:
    with wk.use_backend("webgpu"):
        x = wk.broadcast_to(arange(COUNT, dtype="float32")[:, None], (COUNT, COUNT))
        at = wk.tensor([65_000, COUNT - 1])
        words = r"\w+: \w+ .* \[70000, 70000\], 4900000000.*; on the GPU at most .* a slice"
        with pytest.raises(wk.ShapeError, match=words):
            LOOKUPS[name](x, at)
        # what finds its elements along axes reaches all
        assert x[-3:, ::-1].numpy()[1, 0] == COUNT - 2


def test_views_whose_elements_indices_just_tell_apart_are_looked_up() -> None:
    most, at = (1 << 16) - 1, wk.tensor([[0, 0], [40_000, 60_000]])
    with wk.use_backend("webgpu"):
        x = wk.broadcast_to(arange(most, dtype="float32")[:, None], (most, most))
        assert take(x, wk.tensor([0, most - 1]), axis=0)[:, -1].tolist() == [0.0, most - 1.0]
        assert take(x, wk.tensor([0, most - 1]), axis=1)[-1].tolist() == [most - 1.0] * 2
        assert wk.gather_nd(x[:, :30_000], at[:1]).tolist() == [0.0]
        with pytest.raises(wk.ShapeError, match=r"^GatherNd: .* 4294836225; on the GPU"):
            wk.gather_nd(x, at)
