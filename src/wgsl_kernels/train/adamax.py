"""Adamax: Adam with the largest gradient in place of the mean square."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.ops.elementwise.binary import maximum
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.ops.elementwise.unary import abs
from wgsl_kernels.train.adam import BiasCorrection
from wgsl_kernels.train.optimizer import Optimizer, between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Rate


class Adamax(Optimizer):
    """Steps by the mean gradient divided by the largest one, in which older ones fade.

    Args:
        learning_rate: How far a step goes at most, about; a number or a schedule.
        beta1: What remains of the mean after each step, in [0, 1).
        beta2: What remains of the largest size after each step, in [0, 1).
        epsilon: Added to the largest size.
        decay: The rate is divided by ``1 + decay * steps done``; at least 0.

    Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014, section 7.1.
    """

    slots = ("m", "largest")

    def __init__(
        self,
        learning_rate: Rate = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-7,
        decay: float = 0.0,
    ) -> None:
        super().__init__(learning_rate)
        self._beta1 = between(self._name, "beta1", beta1, 0, 1)
        self._beta2 = between(self._name, "beta2", beta2, 0, 1)
        self._epsilon = between(self._name, "epsilon", epsilon, 0, math.inf)
        self._decay = between(self._name, "decay", decay, 0, math.inf)
        self._weights = BiasCorrection((self._beta1,))

    def shared(self, rate: Tensor, step: Tensor) -> tuple[Tensor, ...]:
        """Return the rate of this step, divided by 1 - beta1^step."""
        if self._decay:
            rate = rate / (astype(step - 1, rate.dtype) * self._decay + 1.0)
        return (rate / self._weights.after(step, rate.dtype)[0],)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value, mean and largest size."""
        (rate,) = shared
        m = state[0] * self._beta1 + gradient * (1.0 - self._beta1)
        largest = maximum(state[1] * self._beta2, abs(gradient))
        return value - rate * m / (largest + self._epsilon), m, largest
