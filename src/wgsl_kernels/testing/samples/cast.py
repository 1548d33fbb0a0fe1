"""Samples of the change of dtype."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.engine.dtypes import WIDE
from wgsl_kernels.testing.sample import Sample

LOW = {"bool": 0, "int32": -3, "float32": -3.0, "complex64": -3.0}
HIGH = {"bool": 2, "int32": 4, "float32": 3.0, "complex64": 3.0}


def _astype(x: wk.Tensor, *, dtype: Any) -> wk.Tensor:
    in_double = x.dtype in WIDE.values()  # as gradients are checked
    wide: Any = WIDE.get(dtype, dtype)
    return wk.astype(x, wide if in_double else dtype)


SAMPLES = [
    Sample(
        "Cast",
        _astype,
        ((5, 13),),
        dtypes=given,
        attrs={"dtype": wanted},
        low=LOW[given],
        high=HIGH[given],
    )
    for given in LOW
    for wanted in LOW
]
