"""Sample rows of depthwise convolution, its gradients and its fused form."""

from __future__ import annotations

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.convolution.conv import (
    NCHW_PAD,
    NHWC_PAD,
    TURNED,
    Shapes,
    fused_row,
    gradient_row,
    product_bound,
)

NATIVE = "DepthwiseConv2dNative"
TO_FILTER = "DepthwiseConv2dNativeBackpropFilter"
TO_INPUT = "DepthwiseConv2dNativeBackpropInput"


def _terms(x: Any, filter: Any) -> int:
    return int(filter.shape[0] * filter.shape[1])


def _native(shapes: Shapes, dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = product_bound(NATIVE, _terms, **attrs)
    return Sample(NATIVE, wk.depthwise_conv2d, shapes, dtypes=dtypes, attrs=attrs, bound=bound)


def _to_filter(shapes: Shapes, **attrs: Any) -> Sample:
    return gradient_row(TO_FILTER, ("x", "dy"), lambda x, dy: dy.size, shapes, **attrs)


def _to_input(shapes: Shapes, **attrs: Any) -> Sample:
    names = ("dy", "filter")
    return gradient_row(TO_INPUT, names, lambda dy, one: one[:, :, :1].size, shapes, **attrs)


def _fused(shapes: Shapes, function: str = "", **attrs: Any) -> Sample:
    f = wk.fused_depthwise_conv2d
    return fused_row("FusedDepthwiseConv2D", f, _terms, shapes, function, **attrs)


SAMPLES = [
    _native(((1, 4, 4, 1), (2, 2, 1, 1))),
    _native(((2, 5, 6, 3), (3, 2, 3, 2)), strides=2, pad="same"),
    _native(((2, 5, 9, 8), (3, 3, 8, 1)), pad="same"),
    _native(((1, 6, 11, 4), (2, 5, 4, 1)), strides=(1, 3), pad=2, dilations=(2, 2)),
    _native(((1, 6, 5, 2), (3, 2, 2, 3)), strides=(1, 2), pad=1, dilations=(2, 1)),
    _native(((2, 2, 6, 5), (2, 2, 2, 2)), pad=NCHW_PAD, data_format="NCHW"),
    _native(((1, 4, 4, 1), (3, 3, 1, 1)), strides=2, pad=1, dim_rounding_mode="ceil"),
    _native(((1, 5, 4, 4), (3, 3, 4, 1)), pad=NHWC_PAD),
    _native(((0, 4, 4, 2), (2, 2, 2, 3))),
    _native(((1, 4, 4, 0), (2, 2, 0, 3))),
    _native(((1, 5, 5, 2), (2, 2, 2, 2)), dtypes="float16"),
    _native(((1, 5, 5, 4), (2, 2, 4, 1)), dtypes="float16"),
    _to_filter(((1, 4, 4, 1), (1, 3, 3, 1)), filter_shape=(2, 2, 1, 1)),
    _to_filter(((2, 5, 6, 3), (2, 3, 3, 6)), filter_shape=(3, 2, 3, 2), strides=2, pad="same"),
    _to_filter(((2, 5, 6, 4), (2, 5, 6, 4)), filter_shape=(3, 5, 4, 1), pad="same"),
    _to_filter(((1, 2, 6, 5), (1, 4, 4, 3)), filter_shape=(3, 2, 2, 2), **TURNED),
    _to_filter(((9, 20, 20, 2), (9, 18, 18, 2)), filter_shape=(3, 3, 2, 1)),
    _to_filter(((0, 4, 4, 2), (0, 3, 3, 6)), filter_shape=(2, 2, 2, 3)),
    _to_input(((1, 3, 3, 1), (2, 2, 1, 1)), input_shape=(1, 4, 4, 1)),
    _to_input(((2, 3, 3, 6), (3, 2, 3, 2)), input_shape=(2, 5, 6, 3), strides=2, pad="same"),
    _to_input(((2, 5, 9, 8), (3, 3, 8, 1)), input_shape=(2, 5, 9, 8), pad="same"),
    _to_input(((1, 3, 4, 4), (3, 3, 4, 1)), input_shape=(1, 5, 7, 4), strides=2, pad="same"),
    _to_input(((1, 4, 4, 3), (3, 2, 2, 2)), input_shape=(1, 2, 6, 5), **TURNED),
    _to_input(((1, 3, 3, 0), (2, 2, 2, 0)), input_shape=(1, 4, 4, 2)),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3))),
    _fused(((1, 4, 4, 2), (2, 2, 2, 0), (0,)), activation="relu"),
    _fused(((2, 4, 4, 2), (3, 3, 2, 2), (4,)), activation="relu", strides=2, pad="same"),
    _fused(((2, 4, 5, 8), (3, 3, 8, 1), (8,)), activation="relu", pad="same"),
    _fused(((1, 2, 4, 4), (2, 2, 2, 2), (4,)), activation="relu6", data_format="NCHW"),
    _fused(((1, 4, 4, 2), (2, 2, 2, 1), ()), "safe_expm1", activation="elu"),
    _fused(((1, 4, 4, 4), (2, 2, 4, 1), (4,)), "safe_sigmoid", activation="sigmoid"),
    _fused(((1, 4, 4, 2), (2, 2, 2, 2), (3, 3, 4)), activation="leakyrelu", leakyrelu_alpha=0.3),
    _fused(((1, 4, 4, 2), (2, 2, 2, 1)), activation="leakyrelu", leakyrelu_alpha=-2.0, steepest=2),
    _fused(((1, 4, 4, 4), (2, 2, 4, 1), (4,), (4,)), activation="prelu", dilations=2, steepest=2),
    _fused(
        ((1, 2, 4, 4), (2, 2, 2, 2), (4,), (4, 1, 1)),
        activation="prelu",
        data_format="NCHW",
        steepest=2,
    ),
]
