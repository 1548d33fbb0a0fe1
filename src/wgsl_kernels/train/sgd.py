"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.train.optimizer import Optimizer

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensor import Tensor


class SGD(Optimizer):
    """Steps against the gradient: ``value - learning_rate * gradient``."""

    def updated(
        self, value: Tensor, gradient: Tensor, state: tuple[Tensor, ...], rate: Tensor, step: Tensor
    ) -> tuple[Tensor, ...]:
        """Return the new value; there are no slots."""
        return (value - rate * gradient,)
