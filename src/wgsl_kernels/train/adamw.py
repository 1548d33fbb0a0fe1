"""Adam with decoupled weight decay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.train.adam import Adam
from wgsl_kernels.train.optimizer import between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Rate


class AdamW(Adam):
    """Steps as Adam does, and multiplies the variable by ``1 - learning_rate * weight_decay``.

    The decay is no part of the gradient, so it is not divided by the root of its mean square.

    Args:
        learning_rate: How far a step goes at most, about; a number or a schedule.
        beta1: What remains of the mean after each step, in [0, 1).
        beta2: What remains of the mean square after each step, in [0, 1).
        epsilon: Keeps the divisor above 0.
        weight_decay: What part of a variable a step of rate 1 takes away; at least 0.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-7,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon)
        self._weight_decay = between(self._name, "weight_decay", weight_decay, 0, math.inf)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value, mean and mean square."""
        decayed = value - value * self._weight_decay * shared[0]
        return super().updated(decayed, gradient, state, shared)
