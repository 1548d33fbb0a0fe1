"""Sample rows of pooling and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, exact, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.convolution.conv import run_on_cpu

PAD = ((0, 0), (1, 0), (0, 1), (0, 0))


def magnitude_bound(kernel: str, **attrs: Any) -> Bound:
    """Allow a rounding per element of the window, and those of the division, at either end."""

    def count(*inputs: np.ndarray) -> np.ndarray:
        return np.asarray(elements(inputs[0], attrs["filter_size"]) + 3)

    def magnitude(*inputs: np.ndarray) -> np.ndarray:
        sizes = [np.abs(one) for one in inputs]
        return run_on_cpu(kernel, sizes, **{"dim_rounding_mode": None, "pad": "valid", **attrs})

    return sum_of_terms(count, magnitude)


def elements(images: np.ndarray, filter_size: Any) -> int:
    """Return how many elements a window has."""
    return int(np.prod(np.broadcast_to(filter_size, images.ndim - 2)))


def added_bound(kernel: str, **attrs: Any) -> Bound:
    """Allow one rounding for each window that an element is the maximum of.

    Args:
        kernel: The kernel that gives each element of a window its share of the window's gradient.
        **attrs: Its attributes.
    """
    bound = magnitude_bound(kernel, **attrs)

    def sums(inputs: Any, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        area = elements(inputs[0], attrs["filter_size"])
        return bound([inputs[0] * area, inputs[1]], expected)

    return sums


def _avg(shape: tuple[int, ...], dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = magnitude_bound("AvgPool", **attrs)
    return Sample("AvgPool", _avg_pool, (shape,), dtypes=dtypes, attrs=attrs, bound=bound)


def _avg_pool(x: wk.Tensor, *, filter_size: Any, **attrs: Any) -> wk.Tensor:
    return wk.avg_pool(x, filter_size, **attrs)


def _avg_grad(dy: tuple[int, ...], shape: tuple[int, ...], **attrs: Any) -> Sample:
    bound = magnitude_bound("AvgPoolGrad", **attrs)
    return Sample("AvgPoolGrad", _avg_pool_grad, (dy, shape), attrs=attrs, bound=bound)


def _avg_pool_grad(dy: wk.Tensor, x: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel("AvgPoolGrad", {"dy": dy, "input": x}, attrs)


def _max(shape: tuple[int, ...], dtypes: str = "float32", **attrs: Any) -> Sample:
    return Sample("MaxPool", _max_pool, (shape,), dtypes=dtypes, attrs=attrs, bound=exact())


def _max_pool(x: wk.Tensor, *, filter_size: Any, **attrs: Any) -> wk.Tensor:
    return wk.max_pool(x, filter_size, **attrs)


def _max_grad(dy: tuple[int, ...], shape: tuple[int, ...], **attrs: Any) -> Sample:
    bound = added_bound("AvgPoolGrad", **attrs)
    return Sample("MaxPoolGrad", _max_pool_grad, (dy, shape), attrs=attrs, bound=bound)


def _max_pool_grad(dy: wk.Tensor, x: wk.Tensor, **attrs: Any) -> Any:
    y = wk.engine().run_kernel("MaxPool", {"x": x}, attrs)
    return wk.engine().run_kernel("MaxPoolGrad", {"dy": dy, "input": x, "output": y}, attrs)


def _max_grad_grad(shape: tuple[int, ...], **attrs: Any) -> Sample:
    return Sample(
        "MaxPoolGradGrad", _max_pool_grad_grad, (shape, shape), attrs=attrs, bound=exact()
    )


def _max_pool_grad_grad(ddx: wk.Tensor, x: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel("MaxPoolGradGrad", {"ddx": ddx, "input": x}, attrs)


def _argmax(shape: tuple[int, ...], **attrs: Any) -> Sample:
    kernel = "MaxPoolWithArgmax"
    return Sample(kernel, _max_pool_with_argmax, (shape,), attrs=attrs, bound=exact())


def _max_pool_with_argmax(x: wk.Tensor, *, filter_size: Any, **attrs: Any) -> list[wk.Tensor]:
    return list(wk.max_pool_with_argmax(x, filter_size, **attrs))


SAMPLES = [
    _argmax((1, 4, 4, 1), filter_size=2),
    _argmax((2, 3, 4, 3), filter_size=2, strides=1, pad="same"),
    _argmax((2, 3, 4, 4), filter_size=2, strides=1, include_batch_in_index=True),
    _argmax((1, 5, 4, 2), filter_size=(3, 2), strides=(2, 1), pad=1),
    _argmax((3, 2, 2, 1), filter_size=1, include_batch_in_index=True),
    _argmax((1, 5, 5, 8), filter_size=3, strides=2, pad=PAD),
    _avg((1, 3, 3, 1), filter_size=2, strides=1),
    _avg((2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    _avg((1, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="ceil"),
    _avg((1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _avg((2, 9, 8, 5), filter_size=(9, 8), strides=1),
    _avg((0, 4, 4, 2), filter_size=2, strides=2),
    _avg((1, 4, 4, 3), dtypes="float16", filter_size=2, strides=2),
    _avg((1, 2, 5, 4), filter_size=2, strides=1, dilations=2, pad=1, data_format="NCHW"),
    _avg_grad((1, 2, 2, 1), (1, 3, 3, 1), filter_size=2, strides=1),
    _avg_grad((2, 2, 5, 3), (2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    _avg_grad((1, 3, 4, 2), (1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _avg_grad((1, 4, 4, 2), (1, 3, 3, 2), filter_size=1, strides=1, pad=PAD),
    _avg_grad(
        (1, 2, 3, 1), (1, 2, 5, 4), filter_size=2, strides=(1, 2), dilations=2, data_format="NCHW"
    ),
    _max((1, 3, 3, 1), filter_size=2, strides=1),
    _max((2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    _max((1, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="ceil"),
    _max((1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _max((2, 9, 8, 5), filter_size=(9, 8), strides=1),
    _max((0, 4, 4, 2), filter_size=2, strides=2),
    _max((2, 5, 7, 8), filter_size=2, strides=1, pad="same"),
    _max((1, 4, 4, 3), dtypes="float16", filter_size=2, strides=2),
    _max((2, 4, 5, 3), dtypes="int32", filter_size=2, strides=2, pad="same"),
    _max_grad((1, 2, 2, 1), (1, 3, 3, 1), filter_size=2, strides=1),
    _max_grad((2, 2, 5, 3), (2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    _max_grad((1, 3, 4, 2), (1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _max((1, 5, 4, 4), filter_size=2, strides=1, dilations=(2, 1), pad="same"),
    _max((2, 3, 4, 3), filter_size=2, strides=2, pad=1, data_format="NCHW"),
    _max_grad(
        (1, 2, 4, 5),
        (1, 2, 6, 5),
        filter_size=2,
        strides=1,
        dilations=(2, 1),
        pad=((0, 0), (0, 0), (0, 0), (0, 1)),
        data_format="NCHW",
    ),
    _max_grad_grad((1, 3, 3, 1), filter_size=2, strides=1),
    _max_grad_grad((1, 2, 4, 5), filter_size=2, strides=1, dilations=2, data_format="NCHW"),
    _max_grad_grad((2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    _max_grad_grad((1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
]
