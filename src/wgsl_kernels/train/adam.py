"""Adam."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.entries import hidden_entries
from wgsl_kernels.engine.tensors.scopes import keep
from wgsl_kernels.engine.values.dtypes import OBJECTS, numpy_dtype
from wgsl_kernels.ops.elementwise.binary import minimum
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.ops.elementwise.exponential import expm1
from wgsl_kernels.ops.elementwise.unary import sqrt
from wgsl_kernels.ops.indexing.gather import take
from wgsl_kernels.train.optimizer import Optimizer, between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.train.optimizer import Rate

LONGEST_TABLE = 1 << 18
"""Steps whose weights are worth a table; of a beta of 0.999 it has 17,000."""


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
        learning_rate: Rate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-7,
    ) -> None:
        super().__init__(learning_rate)
        self._beta1 = between(self._name, "beta1", beta1, 0, 1)
        self._beta2 = between(self._name, "beta2", beta2, 0, 1)
        self._epsilon = between(self._name, "epsilon", epsilon, 0, math.inf)
        self._weights = BiasCorrection((self._beta1, self._beta2))

    def shared(self, rate: Tensor, step: Tensor) -> tuple[Tensor, ...]:
        """Return the rate, and what the mean and the mean square are divided by."""
        return rate, *self._weights.after(step, rate.dtype)

    def updated(
        self,
        value: Tensor,
        gradient: Tensor,
        state: tuple[Tensor, ...],
        shared: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        """Return the new value, mean and mean square."""
        rate, weight_of_m, weight_of_v = shared
        m = state[0] * self._beta1 + gradient * (1.0 - self._beta1)
        v = state[1] * self._beta2 + gradient * gradient * (1.0 - self._beta2)
        return value - rate * m / (weight_of_m * (sqrt(v / weight_of_v) + self._epsilon)), m, v


class BiasCorrection:
    """1 - beta^step, with all its digits also in the first steps, when it is small.

    The host knows the step while it counts there, and then the weights are numbers that travel with
    the update. In a captured step it is on the device, which looks them up in a table: so both are
    the same bits, rounded once from double precision.

    Args:
        betas: In [0, 1).
    """

    def __init__(self, betas: tuple[float, ...]) -> None:
        self._betas = betas
        self._tables: dict[DType, Tensor] = {}
        self._values: Array | None = None
        self._last = [
            1 if beta == 0 else 1 + int(_STEPS_TO_ONE / -math.log(beta)) for beta in betas
        ]
        self._first = [sum(self._last[:n]) + n for n in range(len(betas))]
        if sum(self._last) < LONGEST_TABLE:
            pairs = zip(betas, self._last, strict=True)
            self._values = np.concatenate([_weights(beta, last) for beta, last in pairs])

    def __reduce__(self) -> tuple[type[BiasCorrection], tuple[tuple[float, ...]]]:
        return BiasCorrection, (self._betas,)

    def after(self, step: Tensor, dtype: DType) -> tuple[Tensor, ...]:
        """Return the weights in step ``step``, an int32 scalar from 1, as scalars of ``dtype``."""
        if self._values is None or dtype == "float64":
            number = astype(step, OBJECTS[dtype])
            return tuple(
                -expm1(number * math.log(beta)) if beta else number * 0.0 + 1.0
                for beta in self._betas
            )
        readable = abilities_of(step._driver).host_readable
        known = None if readable is None else readable.known(step._array)
        if known is not None:
            pairs = zip(self._first, self._last, strict=True)
            places = [first + min(int(known.item()), last) for first, last in pairs]
            with hidden_entries():
                return tuple(tensor(one) for one in self._values[places].astype(numpy_dtype(dtype)))
        if dtype not in self._tables:
            self._tables[dtype] = keep(tensor(self._values.astype(numpy_dtype(dtype))))
        found = take(self._tables[dtype], minimum(step, self._last) + self._first)
        return tuple(found[n] for n in range(len(self._betas)))


_STEPS_TO_ONE = 26 * math.log(2)
"""After so many steps, divided by -log(beta), the weight is 1 in float32."""


def _weights(beta: float, last: int) -> Array:
    """Return the weights in steps 0 to ``last``."""
    steps = np.arange(last + 1)
    found: Array = -np.expm1(steps * math.log(beta)) if beta else (steps > 0) * 1.0
    return found
