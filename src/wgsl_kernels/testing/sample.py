"""A sample: one row of facts about a kernel, from which the suites are driven."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.testing.sample_facts import check_facts, is_range, made_inputs

Bound = Callable[..., tuple[np.ndarray, np.ndarray]]
"""Called with the inputs and the exact result, and the attributes that it names as keywords."""
Range: TypeAlias = "tuple[float, float]"
"""The least number and the largest."""
_UNSTATED = ((-1,),)
"""Shapes where an author states none."""
MOST_TRIES = 64
"""Rows that the values to try may make of one."""


@dataclass(frozen=True)
class Sample:
    """One row: how a kernel is called and what its results may be.

    Attributes:
        kernel: The kernel's name.
        f: Runs it: tensors positionally, ``attrs`` as keywords.
        shapes: A shape per tensor; those that ``make`` gives may be left out.
        dtypes: The tensors' dtype, or one per tensor.
        attrs: Keyword arguments of ``f``; a tuple is one value.
        low: Smallest value drawn, or one per tensor.
        high: Largest value drawn, or one per tensor (exclusive for integers).
        bound: ``bound(inputs, expected) -> (low, high)``, float64 arrays: the interval that each
            element must lie in; keyword-only parameters of it get the attributes of these names.
            Without it and without a tolerance, what the kernel's own roundings may make.
        second_order: Whether the gradient is differentiated again.
        reference: Computes the exact result from float64 arrays, attributes as keywords; without
            it the kernel on ``cpu`` does, in float64.
        values: The inputs themselves, an array for each, instead of numbers drawn between ``low``
            and ``high``.
        rtol: In place of a bound: what a result may be off, relative to the exact one.
        atol: In place of a bound: what it may be off, in the unit of the result.
        ulp: In place of a bound: what it may be off, in units in the last place.
        tries: More keyword arguments of ``f``, each with a sequence of values: the sample stands
            for a row of every combination.
        make: ``make(rng, n)`` draws the inputs, an array for each, where they depend on each other,
            as offsets and what they point into; a check calls it with every size that it tries.
            Shapes and dtypes are those that it gives; floats have the one dtype that is stated.
        size: What ``make`` is called with for the sample itself.
        domain: The numbers that the kernel is defined for, ``(low, high)``, or one such pair, or
            None for all, per tensor: no case has a number outside of it.
        special: Special values at which results may be anything, which no case has: of ``NaN``,
            ``+Inf``, ``-Inf``, ``zeros``, ``subnormals``, ``halves``, ``edges`` (of integers),
            ``extreme``, ``huge``, ``tiny``.
        waive: Codes of findings that are known and meant, each with the reason: such a finding
            fails no check, and the report shows it with the reason.
    """

    kernel: str
    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = _UNSTATED
    dtypes: str | tuple[str, ...] = "float32"
    attrs: Mapping[str, Any] = field(default_factory=dict)
    low: float | tuple[float, ...] = -2.0
    high: float | tuple[float, ...] = 2.0
    bound: Bound | None = None
    second_order: bool = True
    reference: Callable[..., Any] | None = None
    values: tuple[Any, ...] | None = None
    rtol: float | None = None
    atol: float | None = None
    ulp: float | None = None
    tries: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    make: Callable[[np.random.Generator, int], Sequence[Any]] | None = None
    size: int = 12
    domain: Range | tuple[Range | None, ...] | None = None
    special: tuple[str, ...] = ()
    waive: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse facts of the wrong kind, and those that contradict each other.

        Raises:
            ArgumentError: A fact is none of its kind, or there is a bound and a tolerance, or not
                as many values as shapes, or an attribute is given twice, or the values to try make
                no row, or too many, or ``make`` raises or gives no arrays, or there are no shapes.
        """
        if self.make is not None:
            made = made_inputs(self)
            object.__setattr__(self, "shapes", tuple([one.shape for one in made]))
            object.__setattr__(self, "dtypes", tuple([one.dtype.name for one in made]))
        elif self.shapes is _UNSTATED:
            raise ArgumentError(
                f"Sample: {self.kernel} has no shapes and no make; want one of them."
            )
        check_facts(self)
        if self.bound is not None and self.has_tolerance:
            raise ArgumentError(f"Sample: {self.kernel} has a bound and a tolerance; want one.")
        if self.values is not None and len(self.values) != len(self.shapes):
            count = len(self.values)
            raise ArgumentError(
                f"Sample: {self.kernel} has {count} values; want {len(self.shapes)}."
            )

        self._check_tries()

    def _check_tries(self) -> None:
        clash = [one for one in self.tries if one in self.attrs]
        if clash:
            raise ArgumentError(
                f"Sample: {self.kernel} has {clash[0]!r} in attrs and in tries; want one of them."
            )
        counts = [len(one) for one in self.tries.values()]
        if 0 in counts or math.prod(counts) > MOST_TRIES:
            raise ArgumentError(
                f"Sample: the tries of {self.kernel} make {math.prod(counts)} rows; want 1 to "
                f"{MOST_TRIES}."
            )

    def rows(self) -> tuple[Sample, ...]:
        """Return the sample with each combination of the values to try as attributes."""
        if not self.tries:
            return (self,)
        return tuple(
            replace(
                self, attrs={**self.attrs, **dict(zip(self.tries, values, strict=True))}, tries={}
            )
            for values in itertools.product(*self.tries.values())
        )

    @property
    def has_tolerance(self) -> bool:
        """Whether a tolerance is set rather than derived."""
        return any(one is not None for one in (self.rtol, self.atol, self.ulp))

    @property
    def input_dtypes(self) -> tuple[str, ...]:
        """The dtype of each tensor."""
        if isinstance(self.dtypes, str):
            return (self.dtypes,) * len(self.shapes)
        return self.dtypes

    @property
    def domains(self) -> tuple[Range | None, ...]:
        """The numbers that the kernel is defined for, per tensor; None for all."""
        if self.domain is None or is_range(self.domain):
            return (self.domain,) * len(self.shapes)  # type: ignore[return-value]  # one pair for all
        return self.domain  # type: ignore[return-value]  # a pair, or None, per tensor

    @property
    def id(self) -> str:
        """The row's name in reports: kernel, shapes, dtypes other than float32, attributes."""
        shapes = "_".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        dtypes = "" if set(self.input_dtypes) <= {"float32"} else "-" + "_".join(self.input_dtypes)
        attrs = "".join(f"-{name}={value}" for name, value in self.attrs.items())
        return f"{self.kernel}-{shapes}{dtypes}{attrs}".replace(" ", "")
