"""Samples of a product of matrices with bias and activation."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import largest_slope, plus, safe, sum_of_terms
from wgsl_kernels.testing.sample import Sample


def _fused(
    shapes: tuple[tuple[int, ...], ...],
    function: str = "",
    *,
    steepest: float = 1,
    dtypes: str = "float32",
    **attrs: Any,
) -> Sample:
    """A row whose inputs are a, b, then bias and slopes where there are shapes for them.

    An activation passes on the product's error times its steepest slope, and adds its own.
    """

    def operands(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        left = np.swapaxes(a, -1, -2) if attrs.get("transpose_a") else a
        return np.abs(left), np.abs(np.swapaxes(b, -1, -2) if attrs.get("transpose_b") else b)

    def count(a: np.ndarray, b: np.ndarray, *others: np.ndarray) -> np.ndarray:
        return np.asarray(operands(a, b)[0].shape[-1] + len(others) + 1)

    def magnitude(a: np.ndarray, b: np.ndarray, *others: np.ndarray) -> np.ndarray:
        left, right = operands(a, b)
        bias = np.abs(others[0]) if others else 0.0
        return np.asarray(largest_slope(steepest, *others[1:]) * (left @ right + bias))

    bound = sum_of_terms(count, magnitude)
    if function:
        bound = plus(bound, safe(function))
    return Sample("_FusedMatMul", _fused_mat_mul, shapes, dtypes, attrs, bound=bound)


def _fused_mat_mul(
    a: wk.Tensor,
    b: wk.Tensor,
    bias: wk.Tensor | None = None,
    slopes: wk.Tensor | None = None,
    **attrs: Any,
) -> wk.Tensor:
    return wk.fused_mat_mul(a, b, bias=bias, prelu_activation_weights=slopes, **attrs)


SAMPLES = [
    _fused(((2, 3), (3, 4))),
    _fused(((1, 5, 3), (1, 3, 4), (4,)), activation="relu"),
    _fused(((2, 5, 3), (3, 4), (1, 4)), activation="relu6"),
    _fused(((36, 12), (12, 20), (20,)), activation="relu"),
    _fused(((1, 8), (8, 12), (12,)), activation="relu"),
    _fused(((33, 70), (70, 67), (33, 1)), activation="relu"),
    _fused(((3, 300), (300, 2), (2,)), activation="relu"),
    _fused(((2, 3), (3, 4), ()), "safe_expm1", activation="elu"),
    _fused(((3, 2), (3, 4), (4,)), "safe_sigmoid", activation="sigmoid", transpose_a=True),
    _fused(((2, 3), (4, 3)), activation="leakyrelu", leakyrelu_alpha=0.3, transpose_b=True),
    _fused(((2, 3), (3, 4)), activation="leakyrelu", leakyrelu_alpha=-2.0, steepest=2),
    _fused(((2, 4, 3), (2, 3, 5), (5,), (5,)), activation="prelu", steepest=2),
    _fused(
        ((2, 1, 8, 4), (3, 12, 4), (2, 3, 8, 12), (3, 1, 12)),
        activation="prelu",
        transpose_b=True,
        steepest=2,
    ),
    _fused(((3, 0), (0, 2), (2,))),
    _fused(((0, 3), (3, 2))),
    _fused(((3, 4), (4, 5), (5,)), dtypes="float16", activation="relu"),
]
