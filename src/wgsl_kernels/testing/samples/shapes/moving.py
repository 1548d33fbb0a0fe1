"""Samples of elements moved along axes: mirrored, rolled, flipped; of shapes that broadcast."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample

MOVED = exact()


def _mirrored(shape: tuple[int, ...], paddings: Any, mode: str, dtype: str = "float32") -> Sample:
    attrs = {"paddings": paddings, "mode": mode}
    low, high = (-9.0, 9.0) if dtype == "int32" else (-2.0, 2.0)
    bound = None if dtype == "int32" else MOVED
    return Sample("MirrorPad", wk.mirror_pad, (shape,), dtype, attrs, low, high, bound)


def _rolled(shape: tuple[int, ...], shift: Any, axis: Any, dtype: str = "float32") -> Sample:
    low, high = (0.0, 2.0) if dtype == "bool" else (-9.0, 9.0)
    bound = MOVED if dtype in ("float32", "complex64") else None
    attrs = {"shift": shift, "axis": axis}
    return Sample("Roll", wk.roll, (shape,), dtype, attrs, low, high, bound)


def _broadcast_args(count: int, other: int, most: int = 2) -> Sample:
    return Sample(
        "BroadcastArgs", wk.broadcast_args, ((count,), (other,)), "int32", {}, (1, 1), (2, most + 1)
    )


SAMPLES = [
    _broadcast_args(2, 2),
    _broadcast_args(3, 1),
    _broadcast_args(1, 4, 9),
    _broadcast_args(0, 2),
    _broadcast_args(0, 0),
    _broadcast_args(6, 5, 3),
    Sample("FlipLeftRight", wk.flip_left_right, ((1, 2, 3, 1),), bound=MOVED),
    Sample("FlipLeftRight", wk.flip_left_right, ((2, 1, 4, 3),), bound=MOVED),
    Sample("FlipLeftRight", wk.flip_left_right, ((1, 1, 1, 2),), bound=MOVED),
    Sample("FlipLeftRight", wk.flip_left_right, ((1, 5, 13, 1),), bound=MOVED),
    Sample("FlipLeftRight", wk.flip_left_right, ((1, 2, 3, 4),), dtypes="int32", low=-9, high=9),
    Sample("FlipLeftRight", wk.flip_left_right, ((2, 2, 2, 1),), dtypes="bool", low=0, high=2),
    _mirrored((4,), ((2, 3),), "reflect"),
    _mirrored((4,), ((4, 1),), "symmetric"),
    _mirrored((2, 3), ((1, 0), (2, 2)), "reflect"),
    _mirrored((2, 1, 3), ((0, 2), (1, 1), (0, 0)), "symmetric"),
    _mirrored((3, 2), ((1, 1), (0, 1)), "reflect", "int32"),
    _mirrored((3,), ((1, 3),), "symmetric", "complex64"),
    _mirrored((3,), ((7, 5),), "reflect"),
    _mirrored((2, 1), ((5, 3), (2, 1)), "symmetric"),
    _mirrored((3, 2), ((4, 1), (0, 5)), "wrap"),
    _mirrored((3, 2), ((2, 0), (1, 3)), "edge"),
    _mirrored((1, 2), ((2, 3), (1, 0)), "reflect", "int32"),
    _rolled((5,), 2, 0),
    _rolled((4, 3), (1, -1), (0, 1)),
    _rolled((2, 3, 5), -9, 2),
    _rolled((3, 4), 5, None),
    _rolled((4, 3), (3, 2), (1, 1), "int32"),
    _rolled((7,), -1, -1, "bool"),
    _rolled((2, 3), 1, (0, 1), "complex64"),
]
