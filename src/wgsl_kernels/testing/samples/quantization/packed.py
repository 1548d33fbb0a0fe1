"""Samples of numbers of few bits, widened."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

_EACH = (
    *("int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "bfloat16"),
    *("float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "float8_e8m0fnu",
)

SAMPLES = [
    *[
        Sample("Widen", wk.widen, ((3, 8),), "uint8", {"kind": kind}, 0, 256 if n < 8 else 120)
        for n, kind in enumerate(_EACH)
    ],
    Sample("Widen", wk.widen, ((2, 3, 2),), "uint8", {"kind": "int4", "size": 3}, 0, 256),
    Sample("Widen", wk.widen, ((2, 0),), "uint8", {"kind": "uint4"}, 0, 256),
]
