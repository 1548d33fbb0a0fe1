"""Samples of diagonals and bands of matrices."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample


def _band(shape: tuple[int, ...], lower: int, upper: int, dtype: str = "float32") -> Sample:
    low, high = (0, 2) if dtype == "bool" else (-9, 9)
    attrs = {"num_lower": lower, "num_upper": upper}
    bound = exact() if dtype in ("float32", "complex64") else None
    return Sample("MatrixBandPart", wk.band_part, (shape,), dtype, attrs, low, high, bound)


SAMPLES = [
    Sample("Diag", wk.diag, ((3,),), bound=exact()),
    Sample("Diag", wk.diag, ((2, 3),), bound=exact()),
    Sample("Diag", wk.diag, ((),), bound=exact()),
    Sample("Diag", wk.diag, ((9,),), dtypes="int32", low=-9, high=9),
    Sample("Diag", wk.diag, ((1, 2, 2),), dtypes="bool", low=0, high=2),
    Sample("Diag", wk.diag, ((3,),), dtypes="complex64", bound=exact()),
    _band((4, 4), 1, 0),
    _band((3, 5), -1, 2),
    _band((2, 5, 3), 2, -1),
    _band((65, 2), 0, 0),
    _band((3, 3), -1, -1, "int32"),
    _band((4, 3), 0, 1, "bool"),
    _band((2, 2, 2), 1, 0, "complex64"),
]
