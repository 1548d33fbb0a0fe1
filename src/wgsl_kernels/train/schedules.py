"""Schedules: learning rates that are functions of the number of steps done.

A schedule is any function that takes that number, an int32 scalar tensor, and returns a scalar;
made of ops alone it is captured with the step. Those here cover the usual ones.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.attributes import at_least, converter, number, sequence
from wgsl_kernels.ops.elementwise.binary import maximum, minimum
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.ops.elementwise.compare import greater_equal, less
from wgsl_kernels.ops.elementwise.exponential import cos, exp
from wgsl_kernels.ops.elementwise.logical import where
from wgsl_kernels.ops.elementwise.unary import floor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@dataclass(frozen=True)
class ExponentialDecay:
    """``initial * factor ** (step / steps)``.

    Attributes:
        initial: The first rate.
        steps: After how many steps the rate has been multiplied by ``factor``; 1 or more.
        factor: Above 0.
        staircase: Whether only whole multiples of ``steps`` count.

    Example:
        >>> rate = wk.train.ExponentialDecay(1.0, steps=10, factor=0.5)
        >>> [f"{rate(wk.tensor(step)).item():.3f}" for step in (0, 10, 20)]
        ['1.000', '0.500', '0.250']
    """

    initial: float
    steps: int
    factor: float
    staircase: bool = False

    def __post_init__(self) -> None:
        _keep(self)
        _above_zero("ExponentialDecay", factor=self.factor)

    def __call__(self, step: Tensor) -> Tensor:
        """Return the rate after ``step`` steps."""
        times = astype(step, "float32") / float(self.steps)
        times = floor(times) if self.staircase else times
        return exp(times * math.log(self.factor)) * self.initial


@dataclass(frozen=True)
class CosineDecay:
    """Half a wave of the cosine from ``initial`` down to ``final``, where it stays.

    Attributes:
        initial: The first rate.
        steps: How many steps it takes; 1 or more.
        final: The rate from then on.

    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2016.

    Example:
        >>> rate = wk.train.CosineDecay(1.0, steps=10)
        >>> [f"{rate(wk.tensor(step)).item():.3f}" for step in (0, 5, 10, 99)]
        ['1.000', '0.500', '0.000', '0.000']
    """

    initial: float
    steps: int
    final: float = 0.0

    def __post_init__(self) -> None:
        _keep(self)

    def __call__(self, step: Tensor) -> Tensor:
        """Return the rate after ``step`` steps."""
        part = minimum(astype(step, "float32") / float(self.steps), 1.0)
        return (cos(part * math.pi) + 1.0) * (0.5 * (self.initial - self.final)) + self.final


@dataclass(frozen=True)
class PolynomialDecay:
    """From ``initial`` to ``final`` as ``(1 - step / steps) ** power`` falls, and ``final`` then.

    Attributes:
        initial: The first rate.
        steps: How many steps it takes; 1 or more.
        final: The rate from then on.
        power: 1 is a straight line; above 0.

    Example:
        >>> rate = wk.train.PolynomialDecay(1.0, steps=4, final=0.5)
        >>> [rate(wk.tensor(step)).item() for step in (0, 1, 4, 9)]
        [1.0, 0.875, 0.5, 0.5]
    """

    initial: float
    steps: int
    final: float = 0.0
    power: float = 1.0

    def __post_init__(self) -> None:
        _keep(self)
        _above_zero("PolynomialDecay", power=self.power)

    def __call__(self, step: Tensor) -> Tensor:
        """Return the rate after ``step`` steps."""
        left = maximum(1.0 - astype(step, "float32") / float(self.steps), 0.0)
        left = left if self.power == 1 else left**self.power
        return left * (self.initial - self.final) + self.final


@dataclass(frozen=True)
class PiecewiseConstant:
    """One rate until each boundary, and another from it on.

    Attributes:
        boundaries: Numbers of steps, rising.
        rates: One more than there are boundaries.

    Example:
        >>> rate = wk.train.PiecewiseConstant([2, 4], [1.0, 0.1, 0.01])
        >>> [f"{rate(wk.tensor(step)).item():.2f}" for step in (1, 2, 4)]
        ['1.00', '0.10', '0.01']
    """

    boundaries: Sequence[int]
    rates: Sequence[float]

    def __post_init__(self) -> None:
        _keep(self)
        bounds = self.boundaries
        given = sequence("PiecewiseConstant", "rates", self.rates, "numbers")
        rates = tuple([number("PiecewiseConstant", "rates", one) for one in given])
        if len(rates) != len(bounds) + 1:
            raise ArgumentError(
                f"PiecewiseConstant: there are {len(rates)} rates for {len(bounds)} boundaries; "
                "want one rate more."
            )
        if any(a >= b for a, b in itertools.pairwise(bounds)):
            raise ArgumentError(f"PiecewiseConstant: boundaries is {bounds}; want rising numbers.")
        object.__setattr__(self, "rates", rates)

    def __call__(self, step: Tensor) -> Tensor:
        """Return the rate after ``step`` steps."""
        rate = astype(step, "float32") * 0.0 + self.rates[0]
        for start, value in zip(self.boundaries, self.rates[1:], strict=True):
            rate = where(greater_equal(step, start), value, rate)
        return rate


@dataclass(frozen=True)
class LinearWarmup:
    """A straight line from 0 up to the rate of another schedule, which starts where it ends.

    Attributes:
        steps: How many steps the line takes: the first has ``1 / steps`` of the rate; 1 or more.
        then: A rate, or the schedule that follows; it counts from the end of the line.

    Example:
        >>> rate = wk.train.LinearWarmup(4, wk.train.ExponentialDecay(1.0, steps=1, factor=0.5))
        >>> [rate(wk.tensor(step)).item() for step in (0, 3, 4, 5)]
        [0.25, 1.0, 1.0, 0.5]
    """

    steps: int
    then: float | Callable[[Tensor], TensorLike]

    def __post_init__(self) -> None:
        _keep(self)
        if not callable(self.then):
            object.__setattr__(self, "then", number("LinearWarmup", "then", self.then))

    def __call__(self, step: Tensor) -> Tensor:
        """Return the rate after ``step`` steps."""
        after = maximum(step - self.steps, 0)
        rate = self.then(after) if callable(self.then) else self.then
        risen = astype(step + 1, "float32") / float(self.steps)
        return where(less(step, self.steps), risen, 1.0) * rate


def _keep(schedule: Any) -> None:
    """Check what a schedule is made of, and keep it as plain numbers."""
    name = type(schedule).__name__
    for one in fields(schedule):
        given = converter(str(one.type))(name, one.name, getattr(schedule, one.name))
        if one.name == "steps":
            at_least(name, "steps", given, 1)
        object.__setattr__(schedule, one.name, given)


def _above_zero(schedule: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if not number(schedule, name, value) > 0:
            raise ArgumentError(f"{schedule}: {name} is {value!r}; want a number above 0.")
