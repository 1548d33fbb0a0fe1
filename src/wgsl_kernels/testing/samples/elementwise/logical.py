"""Samples of the logic of bools, and of the choice between two tensors."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

EQUAL, ROW = ((2, 3), (2, 3)), ((5, 13), (13,))
XOR = (EQUAL, ROW, ((65,), ()), ((), (7,)), ((4, 1, 3), (5, 1)), ((0, 3), (3,)))
SELECT = (
    (((2, 3), (2, 3), (2, 3)), "float32", "float32"),
    (((4, 1, 3), (5, 1), ()), "float32", "float32"),
    (((3,), (5, 3), (5, 1)), "int32", "int32"),
    (((65,), (65,), (65,)), "int32", "float32"),
)
COMPLEX = ("bool", "complex64", "complex64")


def _selected(shapes: Any, *dtypes: str) -> Sample:
    bound = exact() if "float32" in dtypes else None
    low, high = (0, -9, -9), (2, 9, 9)
    return Sample("Select", wk.where, shapes, ("bool", *dtypes), {}, low, high, bound)


SAMPLES = [
    *(
        Sample(f"Logical{name}", f, shapes, dtypes="bool", low=0, high=2)
        for name, f, each in (
            ("And", wk.logical_and, (EQUAL, ROW)),
            ("Not", wk.logical_not, (((2, 3),), ((65,),))),
            ("Or", wk.logical_or, (EQUAL, ROW)),
            ("Xor", wk.logical_xor, XOR),
        )
        for shapes in each
    ),
    *(_selected(*row) for row in SELECT),
    Sample("Select", wk.where, ((7,), (7,), (7,)), dtypes="bool", low=0, high=2),
    Sample("Select", wk.where, ((7,),) * 3, COMPLEX, low=(0, -2, -2), bound=exact()),
]
