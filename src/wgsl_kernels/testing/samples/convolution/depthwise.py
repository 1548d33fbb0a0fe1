"""Sample rows of depthwise convolution, its gradients and its fused form."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import largest_slope, plus, safe, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.convolution.conv import (
    GEOMETRY,
    NCHW_PAD,
    NHWC_PAD,
    product_bound,
    run_on_cpu,
)

Shapes = tuple[tuple[int, ...], ...]
NATIVE = "DepthwiseConv2dNative"
TO_FILTER = "DepthwiseConv2dNativeBackpropFilter"
TO_INPUT = "DepthwiseConv2dNativeBackpropInput"


def _native(shapes: Shapes, dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = product_bound(NATIVE, lambda x, filter: filter.shape[0] * filter.shape[1], **attrs)
    return Sample(NATIVE, wk.depthwise_conv2d, shapes, dtypes=dtypes, attrs=attrs, bound=bound)


def _to_filter(shapes: Shapes, **attrs: Any) -> Sample:
    bound = product_bound(TO_FILTER, lambda x, dy: dy.size, **attrs)
    return Sample(TO_FILTER, _backprop_filter, shapes, attrs=attrs, bound=bound)


def _backprop_filter(x: wk.Tensor, dy: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel(TO_FILTER, {"x": x, "dy": dy}, attrs)


def _to_input(shapes: Shapes, **attrs: Any) -> Sample:
    bound = product_bound(TO_INPUT, lambda dy, filter: filter[:, :, :1].size, **attrs)
    return Sample(TO_INPUT, _backprop_input, shapes, attrs=attrs, bound=bound)


def _backprop_input(dy: wk.Tensor, filter: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel(TO_INPUT, {"dy": dy, "filter": filter}, attrs)


def _fused(shapes: Shapes, function: str = "", *, steepest: float = 1, **attrs: Any) -> Sample:
    """A row whose inputs are x, filter, then bias and slopes where there are shapes for them.

    An activation passes on the convolution's error times its steepest slope, and adds its own.
    """
    geometry = {name: value for name, value in attrs.items() if name in GEOMETRY}

    def count(x: np.ndarray, filter: np.ndarray, *others: np.ndarray) -> np.ndarray:
        return np.asarray(filter.shape[0] * filter.shape[1] + len(others) + 1)

    def magnitude(x: np.ndarray, filter: np.ndarray, *others: np.ndarray) -> np.ndarray:
        given: list[Any] = [np.abs(one) for one in (x, filter, *others[:1])]
        given += [None] * (4 - len(given))
        rest = {"activation": "linear", "leakyrelu_alpha": None, **GEOMETRY, **geometry}
        return largest_slope(steepest, *others[1:]) * run_on_cpu(
            "FusedDepthwiseConv2D", given, **rest
        )

    bound = sum_of_terms(count, magnitude)
    if function:
        bound = plus(bound, safe(function))
    return Sample("FusedDepthwiseConv2D", _fused_conv, shapes, attrs=attrs, bound=bound)


def _fused_conv(
    x: wk.Tensor,
    filter: wk.Tensor,
    bias: wk.Tensor | None = None,
    slopes: wk.Tensor | None = None,
    **attrs: Any,
) -> wk.Tensor:
    return wk.fused_depthwise_conv2d(x, filter, bias=bias, prelu_activation_weights=slopes, **attrs)


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
    _to_filter(
        ((1, 2, 6, 5), (1, 4, 4, 3)),
        filter_shape=(3, 2, 2, 2),
        strides=(1, 2),
        pad=1,
        dilations=(2, 1),
        data_format="NCHW",
    ),
    _to_filter(((9, 20, 20, 2), (9, 18, 18, 2)), filter_shape=(3, 3, 2, 1)),
    _to_filter(((0, 4, 4, 2), (0, 3, 3, 6)), filter_shape=(2, 2, 2, 3)),
    _to_input(((1, 3, 3, 1), (2, 2, 1, 1)), input_shape=(1, 4, 4, 1)),
    _to_input(((2, 3, 3, 6), (3, 2, 3, 2)), input_shape=(2, 5, 6, 3), strides=2, pad="same"),
    _to_input(((2, 5, 9, 8), (3, 3, 8, 1)), input_shape=(2, 5, 9, 8), pad="same"),
    _to_input(((1, 3, 4, 4), (3, 3, 4, 1)), input_shape=(1, 5, 7, 4), strides=2, pad="same"),
    _to_input(
        ((1, 4, 4, 3), (3, 2, 2, 2)),
        input_shape=(1, 2, 6, 5),
        strides=(1, 2),
        pad=1,
        dilations=(2, 1),
        data_format="NCHW",
    ),
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
