"""Samples of TopK and Unique; their results are exact."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

SAMPLES = [
    Sample("TopK", wk.topk, ((5,),), bound=exact()),
    Sample("TopK", wk.topk, ((2, 3),), attrs={"k": 2}, bound=exact()),
    Sample("TopK", wk.topk, ((2, 3, 70),), attrs={"k": 70}, bound=exact()),
    Sample("TopK", wk.topk, ((3, 5),), attrs={"k": 0}, bound=exact()),
    Sample("TopK", wk.topk, ((2, 1500),), attrs={"k": 9}, bound=exact(), second_order=False),
    Sample("TopK", wk.topk, ((4, 33),), dtypes="int32", low=-9, high=9, attrs={"k": 20}),
    Sample("TopK", wk.topk, ((3, 9),), attrs={"k": 4, "largest": False}, bound=exact()),
    Sample("TopK", wk.topk, ((2, 40),), attrs={"k": 20, "largest": False}, bound=exact()),
    Sample("Unique", wk.unique, ((9,),), bound=exact()),
    Sample("Unique", wk.unique, ((9,),), dtypes="int32", low=0, high=4),
    Sample("Unique", wk.unique, ((2, 40, 2),), dtypes="int32", low=0, high=3, attrs={"axis": 1}),
    Sample("Unique", wk.unique, ((3, 9),), dtypes="bool", low=0, high=2, attrs={"axis": -1}),
    Sample("Unique", wk.unique, ((1500,),), dtypes="int32", low=0, high=900),
]
