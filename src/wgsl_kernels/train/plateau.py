"""A learning rate that falls where training gets no further."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.attributes import at_least
from wgsl_kernels.train.optimizer import between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Optimizer

_NAME = "ReduceLROnPlateau"


class ReduceLROnPlateau:
    """Multiplies an optimizer's learning rate by a factor where a loss no longer falls.

    Attributes:
        best: The least loss so far.
        bad: Losses in a row that were not lower.

    Example:
        >>> adam = wk.train.Adam(0.1)
        >>> plateau = wk.train.ReduceLROnPlateau(adam, factor=0.5, patience=1)
        >>> [plateau.after(loss) for loss in (1.0, 0.9, 0.9, 0.9)]
        [False, False, False, True]
        >>> adam.learning_rate.numpy()
        array(0.05, dtype=float32)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        factor: float = 0.1,
        patience: int = 10,
        min_delta: float = 1e-4,
        min_rate: float = 0.0,
    ) -> None:
        """Watch an optimizer.

        Args:
            optimizer: Its learning rate must be a number, not a schedule.
            factor: What the rate is multiplied by, in (0, 1).
            patience: How many losses in a row may be no lower.
            min_delta: How much lower than the best a loss must be, relative to it.
            min_rate: Below which the rate does not fall.

        Raises:
            ArgumentError: An argument is none of these.
        """
        self._optimizer = optimizer
        self._factor = between(_NAME, "factor", factor, 0, 1)
        if not self._factor:
            raise ArgumentError(f"{_NAME}: factor is 0; want one in (0, 1).")
        self._patience = at_least(_NAME, "patience", patience, 0)
        self._min_delta = between(_NAME, "min_delta", min_delta, 0, math.inf)
        self._min_rate = between(_NAME, "min_rate", min_rate, 0, math.inf)
        self.best = math.inf
        self.bad = 0

    def after(self, loss: float | Tensor) -> bool:
        """Take the loss of an epoch, of data that is not trained on; say whether the rate fell.

        A loss that is NaN is no lower.
        """
        value = float(loss)
        if value < self.best - self._min_delta * abs(self.best if self.best < math.inf else 0.0):
            self.best, self.bad = value, 0
            return False
        self.bad += 1
        if self.bad <= self._patience:
            return False
        self.bad = 0
        before = self._optimizer.learning_rate.item()
        rate = max(before * self._factor, self._min_rate)
        if rate >= before * (1 - 1e-6):  # the rate is a float32
            return False
        self._optimizer.learning_rate = rate
        return True

    def __repr__(self) -> str:
        """Return the optimizer, the best loss and how long ago it was."""
        return f"{_NAME}({self._optimizer!r}, best={self.best:.6g}, bad={self.bad})"
