"""Samples of blocks of space moved into the batch or the channels, and back."""

from collections.abc import Callable
from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample


def _moved(
    kernel: str, f: Callable[..., Any], shape: tuple[int, ...], dtype: str = "float32", **attrs: Any
) -> Sample:
    low, high = (-9.0, 9.0) if dtype == "int32" else (-2.0, 2.0)
    bound = None if dtype == "int32" else exact()
    return Sample(kernel, f, (shape,), dtype, attrs, low, high, bound)


def _to_space(shape: tuple[int, ...], block: Any, crops: Any, dtype: str = "float32") -> Sample:
    f = wk.batch_to_space_nd
    return _moved("BatchToSpaceND", f, shape, dtype, block_shape=block, crops=crops)


def _to_batch(shape: tuple[int, ...], block: Any, pads: Any, dtype: str = "float32") -> Sample:
    f = wk.space_to_batch_nd
    return _moved("SpaceToBatchND", f, shape, dtype, block_shape=block, paddings=pads)


def _depth(shape: tuple[int, ...], size: int, layout: str, dtype: str = "float32") -> Sample:
    f = wk.depth_to_space
    return _moved("DepthToSpace", f, shape, dtype, block_size=size, data_format=layout)


SAMPLES = [
    _to_space((4, 1, 1, 1), (2, 2), ((0, 0), (0, 0))),
    _to_space((8, 1, 3, 2), (2, 2), ((0, 0), (2, 0))),
    _to_space((6, 3), (3,), ((1, 2),)),
    _to_space((8, 1, 2, 1, 2), (2, 2, 2), ((0, 1), (0, 0), (1, 0))),
    _to_space((6, 2, 3), (2, 3), ((0, 0), (0, 0)), "int32"),
    _to_space((4, 2, 2), (4,), ((0, 0),), "complex64"),
    _to_batch((1, 2, 2, 1), (2, 2), ((0, 0), (0, 0))),
    _to_batch((2, 2, 4, 3), (2, 3), ((0, 0), (2, 0))),
    _to_batch((2, 3), (3,), ((1, 2),)),
    _to_batch((1, 2, 2, 2, 2), (2, 1, 2), ((0, 0), (0, 1), (0, 0))),
    _to_batch((1, 4, 3), (2, 3), ((0, 0), (0, 0)), "int32"),
    _to_batch((2, 4, 2), (4,), ((2, 2),), "complex64"),
    _depth((1, 2, 3, 4), 2, "NHWC"),
    _depth((2, 1, 2, 9), 3, "NHWC"),
    _depth((2, 8, 2, 1), 2, "NCHW"),
    _depth((1, 9, 1, 2), 3, "NCHW"),
    _depth((1, 1, 2, 12), 2, "NHWC", "int32"),
    _depth((1, 2, 1, 4), 2, "NHWC", "complex64"),
]
