"""Samples of complex numbers: made of two parts, and taken apart."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact, ulp
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("ComplexAbs", wk.abs, ((2, 3),), dtypes="complex64", bound=ulp(10)),
    Sample("ComplexAbs", wk.abs, ((),), dtypes="complex64", bound=ulp(10)),
    Sample("ComplexAbs", wk.abs, ((65,),), dtypes="complex64", low=0.1, high=300.0, bound=ulp(10)),
    Sample("ComplexAbs", wk.abs, ((4, 1, 3),), dtypes="complex64", low=0.3, bound=ulp(10)),
    Sample("ComplexAbs", wk.abs, ((5,),), dtypes="complex64", low=-9.0, high=-1.0, bound=ulp(10)),
    Sample("ComplexAbs", wk.abs, ((1, 2, 1, 2),), dtypes="complex64", bound=ulp(10)),
    Sample("Complex", wk.complex, ((2, 3), (2, 3)), bound=exact()),
    Sample("Complex", wk.complex, ((65,), (65,)), bound=exact()),
    Sample("Imag", wk.imag, ((2, 3),), dtypes="complex64", bound=exact()),
    Sample("Imag", wk.imag, ((65,),), dtypes="complex64", bound=exact()),
    Sample("Real", wk.real, ((2, 3),), dtypes="complex64", bound=exact()),
    Sample("Real", wk.real, ((65,),), dtypes="complex64", bound=exact()),
]
