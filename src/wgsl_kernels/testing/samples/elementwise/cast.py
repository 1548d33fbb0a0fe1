"""Samples of the change of dtype."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.engine.values.dtypes import WIDE
from wgsl_kernels.testing.sample import Sample

LOW = {"bool": 0, "int32": -3, "float32": -3.0, "complex64": -3.0, "int8": -128, "uint8": 0}
HIGH = {"bool": 2, "int32": 4, "float32": 3.0, "complex64": 3.0, "int8": 128, "uint8": 256}
WORDS = ("bool", "int32", "float32", "complex64")
PAIRS = [(given, wanted) for given in WORDS for wanted in WORDS]
PAIRS += [("uint8", "float32"), ("int8", "float32"), ("uint8", "int8"), ("int8", "bool")]
PAIRS += [("float32", "uint8"), ("int32", "int8")]


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
    for given, wanted in PAIRS
]
