"""Samples of bitwise operations."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    *(
        Sample(kernel, f, shapes, dtypes=dtype, low=low, high=high)
        for kernel, f in (
            ("BitwiseAnd", wk.bitwise_and),
            ("BitwiseOr", wk.bitwise_or),
            ("BitwiseXor", wk.bitwise_xor),
        )
        for shapes, dtype, low, high in (
            (((2, 3), (2, 3)), "int32", -9, 9),
            (((4, 1, 3), (5, 1)), "int32", -2e9, 2e9),
            (((65,), ()), "int32", -2e9, 2e9),
            (((), (7,)), "int32", -2e9, 2e9),
            (((2, 3), (3,)), "bool", 0, 2),
            (((7,), (7,)), "bool", 0, 2),
        )
    ),
    *(
        Sample(kernel, f, shapes, dtypes="int32", low=(-2e9, low), high=(2e9, high))
        for kernel, f in (
            ("BitwiseLeftShift", wk.bitwise_left_shift),
            ("BitwiseRightShift", wk.bitwise_right_shift),
        )
        for shapes, low, high in (
            (((2, 3), (2, 3)), 0, 32),
            (((4, 1, 3), (5, 1)), 0, 32),
            (((65,), (65,)), -3, 36),
            (((65,), ()), 0, 32),
            (((), (7,)), 0, 32),
            (((5,), (5,)), 31, 33),
        )
    ),
    Sample("BitwiseInvert", wk.bitwise_invert, ((2, 3),), dtypes="int32", low=-9, high=9),
    Sample("BitwiseInvert", wk.bitwise_invert, ((65,),), dtypes="int32", low=-2e9, high=2e9),
    Sample("BitwiseInvert", wk.bitwise_invert, ((),), dtypes="int32", low=-9, high=9),
    Sample("BitwiseInvert", wk.bitwise_invert, ((2, 1, 3),), dtypes="int32", low=-2e9, high=2e9),
    Sample("BitwiseInvert", wk.bitwise_invert, ((7,),), dtypes="bool", low=0, high=2),
    Sample("BitwiseInvert", wk.bitwise_invert, ((2, 3),), dtypes="bool", low=0, high=2),
]
