"""Sample rows of pooling of volumes, of its gradients, and of pooling by its type."""

from __future__ import annotations

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.pooling.pool import added_bound, magnitude_bound

Shape = tuple[int, ...]

PAD = ((0, 0), (0, 1), (1, 0), (1, 1), (0, 0))
NO_PLACES: dict[str, Any] = {
    "filter_size": 1,
    "strides": 2,
    "pad": ((0, 0), *((1, 0),) * 3, (0, 0)),
}
"""A geometry in which windows lie in padding alone."""


def _avg(shape: Shape, dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = magnitude_bound("AvgPool3D", **attrs)
    return Sample("AvgPool3D", _avg_pool, (shape,), dtypes=dtypes, attrs=attrs, bound=bound)


def _avg_pool(x: wk.Tensor, *, filter_size: Any, **attrs: Any) -> wk.Tensor:
    return wk.avg_pool3d(x, filter_size, **attrs)


def _avg_grad(dy: Shape, shape: Shape, **attrs: Any) -> Sample:
    bound = magnitude_bound("AvgPool3DGrad", **attrs)
    return Sample("AvgPool3DGrad", _avg_pool_grad, (dy, shape), attrs=attrs, bound=bound)


def _avg_pool_grad(dy: wk.Tensor, x: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel("AvgPool3DGrad", {"dy": dy, "input": x}, attrs)


def _max(shape: Shape, dtypes: str = "float32", **attrs: Any) -> Sample:
    return Sample("MaxPool3D", _max_pool, (shape,), dtypes=dtypes, attrs=attrs, bound=exact())


def _max_pool(x: wk.Tensor, *, filter_size: Any, **attrs: Any) -> wk.Tensor:
    return wk.max_pool3d(x, filter_size, **attrs)


def _max_grad(dy: Shape, shape: Shape, **attrs: Any) -> Sample:
    bound = added_bound("AvgPool3DGrad", **attrs)
    return Sample("MaxPool3DGrad", _max_pool_grad, (dy, shape), attrs=attrs, bound=bound)


def _max_pool_grad(dy: wk.Tensor, x: wk.Tensor, **attrs: Any) -> Any:
    y = wk.engine().run_kernel("MaxPool3D", {"x": x}, attrs)
    return wk.engine().run_kernel("MaxPool3DGrad", {"dy": dy, "input": x, "output": y}, attrs)


def _max_grad_grad(shape: Shape, **attrs: Any) -> Sample:
    kernel = "MaxPool3DGradGrad"
    return Sample(kernel, _max_pool_grad_grad, (shape, shape), attrs=attrs, bound=exact())


def _max_pool_grad_grad(ddx: wk.Tensor, x: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel("MaxPool3DGradGrad", {"ddx": ddx, "input": x}, attrs)


def _pool(shape: Shape, pooling_type: str, dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = exact()
    if pooling_type == "avg":
        kernel = "AvgPool" if len(shape) == 4 else "AvgPool3D"
        geometry = {**attrs, "filter_size": attrs["window_shape"]}
        del geometry["window_shape"]
        bound = magnitude_bound(kernel, **{"strides": 1, **geometry})
    attrs = {"pooling_type": pooling_type, **attrs}
    return Sample("Pool", _pool_of, (shape,), dtypes=dtypes, attrs=attrs, bound=bound)


def _pool_of(x: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel("Pool", {"input": x}, attrs)


SAMPLES = [
    _avg((1, 3, 3, 3, 1), filter_size=2, strides=1),
    _avg((2, 3, 4, 5, 3), filter_size=(2, 2, 3), strides=(1, 2, 1), pad="same"),
    _avg((1, 3, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="ceil"),
    _avg((1, 2, 3, 4, 4), filter_size=2, strides=1, pad=PAD),
    _avg((1, 2, 4, 5, 3), filter_size=2, strides=1, dilations=(1, 2, 1), data_format="NCDHW"),
    _avg((0, 4, 4, 4, 2), filter_size=2),
    _avg((1, 2, 4, 4, 3), dtypes="float16", filter_size=2),
    _avg_grad((1, 2, 2, 2, 1), (1, 3, 3, 3, 1), filter_size=2, strides=1),
    _avg_grad((2, 3, 2, 5, 4), (2, 3, 4, 5, 4), filter_size=2, strides=(1, 2, 1), pad="same"),
    _avg_grad((1, 2, 3, 5, 2), (1, 2, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _avg_grad(
        (1, 2, 2, 3, 1),
        (1, 2, 4, 5, 3),
        filter_size=(3, 3, 3),
        strides=2,
        pad=((0, 0), (0, 0), (0, 1), (1, 1), (1, 0)),
        data_format="NCDHW",
    ),
    _avg_grad((1, 1, 2, 2, 3), (1, 3, 4, 4, 3), filter_size=2, strides=1, dilations=2),
    _avg_grad((1, 2, 2, 2, 2), (1, 2, 2, 2, 2), **NO_PLACES),
    _max((1, 3, 3, 3, 1), filter_size=2, strides=1),
    _max((2, 3, 4, 5, 3), filter_size=(2, 2, 3), strides=(1, 2, 1), pad="same"),
    _max((1, 3, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="round"),
    _max((1, 2, 3, 4, 4), filter_size=2, strides=1, pad=PAD),
    _max((2, 3, 4, 5, 8), filter_size=2, strides=1, dilations=(2, 1, 2), pad="same"),
    _max((1, 2, 4, 5, 3), filter_size=2, strides=1, data_format="NCDHW"),
    _max((1, 2, 2, 4, 2), dtypes="float16", filter_size=2),
    _max((2, 2, 4, 5, 3), dtypes="int32", filter_size=2, pad="same"),
    _max_grad((1, 2, 2, 2, 1), (1, 3, 3, 3, 1), filter_size=2, strides=1),
    _max_grad((2, 3, 2, 5, 4), (2, 3, 4, 5, 4), filter_size=2, strides=(1, 2, 1), pad="same"),
    _max_grad((1, 2, 3, 5, 2), (1, 2, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _max_grad((1, 1, 2, 2, 3), (1, 3, 4, 4, 3), filter_size=2, strides=1, dilations=2),
    _max_grad((1, 2, 1, 3, 2), (1, 2, 2, 4, 3), filter_size=2, strides=1, data_format="NCDHW"),
    _max_grad((1, 2, 2, 2, 2), (1, 2, 2, 2, 2), **NO_PLACES),
    _max_grad_grad((1, 3, 3, 3, 1), filter_size=2, strides=1),
    _max_grad_grad((2, 3, 4, 5, 4), filter_size=2, strides=(1, 2, 1), pad="same"),
    _max_grad_grad((1, 2, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    _max_grad_grad((1, 3, 4, 4, 3), filter_size=2, strides=1, dilations=2),
    _max_grad_grad((1, 2, 2, 4, 3), filter_size=2, strides=1, data_format="NCDHW"),
    _max_grad_grad((1, 2, 2, 2, 2), **NO_PLACES),
    _pool((1, 4, 4, 2), "avg", window_shape=2),
    _pool((2, 5, 4, 4), "max", window_shape=2, dilations=2),
    _pool((1, 4, 5, 3), "avg", window_shape=2, dilations=(1, 2), pad=1),
    _pool(
        (1, 3, 4, 4, 2), "max", window_shape=(2, 2, 3), strides=2, pad=1, dim_rounding_mode="floor"
    ),
    _pool((1, 3, 4, 4, 4), "avg", window_shape=2, dilations=(2, 1, 1)),
    _pool((1, 4, 4, 2), "max", dtypes="int32", window_shape=2, strides=2),
    _pool((1, 4, 4, 2), "avg", dtypes="float16", window_shape=2, strides=2),
]
