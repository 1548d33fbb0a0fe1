"""Samples of sparse matrices and of rows of different lengths."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, exact, sum_of_terms, ulp
from wgsl_kernels.testing.sample import Sample

Shape = tuple[int, ...]


def _magnitude(data: Array, indices: Array, ids: Array) -> Array:
    return np.asarray(np.sum(np.abs(data)))


ADDED = sum_of_terms(70, _magnitude)


def _segment_sum(data: wk.Tensor, indices: wk.Tensor, ids: wk.Tensor) -> wk.Tensor:
    return wk.sparse_segment_sum(data, indices, wk.sort(ids))


def _segment_mean(data: wk.Tensor, indices: wk.Tensor, ids: wk.Tensor) -> wk.Tensor:
    return wk.sparse_segment_mean(data, indices, wk.sort(ids))


def _segments(shape: Shape, count: int, segments: int, dtype: str = "float32") -> list[Sample]:
    shapes, dtypes = (shape, (count,), (count,)), (dtype, "int32", "int32")
    low, high = ((-9.0, 0, 0), (9.0, shape[0], segments))
    bound = None if dtype == "int32" else ADDED
    return [
        Sample(f"SparseSegment{name}", f, shapes, dtypes, {}, low, high, bound)
        for name, f in (("Sum", _segment_sum), ("Mean", _segment_mean))
    ]


def _fill(
    indices: wk.Tensor, values: wk.Tensor, default: wk.Tensor, *, rows: int
) -> list[wk.Tensor]:
    return list(wk.sparse_fill_empty_rows(indices, values, [rows, 9], default))


def _filled(count: int, rows: int, dtype: str = "float32") -> Sample:
    shapes, dtypes = ((count, 2), (count,), ()), ("int32", dtype, dtype)
    low, high = (
        ((0, -9.0, -9.0), (rows, 9.0, 9.0)) if dtype != "bool" else ((0, 0, 0), (rows, 2, 2))
    )
    bound = exact() if dtype == "float32" else None
    attrs = {"rows": rows}
    return Sample("SparseFillEmptyRows", _fill, shapes, dtypes, attrs, low, high, bound)


def _reshape(indices: wk.Tensor, *, before: Shape, after: Shape) -> list[wk.Tensor]:
    return list(wk.sparse_reshape(indices, before, after))


def _reshaped(count: int, before: Shape, after: Shape) -> Sample:
    attrs = {"before": before, "after": after}
    shapes = ((count, len(before)),)
    domain = (0, max(0, min(before) - 1))  # places in the old shape
    return Sample("SparseReshape", _reshape, shapes, "int32", attrs, 0, min(before), domain=domain)


def _range(starts: wk.Tensor, *, limits: Any, deltas: Any) -> list[wk.Tensor]:
    return list(wk.ragged_range(starts, limits, deltas))


def _ranged(shape: Shape, limits: Any, deltas: Any, dtype: str = "float32") -> Sample:
    attrs = {"limits": limits, "deltas": deltas}
    bound = ulp(4) if dtype == "float32" else None
    low, high = (0.1, 0.4) if dtype == "float32" else (-9, 9)
    return Sample("RaggedRange", _range, (shape,), dtype, attrs, low, high, bound)


def _to_tensor(values: wk.Tensor, default: wk.Tensor, **attrs: Any) -> wk.Tensor:
    shape, parts, types = attrs["shape"], attrs["parts"], attrs["types"]
    return wk.ragged_tensor_to_tensor(shape, values, default, [wk.tensor(p) for p in parts], types)


def _dense(
    values: Shape, default: Shape, shape: Any, parts: Any, types: str, dtype: str = "float32"
) -> Sample:
    words = {"f": "FIRST_DIM_SIZE", "i": "VALUE_ROWIDS", "s": "ROW_SPLITS"}
    attrs = {"shape": shape, "parts": parts, "types": tuple(words[one] for one in types)}
    bound = exact() if dtype == "float32" else None
    shapes = (values, default)
    return Sample("RaggedTensorToTensor", _to_tensor, shapes, dtype, attrs, -9, 9, bound)


SAMPLES = [
    _dense((5,), (), -1, ((0, 2, 2, 5),), "s"),
    _dense((4, 2), (2,), (3, 2, -1), (3, (0, 0, 2, 2)), "fi"),
    _dense((4, 3), (), (2, 1, 3), ((0, 3, 4),), "s"),
    _dense((8,), (), (-1, -1, 3), ((0, 1, 3), (0, 2, 2, 8)), "ss"),
    _dense((6,), (), (5, -1, -1), (4, (1, 1, 3), (0, 0, 1, 2, 2, 2)), "fii", "int32"),
    _dense((70, 2), (2,), (2, 40, 2), ((0, 69, 70),), "s"),
    _ranged((3,), (8.0, 7.0, 0.0), 1.0),
    _ranged((), (3.0, 5.0), 0.75),
    _ranged((2,), (-3.0, 4.0), (-0.75, 1.5)),
    _ranged((3,), 5, 2, "int32"),
    _ranged((4,), 0, (1, -1, 2, -3), "int32"),
    _ranged((), 70, 1, "int32"),
    _filled(4, 5),
    _filled(2, 7),
    _filled(9, 3),
    _filled(65, 99),
    _filled(4, 6, "int32"),
    _filled(3, 5, "bool"),
    _reshaped(6, (5, 6), (1, 5, 2, 3)),
    _reshaped(4, (2, 3, 4), (6, -1)),
    _reshaped(3, (6,), (2, 3)),
    _reshaped(70, (9, 8), (72,)),
    _reshaped(5, (4, 4), (2, 2, 2, 2)),
    _reshaped(2, (3, 4), (-1, 3)),
    *_segments((3, 4), 5, 3),
    *_segments((6,), 4, 3),
    *_segments((4, 2, 3), 6, 2),
    *_segments((9, 8), 20, 4),
    *_segments((5,), 65, 2),
    *_segments((4, 3), 7, 3, "int32"),
]
