"""Samples of the inverse circular functions."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import safe
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("Acos", wk.acos, ((2, 3),), low=-0.9, high=0.9, bound=safe("safe_acos")),
    Sample("Acos", wk.acos, ((65,),), low=-0.95, high=-0.8, bound=safe("safe_acos")),
    Sample("Acos", wk.acos, ((3, 1, 2),), low=-0.9, high=0.9, bound=safe("safe_acos")),
    Sample("Acos", wk.acos, ((9,),), dtypes="float16", low=-0.9, high=0.9, bound=safe("safe_acos")),
    Sample("Acos", wk.acos, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Acos", wk.acos, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Asin", wk.asin, ((2, 3),), low=-0.9, high=0.9, bound=safe("safe_asin")),
    Sample("Asin", wk.asin, ((65,),), low=-1e-05, high=1e-05, bound=safe("safe_asin")),
    Sample("Asin", wk.asin, ((3, 1, 2),), low=-0.9, high=0.9, bound=safe("safe_asin")),
    Sample("Asin", wk.asin, ((9,),), dtypes="float16", low=-0.9, high=0.9, bound=safe("safe_asin")),
    Sample("Asin", wk.asin, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Asin", wk.asin, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Atan", wk.atan, ((2, 3),), low=-2.0, high=2.0, bound=safe("safe_atan")),
    Sample("Atan", wk.atan, ((65,),), low=-50.0, high=50.0, bound=safe("safe_atan")),
    Sample("Atan", wk.atan, ((3, 1, 2),), low=-2.0, high=2.0, bound=safe("safe_atan")),
    Sample("Atan", wk.atan, ((9,),), dtypes="float16", low=-2.0, high=2.0, bound=safe("safe_atan")),
    Sample("Atan", wk.atan, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Atan", wk.atan, ((7,),), dtypes="bool", low=0, high=2),
    Sample(
        "Atan2",
        wk.atan2,
        ((2, 3), (2, 3)),
        low=(0.3, -2.0),
        high=(2.0, 2.0),
        bound=safe("safe_atan2"),
    ),
    Sample(
        "Atan2",
        wk.atan2,
        ((4, 1, 3), (5, 1)),
        low=(0.3, -2.0),
        high=(2.0, 2.0),
        bound=safe("safe_atan2"),
    ),
    Sample(
        "Atan2", wk.atan2, ((65,), ()), low=(0.3, -2.0), high=(2.0, 2.0), bound=safe("safe_atan2")
    ),
    Sample(
        "Atan2", wk.atan2, ((), (7,)), low=(0.3, -2.0), high=(2.0, 2.0), bound=safe("safe_atan2")
    ),
    Sample(
        "Atan2", wk.atan2, ((5, 7), (7,)), dtypes="int32", low=1, high=9, bound=safe("safe_atan2")
    ),
    Sample("Atan2", wk.atan2, ((7,), (7,)), dtypes="bool", low=0, high=2, bound=safe("safe_atan2")),
]
