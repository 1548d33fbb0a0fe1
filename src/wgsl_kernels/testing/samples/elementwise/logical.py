"""Samples of the logic of bools, and of the choice between two tensors."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("LogicalAnd", wk.logical_and, ((2, 3), (2, 3)), dtypes="bool", low=0, high=2),
    Sample("LogicalAnd", wk.logical_and, ((5, 13), (13,)), dtypes="bool", low=0, high=2),
    Sample("LogicalNot", wk.logical_not, ((2, 3),), dtypes="bool", low=0, high=2),
    Sample("LogicalNot", wk.logical_not, ((65,),), dtypes="bool", low=0, high=2),
    Sample("LogicalOr", wk.logical_or, ((2, 3), (2, 3)), dtypes="bool", low=0, high=2),
    Sample("LogicalOr", wk.logical_or, ((5, 13), (13,)), dtypes="bool", low=0, high=2),
    Sample("LogicalXor", wk.logical_xor, ((2, 3), (2, 3)), dtypes="bool", low=0, high=2),
    Sample("LogicalXor", wk.logical_xor, ((5, 13), (13,)), dtypes="bool", low=0, high=2),
    Sample("LogicalXor", wk.logical_xor, ((65,), ()), dtypes="bool", low=0, high=2),
    Sample("LogicalXor", wk.logical_xor, ((), (7,)), dtypes="bool", low=0, high=2),
    Sample("LogicalXor", wk.logical_xor, ((4, 1, 3), (5, 1)), dtypes="bool", low=0, high=2),
    Sample("LogicalXor", wk.logical_xor, ((0, 3), (3,)), dtypes="bool", low=0, high=2),
    *(
        Sample(
            "Select",
            wk.where,
            shapes,
            dtypes=("bool", t, e),
            low=(0, -9, -9),
            high=(2, 9, 9),
            bound=exact() if "float32" in (t, e) else None,
        )
        for shapes, t, e in (
            (((2, 3), (2, 3), (2, 3)), "float32", "float32"),
            (((4, 1, 3), (5, 1), ()), "float32", "float32"),
            (((3,), (5, 3), (5, 1)), "int32", "int32"),
            (((65,), (65,), (65,)), "int32", "float32"),
        )
    ),
    Sample("Select", wk.where, ((7,), (7,), (7,)), dtypes="bool", low=0, high=2),
    Sample(
        "Select",
        wk.where,
        ((7,), (7,), (7,)),
        dtypes=("bool", "complex64", "complex64"),
        low=(0, -2, -2),
        bound=exact(),
    ),
]
