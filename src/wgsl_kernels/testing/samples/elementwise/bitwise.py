"""Samples of bitwise operations."""

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

BITS = (("And", wk.bitwise_and), ("Or", wk.bitwise_or), ("Xor", wk.bitwise_xor))
PAIRS = (
    (((2, 3), (2, 3)), "int32", -9, 9), (((4, 1, 3), (5, 1)), "int32", -2e9, 2e9),
    (((65,), ()), "int32", -2e9, 2e9), (((), (7,)), "int32", -2e9, 2e9),
    (((2, 3), (3,)), "bool", 0, 2), (((7,), (7,)), "bool", 0, 2),
)  # fmt: skip
SHIFTS = (("Left", wk.bitwise_left_shift), ("Right", wk.bitwise_right_shift))
COUNTS = (
    (((2, 3), (2, 3)), 0, 32), (((4, 1, 3), (5, 1)), 0, 32), (((65,), (65,)), -3, 36),
    (((65,), ()), 0, 32), (((), (7,)), 0, 32), (((5,), (5,)), 31, 33),
)  # fmt: skip
SINGLE = (
    ((2, 3), "int32", -9, 9), ((65,), "int32", -2e9, 2e9), ((), "int32", -9, 9),
    ((2, 1, 3), "int32", -2e9, 2e9), ((7,), "bool", 0, 2), ((2, 3), "bool", 0, 2),
)  # fmt: skip

SAMPLES = [
    *(
        Sample(f"Bitwise{name}", f, shapes, dtypes=dtype, low=low, high=high)
        for name, f in BITS
        for shapes, dtype, low, high in PAIRS
    ),
    *(
        Sample(f"Bitwise{name}Shift", f, shapes, "int32", low=(-2e9, low), high=(2e9, high))
        for name, f in SHIFTS
        for shapes, low, high in COUNTS
    ),
    *(
        Sample("BitwiseInvert", wk.bitwise_invert, (shape,), dtypes=dtype, low=low, high=high)
        for shape, dtype, low, high in SINGLE
    ),
]
