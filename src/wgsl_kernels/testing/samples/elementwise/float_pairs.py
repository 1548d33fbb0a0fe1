"""Samples of lengths, signs, neighbours and remainders of two floats."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import absolute, exact, safe, ulp
from wgsl_kernels.testing.sample import Sample

LENGTH = ulp(10)
"""As lib/complex.wesl says of complex_abs."""

LOG_ADD_EXP = absolute(2.0**-28)
"""As log_add_exp.wesl says, and one rounding."""

PAIRS = (((2, 3), (2, 3)), ((4, 1, 3), (5, 1)), ((65,), ()), ((), (7,)))
WIDE: dict[str, Any] = {"low": -90.0, "high": 90.0}
DIVISORS: dict[str, Any] = {"low": (-2.0, 0.7), "high": (2.0, 0.9), "bound": safe("floor_mod_f32")}
NEIGHBOURS: dict[str, Any] = {"low": (-2.0, 0.0), "high": (-1.0, 2.0)}

SAMPLES = [
    *(Sample("CopySign", wk.copysign, shapes, bound=exact()) for shapes in PAIRS),
    Sample("CopySign", wk.copysign, ((5, 7), (7,)), dtypes="int32", low=-9, high=9),
    Sample("CopySign", wk.copysign, ((7,), (7,)), dtypes="bool", low=0, high=2),
    *(Sample("Hypot", wk.hypot, shapes, bound=LENGTH) for shapes in PAIRS),
    Sample("Hypot", wk.hypot, ((65,), (65,)), low=5.0, high=300.0, bound=LENGTH),
    Sample("Hypot", wk.hypot, ((5, 7), (7,)), dtypes="int32", low=1, high=9, bound=LENGTH),
    *(Sample("LogAddExp", wk.logaddexp, shapes, bound=LOG_ADD_EXP) for shapes in PAIRS),
    Sample("LogAddExp", wk.logaddexp, ((65,), (65,)), **WIDE, bound=LOG_ADD_EXP),
    Sample("LogAddExp", wk.logaddexp, ((5,), (5,)), "int32", low=-9, high=9, bound=LOG_ADD_EXP),
    *(Sample("Mod", wk.remainder, shapes, **DIVISORS) for shapes in PAIRS),
    Sample("Mod", wk.remainder, ((5, 7), (7,)), dtypes="int32", low=-9, high=9),
    Sample("Mod", wk.remainder, ((7,), (7,)), dtypes="bool", low=0, high=2),
    *(Sample("NextAfter", wk.nextafter, one, low=(1.0, -2.0), bound=ulp(1)) for one in PAIRS),
    Sample("NextAfter", wk.nextafter, ((9,), (9,)), **NEIGHBOURS, bound=ulp(1)),
    Sample("NextAfter", wk.nextafter, ((3, 1), (3,)), low=-50.0, high=-9.0, bound=ulp(1)),
]
