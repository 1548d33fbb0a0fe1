"""Holding results against exact ones: errors and what they may be, element by element."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.bench.comparison.patterns import pattern
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.testing.bounds import contains, tolerance, ulp
from wgsl_kernels.testing.closeness import largest_at, spacing
from wgsl_kernels.testing.gradients.differences import distance
from wgsl_kernels.testing.gradients.evaluation import (
    Array,
    is_smooth,
    outputs_of,
    wide_tensor,
    widened,
)
from wgsl_kernels.testing.inputs import call_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.testing.sample import Bound, Sample

_NARROW = {"float64": "float32", "complex128": "complex64"}
_DEFAULT_BOUND = ulp(4)


class Errors(NamedTuple):
    """What a result is off, per element.

    Attributes:
        error: The distance from the exact result, in its unit; above ``allowed`` where it is wrong.
        allowed: What the distance may be.
        unit: One unit in the last place of the exact result.
    """

    error: Array
    allowed: Array
    unit: Array

    @property
    def wrong(self) -> Array:
        """Which elements are outside of their interval."""
        return np.asarray(~(self.error <= self.allowed))

    @property
    def used(self) -> Array:
        """The part of what it may be off that each element is off, above 1 where it is wrong."""
        with np.errstate(all="ignore"):
            return np.where(self.error == 0, 0.0, self.error / self.allowed)


@dataclass(frozen=True)
class Mismatch:
    """The element of a result that is furthest from what it may be.

    Attributes:
        what: ``output 0``, or why the result cannot be compared.
        index: Where, by axes.
        got: What the kernel gave.
        expected: The exact value, of the nearest alternative.
        error: The distance, in the unit of the values.
        allowed: What it may be.
        ulps: The distance in units in the last place.
        count: How many elements are wrong.
        size: Of how many.
        inputs: The inputs' values there, where they have such an element.
        pattern: What wrong elements have in common.
    """

    what: str
    index: tuple[int, ...] = ()
    got: Any = None
    expected: Any = None
    error: float = 0.0
    allowed: float = 0.0
    ulps: float = 0.0
    count: int = 0
    size: int = 0
    inputs: tuple[Any, ...] = ()
    pattern: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether values are integers or truths, which have no roundings."""
        return np.asarray(self.got).dtype.kind in "biu"

    def evidence(self) -> tuple[tuple[str, str], ...]:
        """Return what shows it, as a finding has it."""
        if self.got is None:
            return ()
        pairs = [("got", f"{self.got}"), ("expected", f"{self.expected}")]
        if self.inputs:
            pairs.append(("inputs", ", ".join("–" if v is None else f"{v}" for v in self.inputs)))
        pairs.append(("index", f"{list(self.index)} of {self.what}"))
        if self.is_whole:
            pairs.append(("off", f"{abs(int(self.got) - int(self.expected))}"))
        elif np.isfinite(self.error):
            pairs.append(("off", f"{self.error:.3g}, {self.ulps:.3g} ULP"))
        pairs.append(("allowed", f"{self.allowed:.3g}"))
        more = f", {self.pattern}" if self.pattern else ""
        pairs.append(("wrong", f"{self.count} of {self.size} elements{more}"))
        return tuple(pairs)


def states_bound(sample: Sample) -> bool:
    """Say whether a sample tells what its results may be."""
    return sample.bound is not None or sample.has_tolerance


def bound_of(sample: Sample) -> Bound:
    """Return what the results of a sample are held against where no shader tells."""
    if sample.bound is not None:
        wanted = set(parameters_of(sample.bound).keyword_only) & set(sample.attrs)
        chosen = {name: sample.attrs[name] for name in wanted}
        return functools.partial(sample.bound, **chosen) if chosen else sample.bound
    if sample.has_tolerance:
        return tolerance(sample.rtol, sample.atol, sample.ulp)
    return _DEFAULT_BOUND


def exact_of(sample: Sample, arrays: Sequence[Array]) -> list[Array]:
    """Return the exact results for these inputs, in double precision."""
    if sample.reference is not None:
        found = sample.reference(*[widened(one) for one in arrays], **sample.attrs)
        return [np.asarray(one) for one in (found if isinstance(found, (tuple, list)) else [found])]
    with double_precision():
        tensors = [wide_tensor(one) for one in arrays]
        return [one.numpy() for one in outputs_of(call_of(sample), tensors)]


def errors_of(
    bound: Bound, inputs: Sequence[Array], actual: Array, expected: Array, dtype: str
) -> Errors | str:
    """Return what a result is off, or why it cannot be compared.

    Args:
        bound: What is allowed.
        inputs: The inputs' values, in double precision.
        actual: The result.
        expected: The exact one.
        dtype: The result's dtype.
    """
    name = "string" if expected.dtype == object else expected.dtype.name
    fitting = {_NARROW.get(name, name), name} | ({"float16"} if name == "float64" else set())
    if actual.shape != expected.shape or dtype not in fitting:
        return f"is {list(actual.shape)} {dtype}, want {list(expected.shape)} {name}"
    if not is_smooth(expected):
        equal = np.asarray(actual == expected)
        error, unit = np.where(equal, 0.0, 1.0), np.ones(equal.shape)
        return Errors(error, np.zeros(equal.shape), unit)
    rounded = expected.astype(np.float16) if dtype == "float16" else expected
    given = bound(inputs, rounded)
    try:
        low, high = given
    except (TypeError, ValueError):
        words = f"bound: it gave {type(given).__name__}; give the pair (low, high) of arrays"
        raise ArgumentError(words) from None
    value = widened(actual)
    inside = contains((low, high), value)
    allowed = np.maximum(distance(high, expected), distance(expected, low))
    error = distance(value, widened(expected))
    error = np.where(inside, np.minimum(error, allowed), np.maximum(error, allowed * 1.01))
    error = np.where(~inside & (error == 0), np.inf, error)
    return Errors(error, allowed, spacing(np.abs(expected), actual.dtype))


def wrong_elements(bound: Bound, inputs: Sequence[Array], actual: Array, expected: Array) -> Array:
    """Return which elements of a result are outside of a bound; none where shapes differ."""
    errors = errors_of(bound, inputs, actual, expected, actual.dtype.name)
    return np.zeros(actual.shape, bool) if isinstance(errors, str) else errors.wrong


def wide_inputs(arrays: Sequence[Array]) -> list[Array]:
    """Return inputs as bounds take them: numbers in double precision, strings as they are."""
    return [
        one if one.dtype == object else one.astype(np.result_type(one, float)) for one in arrays
    ]


def mismatch(
    bounds: Sequence[Bound],
    arrays: Sequence[Array],
    found: Sequence[tuple[str, Array]],
    alternatives: Sequence[Sequence[Array]],
    names: Sequence[str] = (),
) -> Mismatch | None:
    """Return the worst wrong element of results, None where all are right.

    Args:
        bounds: What is allowed, for each result; one alone for all.
        arrays: The inputs.
        found: The results, each with its dtype.
        alternatives: Exact results; an element may be that of any of them.
        names: What the inputs are called.
    """
    if len(names) != len(arrays):
        names = [f"input {number}" for number in range(len(arrays))]
    if len(found) != len(alternatives[0]):
        return Mismatch(f"got {len(found)} outputs, want {len(alternatives[0])}")
    inputs = wide_inputs(arrays)
    for number, (dtype, actual) in enumerate(found):
        what, bound = f"output {number}", bounds[min(number, len(bounds) - 1)]
        best: Errors | None = None
        other = ""
        expected = alternatives[0][number]
        for exact in alternatives:
            with np.errstate(all="ignore"):
                errors = errors_of(bound, inputs, actual, exact[number], dtype)
            if isinstance(errors, str):
                other = errors
            elif best is None or best.error.shape != errors.error.shape:
                best = errors
            else:
                best = _nearest(best, errors)
        if best is None:
            return Mismatch(f"{what} {other}")
        if best.error.size and best.wrong.any():
            return _worst(what, best, actual, expected, arrays, names)
    return None


def _nearest(one: Errors, two: Errors) -> Errors:
    """Return, per element, that of two comparisons which is right, or less wrong."""
    first = ~one.wrong | (two.wrong & (one.error <= two.error))
    return Errors(*(np.where(first, a, b) for a, b in zip(one, two, strict=True)))


def _worst(
    what: str,
    errors: Errors,
    actual: Array,
    expected: Array,
    arrays: Sequence[Array],
    names: Sequence[str],
) -> Mismatch:
    wrong = errors.wrong
    error = np.where(wrong, errors.error, -1.0)
    at = largest_at(error)
    return Mismatch(
        what,
        at,
        actual[at],
        expected[at],
        float(errors.error[at]),
        float(errors.allowed[at]),
        float(errors.error[at] / errors.unit[at]),
        int(wrong.sum()),
        int(wrong.size),
        tuple(_at(one, actual.shape, at) for one in arrays),
        pattern(wrong, arrays, names),
    )


def _at(values: Array, shape: tuple[int, ...], index: tuple[int, ...]) -> Any:
    """Return an input's element at an index of the output, None where they do not broadcast."""
    try:
        return np.broadcast_to(values, shape)[index]
    except ValueError:
        return None
