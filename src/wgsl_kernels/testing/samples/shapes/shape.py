"""Samples of the ops that show the same elements in another shape or order."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

MOVED = exact()
RANK_6 = (2, 1, 3, 1, 2, 2)

SAMPLES = [
    Sample("BroadcastTo", wk.broadcast_to, ((2, 1),), attrs={"shape": (2, 3)}, bound=MOVED),
    Sample("BroadcastTo", wk.broadcast_to, ((3,),), attrs={"shape": (2, 4, 3)}, bound=MOVED),
    Sample("BroadcastTo", wk.broadcast_to, ((),), attrs={"shape": (3, 2)}, bound=MOVED),
    Sample("BroadcastTo", wk.broadcast_to, ((1, 2),), "int32", {"shape": (3, 2)}),
    Sample("BroadcastTo", wk.broadcast_to, ((1, 2),), "bool", {"shape": (3, 2)}, 0, 2),
    Sample("BroadcastTo", wk.broadcast_to, ((1, 2),), "complex64", {"shape": (3, 2)}, bound=MOVED),
    Sample("ExpandDims", wk.expand_dims, ((2, 3),), attrs={"axis": 1}, bound=MOVED),
    Sample("ExpandDims", wk.expand_dims, ((),), attrs={"axis": -1}, bound=MOVED),
    Sample("ExpandDims", wk.expand_dims, ((3,),), "int32", {"axis": 0}),
    Sample("Identity", wk.clone, ((2, 3),), bound=MOVED),
    Sample("Identity", wk.clone, ((),), bound=MOVED),
    Sample("Identity", wk.clone, ((5,),), "bool", low=0, high=2),
    Sample("Identity", wk.clone, ((2,),), "complex64", bound=MOVED),
    Sample("Reshape", wk.reshape, ((2, 3),), attrs={"shape": (3, -1)}, bound=MOVED),
    Sample("Reshape", wk.reshape, (RANK_6,), attrs={"shape": (4, 6)}, bound=MOVED),
    Sample("Reshape", wk.reshape, ((1, 1),), attrs={"shape": ()}, bound=MOVED),
    Sample("Reshape", wk.reshape, ((4,),), "int32", {"shape": (2, 2)}),
    Sample("Reshape", wk.reshape, ((4,),), "bool", {"shape": (2, 2)}, 0, 2),
    Sample("Reshape", wk.reshape, ((4,),), "complex64", {"shape": (2, 2)}, bound=MOVED),
    Sample("Reverse", wk.flip, ((2, 3),), attrs={"axis": 1}, bound=MOVED),
    Sample("Reverse", wk.flip, ((2, 3, 4),), attrs={"axis": (0, -1)}, bound=MOVED),
    Sample("Reverse", wk.flip, (RANK_6,), bound=MOVED),
    Sample("Reverse", wk.flip, ((2, 3),), "int32", {"axis": 0}),
    Sample("Reverse", wk.flip, ((2, 3),), "bool", {"axis": 0}, 0, 2),
    Sample("Reverse", wk.flip, ((3,),), "complex64", bound=MOVED),
    Sample("Transpose", wk.permute_dims, ((2, 3),), bound=MOVED),
    Sample("Transpose", wk.permute_dims, ((2, 3, 4),), attrs={"axes": (2, 0, 1)}, bound=MOVED),
    Sample("Transpose", wk.permute_dims, (RANK_6,), bound=MOVED),
    Sample("Transpose", wk.permute_dims, ((),), bound=MOVED),
    Sample("Transpose", wk.permute_dims, ((2, 3),), "int32"),
    Sample("Transpose", wk.permute_dims, ((2, 3),), "bool", low=0, high=2),
    Sample("Transpose", wk.permute_dims, ((2, 3),), "complex64", bound=MOVED),
]
