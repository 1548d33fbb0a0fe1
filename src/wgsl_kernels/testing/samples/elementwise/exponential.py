"""Samples of exponentials, logarithms, circular and hyperbolic functions."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import safe, ulp
from wgsl_kernels.testing.sample import Sample

EXP = ulp(3)
"""NumPy's float32 exponential is off by 2.52 ULP at most; safe_exp, which WGSL has, by 2."""

SAMPLES = [
    Sample("Cos", wk.cos, ((2, 3),), low=-3.1, high=3.1, bound=safe("safe_cos")),
    Sample("Cos", wk.cos, ((65,),), low=-99.0, high=99.0, bound=safe("safe_cos")),
    Sample("Erf", wk.erf, ((2, 3),), bound=safe("safe_erf")),
    Sample("Erf", wk.erf, ((65,),), low=-1e-5, high=1e-5, bound=safe("safe_erf")),
    Sample("Erf", wk.erf, ((5, 13),), low=-6.0, high=6.0, bound=safe("safe_erf")),
    Sample("Erf", wk.erf, ((7,),), dtypes="int32", low=-3, high=4, bound=safe("safe_erf")),
    Sample("Erf", wk.erf, ((9,),), dtypes="float16", bound=safe("safe_erf")),
    Sample("Exp", wk.exp, ((2, 3),), bound=EXP),
    Sample("Exp", wk.exp, ((5, 13),), low=-20.0, high=20.0, bound=EXP),
    Sample("Exp", wk.exp, ((7,),), dtypes="int32", low=-9, high=9, bound=EXP),
    Sample("Exp", wk.exp, ((7,),), dtypes="bool", low=0, high=2, bound=EXP),
    Sample("Expm1", wk.expm1, ((2, 3),), bound=safe("safe_expm1")),
    Sample("Expm1", wk.expm1, ((65,),), low=-1e-5, high=1e-5, bound=safe("safe_expm1")),
    Sample("Expm1", wk.expm1, ((33,),), dtypes="int32", low=-5, high=25),
    Sample("Expm1", wk.expm1, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Log", wk.log, ((2, 3),), low=0.3, bound=safe("safe_log")),
    Sample("Log", wk.log, ((67,),), low=0.999, high=1.001, bound=safe("safe_log")),
    Sample("Log", wk.log, ((65,),), low=10.0, high=1e9, bound=safe("safe_log")),
    Sample("Log1p", wk.log1p, ((2, 3),), low=-0.7, bound=safe("safe_log1p")),
    Sample("Log1p", wk.log1p, ((65,),), low=-1e-5, high=1e-5, bound=safe("safe_log1p")),
    Sample("Log1p", wk.log1p, ((33,),), dtypes="int32", low=-5, high=2000),
    Sample("Log1p", wk.log1p, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Sin", wk.sin, ((2, 3),), low=-3.1, high=3.1, bound=safe("safe_sin")),
    Sample("Sin", wk.sin, ((65,),), low=-99.0, high=99.0, bound=safe("safe_sin")),
    Sample("Tan", wk.tan, ((2, 3),), low=-1.2, high=1.2, bound=safe("safe_tan")),
    Sample("Tan", wk.tan, ((65,),), low=1.7, high=4.5, bound=safe("safe_tan")),
    Sample("Tanh", wk.tanh, ((2, 3),), bound=safe("safe_tanh")),
    Sample("Tanh", wk.tanh, ((65,),), low=-1e-5, high=1e-5, bound=safe("safe_tanh")),
]
