"""Evaluating a function for a check: in double precision, with fixed random numbers, weighted.

A function of several tensors, or with large ones, is checked through one number, its loss: the
sum over all float outputs y of Re(conj(dy) * y), with weights dy drawn once. The gradient of the
loss is what the tape gives for upstream gradients dy; of complex inputs it is dL/dx + i dL/dy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from wgsl_kernels.engine.autodiff.autodiff import GradientTape
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.scopes import tensors_in, tidy
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import WIDE, is_differentiable
from wgsl_kernels.ops.random import random

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


@contextmanager
def fixed_random_numbers() -> Iterator[None]:
    """Have the block draw what the next block will draw: the random key is put back after it."""
    key = random.key
    before = Tensor(key.spec, key._array, key._driver)
    try:
        yield
    finally:
        key.assign(before)


def outputs_of(f: Function, xs: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors in what ``f`` returns, with fixed random numbers.

    However small they are, the backend's own kernels compute them.
    """
    with fixed_random_numbers(), config.using(small_ops="device"):
        return list(tensors_in(f(*xs)))


def widened(values: Array) -> Array:
    """Return float values in double precision, others as they are."""
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    return values.astype(np.complex128) if values.dtype.kind == "c" else values


def wide_tensor(values: Array) -> Tensor:
    """Return a tensor of these values, of double precision where they are floats."""
    wide = widened(values)
    return tensor(wide, dtype=wide.dtype.name if wide.dtype.kind in "fc" else None)


def is_smooth(values: Array) -> bool:
    """Say whether gradients flow through these values: they are floats."""
    return values.dtype.kind in "fc"


class UpstreamGradients:
    """The upstream gradients of a check, drawn when an output's shape is first seen."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._drawn: dict[int, Array] = {}

    def of(self, index: int, like: Tensor | Array) -> Array:
        """Return the weights, in double precision, of output ``index``."""
        if index not in self._drawn:
            draw = np.random.default_rng([self._seed, index])
            values = draw.uniform(0.5, 1.5, like.shape) * draw.choice([-1.0, 1.0], like.shape)
            if "complex" in str(like.dtype):
                values = values + 1j * draw.uniform(-1.5, 1.5, like.shape)
            self._drawn[index] = np.asarray(values)
        return self._drawn[index]


def loss_terms(outputs: Sequence[Tensor], weights: UpstreamGradients) -> list[Array]:
    """Return the terms of the loss, per float output."""
    return [
        np.real(np.conj(weights.of(index, y)) * widened(y.numpy()))
        for index, y in enumerate(smooth(outputs))
    ]


def smooth(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return those of the tensors through which gradients flow."""
    return [one for one in tensors if is_differentiable(one.dtype)]


def gradients_of(
    f: Function,
    xs: Sequence[Tensor],
    weights: UpstreamGradients,
    lay_out: Callable[[Array], Tensor] = tensor,
) -> list[Array | None]:
    """Return the gradient of the loss for each of ``xs``, by the tape; None for integers.

    Args:
        f: The function.
        xs: Its inputs, on the active backend.
        weights: The upstream gradients.
        lay_out: Makes a tensor of each, in some memory layout.
    """

    def run() -> list[Array | None]:
        sources = smooth(xs)
        with GradientTape() as tape:
            tape.watch(sources)
            ys = smooth(outputs_of(f, xs))
        dys = [_upstream(weights.of(i, y), y.dtype, lay_out) for i, y in enumerate(ys)]
        found = iter(tape.gradient(ys, sources, dys))
        return [_filled(next(found), x) if is_differentiable(x.dtype) else None for x in xs]

    with config.using(small_ops="device"):
        return tidy(run)


def _upstream(values: Array, dtype: Any, lay_out: Callable[[Array], Tensor]) -> Tensor:
    if dtype in WIDE.values():
        return tensor(values, dtype=dtype)
    return lay_out(values.astype(dtype))


def _filled(gradient: Tensor | None, x: Tensor) -> Array:
    if gradient is None:
        return np.zeros(x.shape, WIDE.get(x.dtype, x.dtype))
    return widened(gradient.numpy())
