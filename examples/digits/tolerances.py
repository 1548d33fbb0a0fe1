"""What each kernel's result may be off: WGSL's accuracy table applied to the kernel's formula."""

from collections.abc import Callable, Mapping
from typing import Any

from activation import ULP
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.bounds import (
    Bound,
    exact,
    matmul_bound,
    mean_bound,
    sum_bound,
    ulp,
)
from wgsl_kernels.testing.samples.convolution.conv import product_bound


def _sum(*, axis: Any = None, keep_dims: bool = False) -> Bound:
    return sum_bound(axis, keepdims=keep_dims)


def _mean(*, axis: Any = None, keep_dims: bool = False) -> Bound:
    return mean_bound(axis, keepdims=keep_dims)


def _conv(**attrs: Any) -> Bound:
    return product_bound("Conv2D", lambda x, filter: filter[..., 0].size, **attrs)


def _conv_to_filter(**attrs: Any) -> Bound:
    return product_bound("Conv2DBackpropFilter", lambda x, dy: dy[..., 0].size, **attrs)


def _conv_to_input(**attrs: Any) -> Bound:
    return product_bound("Conv2DBackpropInput", lambda dy, filter: filter[:, :, 0].size, **attrs)


BY_ATTRIBUTES: dict[str, Callable[..., Bound]] = {
    "BatchMatMul": matmul_bound,
    "Conv2D": _conv,
    "Conv2DBackpropFilter": _conv_to_filter,
    "Conv2DBackpropInput": _conv_to_input,
    "MaxPoolGrad": lambda **attrs: exact(),  # windows here do not overlap, so nothing is added
    "Mean": _mean,
    "Squareplus": lambda **attrs: ulp(ULP),
    "Sum": _sum,
}
"""Kernels whose errors depend on their attributes, and our own."""


def bound_of(kernel: str, attrs: Mapping[str, Any]) -> Bound:
    """Return the interval that each element of the result must lie in."""
    if kernel in BY_ATTRIBUTES:
        return BY_ATTRIBUTES[kernel](**attrs)
    samples = [one for one in all_samples() if one.kernel == kernel and not one.attrs]
    stated = [one.bound for one in samples if set(one.input_dtypes) == {"float32"}]
    return next((bound for bound in stated if bound is not None), ulp(4))
