"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.train.optimizer import Optimizer

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor


class SGD(Optimizer):
    """Steps against the gradient: ``value - learning_rate * gradient``."""

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value; there are no slots."""
        del state
        (rate,) = shared
        return (value - rate * gradient,)
