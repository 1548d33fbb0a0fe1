"""Samples of what tells finite floats from others; edge values have tests of their own."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample(kernel, f, shape, dtypes=dtype, low=low, high=high)
    for kernel, f in (("IsFinite", wk.isfinite), ("IsInf", wk.isinf), ("IsNan", wk.isnan))
    for shape, dtype, low, high in (
        (((2, 3),), "float32", -2.0, 2.0),
        (((65,),), "float32", -2.0, 2.0),
        (((),), "float32", -2.0, 2.0),
        (((5,),), "complex64", -2.0, 2.0),
        (((2, 1, 3),), "int32", -9, 9),
        (((7,),), "bool", 0, 2),
    )
]
