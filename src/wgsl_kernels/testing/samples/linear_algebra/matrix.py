"""Sample rows of the products of matrices."""

from __future__ import annotations

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import matmul_bound
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("BatchMatMul", wk.matmul, ((2, 3), (3, 4)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((1, 1), (1, 1)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((33, 70), (70, 67)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((36, 12), (12, 20)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((5, 300), (300, 1)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((3, 0), (0, 2)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((0, 3), (3, 2)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((4, 2, 3), (4, 3, 5)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((2, 1, 2, 3), (3, 3, 2)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((2, 3), (2, 3, 2)), bound=matmul_bound()),
    Sample("BatchMatMul", wk.matmul, ((1, 1, 2, 1, 2, 3), (3, 2)), bound=matmul_bound()),
    Sample(
        "BatchMatMul",
        wk.matmul,
        ((2, 5, 3), (5, 4)),
        attrs={"transpose_a": True},
        bound=matmul_bound(transpose_a=True),
    ),
    Sample(
        "BatchMatMul",
        wk.matmul,
        ((3, 5), (2, 4, 5)),
        attrs={"transpose_b": True},
        bound=matmul_bound(transpose_b=True),
    ),
    Sample(
        "BatchMatMul",
        wk.matmul,
        ((5, 3), (4, 5)),
        attrs={"transpose_a": True, "transpose_b": True},
        bound=matmul_bound(transpose_a=True, transpose_b=True),
    ),
    Sample(
        "BatchMatMul",
        wk.matmul,
        ((5, 7), (7, 9)),
        dtypes="int32",
        low=-(2**31),
        high=2**31,
    ),
    Sample("BatchMatMul", wk.matmul, ((3, 40), (40, 5)), dtypes="float16", bound=matmul_bound()),
]
