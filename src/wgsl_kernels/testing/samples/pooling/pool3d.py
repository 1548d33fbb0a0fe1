"""Sample rows of pooling of volumes, of its gradients, and of pooling by its type."""

from __future__ import annotations

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of
from wgsl_kernels.testing.samples.pooling.pool import PoolRows, Shape, magnitude_bound

PAD = ((0, 0), (0, 1), (1, 0), (1, 1), (0, 0))
NO_PLACES: dict[str, Any] = {
    "filter_size": 1,
    "strides": 2,
    "pad": ((0, 0), *((1, 0),) * 3, (0, 0)),
}
"""A geometry in which windows lie in padding alone."""


def _pool(shape: Shape, pooling_type: str, dtypes: str = "float32", **attrs: Any) -> Sample:
    bound = exact()
    if pooling_type == "avg":
        kernel = "AvgPool" if len(shape) == 4 else "AvgPool3D"
        geometry = {**attrs, "filter_size": attrs["window_shape"]}
        del geometry["window_shape"]
        bound = magnitude_bound(kernel, **{"strides": 1, **geometry})
    attrs = {"pooling_type": pooling_type, **attrs}
    return Sample("Pool", run_of("Pool", "input"), (shape,), dtypes, attrs, bound=bound)


VOLUMES = PoolRows("3D", wk.avg_pool3d, wk.max_pool3d)
SAMPLES = [
    VOLUMES.avg((1, 3, 3, 3, 1), filter_size=2, strides=1),
    VOLUMES.avg((2, 3, 4, 5, 3), filter_size=(2, 2, 3), strides=(1, 2, 1), pad="same"),
    VOLUMES.avg((1, 3, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="ceil"),
    VOLUMES.avg((1, 2, 3, 4, 4), filter_size=2, strides=1, pad=PAD),
    VOLUMES.avg(
        (1, 2, 4, 5, 3), filter_size=2, strides=1, dilations=(1, 2, 1), data_format="NCDHW"
    ),
    VOLUMES.avg((0, 4, 4, 4, 2), filter_size=2),
    VOLUMES.avg((1, 2, 4, 4, 3), dtypes="float16", filter_size=2),
    VOLUMES.avg_grad((1, 2, 2, 2, 1), (1, 3, 3, 3, 1), filter_size=2, strides=1),
    VOLUMES.avg_grad(
        (2, 3, 2, 5, 4), (2, 3, 4, 5, 4), filter_size=2, strides=(1, 2, 1), pad="same"
    ),
    VOLUMES.avg_grad((1, 2, 3, 5, 2), (1, 2, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    VOLUMES.avg_grad(
        (1, 2, 2, 3, 1),
        (1, 2, 4, 5, 3),
        filter_size=(3, 3, 3),
        strides=2,
        pad=((0, 0), (0, 0), (0, 1), (1, 1), (1, 0)),
        data_format="NCDHW",
    ),
    VOLUMES.avg_grad((1, 1, 2, 2, 3), (1, 3, 4, 4, 3), filter_size=2, strides=1, dilations=2),
    VOLUMES.avg_grad(
        (1, 3, 4, 2, 2), (1, 3, 4, 2, 2), filter_size=2, strides=1, dilations=2, pad="same"
    ),
    VOLUMES.avg_grad((1, 2, 2, 2, 2), (1, 2, 2, 2, 2), **NO_PLACES),
    VOLUMES.max((1, 3, 3, 3, 1), filter_size=2, strides=1),
    VOLUMES.max((2, 3, 4, 5, 3), filter_size=(2, 2, 3), strides=(1, 2, 1), pad="same"),
    VOLUMES.max((1, 3, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="round"),
    VOLUMES.max((1, 2, 3, 4, 4), filter_size=2, strides=1, pad=PAD),
    VOLUMES.max((2, 3, 4, 5, 8), filter_size=2, strides=1, dilations=(2, 1, 2), pad="same"),
    VOLUMES.max((1, 2, 4, 5, 3), filter_size=2, strides=1, data_format="NCDHW"),
    VOLUMES.max((1, 2, 2, 4, 2), dtypes="float16", filter_size=2),
    VOLUMES.max((2, 2, 4, 5, 3), dtypes="int32", filter_size=2, pad="same"),
    VOLUMES.max_grad((1, 2, 2, 2, 1), (1, 3, 3, 3, 1), filter_size=2, strides=1),
    VOLUMES.max_grad(
        (2, 3, 2, 5, 4), (2, 3, 4, 5, 4), filter_size=2, strides=(1, 2, 1), pad="same"
    ),
    VOLUMES.max_grad((1, 2, 3, 5, 2), (1, 2, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    VOLUMES.max_grad((1, 1, 2, 2, 3), (1, 3, 4, 4, 3), filter_size=2, strides=1, dilations=2),
    VOLUMES.max_grad(
        (1, 2, 1, 3, 2), (1, 2, 2, 4, 3), filter_size=2, strides=1, data_format="NCDHW"
    ),
    VOLUMES.max_grad((1, 2, 2, 2, 2), (1, 2, 2, 2, 2), **NO_PLACES),
    VOLUMES.max_grad_grad((1, 3, 3, 3, 1), filter_size=2, strides=1),
    VOLUMES.max_grad_grad((2, 3, 4, 5, 4), filter_size=2, strides=(1, 2, 1), pad="same"),
    VOLUMES.max_grad_grad((1, 2, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    VOLUMES.max_grad_grad((1, 3, 4, 4, 3), filter_size=2, strides=1, dilations=2),
    VOLUMES.max_grad_grad((1, 2, 2, 4, 3), filter_size=2, strides=1, data_format="NCDHW"),
    VOLUMES.max_grad_grad((1, 2, 2, 2, 2), **NO_PLACES),
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
