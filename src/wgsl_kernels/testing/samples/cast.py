"""Samples of the change of dtype."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

LOW = {"bool": 0, "int32": -3, "float32": -3.0, "complex64": -3.0}
HIGH = {"bool": 2, "int32": 4, "float32": 3.0, "complex64": 3.0}

SAMPLES = [
    Sample(
        "Cast",
        wk.astype,
        ((5, 13),),
        dtypes=given,
        attrs={"dtype": wanted},
        low=LOW[given],
        high=HIGH[given],
    )
    for given in LOW
    for wanted in LOW
]
