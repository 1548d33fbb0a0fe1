"""Right arguments of convolution and pooling where names alone do not tell; see odd_calls."""

from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk


def images() -> wk.Tensor:
    """Return an image of two channels."""
    return wk.tensor(np.arange(32, dtype="f4").reshape(1, 4, 4, 2) / 8)


def _drawn(*shape: int) -> Callable[[], wk.Tensor]:
    return lambda: wk.tensor(np.arange(np.prod(shape), dtype="f4").reshape(shape) / 8)


def _is(value: Any) -> Callable[[], Any]:
    return lambda: value


_FILTER = _drawn(2, 2, 2, 1)
_IMAGES: dict[str, Callable[[], Any]] = {"x": images, "filter": _FILTER}
_SEQUENCES = {"data_format": _is("NWC"), "stride": _is(1), "filter": _drawn(2, 2, 1)}
_VOLUMES = {
    "data_format": _is("NDHWC"),
    "x": _drawn(1, 3, 3, 4, 2),
    "filter": _drawn(2, 2, 2, 2, 1),
}

OWN: dict[str, dict[str, Callable[[], Any]]] = {
    **dict.fromkeys(("conv2d", "fused_conv2d"), _IMAGES),
    **dict.fromkeys(("depthwise_conv2d", "fused_depthwise_conv2d"), _IMAGES),
    "conv2d_transpose": {
        "x": _drawn(1, 3, 3, 1), "filter": _FILTER, "output_shape": _is((1, 4, 4, 2)),
    },
    "separable_conv2d": {
        "x": images, "depthwise_filter": _FILTER, "pointwise_filter": _drawn(1, 1, 2, 3),
    },
    "conv1d": {**_SEQUENCES, "x": _drawn(1, 4, 2)},
    "conv1d_transpose": {**_SEQUENCES, "x": _drawn(1, 3, 1), "output_shape": _is((1, 4, 2))},
    "conv3d": _VOLUMES,
    "conv3d_transpose": {
        **_VOLUMES, "x": _drawn(1, 2, 2, 3, 1), "output_shape": _is((1, 3, 3, 4, 2)),
    },
    "avg_pool": {"x": images}, "max_pool": {"x": images},
    "avg_pool3d": _VOLUMES, "max_pool3d": _VOLUMES,
    "max_pool_with_argmax": {"x": images, "include_batch_in_index": _is(True)},
    "pool": {"input": images, "window_shape": _is(2), "pooling_type": _is("max")},
}  # fmt: skip
"""Arguments by function and parameter, where its name alone does not tell."""
