"""Adam."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.ops.exponential import expm1
from wgsl_kernels.ops.unary import sqrt
from wgsl_kernels.train.optimizer import Optimizer, between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensor import Tensor


class Adam(Optimizer):
    """Steps by the mean gradient divided by the root of the mean squared gradient.

    Both means move, older gradients fading by ``beta1`` and ``beta2`` a step, and both are divided
    by 1 - beta^step, since they begin at 0. ``epsilon`` is added to the root.

    Args:
        learning_rate: How far a step goes at most, about.
        beta1: What remains of the mean after each step, in [0, 1).
        beta2: What remains of the mean square after each step, in [0, 1).
        epsilon: Keeps the divisor above 0.

    Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014.
    """

    slots = ("m", "v")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-7,
    ) -> None:
        super().__init__(learning_rate)
        self._beta1 = between("Adam", "beta1", beta1, 0, 1)
        self._beta2 = between("Adam", "beta2", beta2, 0, 1)
        self._epsilon = between("Adam", "epsilon", epsilon, 0, math.inf)

    def shared(self, rate: Tensor, step: Tensor) -> tuple[Tensor, ...]:
        """Return what the mean is multiplied by, and what the mean square is divided by."""
        return rate / _gathered(self._beta1, step), _gathered(self._beta2, step)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value, mean and mean square."""
        rate, weight = shared
        m = state[0] * self._beta1 + gradient * (1.0 - self._beta1)
        v = state[1] * self._beta2 + gradient * gradient * (1.0 - self._beta2)
        return value - rate * m / (sqrt(v / weight) + self._epsilon), m, v


def _gathered(beta: float, step: Tensor) -> Tensor:
    """Return 1 - beta^step, with all its digits also in the first steps, when it is small."""
    return -expm1(step * math.log(beta)) if beta > 0 else step * 0.0 + 1.0
