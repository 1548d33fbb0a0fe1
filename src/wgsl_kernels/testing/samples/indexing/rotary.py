"""Samples of rotary embeddings: two products and their sum round three times."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, Bound, absolute
from wgsl_kernels.testing.sample import Sample

EPS = 2.0**-23


def _bound() -> Bound:
    def amount(x: Array, cos: Array, sin: Array, *others: Array) -> Array:
        del others
        largest = np.abs(cos).max(initial=0) + np.abs(sin).max(initial=0)
        sizes = np.max(np.abs(x), -1, keepdims=True, initial=0) + np.zeros_like(x)
        return np.asarray(4 * EPS * largest * sizes)

    return absolute(amount)


def _at(x: wk.Tensor, cos: wk.Tensor, sin: wk.Tensor, places: wk.Tensor, **more: Any) -> wk.Tensor:
    return wk.rotary_embedding(x, cos, sin, positions=places, **more)


_PLACES = ("float32", "float32", "float32", "int32")


def _sample(*shapes: tuple[int, ...], dtypes: Any = "float32", **attrs: Any) -> Sample:
    if len(shapes) == 3:
        f = wk.rotary_embedding
        return Sample("RotaryEmbedding", f, shapes, dtypes, attrs, bound=_bound())
    low, high = (-2.0, -2.0, -2.0, 0), (2.0, 2.0, 2.0, shapes[1][0])
    return Sample("RotaryEmbedding", _at, shapes, _PLACES, attrs, low, high, _bound())


SAMPLES = [
    _sample((2, 3, 5, 6), (5, 3), (5, 3)),
    _sample((2, 3, 5, 7), (2, 5, 2), (2, 5, 2), interleaved=True),
    _sample((2, 5, 3, 4), (5, 2), (5, 2), axis=1),
    _sample((2, 3, 5, 6), (9, 3), (9, 3), (5,)),
    _sample((2, 5, 2, 6), (9, 2), (9, 2), (2, 5), axis=1, interleaved=True),
    _sample((3, 2), (3, 1), (3, 1)),
    _sample((2, 0, 4), (0, 2), (0, 2)),
    _sample((2, 3, 8), (3, 4), (3, 4), dtypes="float16"),
]
"""All numbers turned and a part of them, steps before heads, positions of all and of a batch."""
