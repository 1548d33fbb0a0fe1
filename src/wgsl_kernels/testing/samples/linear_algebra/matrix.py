"""Sample rows of the products of matrices."""

from __future__ import annotations

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import matmul_bound
from wgsl_kernels.testing.sample import Sample

SHAPES = (
    ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((33, 70), (70, 67)), ((36, 12), (12, 20)),
    ((5, 300), (300, 1)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((4, 2, 3), (4, 3, 5)),
    ((2, 1, 2, 3), (3, 3, 2)), ((2, 3), (2, 3, 2)), ((1, 1, 2, 1, 2, 3), (3, 2)),
)  # fmt: skip
TRANSPOSED: tuple[tuple[Any, dict[str, Any]], ...] = (
    (((2, 5, 3), (5, 4)), {"transpose_a": True}),
    (((3, 5), (2, 4, 5)), {"transpose_b": True}),
    (((5, 3), (4, 5)), {"transpose_a": True, "transpose_b": True}),
)
LARGE: dict[str, Any] = {"low": -(2**31), "high": 2**31}

SAMPLES = [
    *(Sample("BatchMatMul", wk.matmul, shapes, bound=matmul_bound()) for shapes in SHAPES),
    *(
        Sample("BatchMatMul", wk.matmul, shapes, attrs=attrs, bound=matmul_bound(**attrs))
        for shapes, attrs in TRANSPOSED
    ),
    Sample("BatchMatMul", wk.matmul, ((5, 7), (7, 9)), dtypes="int32", **LARGE),
    Sample("BatchMatMul", wk.matmul, ((3, 40), (40, 5)), dtypes="float16", bound=matmul_bound()),
]
