"""What Dask's tables of functions by the chunks' class have for tensors.

Most of them call NumPy's function where they know nothing, which runs ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.array import chunk, dispatch
from dask.array.chunk_types import is_valid_chunk_type, register_chunk_type

import wgsl_kernels as wk


def register_tables() -> None:
    """Make tensors a class of chunks, unless that is done."""
    if is_valid_chunk_type(wk.Tensor):
        return
    register_chunk_type(wk.Tensor)
    dispatch.divide_lookup.register(wk.Tensor, _divide)
    dispatch.to_numpy_dispatch.register(wk.Tensor, _to_numpy)
    dispatch.nannumel_lookup.register(wk.Tensor, _count_without_nan)
    dispatch.percentile_lookup.register(wk.Tensor, _percentiles)


def _divide(a: Any, b: Any, dtype: Any = None) -> wk.Tensor:
    del dtype  # sums have it already; where Dask combines moments it is float64 whatever they are
    is_count = isinstance(b, (np.ndarray, np.integer)) and b.dtype.kind == "i"
    return wk.divide(a, b.astype(np.float32) if is_count else b)  # of chunks beyond int32, too


def _to_numpy(data: wk.Tensor, **_: Any) -> np.ndarray[Any, Any]:
    return data.numpy()


def _count_without_nan(x: wk.Tensor, **options: Any) -> Any:
    """Return how many elements are no NaN: on the host for moments, which write into the counts."""
    counts = chunk.sum(~wk.isnan(x), **options)
    return counts if options.get("dtype") is not None else counts.numpy()


def _percentiles(a: wk.Tensor, q: Any, method: str = "linear") -> tuple[Any, int]:
    """Return the percentiles of a chunk, and its length, of which Dask merges those of all."""
    n = len(a)
    return (np.percentile(a, np.asarray(q), method=method), n) if n else (None, 0)  # type: ignore[call-overload]  # any method
