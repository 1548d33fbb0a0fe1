"""Sample rows of pooling and its gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, exact, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of
from wgsl_kernels.testing.samples.convolution.conv import run_on_cpu

if TYPE_CHECKING:
    from collections.abc import Callable

Shape = tuple[int, ...]
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


@dataclass(frozen=True)
class PoolRows:
    """Rows of the pooling of images, or of volumes, and of its gradients.

    Attributes:
        of: What the kernels' names end with.
        avg_pool: The mean of each window.
        max_pool: The maximum of each window.
    """

    of: str
    avg_pool: Callable[..., wk.Tensor]
    max_pool: Callable[..., wk.Tensor]

    def avg(self, shape: Shape, dtypes: str = "float32", **attrs: Any) -> Sample:
        """Return a row of means."""
        kernel = f"AvgPool{self.of}"
        bound = magnitude_bound(kernel, **attrs)
        return Sample(kernel, self.avg_pool, (shape,), dtypes=dtypes, attrs=attrs, bound=bound)

    def avg_grad(self, dy: Shape, shape: Shape, **attrs: Any) -> Sample:
        """Return a row of the gradient of means."""
        kernel = f"AvgPool{self.of}Grad"
        run, bound = run_of(kernel, "dy", "input"), magnitude_bound(kernel, **attrs)
        return Sample(kernel, run, (dy, shape), attrs=attrs, bound=bound)

    def max(self, shape: Shape, dtypes: str = "float32", **attrs: Any) -> Sample:
        """Return a row of maxima."""
        kernel = f"MaxPool{self.of}"
        return Sample(kernel, self.max_pool, (shape,), dtypes=dtypes, attrs=attrs, bound=exact())

    def max_grad(self, dy: Shape, shape: Shape, **attrs: Any) -> Sample:
        """Return a row of the gradient of maxima."""
        kernel = f"MaxPool{self.of}Grad"

        def run(dy: wk.Tensor, x: wk.Tensor, **given: Any) -> Any:
            y = wk.engine().run_kernel(f"MaxPool{self.of}", {"x": x}, given)
            return wk.engine().run_kernel(kernel, {"dy": dy, "input": x, "output": y}, given)

        bound = added_bound(f"AvgPool{self.of}Grad", **attrs)
        return Sample(kernel, run, (dy, shape), attrs=attrs, bound=bound)

    def max_grad_grad(self, shape: Shape, **attrs: Any) -> Sample:
        """Return a row of the gradient of that."""
        kernel = f"MaxPool{self.of}GradGrad"
        run = run_of(kernel, "ddx", "input")
        return Sample(kernel, run, (shape, shape), attrs=attrs, bound=exact())


def _argmax(shape: tuple[int, ...], **attrs: Any) -> Sample:
    kernel = "MaxPoolWithArgmax"
    return Sample(kernel, _max_pool_with_argmax, (shape,), attrs=attrs, bound=exact())


def _max_pool_with_argmax(x: wk.Tensor, *, filter_size: Any, **attrs: Any) -> list[wk.Tensor]:
    return list(wk.max_pool_with_argmax(x, filter_size, **attrs))


IMAGES = PoolRows("", wk.avg_pool, wk.max_pool)
SAMPLES = [
    _argmax((1, 4, 4, 1), filter_size=2),
    _argmax((2, 3, 4, 3), filter_size=2, strides=1, pad="same"),
    _argmax((2, 3, 4, 4), filter_size=2, strides=1, include_batch_in_index=True),
    _argmax((1, 5, 4, 2), filter_size=(3, 2), strides=(2, 1), pad=1),
    _argmax((3, 2, 2, 1), filter_size=1, include_batch_in_index=True),
    _argmax((1, 5, 5, 8), filter_size=3, strides=2, pad=PAD),
    IMAGES.avg((1, 3, 3, 1), filter_size=2, strides=1),
    IMAGES.avg((2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    IMAGES.avg((1, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="ceil"),
    IMAGES.avg((1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    IMAGES.avg((2, 9, 8, 5), filter_size=(9, 8), strides=1),
    IMAGES.avg((0, 4, 4, 2), filter_size=2, strides=2),
    IMAGES.avg((1, 4, 4, 3), dtypes="float16", filter_size=2, strides=2),
    IMAGES.avg((1, 2, 5, 4), filter_size=2, strides=1, dilations=2, pad=1, data_format="NCHW"),
    IMAGES.avg_grad((1, 2, 2, 1), (1, 3, 3, 1), filter_size=2, strides=1),
    IMAGES.avg_grad((2, 2, 5, 3), (2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    IMAGES.avg_grad((1, 3, 4, 2), (1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    IMAGES.avg_grad((1, 4, 4, 2), (1, 3, 3, 2), filter_size=1, strides=1, pad=PAD),
    IMAGES.avg_grad((1, 5, 4, 2), (1, 5, 4, 2), filter_size=3, strides=1, dilations=2, pad="same"),
    IMAGES.avg_grad(
        (1, 2, 3, 1), (1, 2, 5, 4), filter_size=2, strides=(1, 2), dilations=2, data_format="NCHW"
    ),
    IMAGES.max((1, 3, 3, 1), filter_size=2, strides=1),
    IMAGES.max((2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    IMAGES.max((1, 5, 5, 2), filter_size=3, strides=2, pad=1, dim_rounding_mode="ceil"),
    IMAGES.max((1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    IMAGES.max((2, 9, 8, 5), filter_size=(9, 8), strides=1),
    IMAGES.max((0, 4, 4, 2), filter_size=2, strides=2),
    IMAGES.max((2, 5, 7, 8), filter_size=2, strides=1, pad="same"),
    IMAGES.max((1, 4, 4, 3), dtypes="float16", filter_size=2, strides=2),
    IMAGES.max((2, 4, 5, 3), dtypes="int32", filter_size=2, strides=2, pad="same"),
    IMAGES.max_grad((1, 2, 2, 1), (1, 3, 3, 1), filter_size=2, strides=1),
    IMAGES.max_grad((2, 2, 5, 3), (2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    IMAGES.max_grad((1, 3, 4, 2), (1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
    IMAGES.max((1, 5, 4, 4), filter_size=2, strides=1, dilations=(2, 1), pad="same"),
    IMAGES.max((2, 3, 4, 3), filter_size=2, strides=2, pad=1, data_format="NCHW"),
    IMAGES.max_grad(
        (1, 2, 4, 5),
        (1, 2, 6, 5),
        filter_size=2,
        strides=1,
        dilations=(2, 1),
        pad=((0, 0), (0, 0), (0, 0), (0, 1)),
        data_format="NCHW",
    ),
    IMAGES.max_grad_grad((1, 3, 3, 1), filter_size=2, strides=1),
    IMAGES.max_grad_grad((1, 2, 4, 5), filter_size=2, strides=1, dilations=2, data_format="NCHW"),
    IMAGES.max_grad_grad((2, 4, 5, 3), filter_size=(2, 3), strides=(2, 1), pad="same"),
    IMAGES.max_grad_grad((1, 3, 4, 2), filter_size=2, strides=1, pad=PAD),
]
