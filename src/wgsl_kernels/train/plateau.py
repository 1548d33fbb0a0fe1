"""A learning rate that falls where training gets no further."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import variable
from wgsl_kernels.engine.values.attributes import at_least
from wgsl_kernels.train.optimizer import between

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.train.optimizer import Optimizer

_NAME = "ReduceLROnPlateau"
_DOUBLE, _WORDS = "<d", "<2i"


class ReduceLROnPlateau:
    """Multiplies an optimizer's learning rate by a factor where a loss no longer falls.

    `wk.save` and `wk.load` take it with what it has seen, and with its optimizer.

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
        self._best = variable(_bits(math.inf), trainable=False, dtype="int32")
        self._bad = variable(0, trainable=False, dtype="int32")

    @property
    def best(self) -> float:
        """The least loss so far."""
        return float(struct.unpack(_DOUBLE, struct.pack(_WORDS, *self._best.tolist()))[0])

    @best.setter
    def best(self, value: float) -> None:
        self._best.assign(_bits(value))

    @property
    def bad(self) -> int:
        """Losses in a row that were not lower."""
        return int(self._bad)

    @bad.setter
    def bad(self, value: int) -> None:
        self._bad.assign(value)

    def after(self, loss: float | Tensor) -> bool:
        """Take the loss of an epoch, of data that is not trained on; say whether the rate fell.

        A loss that is NaN is no lower.
        """
        value, best, bad = float(loss), self.best, self.bad + 1
        if value < best - self._min_delta * abs(best if best < math.inf else 0.0):
            self.best, self.bad = value, 0
            return False
        is_over = bad > self._patience
        self.bad = 0 if is_over else bad
        if not is_over:
            return False
        before = self._optimizer.learning_rate.item()
        rate = max(before * self._factor, self._min_rate)
        if rate >= before * (1 - 1e-6):  # the rate is a float32
            return False
        self._optimizer.learning_rate = rate
        return True

    def __repr__(self) -> str:
        """Return the optimizer, the best loss and how long ago it was."""
        return f"{_NAME}({self._optimizer!r}, best={self.best:.6g}, bad={self.bad})"


def _bits(value: float) -> tuple[int, ...]:
    """Return the two words of a double, which no backend need have."""
    return struct.unpack(_WORDS, struct.pack(_DOUBLE, value))
