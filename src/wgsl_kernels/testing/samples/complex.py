"""Samples of complex numbers: made of two parts, and taken apart."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("Complex", wk.complex, ((2, 3), (2, 3)), bound=exact()),
    Sample("Complex", wk.complex, ((65,), (65,)), bound=exact()),
    Sample("Imag", wk.imag, ((2, 3),), dtypes="complex64", bound=exact()),
    Sample("Imag", wk.imag, ((65,),), dtypes="complex64", bound=exact()),
    Sample("Real", wk.real, ((2, 3),), dtypes="complex64", bound=exact()),
    Sample("Real", wk.real, ((65,),), dtypes="complex64", bound=exact()),
]
