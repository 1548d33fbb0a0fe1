"""Samples of rows that indices of several axes name: gathered, scattered, replaced."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, exact, sum_of_terms
from wgsl_kernels.testing.sample import Sample

Shape = tuple[int, ...]

MOVED = exact()
ADDED = sum_of_terms(8, lambda indices, updates: np.asarray(np.sum(np.abs(updates))))


def _range(dtype: str) -> tuple[float, float]:
    return {"int32": (-9.0, 9.0), "bool": (0.0, 2.0)}.get(dtype, (-2.0, 2.0))


def _row(
    kernel: str, f: Any, shapes: tuple[Shape, ...], places: int, most: int, dtype: str,
    bound: Bound = MOVED, **attrs: Any,
) -> Sample:  # fmt: skip
    """Return a row of whose inputs the one numbered ``places`` holds indices below ``most``."""
    low, high = _range(dtype)
    of = ((dtype, low, high),) * len(shapes)
    dtypes, lows, highs = zip(*of[:places], ("int32", 0, most), *of[places + 1 :], strict=True)
    kept = bound if dtype in ("float32", "complex64") else None
    return Sample(kernel, f, shapes, dtypes, attrs, lows, highs, kept)


def _gathered(shape: Shape, indices: Shape, most: int, dtype: str = "float32") -> Sample:
    return _row("GatherNd", wk.gather_nd, (shape, indices), 1, most, dtype)


def _scattered(
    indices: Shape, updates: Shape, shape: Shape, most: int, dtype: str = "float32"
) -> Sample:
    shapes = (indices, updates)
    return _row("ScatterNd", wk.scatter_nd, shapes, 0, most, dtype, ADDED, shape=shape)


def _updated(
    shape: Shape, indices: Shape, updates: Shape, most: int, dtype: str = "float32"
) -> Sample:
    shapes = (shape, indices, updates)
    return _row("TensorScatterUpdate", wk.tensor_scatter_update, shapes, 1, most, dtype)


def _dense(
    indices: Shape, values: Shape, shape: Shape, most: int, dtype: str = "float32"
) -> Sample:
    shapes = (indices, values, ())
    return _row("SparseToDense", _sparse_to_dense, shapes, 0, most, dtype, output_shape=shape)


def _sparse_to_dense(
    indices: wk.Tensor, values: wk.Tensor, default: wk.Tensor, *, output_shape: Shape
) -> wk.Tensor:
    return wk.sparse_to_dense(indices, values, output_shape, default)


def _along(shape: Shape, indices: Shape, axis: int, most: int, dtype: str = "float32") -> Sample:
    return _row("TakeAlongAxis", wk.take_along_axis, (shape, indices), 1, most, dtype, axis=axis)


SAMPLES = [
    _gathered((4, 3), (5, 1), 4),
    _gathered((3, 4, 2), (2, 2, 2), 3),
    _gathered((3, 3, 8), (4, 2), 3),
    _gathered((3, 3), (2,), 3),
    _gathered((3, 4), (6, 2), 3, "int32"),
    _gathered((3, 2), (4, 1), 3, "complex64"),
    _gathered((5,), (4, 1), 5, "bool"),
    _scattered((5, 1), (5,), (3,), 3),
    _scattered((4, 1), (4, 3), (3, 3), 3),
    _scattered((2, 3, 2), (2, 3, 4), (2, 3, 4), 2),
    _scattered((6,), (6,), (4,), 4),
    _scattered((5, 2), (5,), (3, 2), 2, "int32"),
    _scattered((4, 1), (4, 2), (3, 2), 3, "complex64"),
    _scattered((4, 1), (4, 2), (3, 2), 3, "bool"),
    _dense((3, 1), (3,), (4,), 4),
    _dense((4, 2), (4,), (3, 4), 3),
    _dense((5,), (5,), (3,), 3),
    _dense((3, 2), (), (3, 3), 3),
    _dense((), (), (4,), 4, "int32"),
    _dense((4,), (4,), (3,), 3, "bool"),
    _along((3, 4), (3, 2), -1, 4),
    _along((3, 4), (5, 4), 0, 3),
    _along((2, 3, 4), (2, 6, 4), 1, 3),
    _along((2, 3, 1), (1, 2, 4), 1, 3),
    _along((65,), (70,), 0, 65),
    _along((3, 4), (3, 2), 1, 4, "int32"),
    _along((3, 4), (3, 2), 1, 4, "complex64"),
    _updated((5,), (2, 1), (2,), 5),
    _updated((3, 4), (4, 1), (4, 4), 3),
    _updated((3, 3, 2), (2, 2, 2), (2, 2, 2), 3),
    _updated((4, 2), (3,), (3, 2), 4),
    _updated((3, 4), (5, 2), (5,), 3, "int32"),
    _updated((3, 2), (2, 1), (2, 2), 3, "complex64"),
    _updated((5,), (4, 1), (4,), 5, "bool"),
]  # fmt: skip
