"""Samples of elements in order along an axis, and of places in rows that are."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of


def _in_order(x: wk.Tensor, values: wk.Tensor, *, kernel: str, side: str = "") -> wk.Tensor:
    """Look up values in rows that are sorted first."""
    attrs = {"side": side} if side else {}
    found: wk.Tensor = run_of(kernel, "sorted_sequence", "values")(wk.sort(x), values, **attrs)
    return found


def _sorted(x: wk.Tensor, *, axis: int = -1, descending: bool = False) -> list[wk.Tensor]:
    return list(run_of("Sort", "x")(x, axis=axis, descending=descending))


def _looked_up(
    kernel: str, rows: int, length: int, count: int, dtype: str = "float32", side: str = ""
) -> Sample:
    attrs = {"kernel": kernel, "side": side} if side else {"kernel": kernel}
    shapes = (rows, length), (rows, count)
    return Sample(kernel, _in_order, shapes, dtype, attrs, low=-9, high=9)


BETWEEN = ((1, 5, 3), (2, 4, 4), (3, 1, 2), (1, 70, 65), (2, 6, 5), (1, 30, 9))
AMONG = ((1, 5, 3), (2, 64, 4), (2, 9, 12))

SAMPLES = [
    *(
        _looked_up(kernel, *sizes, dtype)
        for kernel in ("LowerBound", "UpperBound")
        for sizes, dtype in zip(BETWEEN, ("float32",) * 4 + ("int32",) * 2, strict=True)
    ),
    *(
        _looked_up("SearchSorted", *sizes, dtype, side)
        for side in ("left", "right")
        for sizes, dtype in zip(AMONG, ("float32", "float32", "int32"), strict=True)
    ),
    Sample("Sort", _sorted, ((5,),), bound=exact()),
    Sample("Sort", _sorted, ((3, 4),), attrs={"axis": 0}, bound=exact()),
    Sample("Sort", _sorted, ((2, 3, 4),), attrs={"axis": 1, "descending": True}, bound=exact()),
    Sample("Sort", _sorted, ((2, 70),), attrs={"descending": True}, bound=exact()),
    Sample("Sort", _sorted, ((1500,),), dtypes="int32", low=-99, high=99),
    Sample("Sort", _sorted, ((4, 33),), dtypes="int32", low=-9, high=9),
    Sample("Sort", _sorted, ((3, 7),), "bool", {"descending": True}, 0, 2),
]
