"""Sample rows of the convolution of volumes and its gradients."""

from __future__ import annotations

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.convolution.conv import Shapes, gradient_row, product_bound

GEOMETRY = {"data_format": "NDHWC"}
LAST_PAD = ((0, 0), (1, 0), (0, 2), (1, 1), (0, 0))
FIRST_PAD = ((0, 0), (0, 0), (2, 1), (1, 1), (0, 1))
TO_FILTER = "Conv3DBackpropFilterV2"
TO_INPUT = "Conv3DBackpropInputV2"
HALVED: dict[str, Any] = {"strides": (1, 2, 2), "pad": "same"}
TURNED: dict[str, Any] = {
    "strides": (1, 2, 1),
    "pad": 1,
    "dilations": (2, 1, 1),
    "data_format": "NCDHW",
}
"""A geometry in which every axis differs: of volumes [2, 4, 5, 4], channels first."""


def _conv(shapes: Shapes, dtypes: str = "float32", **attrs: Any) -> Sample:
    own = {**GEOMETRY, **attrs}
    bound = product_bound("Conv3D", lambda x, filter: filter[..., 0].size, **own)
    return Sample("Conv3D", wk.conv3d, shapes, dtypes=dtypes, attrs=attrs, bound=bound)


def _to_filter(shapes: Shapes, **attrs: Any) -> Sample:
    return gradient_row(TO_FILTER, ("x", "dy"), lambda x, dy: dy.size, shapes, GEOMETRY, **attrs)


def _to_input(shapes: Shapes, **attrs: Any) -> Sample:
    names = ("dy", "filter")
    return gradient_row(TO_INPUT, names, lambda dy, one: one.size, shapes, GEOMETRY, **attrs)


SAMPLES = [
    _conv(((1, 3, 3, 3, 1), (2, 2, 2, 1, 1))),
    _conv(((2, 3, 5, 4, 3), (2, 3, 2, 3, 4)), **HALVED),
    _conv(((1, 2, 4, 5, 4), (2, 3, 2, 2, 3)), **TURNED),
    _conv(((1, 2, 3, 4, 3), (2, 2, 2, 2, 3)), pad=FIRST_PAD, data_format="NCDHW"),
    _conv(((1, 4, 4, 4, 1), (3, 3, 3, 1, 1)), strides=2, pad=1, dim_rounding_mode="ceil"),
    _conv(((2, 3, 4, 5, 4), (2, 3, 2, 4, 12)), pad="same"),
    _conv(((1, 3, 4, 3, 4), (2, 3, 2, 2, 6)), groups=2, pad="same"),
    _conv(((0, 3, 3, 3, 2), (2, 2, 2, 2, 3))),
    _conv(((1, 3, 3, 3, 2), (2, 2, 2, 2, 3)), dtypes="float16"),
    _to_filter(((1, 3, 3, 3, 1), (1, 2, 2, 2, 1)), filter_shape=(2, 2, 2, 1, 1)),
    _to_filter(((2, 3, 5, 4, 3), (2, 3, 3, 2, 4)), filter_shape=(2, 3, 2, 3, 4), **HALVED),
    _to_filter(((1, 2, 4, 5, 4), (1, 3, 4, 3, 5)), filter_shape=(2, 3, 2, 2, 3), **TURNED),
    _to_filter(((1, 2, 4, 4, 4), (1, 2, 4, 4, 8)), filter_shape=(2, 3, 2, 4, 8), pad="same"),
    _to_filter(((1, 3, 4, 3, 2), (1, 3, 5, 3, 5)), filter_shape=(2, 2, 3, 2, 5), pad=LAST_PAD),
    _to_filter(((0, 3, 3, 3, 2), (0, 2, 2, 2, 3)), filter_shape=(2, 2, 2, 2, 3)),
    _to_input(((1, 2, 2, 2, 1), (2, 2, 2, 1, 1)), input_shape=(1, 3, 3, 3, 1)),
    _to_input(((2, 3, 3, 2, 4), (2, 3, 2, 3, 4)), input_shape=(2, 3, 5, 4, 3), **HALVED),
    _to_input(((1, 3, 4, 3, 5), (2, 3, 2, 2, 3)), input_shape=(1, 2, 4, 5, 4), **TURNED),
    _to_input(((1, 2, 4, 4, 8), (2, 3, 2, 4, 8)), input_shape=(1, 2, 4, 4, 4), pad="same"),
    _to_input(((1, 3, 5, 3, 5), (2, 2, 3, 2, 5)), input_shape=(1, 3, 4, 3, 2), pad=LAST_PAD),
    _to_input(((1, 2, 2, 2, 0), (2, 2, 2, 2, 0)), input_shape=(1, 3, 3, 3, 2)),
]
