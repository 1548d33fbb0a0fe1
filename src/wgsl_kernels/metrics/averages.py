"""The mean of all values, of losses for instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.metrics import sums
from wgsl_kernels.ops.reductions import reduce

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@dataclass(eq=False)
class Mean:
    """The weighted mean of all values.

    Attributes:
        total: The sum of the values times their weights, a scalar.
        count: The sum of the weights, a scalar.
    """

    total: Variable
    count: Variable

    def update(self, values: TensorLike, weights: TensorLike | None = None) -> None:
        """Add values.

        Args:
            values: Any shape; they become float32.
            weights: They broadcast to ``values``; without them each value counts 1.

        Raises:
            ShapeError: The weights do not broadcast to ``values``.
        """
        given = sums.floats(values)
        each = sums.weights_like("Mean.update", weights, given)
        sums.add((self.total, reduce.sum(given * each)), (self.count, reduce.sum(each)))

    def result(self) -> Tensor:
        """Return the mean, a float32 scalar; NaN before the first value."""
        return self.total / self.count

    def reset(self) -> None:
        """Begin anew."""
        sums.reset(self.total, self.count)


def mean() -> Mean:
    """Return a metric: the weighted mean of all values.

    Example:
        >>> loss = wk.metrics.mean()
        >>> loss.update([1.0, 2.0, 3.0])
        >>> loss.update([5.0, 100.0], [1.0, 0.0])
        >>> loss.result().item()
        2.75
    """
    return Mean(sums.zeros(), sums.zeros())
