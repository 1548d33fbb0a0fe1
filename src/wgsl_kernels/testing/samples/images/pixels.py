"""Samples of pictures as tensors and of tensors as pictures."""

from typing import Any

from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

Shape = tuple[int, ...]


def _drawn(shape: Shape, dtype: str = "float32", **attrs: Any) -> Sample:
    low, high = (-9.0, 300.0) if dtype == "int32" else (-0.1, 1.1)
    return Sample("Draw", run_of("Draw", "image"), (shape,), dtype, attrs, low, high)


def _taken(shape: Shape, num_channels: int) -> Sample:
    f, attrs = run_of("FromPixels", "pixels"), {"num_channels": num_channels}
    return Sample("FromPixels", f, (shape,), "int32", attrs, -(2.0**31), 2.0**31)


SAMPLES = [
    _drawn((3, 4)),
    _drawn((2, 5, 1), alpha=0.5),
    _drawn((4, 3, 3)),
    _drawn((3, 7, 4)),
    _drawn((2, 3, 3), "int32", alpha=0.25),
    _drawn((5, 13, 4), "int32"),
    _taken((2, 3), 1),
    _taken((3, 4), 2),
    _taken((5, 13), 3),
    _taken((4, 2), 4),
    _taken((1, 65), 3),
    _taken((0, 3), 3),
]
