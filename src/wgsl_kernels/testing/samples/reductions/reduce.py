"""Samples of the reductions."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact, mean_bound, prod_bound, sum_bound
from wgsl_kernels.testing.sample import Sample

BOOLS: dict[str, Any] = {"dtypes": "bool", "low": 0, "high": 2}
SMALL: dict[str, Any] = {"dtypes": "int32", "low": -9, "high": 9}
KEPT: dict[str, Any] = {"axis": -1, "keepdims": True}

PLACES: tuple[tuple[Any, dict[str, Any]], ...] = (
    ((2, 3), {}),
    ((70, 33), {"attrs": {"axis": 0}}),
    ((3, 70), {"attrs": KEPT}),
    ((40000,), SMALL),
    ((7, 5), {**BOOLS, "attrs": {"axis": 1}}),
)


def _extremes(kernel: str, f: Any) -> list[Sample]:
    return [
        Sample(kernel, f, ((2, 3),), bound=exact()),
        Sample(kernel, f, ((3, 70, 5),), attrs={"axis": (0, 2)}, bound=exact()),
        Sample(kernel, f, ((5, 3),), attrs={"axis": 1, "keepdims": True}, bound=exact()),
        Sample(kernel, f, ((40000,),), bound=exact(), second_order=False),
        Sample(kernel, f, ((7, 9),), **SMALL, attrs={"axis": 0}),
        Sample(kernel, f, ((7, 3),), **BOOLS, attrs={"axis": 1}),
    ]


SAMPLES = [
    Sample("All", wk.all, ((2, 3),), **BOOLS),
    Sample("All", wk.all, ((5, 2, 3),), **BOOLS, attrs={"axis": -1}),
    Sample("All", wk.all, ((2, 0),), **BOOLS, attrs={"axis": 1}),
    Sample("Any", wk.any, ((2, 3),), **BOOLS),
    Sample("Any", wk.any, ((5, 2, 3),), **BOOLS, attrs={"axis": (0, 2), "keepdims": True}),
    Sample("Any", wk.any, ((2, 0),), **BOOLS, attrs={"axis": 1}),
    *(
        Sample(kernel, f, (shape,), **facts)
        for kernel, f in (("ArgMax", wk.argmax), ("ArgMin", wk.argmin))
        for shape, facts in PLACES
    ),
    *_extremes("Max", wk.max),
    Sample("Mean", wk.mean, ((2, 3),), bound=mean_bound()),
    Sample("Mean", wk.mean, ((3, 70, 5),), attrs={"axis": (0, 2)}, bound=mean_bound((0, 2))),
    Sample("Mean", wk.mean, ((5, 3),), attrs=KEPT, bound=mean_bound(**KEPT)),
    Sample("Mean", wk.mean, ((40000,),), bound=mean_bound(), second_order=False),
    Sample("Mean", wk.mean, ((7, 9),), **SMALL, bound=mean_bound()),
    Sample("Mean", wk.mean, ((7, 9),), **BOOLS, bound=mean_bound()),
    Sample("Mean", wk.mean, ((4, 3),), dtypes="complex64", bound=mean_bound()),
    *_extremes("Min", wk.min),
    Sample("Prod", wk.prod, ((2, 3),), bound=prod_bound()),
    Sample("Prod", wk.prod, ((3, 7, 2),), attrs={"axis": (0, 2)}, bound=prod_bound((0, 2))),
    Sample("Prod", wk.prod, ((5, 1),), attrs={"axis": 1, "keepdims": True}, bound=prod_bound(1)),
    Sample("Prod", wk.prod, ((70, 3),), low=0.8, high=1.25, attrs={"axis": 0}, bound=prod_bound(0)),
    Sample("Prod", wk.prod, ((7, 9),), **SMALL, attrs={"axis": 0}),
    Sample("Prod", wk.prod, ((7, 3),), **BOOLS, attrs={"axis": 1}),
    Sample("Sum", wk.sum, ((2, 3),), bound=sum_bound()),
    Sample("Sum", wk.sum, ((),), bound=sum_bound()),
    Sample("Sum", wk.sum, ((),), attrs={"keepdims": True}, bound=sum_bound()),
    Sample("Sum", wk.sum, ((3, 70, 5),), attrs={"axis": (0, 2)}, bound=sum_bound((0, 2))),
    Sample("Sum", wk.sum, ((5, 3),), attrs=KEPT, bound=sum_bound(**KEPT)),
    Sample("Sum", wk.sum, ((2, 0, 3),), attrs={"axis": 1}, bound=sum_bound(1)),
    Sample("Sum", wk.sum, ((40000,),), bound=sum_bound(), second_order=False),
    Sample("Sum", wk.sum, ((3, 4),), attrs={"axis": ()}, bound=exact()),
    Sample("Sum", wk.sum, ((7, 9),), dtypes="int32", low=-(2**30), high=2**30, attrs={"axis": 0}),
    Sample("Sum", wk.sum, ((7, 9),), **BOOLS, attrs={"axis": 1}),
    Sample("Sum", wk.sum, ((4, 3),), dtypes="complex64", attrs={"axis": 1}, bound=sum_bound(1)),
]
