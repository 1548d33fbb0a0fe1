"""Samples of hyperbolic sine and cosine, and of the inverse functions."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import safe
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("Acosh", wk.acosh, ((2, 3),), low=1.1, high=4.0, bound=safe("safe_acosh")),
    Sample("Acosh", wk.acosh, ((65,),), low=100.0, high=100000000.0, bound=safe("safe_acosh")),
    Sample("Acosh", wk.acosh, ((3, 1, 2),), low=1.1, high=4.0, bound=safe("safe_acosh")),
    Sample(
        "Acosh", wk.acosh, ((9,),), dtypes="float16", low=1.1, high=4.0, bound=safe("safe_acosh")
    ),
    Sample("Acosh", wk.acosh, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Acosh", wk.acosh, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Asinh", wk.asinh, ((2, 3),), low=-2.0, high=2.0, bound=safe("safe_asinh")),
    Sample("Asinh", wk.asinh, ((65,),), low=-1e-05, high=1e-05, bound=safe("safe_asinh")),
    Sample("Asinh", wk.asinh, ((3, 1, 2),), low=-2.0, high=2.0, bound=safe("safe_asinh")),
    Sample(
        "Asinh", wk.asinh, ((9,),), dtypes="float16", low=-2.0, high=2.0, bound=safe("safe_asinh")
    ),
    Sample("Asinh", wk.asinh, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Asinh", wk.asinh, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Atanh", wk.atanh, ((2, 3),), low=-0.9, high=0.9, bound=safe("safe_atanh")),
    Sample("Atanh", wk.atanh, ((65,),), low=-1e-05, high=1e-05, bound=safe("safe_atanh")),
    Sample("Atanh", wk.atanh, ((3, 1, 2),), low=-0.9, high=0.9, bound=safe("safe_atanh")),
    Sample(
        "Atanh", wk.atanh, ((9,),), dtypes="float16", low=-0.9, high=0.9, bound=safe("safe_atanh")
    ),
    Sample("Atanh", wk.atanh, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Atanh", wk.atanh, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Cosh", wk.cosh, ((2, 3),), low=-2.0, high=2.0, bound=safe("safe_cosh")),
    Sample("Cosh", wk.cosh, ((65,),), low=-20.0, high=20.0, bound=safe("safe_cosh")),
    Sample("Cosh", wk.cosh, ((3, 1, 2),), low=-2.0, high=2.0, bound=safe("safe_cosh")),
    Sample("Cosh", wk.cosh, ((9,),), dtypes="float16", low=-2.0, high=2.0, bound=safe("safe_cosh")),
    Sample("Cosh", wk.cosh, ((33,),), dtypes="int32", low=-9, high=30, bound=safe("safe_cosh")),
    Sample("Cosh", wk.cosh, ((7,),), dtypes="bool", low=0, high=2, bound=safe("safe_cosh")),
    Sample("Sinh", wk.sinh, ((2, 3),), low=-2.0, high=2.0, bound=safe("safe_sinh")),
    Sample("Sinh", wk.sinh, ((65,),), low=-1e-05, high=1e-05, bound=safe("safe_sinh")),
    Sample("Sinh", wk.sinh, ((3, 1, 2),), low=-2.0, high=2.0, bound=safe("safe_sinh")),
    Sample("Sinh", wk.sinh, ((9,),), dtypes="float16", low=-2.0, high=2.0, bound=safe("safe_sinh")),
    Sample("Sinh", wk.sinh, ((33,),), dtypes="int32", low=-9, high=30),
    Sample("Sinh", wk.sinh, ((7,),), dtypes="bool", low=0, high=2),
]
