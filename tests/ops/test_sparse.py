"""Sparse rows, rows of different lengths and strings, beyond the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 11160318154034397263),
        ("a", 12917804110809363939),
        ("wgsl", 5612167842143225246),
        ("kernels!", 280951913980724448),
        ("sixteen letters.", 10729106050934863685),
        ("x" * 32, 12901576723999808517),
        ("x" * 33, 12270365409943098935),
        ("x" * 64, 6916188127298655160),
        ("x" * 65, 4935023790501551929),
        ("x" * 128, 5868382771906808855),
        ("0123456789" * 20, 9663085027203515285),
    ],
)
def test_the_fingerprint_is_that_of_farmhash(text: str, value: int) -> None:
    assert fingerprint(text.encode()) == value


@BACKENDS
def test_segments_that_have_no_rows_are_zero(backend: str) -> None:
    data = wk.tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
    with wk.use_backend(backend):
        total = wk.sparse_segment_sum(data, [0, 3, 3], [1, 1, 3])
        means = wk.sparse_segment_mean(data, [0, 3, 3], [1, 1, 3])
        nothing = wk.zeros((0,), dtype="int32")
        none = wk.sparse_segment_sum(data, nothing, nothing)

    assert total.tolist() == [[0, 0, 0], [9, 11, 13], [0, 0, 0], [9, 10, 11]]
    assert means.tolist()[1] == [4.5, 5.5, 6.5]
    assert none.shape == (0, 3)


@BACKENDS
def test_bytes_that_are_no_text_stay_what_they_are(backend: str) -> None:
    with wk.use_backend(backend), wk.config.using(fallback="silent"):
        odd = wk.tensor(np.array([b"a\xff b", "c"], object), dtype="string")
        found = wk.static_regex_replace(odd, " ", "_")

    assert found.tolist() == [b"a\xff_b", "c"]


@BACKENDS
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wk.sparse_segment_sum([1.0], [0, 0], [1, 0]), wk.ArgumentError, "never fall"),
        (lambda: wk.sparse_segment_sum([1.0], [1], [0]), wk.IndexOutOfRange, r"data is \[1\]"),
        (lambda: wk.ragged_range(0, 5, 0), wk.ArgumentError, "deltas is"),
        (lambda: wk.ragged_range(0.0, np.inf, 1.0), wk.ArgumentError, "more numbers than"),
        (lambda: wk.ragged_range([0, 1], [1, 2, 3], 1), wk.ShapeError, "the shapes differ"),
        (lambda: wk.sparse_reshape([[0]], [6], [4]), wk.ShapeError, "as many elements"),
        (
            lambda: wk.sparse_fill_empty_rows([[3, 0]], [1.0], [3, 2], 0.0),
            wk.IndexOutOfRange,
            "indices holds 3",
        ),
        (lambda: wk.static_regex_replace(["a"], "(", ""), wk.ArgumentError, "pattern is"),
        (lambda: wk.string_to_hash_bucket_fast(["a"], 0), wk.ArgumentError, "num_buckets is 0"),
    ],
)
def test_bad_input_is_named(
    call: Callable[[], Any], error: type[Exception], words: str, backend: str
) -> None:
    with (
        wk.use_backend(backend),
        wk.config.using(fallback="silent"),
        pytest.raises(error, match=words),
    ):
        call()


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_a_dense_tensor_larger_than_memory_is_refused(backend: str) -> None:
    def dense(shape: Any, rows: Any, *kinds: str) -> None:
        wk.ragged_tensor_to_tensor(shape, [1.0, 2.0], 0.0, rows, kinds)

    with wk.use_backend(backend):
        for shape in ((10**6, 10**6), (2**31 - 1, 2**31 - 1)):
            with pytest.raises(wk.OutOfMemoryError, match=r"asked for \d+ bytes"):
                dense(shape, [[0, 1, 2]], "ROW_SPLITS")
        with wk.config.using(memory_limit=1 << 22), pytest.raises(wk.OutOfMemoryError):
            dense(-1, [2**31 - 1, [0, 1]], "FIRST_DIM_SIZE", "VALUE_ROWIDS")
