"""Gradient descent with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.train.optimizer import Optimizer, between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Rate


class Momentum(Optimizer):
    """Steps against a sum of gradients in which older ones fade.

    The sum becomes ``momentum * sum + gradient``, the value ``value - learning_rate * sum``.

    Args:
        learning_rate: How far a step goes.
        momentum: What remains of the sum after each step, in [0, 1).
        use_nesterov: Whether to look one step ahead: the value then falls by
            ``learning_rate * (gradient + momentum * sum)``.

    Source: Sutskever, Martens, Dahl, Hinton, On the Importance of Initialization and Momentum in
    Deep Learning, 2013.
    """

    slots = ("momentum",)

    def __init__(self, learning_rate: Rate, momentum: float, use_nesterov: bool = False) -> None:
        super().__init__(learning_rate)
        self._momentum = between("Momentum", "momentum", momentum, 0, 1)
        self._use_nesterov = flag("Momentum", "use_nesterov", use_nesterov)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value and the new sum."""
        (rate,) = shared
        total = state[0] * self._momentum + gradient
        direction = gradient + total * self._momentum if self._use_nesterov else total
        return value - rate * direction, total
