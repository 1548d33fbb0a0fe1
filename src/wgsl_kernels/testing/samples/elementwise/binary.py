"""Samples of the arithmetic of two tensors, and of sums of several."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, exact, relative, safe, sum_of_terms, ulp
from wgsl_kernels.testing.sample import Sample

PRODUCTS = relative(3 * 2.0**-23)
"""A product and a sum of products, or of a difference with itself."""
QUOTIENT, FLOOR = safe("safe_div"), safe("floor_div_f32")
EXTREMES: tuple[tuple[Any, dict[str, Any]], ...] = (
    *((shapes, {"bound": exact()}) for shapes in (((2, 3), (2, 3)), ((5, 13), ()), ((4, 1), (3,)))),
    (((2, 3), (3,)), {"dtypes": "int32", "low": -9, "high": 9}),
    (((7,), (7,)), {"dtypes": "bool", "low": 0, "high": 2}),
)
FAR: dict[str, Any] = {"low": (-99.0, 0.3), "high": (99.0, 2.0)}


def _add_n(*inputs: wk.Tensor) -> wk.Tensor:
    return wk.add_n(inputs)


def _add_n_bound(count: int) -> Bound:
    return sum_of_terms(count - 1, lambda *inputs: np.sum(np.abs(inputs), axis=0))


SAMPLES = [
    Sample("Add", wk.add, ((2, 3), (2, 3)), bound=ulp(1)),
    Sample("Add", wk.add, ((4, 1, 3), (5, 1)), bound=ulp(1)),
    Sample("Add", wk.add, ((65,), ()), bound=ulp(1)),
    Sample("Add", wk.add, ((2, 1, 3, 1, 2, 1), (1, 3, 4, 1, 2)), bound=ulp(1)),
    Sample("Add", wk.add, ((2, 3), (3,)), dtypes="complex64", bound=ulp(1)),
    Sample("Add", wk.add, ((2, 3), (3,)), dtypes="int32", low=-2e9, high=2e9),
    Sample("Add", wk.add, ((2, 3), (3,)), dtypes=("float32", "int32"), low=-9, high=9),
    Sample("Add", wk.add, ((2, 3), (3,)), dtypes="bool", low=0, high=2),
    Sample("AddN", _add_n, ((2, 3),), bound=_add_n_bound(1)),
    Sample("AddN", _add_n, ((2, 3), (2, 3)), bound=_add_n_bound(2)),
    Sample("AddN", _add_n, ((3, 2),) * 5, bound=_add_n_bound(5)),
    Sample("AddN", _add_n, ((65,),) * 9, bound=_add_n_bound(9)),
    Sample("AddN", _add_n, ((2, 3),) * 7, dtypes="int32", low=-2e9, high=2e9),
    Sample("AddN", _add_n, ((2, 3),) * 3, dtypes="complex64", bound=_add_n_bound(3)),
    Sample("FloorDiv", wk.floor_divide, ((2, 3), (2, 3)), low=0.3, bound=FLOOR),
    Sample("FloorDiv", wk.floor_divide, ((5, 13), (13,)), **FAR, bound=FLOOR),
    Sample("FloorDiv", wk.floor_divide, ((5, 7), (7,)), dtypes="int32", low=-9, high=9),
    Sample("FloorDiv", wk.floor_divide, ((7,), (7,)), dtypes="bool", low=0, high=2),
    *(
        Sample(kernel, f, shapes, **facts)
        for kernel, f in (("Maximum", wk.maximum), ("Minimum", wk.minimum))
        for shapes, facts in EXTREMES
    ),
    Sample("Multiply", wk.multiply, ((2, 3), (2, 3)), bound=ulp(1)),
    Sample("Multiply", wk.multiply, ((4, 1, 3), (5, 1)), bound=ulp(1)),
    Sample("Multiply", wk.multiply, ((65,), ()), bound=ulp(1)),
    Sample("Multiply", wk.multiply, ((2, 3), (3,)), dtypes="complex64", bound=PRODUCTS),
    Sample("Multiply", wk.multiply, ((2, 3), (3,)), dtypes="int32", low=-60000, high=60000),
    Sample("Multiply", wk.multiply, ((2, 3), (3,)), dtypes="bool", low=0, high=2),
    Sample("Pow", wk.pow, ((2, 3), (2, 3)), low=(0.3, -2.0), bound=safe("safe_pow")),
    Sample("Pow", wk.pow, ((5, 13), ()), low=(0.3, -2.0), bound=safe("safe_pow")),
    Sample("Pow", wk.pow, ((4, 1), (3,)), low=(0.3, -2.0), bound=safe("safe_pow")),
    Sample("Pow", wk.pow, ((5, 7), (7,)), dtypes="int32", low=-4, high=5),
    Sample("Pow", wk.pow, ((7,), (7,)), dtypes="bool", low=0, high=2),
    Sample("RealDiv", wk.divide, ((2, 3), (2, 3)), low=0.3, bound=QUOTIENT),
    Sample("RealDiv", wk.divide, ((4, 1, 3), (5, 1)), low=(-2.0, 0.3), bound=QUOTIENT),
    Sample("RealDiv", wk.divide, ((), (65,)), low=0.3, bound=QUOTIENT),
    Sample("RealDiv", wk.divide, ((2, 3), (3,)), "complex64", low=0.3, bound=relative(2.0**-19)),
    Sample("RealDiv", wk.divide, ((5, 7), (7,)), dtypes="int32", low=1, high=9, bound=QUOTIENT),
    Sample("RealDiv", wk.divide, ((7,), (7,)), dtypes="bool", low=0, high=2),
    Sample("SquaredDifference", wk.squared_difference, ((2, 3), (2, 3)), bound=PRODUCTS),
    Sample("SquaredDifference", wk.squared_difference, ((4, 1), (3,)), bound=PRODUCTS),
    Sample("SquaredDifference", wk.squared_difference, ((5, 7), ()), "int32", low=-9, high=9),
    Sample("SquaredDifference", wk.squared_difference, ((7,), (7,)), dtypes="bool", low=0, high=2),
    Sample("Sub", wk.subtract, ((2, 3), (2, 3)), bound=ulp(1)),
    Sample("Sub", wk.subtract, ((4, 1, 3), (5, 1)), bound=ulp(1)),
    Sample("Sub", wk.subtract, ((), (65,)), bound=ulp(1)),
    Sample("Sub", wk.subtract, ((2, 3), (3,)), dtypes="complex64", bound=ulp(1)),
    Sample("Sub", wk.subtract, ((2, 3), (3,)), dtypes="int32", low=-2e9, high=2e9),
    Sample("Sub", wk.subtract, ((2, 3), (3,)), dtypes="bool", low=0, high=2),
]
