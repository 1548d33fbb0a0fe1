"""RMSProp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.ops.elementwise.unary import sqrt
from wgsl_kernels.train.optimizer import Optimizer, between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Rate


class RMSProp(Optimizer):
    """Steps by the gradient divided by the root of a moving mean of its squares.

    The step is ``momentum * latest step + learning_rate * gradient / sqrt(mean square + epsilon)``.

    Args:
        learning_rate: How far a step goes, about; a number or a schedule.
        decay: What remains of the mean after each step, in [0, 1).
        momentum: What remains of the latest step, in [0, 1).
        epsilon: Keeps the root above 0.
        centered: Whether the square of a moving mean of the gradients is subtracted under the
            root, which makes it a standard deviation.

    Source: Tieleman and Hinton, Lecture 6.5 of Neural Networks for Machine Learning, 2012;
    centered: Graves, Generating Sequences With Recurrent Neural Networks, 2013.
    """

    def __init__(
        self,
        learning_rate: Rate,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
    ) -> None:
        centered = flag(type(self).__name__, "centered", centered)
        self.slots = ("mean_square", "momentum", *(("mean_gradient",) if centered else ()))
        super().__init__(learning_rate)
        self._decay = between(self._name, "decay", decay, 0, 1)
        self._momentum = between(self._name, "momentum", momentum, 0, 1)
        self._epsilon = between(self._name, "epsilon", epsilon, 0, math.inf)
        self._centered = centered

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value, mean square and latest step; if centered, the mean gradient too."""
        (rate,) = shared
        kept, added = self._decay, 1.0 - self._decay
        square = state[0] * kept + gradient * gradient * added
        spread = square
        means: tuple[Tensor, ...] = ()
        if self._centered:
            mean = state[2] * kept + gradient * added
            spread, means = square - mean * mean, (mean,)
        step = state[1] * self._momentum + rate * gradient / sqrt(spread + self._epsilon)
        return value - step, square, step, *means
