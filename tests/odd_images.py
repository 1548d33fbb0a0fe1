"""Right arguments of functions on images, of einsum, draws and ragged tensors; see `odd_calls`."""

from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk

Makes = dict[str, Callable[[], Any]]


def _image() -> wk.Tensor:
    return wk.tensor(np.arange(32, dtype="f4").reshape(1, 4, 4, 2) / 8)


def _pixels(channels: int) -> Callable[[], Any]:
    count = 6 * channels
    return lambda: wk.tensor(np.arange(count, dtype="f4").reshape(2, 3, channels))


def _is(value: Any) -> Callable[[], Any]:
    return lambda: value


PLACED: dict[str, Makes] = {
    "crop_and_resize": {
        "image": _image,
        "boxes": lambda: wk.tensor([[0.0, 0.25, 0.5, 1.0]]),
        "box_ind": lambda: wk.tensor([0]),
        "crop_size": _is((2, 3)),
        "method": _is("bilinear"),
        "extrapolation_value": _is(0.5),
    },
    "transform": {
        "image": _image,
        "transforms": lambda: wk.tensor([[0.5, 0.25, 0.0, 0.0, 1.5, 0.5, 0.0, 0.0]]),
        "interpolation": _is("nearest"),
        "fill_mode": _is("wrap"),
        "fill_value": _is(0.5),
        "output_shape": _is((2, 3)),
    },
    "rotate_with_offset": {
        "image": _image,
        "radians": _is(0.5),
        "fill_value": _is(0.5),
        "center": _is((0.5, 0.25)),
    },
    "grayscale_to_rgb": {"image": _pixels(1)},
    "rgb_to_grayscale": {"image": _pixels(3)},
    "threshold": {
        "image": _pixels(1),
        "method": _is("binary"),
        "inverted": _is(True),
        "thresh_value": _is(0.25),
    },
    "multinomial": {"num_samples": _is(3), "seed": _is(0.5), "normalized": _is(False)},
    "ragged_tensor_to_tensor": {
        "shape": _is((2, -1, 3)),
        "default_value": _is(0.5),
        "row_partition_tensors": lambda: [wk.tensor([0, 1, 2])],
        "row_partition_types": _is(("ROW_SPLITS",)),
    },
}


def einsum(equation: Any, first: Any, second: Any) -> Any:
    """Return a sum of products of two tensors, which have names here."""
    return wk.einsum(equation, first, second)
