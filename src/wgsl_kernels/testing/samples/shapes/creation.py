"""Samples of the ops that make tensors from numbers, or from the shape of another."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import absolute, exact, ulp
from wgsl_kernels.testing.sample import Sample

MOVED = exact()
TENTHS = {"start": 2.0, "stop": -1.0, "step": -0.1}
# The step is rounded, then the product, then the sum, none of them above 3: four ULP of 4 at most.
STEPPED = absolute(4 * 2.0**-21)
LINES = (
    (0, 1, 5), (-4.0, 5.0, 6), (2.5, 2.5, 1), (-1.0, 0.3, 65), (-3e38, 3e38, 4), (1.0, 0.999, 4)
)  # fmt: skip
HALVES = {"depth": 3, "on_value": 0.5, "off_value": -0.1, "dtype": "float32"}

SAMPLES = [
    Sample("Fill", wk.full, (), attrs={"shape": (2, 3), "fill_value": 0.1}, bound=MOVED),
    Sample("Fill", wk.full, (), attrs={"shape": (), "fill_value": float("inf")}, bound=MOVED),
    Sample("Fill", wk.full, (), attrs={"shape": (5,), "fill_value": -(2**31)}),
    Sample("Fill", wk.full, (), attrs={"shape": (5,), "fill_value": True}),
    Sample("Fill", wk.full, (), attrs={"shape": (5,), "fill_value": 1 - 2j}, bound=MOVED),
    *(
        Sample("LinSpace", wk.linspace, (), attrs={"start": a, "stop": b, "num": n}, bound=ulp(1))
        for a, b, n in LINES
    ),
    Sample("OneHot", wk.one_hot, ((2, 3),), "int32", {"depth": 4}, -1, 5),
    Sample("OneHot", wk.one_hot, ((5,),), "int32", HALVES, 0, 3, MOVED),
    Sample("OneHot", wk.one_hot, ((),), "int32", {"depth": 3, "dtype": "bool"}, 0, 3),
    Sample("OneHot", wk.one_hot, ((2,),), "int32", {"depth": 3, "dtype": "complex64"}, 0, 3, MOVED),
    Sample("OnesLike", wk.ones_like, ((2, 3),), bound=MOVED),
    Sample("OnesLike", wk.ones_like, ((5,),), "int32"),
    Sample("OnesLike", wk.ones_like, ((5,),), "bool", low=0, high=2),
    Sample("OnesLike", wk.ones_like, ((5,),), "complex64", bound=MOVED),
    Sample("Range", wk.arange, (), attrs={"start": 5}),
    Sample("Range", wk.arange, (), attrs={"start": 7, "stop": -8, "step": -3}),
    Sample("Range", wk.arange, (), attrs=TENTHS, bound=STEPPED),
    Sample("ZerosLike", wk.zeros_like, ((2, 3),), bound=MOVED),
    Sample("ZerosLike", wk.zeros_like, ((5,),), "int32"),
    Sample("ZerosLike", wk.zeros_like, ((5,),), "bool", low=0, high=2),
    Sample("ZerosLike", wk.zeros_like, ((5,),), "complex64", bound=MOVED),
]
