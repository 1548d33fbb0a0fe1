"""Samples of hyperbolic sine and cosine, and of the inverse functions."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import safe
from wgsl_kernels.testing.samples.elementwise.trigonometry import rows_of

SAMPLES = [
    *rows_of("acosh", wk.acosh, 1.1, 4.0, (100.0, 100000000.0)),
    *rows_of("asinh", wk.asinh, -2.0, 2.0, (-1e-05, 1e-05)),
    *rows_of("atanh", wk.atanh, -0.9, 0.9, (-1e-05, 1e-05)),
    *rows_of("cosh", wk.cosh, -2.0, 2.0, (-20.0, 20.0), whole=safe("safe_cosh")),
    *rows_of("sinh", wk.sinh, -2.0, 2.0, (-1e-05, 1e-05)),
]
