"""Adagrad and Adadelta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.ops.elementwise.unary import sqrt
from wgsl_kernels.train.optimizer import Optimizer, between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Rate


class Adagrad(Optimizer):
    """Steps by the gradient divided by the root of the sum of all squared gradients.

    The value becomes ``value - learning_rate * gradient / sqrt(sum + 1e-7)``.

    Args:
        learning_rate: How far a step goes at most, about; a number or a schedule.
        initial_accumulator_value: What the sum of squares starts from; at least 0.

    Source: Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online Learning, 2011.
    """

    slots = ("accumulator",)

    def __init__(self, learning_rate: Rate, initial_accumulator_value: float = 0.1) -> None:
        name, start = type(self).__name__, initial_accumulator_value
        start = between(name, "initial_accumulator_value", start, 0, math.inf)
        self.initial = {"accumulator": start}
        super().__init__(learning_rate)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value and the new sum of squares."""
        (rate,) = shared
        total = state[0] + gradient * gradient
        return value - rate * gradient / sqrt(total + 1e-7), total


class Adadelta(Optimizer):
    """Steps by the gradient times the root of the mean squared step over that of the gradients.

    Both means are moving ones, and ``epsilon`` is added under both roots.

    Args:
        learning_rate: What each step is multiplied by; a number or a schedule.
        rho: What remains of either mean square after each step, in [0, 1).
        epsilon: Keeps the divisor above 0, and the first steps as well.

    Source: Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012.
    """

    slots = ("mean_square", "mean_squared_step")

    def __init__(
        self, learning_rate: Rate = 0.001, rho: float = 0.95, epsilon: float = 1e-7
    ) -> None:
        super().__init__(learning_rate)
        self._rho = between(self._name, "rho", rho, 0, 1)
        self._epsilon = between(self._name, "epsilon", epsilon, 0, math.inf)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value, mean square and mean squared step."""
        (rate,) = shared
        kept, added = self._rho, 1.0 - self._rho
        square = state[0] * kept + gradient * gradient * added
        step = gradient * sqrt(state[1] + self._epsilon) / sqrt(square + self._epsilon)
        return value - rate * step, square, state[1] * kept + step * step * added
