"""The moving average of a model's variables over the steps of its training."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Generic, TypeVar

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.capture.watch import assign_all
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.trees.trees import variables_of
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.train.optimizer import between

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor

_Model = TypeVar("_Model")
_NAME = "ExponentialMovingAverage"


class ExponentialMovingAverage(Generic[_Model]):
    """A copy of a model that follows its variables slowly.

    Attributes:
        model: The copy: each variable of floats is the mean of what the model's was, older values
            fading by ``decay`` an update; others are what they are in the model.
        decay: What remains of the copy at an update.

    Example:
        >>> net = wk.nn.dense(2, 1, initializer=wk.nn.constant(0.0))
        >>> average = wk.train.ExponentialMovingAverage(net, decay=0.5)
        >>> _ = net.weight.assign([[1.0], [1.0]])
        >>> average.update(net)
        >>> average.model.weight.tolist(), net.weight.tolist()
        ([[0.5], [0.5]], [[1.0], [1.0]])

    Source: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992.
    """

    def __init__(self, model: _Model, decay: float = 0.999) -> None:
        """Copy a model.

        Args:
            model: Variables in dicts, lists, tuples, dataclasses and other objects.
            decay: In [0, 1).

        Raises:
            ArgumentError: ``decay`` is not in [0, 1), or the model has no variables.
        """
        self.decay = between("ExponentialMovingAverage", "decay", decay, 0, 1)
        if not variables_of(_NAME, model):
            raise ArgumentError(
                "ExponentialMovingAverage: model has no variables; want those of a network."
            )
        self.model = copy.deepcopy(model)

    def update(self, model: _Model) -> None:
        """Move towards a model; also in a captured step.

        Raises:
            ArgumentError: It has not the form of the one that was copied.
        """
        own, others = variables_of(_NAME, self.model), variables_of(_NAME, model)
        if [one.spec for one in own] != [one.spec for one in others]:
            raise ArgumentError(
                "ExponentialMovingAverage.update: model has other variables than the one that was "
                "copied; want the same, in the same order."
            )
        assign_all([(a, self._moved(a, b)) for a, b in zip(own, others, strict=True)])

    def _moved(self, own: Variable, other: Variable) -> Tensor:
        now = stop_gradient(other)
        return own + (1 - self.decay) * (now - own) if is_float(own.dtype) else now

    def __repr__(self) -> str:
        """Return the decay and what is averaged."""
        return f"ExponentialMovingAverage({self.model!r}, decay={self.decay})"
