"""Samples of products with packed numbers.

A product of a number and a code rounds three times: the difference to the zero point, which is
whole or not, the scale, and the product itself; the sum once for each term more.
"""

from __future__ import annotations

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.ops.quantization.kinds import KINDS, unpacked
from wgsl_kernels.testing.bounds import Array, Bound, sum_of_terms
from wgsl_kernels.testing.sample import Sample

_BYTES = 256


def _bound(*, kind: str = "uint4", transpose_b: bool = True) -> Bound:
    found = KINDS[kind]

    def count(a: Array, *others: Array) -> Array:
        del others
        return np.asarray(a.shape[-1] + 3)

    def magnitude(
        a: Array, b: Array, scales: Array | None = None, zeros: Array | None = None
    ) -> Array:
        codes = np.abs(unpacked(b.astype(np.uint8), found).astype(np.float64))
        largest = 1.0 if scales is None else np.abs(scales).max(initial=0)
        shift = float(1 << found.bits) if zeros is None else float(_BYTES)
        whole = (codes + (shift if found.is_integer else 0.0)) * largest
        whole = whole.T if transpose_b else whole
        terms, columns = a.shape[-1], whole.shape[-1]
        return np.asarray(np.abs(a) @ whole[:terms, :columns])

    return sum_of_terms(count, magnitude)


def _sample(
    *shapes: tuple[int, ...],
    dtypes: tuple[str, ...] = ("float32", "uint8", "float32", "float32"),
    kind: str = "uint4",
    block_size: int | tuple[int, int] = 16,
    transpose_b: bool = True,
    high: int = _BYTES,
) -> Sample:
    low = tuple(0.0 if one == "uint8" else -2.0 for one in dtypes[: len(shapes)])
    most = tuple(float(high) if one == "uint8" else 2.0 for one in dtypes[: len(shapes)])
    attrs = {"kind": kind, "block_size": block_size, "transpose_b": transpose_b}
    bound = _bound(kind=kind, transpose_b=transpose_b)
    return Sample(
        "MatMulNBits", wk.matmul_nbits, shapes, dtypes[: len(shapes)], attrs, low, most, bound,
        second_order=shapes[0][0] < 4,
    )  # fmt: skip


_PACKED = ("float32", "uint8", "float32", "uint8")

SAMPLES = [
    _sample((2, 32), (4, 16), (4, 2)),
    _sample((1, 32), (8, 16), (8, 2), (8, 1), dtypes=_PACKED),
    _sample((2, 3, 20), (5, 10), (5, 2), (5, 2)),
    _sample((36, 64), (40, 32), (40, 4), (40, 2), dtypes=_PACKED),
    _sample((3, 21), (7, 11), (7, 2)),
    _sample((4, 1024), (4, 512), (4, 64)),
    _sample((3, 12), (12, 4), (3, 8), block_size=4, transpose_b=False),
    _sample((3, 12), (12, 4), (4, 3), (4, 3), block_size=(3, 3), transpose_b=False),
    _sample((2, 16), (6, 16), (6, 1), (6, 1), dtypes=_PACKED, kind="uint8", block_size=0),
    _sample((2, 16), (8, 4), (8, 1), kind="int2"),
    _sample((2, 16), (8, 32), kind="bfloat16", high=120),
    _sample((2, 16), (8, 16), (1, 1), kind="float8_e4m3fn", block_size=(0, 0), high=120),
    _sample((2, 16), (8, 8), (8, 2), kind="float4_e2m1fn", block_size=8),
    _sample((0, 32), (4, 16), (4, 2)),
    _sample((2, 0), (4, 0), block_size=0),
    _sample((3, 32), (4, 16), (4, 2), dtypes=("float16", "uint8", "float16")),
]
"""Both ways round, rows that end within a byte, blocks beyond a row, each kind of zeros."""
