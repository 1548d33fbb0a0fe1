"""Samples of the comparisons."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

OPS = {
    "Equal": wk.equal,
    "Greater": wk.greater,
    "GreaterEqual": wk.greater_equal,
    "Less": wk.less,
    "LessEqual": wk.less_equal,
    "NotEqual": wk.not_equal,
}
SAMPLES = [
    sample
    for kernel, op in OPS.items()
    for sample in (
        Sample(kernel, op, ((2, 3), (2, 3))),
        Sample(kernel, op, ((4, 1, 3), (5, 1))),
        Sample(kernel, op, ((65,), ())),
        Sample(kernel, op, ((9, 7), (7,)), dtypes="int32", low=-2, high=3),
        Sample(kernel, op, ((9, 7), (7,)), dtypes=("int32", "float32"), low=-2, high=3),
        Sample(kernel, op, ((7,), (7,)), dtypes="bool", low=0, high=2),
    )
] + [
    Sample("Equal", wk.equal, ((2, 3), (3,)), dtypes="complex64"),
    Sample("NotEqual", wk.not_equal, ((2, 3), (3,)), dtypes="complex64"),
]
