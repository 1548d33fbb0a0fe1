"""Samples of the inverse circular functions."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import safe
from wgsl_kernels.testing.sample import Sample

PAIRS = (((2, 3), (2, 3)), ((4, 1, 3), (5, 1)), ((65,), ()), ((), (7,)))
ATAN2 = safe("safe_atan2")


def rows_of(
    name: str, f: Any, least: float, most: float, far: tuple[float, float], whole: Any = None
) -> list[Sample]:
    """Return rows of numbers from ``least`` to ``most``, one ``far`` from these, one of integers.

    ``whole`` is the bound for integers and bools.
    """
    kernel, bound = name.capitalize(), safe(f"safe_{name}")
    within: dict[str, Any] = {"low": least, "high": most, "bound": bound}
    return [
        Sample(kernel, f, ((2, 3),), **within),
        Sample(kernel, f, ((65,),), low=far[0], high=far[1], bound=bound),
        Sample(kernel, f, ((3, 1, 2),), **within),
        Sample(kernel, f, ((9,),), dtypes="float16", **within),
        Sample(kernel, f, ((33,),), dtypes="int32", low=-9, high=30, bound=whole),
        Sample(kernel, f, ((7,),), dtypes="bool", low=0, high=2, bound=whole),
    ]


SAMPLES = [
    *rows_of("acos", wk.acos, -0.9, 0.9, (-0.95, -0.8)),
    *rows_of("asin", wk.asin, -0.9, 0.9, (-1e-05, 1e-05)),
    *rows_of("atan", wk.atan, -2.0, 2.0, (-50.0, 50.0)),
    *(Sample("Atan2", wk.atan2, shapes, low=(0.3, -2.0), bound=ATAN2) for shapes in PAIRS),
    Sample("Atan2", wk.atan2, ((5, 7), (7,)), dtypes="int32", low=1, high=9, bound=ATAN2),
    Sample("Atan2", wk.atan2, ((7,), (7,)), dtypes="bool", low=0, high=2, bound=ATAN2),
]
