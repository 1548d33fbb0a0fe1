"""Samples of the ops that take parts of a tensor."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

MOVED = exact()
ODD = {"begin": (-1, 1), "end": (0, 7), "strides": (-1, 3), "end_mask": 1}
MASKED = {
    "begin": (0, 0, 1, 0),
    "end": (0, 2, 0, 0),
    "strides": (1, 1, 1, 2),
    "ellipsis_mask": 1,
    "new_axis_mask": 2,
    "shrink_axis_mask": 4,
    "end_mask": 8,
}

SAMPLES = [
    Sample("Slice", wk.slice, ((3, 4),), attrs={"begin": (1, 0), "size": (2, -1)}, bound=MOVED),
    Sample("Slice", wk.slice, ((2, 3, 5),), attrs={"begin": (0, 1, 2)}, bound=MOVED),
    Sample("Slice", wk.slice, ((5,),), "int32", {"begin": 1, "size": 3}),
    Sample("Slice", wk.slice, ((5,),), "bool", {"begin": 1, "size": 3}, 0, 2),
    Sample("Slice", wk.slice, ((5,),), "complex64", {"begin": 1, "size": 3}, bound=MOVED),
    Sample("SplitV", wk.split, ((2, 6),), attrs={"num_or_size_splits": 3, "axis": 1}, bound=MOVED),
    Sample("SplitV", wk.split, ((5, 2),), attrs={"num_or_size_splits": (2, 0, -1)}, bound=MOVED),
    Sample("SplitV", wk.split, ((4,),), "int32", {"num_or_size_splits": (1, 3)}),
    Sample("SplitV", wk.split, ((4,),), "complex64", {"num_or_size_splits": 2}, bound=MOVED),
    Sample("StridedSlice", wk.strided_slice, ((3, 8),), attrs=ODD, bound=MOVED),
    Sample("StridedSlice", wk.strided_slice, ((2, 3, 5),), attrs=MASKED, bound=MOVED),
    Sample(
        "StridedSlice", wk.strided_slice, ((7,),), attrs={"begin": [5], "end": [0], "strides": [-2]}
    ),
    Sample("StridedSlice", wk.strided_slice, ((3, 8),), "int32", ODD),
    Sample("StridedSlice", wk.strided_slice, ((3, 8),), "complex64", ODD, bound=MOVED),
    Sample("StridedSlice", lambda x: x[..., None, ::2, -1], ((2, 5, 3),), bound=MOVED),
    Sample("Unpack", wk.unstack, ((3, 2),), bound=MOVED),
    Sample("Unpack", wk.unstack, ((2, 3, 4),), attrs={"axis": -2}, bound=MOVED),
    Sample("Unpack", wk.unstack, ((3, 2),), "int32"),
    Sample("Unpack", wk.unstack, ((3, 2),), "bool", low=0, high=2),
    Sample("Unpack", wk.unstack, ((3, 2),), "complex64", bound=MOVED),
]
