"""Sample rows of convolution, its gradients and its fused form."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, largest_slope, plus, safe, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Shapes = tuple[tuple[int, ...], ...]
GEOMETRY = {
    "strides": 1,
    "pad": "valid",
    "data_format": "NHWC",
    "dilations": 1,
    "dim_rounding_mode": None,
}
NCHW_PAD = ((0, 0), (0, 0), (2, 1), (1, 1))
NHWC_PAD = ((0, 0), (1, 0), (0, 2), (0, 0))
TURNED: dict[str, Any] = {
    "strides": (1, 2), "pad": 1, "dilations": (2, 1), "data_format": "NCHW",
}  # fmt: skip
"""A geometry in which both axes differ, channels first."""
GROUPED = {"groups": 3, "strides": 2, "pad": "same"}


def run_on_cpu(kernel: str, arrays: Sequence[Any], **attrs: Any) -> np.ndarray:
    """Return what the cpu kernel gives for NumPy arrays; it sees all attributes."""
    found = wk.get_kernel(kernel, "cpu")
    assert found is not None
    return np.asarray(found.func(*arrays, **attrs))


def product_bound(kernel: str, terms: Callable[..., int], **attrs: Any) -> Bound:
    """Allow the errors of summing products in any order; see `testing.bounds.matmul_bound`."""

    def count(*inputs: np.ndarray) -> np.ndarray:
        return np.asarray(terms(*inputs))

    def magnitude(*inputs: np.ndarray) -> np.ndarray:
        sizes = [np.abs(one) for one in inputs[:2]]
        return run_on_cpu(kernel, sizes, **{**GEOMETRY, **attrs})

    return sum_of_terms(count, magnitude)


def _terms(x: np.ndarray, filter: np.ndarray) -> int:
    return filter[..., 0].size


def _conv(shapes: Shapes, dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = product_bound("Conv2D", _terms, **attrs)
    return Sample("Conv2D", wk.conv2d, shapes, dtypes=dtypes, attrs=attrs, bound=bound)


def gradient_row(
    kernel: str,
    names: tuple[str, str],
    terms: Callable[..., int],
    shapes: Shapes,
    others: Mapping[str, Any] = MappingProxyType({}),
    **attrs: Any,
) -> Sample:
    """Return a row of the gradient of a convolution, whose inputs are called so.

    ``others`` are attributes that only the bound is given.
    """
    bound = product_bound(kernel, terms, **{**others, **attrs})
    return Sample(kernel, run_of(kernel, *names), shapes, attrs=attrs, bound=bound)


def _to_filter(shapes: Shapes, **attrs: Any) -> Sample:
    return gradient_row("Conv2DBackpropFilter", ("x", "dy"), lambda x, dy: dy.size, shapes, **attrs)


def _to_input(shapes: Shapes, **attrs: Any) -> Sample:
    return gradient_row(
        "Conv2DBackpropInput", ("dy", "filter"), lambda dy, filter: filter.size, shapes, **attrs
    )


def fused_row(
    kernel: str,
    f: Callable[..., Any],
    terms: Callable[..., int],
    shapes: Shapes,
    function: str = "",
    *,
    steepest: float = 1,
    **attrs: Any,
) -> Sample:
    """Return a row of x, a filter, and of a bias and slopes where there are shapes for them.

    An activation passes on the convolution's error times its steepest slope, and adds its own.
    """
    geometry = {name: value for name, value in attrs.items() if name in GEOMETRY}

    def count(x: np.ndarray, filter: np.ndarray, *others: np.ndarray) -> np.ndarray:
        return np.asarray(terms(x, filter) + len(others) + 1)

    def magnitude(x: np.ndarray, filter: np.ndarray, *others: np.ndarray) -> np.ndarray:
        given: list[Any] = [np.abs(one) for one in (x, filter, *others[:1])]
        given += [None] * (4 - len(given))
        rest = {"activation": "linear", "leakyrelu_alpha": None, **GEOMETRY, **geometry}
        return largest_slope(steepest, *others[1:]) * run_on_cpu(kernel, given, **rest)

    def run(x: wk.Tensor, filter: wk.Tensor, *others: wk.Tensor, **given: Any) -> Any:
        bias, slopes = (*others, None, None)[:2]
        return f(x, filter, bias=bias, prelu_activation_weights=slopes, **given)

    bound = sum_of_terms(count, magnitude)
    bound = plus(bound, safe(function)) if function else bound
    return Sample(kernel, run, shapes, attrs=attrs, bound=bound)


def _fused(shapes: Shapes, function: str = "", **attrs: Any) -> Sample:
    return fused_row("FusedConv2D", wk.fused_conv2d, _terms, shapes, function, **attrs)


SAMPLES = [
    _conv(((1, 4, 4, 1), (2, 2, 1, 1))),
    _conv(((2, 5, 6, 3), (3, 2, 3, 4)), strides=2, pad="same"),
    _conv(((1, 6, 5, 2), (3, 2, 2, 3)), strides=(1, 2), pad=1, dilations=(2, 1)),
    _conv(((2, 2, 6, 5), (2, 2, 2, 3)), pad=NCHW_PAD, data_format="NCHW"),
    _conv(((1, 4, 4, 1), (3, 3, 1, 1)), strides=2, pad=1, dim_rounding_mode="ceil"),
    _conv(((2, 9, 8, 5), (3, 3, 5, 70)), pad=NHWC_PAD),
    _conv(((1, 12, 12, 40), (3, 3, 40, 3)), data_format="NHWC"),
    _conv(((2, 5, 6, 4), (3, 2, 4, 12)), pad="same"),
    _conv(((1, 3, 3, 4), (3, 3, 4, 8))),
    _conv(((0, 4, 4, 2), (2, 2, 2, 3))),
    _conv(((1, 4, 4, 0), (2, 2, 0, 3))),
    _conv(((1, 5, 5, 2), (2, 2, 2, 3)), dtypes="float16"),
    _conv(((2, 5, 6, 6), (3, 2, 2, 9)), groups=3, strides=2, pad="same"),
    _conv(((1, 4, 5, 8), (3, 3, 4, 16)), groups=2, pad=1),
    _conv(((2, 4, 4, 5), (2, 2, 2, 6)), groups=2, data_format="NCHW"),
    _to_filter(((1, 4, 4, 1), (1, 3, 3, 1)), filter_shape=(2, 2, 1, 1)),
    _to_filter(((2, 5, 6, 3), (2, 3, 3, 4)), filter_shape=(3, 2, 3, 4), strides=2, pad="same"),
    _to_filter(((1, 2, 6, 5), (1, 3, 4, 3)), filter_shape=(3, 2, 2, 3), **TURNED),
    _to_filter(((2, 5, 8, 4), (2, 5, 8, 12)), filter_shape=(3, 2, 4, 12), pad="same"),
    _to_filter(((9, 20, 20, 2), (9, 18, 18, 3)), filter_shape=(3, 3, 2, 3)),
    _to_filter(((1, 3, 3, 1), (1, 3, 3, 8)), filter_shape=(1, 1, 1, 8)),
    _to_filter(((1, 3, 4, 36), (1, 3, 4, 36)), filter_shape=(1, 1, 36, 36)),
    _to_filter(((0, 4, 4, 2), (0, 3, 3, 3)), filter_shape=(2, 2, 2, 3)),
    _to_filter(((2, 5, 6, 6), (2, 3, 3, 9)), filter_shape=(3, 2, 2, 9), **GROUPED),
    _to_filter(((1, 4, 5, 8), (1, 4, 5, 16)), filter_shape=(3, 3, 4, 16), groups=2, pad=1),
    _to_input(((1, 3, 3, 1), (2, 2, 1, 1)), input_shape=(1, 4, 4, 1)),
    _to_input(((2, 3, 3, 4), (3, 2, 3, 4)), input_shape=(2, 5, 6, 3), strides=2, pad="same"),
    _to_input(((1, 3, 4, 3), (3, 2, 2, 3)), input_shape=(1, 2, 6, 5), **TURNED),
    _to_input(((1, 4, 4, 70), (3, 3, 5, 70)), input_shape=(1, 6, 6, 5)),
    _to_input(((2, 5, 6, 12), (3, 2, 4, 12)), input_shape=(2, 5, 6, 4), pad="same"),
    _to_input(((1, 4, 4, 4), (2, 2, 12, 4)), input_shape=(1, 5, 5, 12)),
    _to_input(((1, 1, 1, 4), (1, 1, 3, 4)), input_shape=(1, 1, 1, 3)),
    _to_input(((1, 6, 6, 4), (1, 1, 36, 4)), input_shape=(1, 6, 6, 36)),
    _to_input(((1, 3, 3, 0), (2, 2, 2, 0)), input_shape=(1, 4, 4, 2)),
    _to_input(((2, 3, 3, 9), (3, 2, 2, 9)), input_shape=(2, 5, 6, 6), **GROUPED),
    _to_input(((1, 4, 5, 16), (3, 3, 4, 16)), input_shape=(1, 4, 5, 8), groups=2, pad=1),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3))),
    _fused(((1, 4, 4, 0), (2, 2, 0, 3), (3,)), activation="relu"),
    _fused(((2, 4, 4, 2), (3, 3, 2, 3), (3,)), activation="relu", strides=2, pad="same"),
    _fused(((2, 4, 4, 4), (3, 3, 4, 12), (12,)), activation="relu", pad="same"),
    _fused(((1, 3, 3, 30), (3, 3, 30, 4), (4,)), activation="relu"),
    _fused(((1, 6, 6, 4), (1, 1, 4, 36), (36,)), activation="relu"),
    _fused(((1, 2, 4, 4), (2, 2, 2, 3), (3,)), activation="relu6", data_format="NCHW"),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3), ()), "safe_expm1", activation="elu"),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3), (3,)), "safe_sigmoid", activation="sigmoid"),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3), (3, 3, 3)), activation="leakyrelu", leakyrelu_alpha=0.3),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3)), activation="leakyrelu", leakyrelu_alpha=-2.0, steepest=2),
    _fused(((1, 4, 4, 2), (2, 2, 2, 3), (3,), (3,)), activation="prelu", dilations=2, steepest=2),
    _fused(
        ((1, 2, 4, 4), (2, 2, 2, 3), (3,), (3, 1, 1)),
        activation="prelu",
        data_format="NCHW",
        steepest=2,
    ),
]
