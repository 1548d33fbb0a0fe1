"""Samples of logarithms to bases 2 and 10."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import safe
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("Log10", wk.log10, ((2, 3),), low=0.3, bound=safe("safe_log10")),
    Sample("Log10", wk.log10, ((67,),), low=0.999, high=1.001, bound=safe("safe_log10")),
    Sample("Log10", wk.log10, ((3, 1, 2),), low=0.01, high=0.5, bound=safe("safe_log10")),
    Sample("Log10", wk.log10, ((65,),), low=10.0, high=1e9, bound=safe("safe_log10")),
    Sample("Log10", wk.log10, ((9,),), dtypes="float16", low=0.3, bound=safe("safe_log10")),
    Sample("Log10", wk.log10, ((7,),), dtypes="int32", low=1, high=99, bound=safe("safe_log10")),
    Sample("Log2", wk.log2, ((2, 3),), low=0.3, bound=safe("safe_log2")),
    Sample("Log2", wk.log2, ((67,),), low=0.999, high=1.001, bound=safe("safe_log2")),
    Sample("Log2", wk.log2, ((3, 1, 2),), low=0.01, high=0.5, bound=safe("safe_log2")),
    Sample("Log2", wk.log2, ((65,),), low=10.0, high=1e9, bound=safe("safe_log2")),
    Sample("Log2", wk.log2, ((9,),), dtypes="float16", low=0.3, bound=safe("safe_log2")),
    Sample("Log2", wk.log2, ((7,),), dtypes="int32", low=1, high=99, bound=safe("safe_log2")),
]
