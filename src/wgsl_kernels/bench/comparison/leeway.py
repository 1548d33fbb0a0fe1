"""Wrong values that are no fault of a kernel: what roundings, bounds and WGSL itself leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.comparison.derived import UNIT, run_derived
from wgsl_kernels.bench.comparison.judging import exact_of, mismatch, states_bound
from wgsl_kernels.testing.bounds import either, offsets
from wgsl_kernels.testing.closeness import equal_or_nan
from wgsl_kernels.testing.inputs import ranges_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.bench.comparison.derived import BoundedResults
    from wgsl_kernels.bench.comparison.judging import Mismatch
    from wgsl_kernels.testing.gradients.evaluation import Array
    from wgsl_kernels.testing.sample import Sample

FEW = 1e-3
"""The share of integers made of floats that may be wrong: roundings decide beside a boundary."""


@dataclass(frozen=True)
class HeldResults:
    """Results that are held against exact ones.

    Attributes:
        sample: What was run; one that states a bound is held to that.
        arrays: Its inputs.
        run: What it gave, and may have given.
        alternatives: The exact results, and others that are as right.
    """

    sample: Sample
    arrays: Sequence[Array]
    run: BoundedResults
    alternatives: Sequence[Sequence[Array]]

    @property
    def exact(self) -> Sequence[Array]:
        """The exact results."""
        return self.alternatives[0]

    def are_right(self, left_out: Sequence[Array]) -> bool:
        """Say whether all are right but those elements that are left out."""
        found = [
            (dtype, np.where(at, exact, values).astype(values.dtype))
            for (dtype, values), at, exact in zip(self.run.found, left_out, self.exact, strict=True)
        ]
        return mismatch(self.run.may.bounds, self.arrays, found, self.alternatives) is None


def may_fall_either_way(arrays: Sequence[Array], wrong: Mismatch) -> bool:
    """Say whether very few integers are wrong that are made of floats, as by rounding."""
    is_whole = np.asarray(wrong.got).dtype.kind in "iu"
    is_of_floats = any(one.dtype.kind == "f" for one in arrays)
    return is_whole and is_of_floats and wrong.count < FEW * wrong.size


def is_of_nothing(sample: Sample, arrays: Sequence[Array], wrong: Mismatch) -> bool:
    """Say whether integers are wrong that NumPy makes of NaN, as of the mean of no elements.

    They are others on each machine.
    """
    if not wrong.is_whole or all(one.size for one in arrays):
        return False

    def is_invalid() -> bool:
        with np.errstate(invalid="raise"):
            exact_of(sample, arrays)
        return False

    return faults.attempted(is_invalid, True, FloatingPointError)


def is_wrong_though_bounded(held: HeldResults) -> bool:
    """Say whether an element is wrong that the shader's own roundings keep finite and near."""
    with only("webgpu", held.sample):
        run = run_derived(held.sample, tensors_for(held.arrays))
    found = [
        (dtype, np.where(_shaped(at, exact), values, exact))
        for (dtype, values), at, exact in zip(run.found, run.may.bounded, held.exact, strict=True)
    ]
    return mismatch(run.may.bounds, held.arrays, found, held.alternatives) is not None


def is_within_sums(held: HeldResults) -> bool:
    """Say whether results are as far off as sums of their terms may be, where these cancel.

    That is n u / (1 - n u) times the sum of the terms' absolute values, which the exact results for
    absolute inputs are of sums and products; where that overflows, a right sum does, too.
    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.5.
    """
    positive = [np.abs(one) if one.dtype.kind == "f" else one for one in held.arrays]
    sizes = faults.attempted(lambda: exact_of(held.sample, positive), None)
    if sizes is None:
        return False
    count = max((one.size for one in held.arrays), default=0)
    left_out: list[Array] = []
    for (_, values), exact, size in zip(held.run.found, held.exact, sizes, strict=True):
        if values.dtype.kind != "f" or size.shape != exact.shape:
            return False
        info = np.finfo(values.dtype)
        off = min(0.5, count * float(info.eps) / 2)
        with np.errstate(all="ignore"):
            near = np.abs(values.astype(np.float64) - exact) <= off / (1 - off) * np.abs(size)
        left_out.append(near | ~(np.abs(size) <= float(info.max)))
    return held.are_right(left_out)


GROSS = 2.0**-7
"""What no roundings explain, of a result."""
COARSE = 2.0**-12
"""What a number is off, of itself, where whole results must not change by it."""
TINY = 1e-30
"""Results below which float32 has no digits that count."""


def is_unsettled(held: HeldResults) -> bool:
    """Say whether all wrong elements change with the last digits of the inputs.

    Roundings may then make as much; whole results, as places, change with more of these digits.
    """
    if not any(one.dtype.kind == "f" for one in held.arrays):
        return False
    given = [beside(held.arrays, part) for part in (0.0, COARSE)]
    found = faults.attempted(lambda: [exact_of(held.sample, one) for one in given], None)
    if found is None:  # numbers beside those of a domain are refused
        return False
    left_out: list[Array] = []
    for (_, values), one, other, coarse in zip(held.run.found, held.exact, *found, strict=True):
        if one.dtype.kind in "biu":
            found, meant, moved = (each.astype(np.float64) for each in (values, one, coarse))
            is_near = np.abs(found - meant) <= GROSS * np.abs(meant)
            left_out.append(is_near | (np.abs(moved - meant) > GROSS * np.abs(meant)))
        else:
            left_out.append(~is_calm(one, other, 1.0))
    return held.are_right(left_out)


def beside(arrays: Sequence[Array], part: float = 0.0) -> tuple[Array, ...]:
    """Return inputs of which each float is above or below, in turn: the next, or by a part."""
    found: list[Array] = []
    for one in arrays:
        side = np.resize(np.array([1, -1], np.float32), one.shape)
        if one.dtype.kind == "f" and part:
            found.append((one * (1 + side * part)).astype(one.dtype))
        else:
            found.append(np.nextafter(one, side * np.inf) if one.dtype == np.float32 else one)
    return tuple(found)


def is_calm(exact: Array, beside: Array, least: float) -> Array:
    """Return which results change by less than is allowed with the last bits of the inputs."""
    if exact.dtype == np.bool_:
        return np.asarray(exact == beside)
    size = least + np.abs(exact)
    return np.asarray((np.abs(exact - beside) <= GROSS / 8 * size) & (size > TINY))


def is_of_infinities(held: HeldResults) -> bool:
    """Say whether all wrong elements are infinite where infinities cancel to NaN by another order.

    What comes of ∞ - ∞ depends on which partial sums a formula has.
    """
    if _has_nan(held.arrays):
        return False
    meant = [
        np.isnan(exact) & np.isinf(values)
        if values.dtype.kind == "f" and values.shape == exact.shape
        else np.zeros(exact.shape, bool)
        for (_, values), exact in zip(held.run.found, held.exact, strict=True)
    ]
    return any(one.any() for one in meant) and held.are_right(meant)


def _has_nan(arrays: Sequence[Array]) -> bool:
    return any(one.dtype.kind == "f" and np.isnan(one).any() for one in arrays)


FEWEST = 16
"""Roundings that are granted at least where nobody knows how many there are."""
COMPLEX = 5**0.5
"""What a product of complex numbers is off, in roundings: Brent, Percival and Zimmermann, Error
bounds on complex floating-point multiplication, 2007."""
SAME = 1e-6
"""How far, of the largest number there, float64 may be from the exact result."""


UNKNOWN = (
    " No bound of its roundings is known here, and these may be the cause. State rtol=, atol= or "
    "bound= in the Sample."
)


def is_unknown(held: HeldResults, wide: Callable[[], Sequence[Array | None] | None]) -> bool:
    """Say whether wrong elements are such as no bound is known of, and may be right.

    They are off by no more than as many roundings of the largest number there as a sum along the
    longest axis has, n u / (1 - n u), and in float64 the same text gives what is exact.
    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1.

    Args:
        held: The results.
        wide: Gives what the text gives in float64; None where that is not known.
    """
    arrays, run, exact = held.arrays, held.run, held.exact
    if states_bound(held.sample) or len(exact) != len(run.found):
        return False
    longest = max((length for one in (*arrays, *exact) for length in one.shape), default=0)
    off = max(longest, FEWEST) * UNIT
    if any(dtype == "complex64" for dtype, _ in run.found):
        off *= COMPLEX
    given = max([_largest(one) for one in arrays if one.dtype.kind in "fc"], default=0.0)
    allowed: list[Array] = []
    for number, (expected, (dtype, values)) in enumerate(zip(exact, run.found, strict=True)):
        if dtype not in ("float32", "complex64") or values.shape != expected.shape:
            return False
        known = run.may.bounded[number] if number < len(run.may.bounded) else None
        size = np.full(expected.shape, off / (1 - off) * max(given, _largest(expected)))
        allowed.append(np.where(_shaped(known, expected), 0.0, size))
    bounds = [
        either(offsets(one, one, 0.0), run.may.bounds[min(number, len(run.may.bounds) - 1)])
        for number, one in enumerate(allowed)
    ]
    if mismatch(bounds, arrays, run.found, [exact]) is not None:
        return False
    return all(
        one is None or bool(_is_same(one, expected).all())
        for one, expected in zip(wide() or [None] * len(exact), exact, strict=True)
    )


def _is_same(wide: Array, exact: Array) -> Array:
    near = np.abs(wide - exact) <= SAME * _largest(exact)
    return np.asarray(near | equal_or_nan(wide, exact))


def _largest(values: Array) -> float:
    sizes = np.abs(values[np.isfinite(values)])
    return float(sizes.max()) if sizes.size else 0.0


def _shaped(at: Array | None, exact: Array) -> Array:
    """Return a mask in the shape of a result; all False where it is of something else."""
    if at is None or at.size != exact.size:
        return np.zeros(exact.shape, bool)
    return at.reshape(exact.shape) & np.isfinite(exact)


def is_reached(held: HeldResults) -> bool:
    """Say whether all wrong elements are such as NaN reaches, or come of infinities as NaN.

    NaN reaches what the exact results are others of, where numbers stand in its place, and along
    one axis what is computed with these, as a row is that is sorted. Where NaN alone is wrong, and
    the exact results have numbers for it, these are meant.
    """
    if held.are_right([_numbers_for_nan(one, held.arrays) for one in held.exact]):
        return False
    filled = [_with_numbers(held.sample, held.arrays, part) for part in (0.0, 0.37, 1.0)]
    found = faults.attempted(lambda: [exact_of(held.sample, one) for one in filled], None)
    if found is None:  # a number that the kernel refuses
        return False
    changed = [
        np.logical_or.reduce([~equal_or_nan(one, another) for another in rest])
        for one, *rest in zip(*found, strict=True)
    ]
    if not _has_nan(held.arrays):
        changed = [np.isnan(one) & at for one, at in zip(held.exact, changed, strict=True)]
    axes = range(max((one.ndim for one in changed), default=0))
    return any(map(held.are_right, _spread(changed, axes)))


def _numbers_for_nan(exact: Array, arrays: Sequence[Array]) -> Array:
    """Return which results are numbers, though the input at the same index is NaN."""
    found = np.zeros(exact.shape, bool)
    for one in arrays:
        if one.dtype.kind == "f" and one.shape == exact.shape:
            found |= np.isnan(one) & ~np.isnan(exact)
    return found


def _spread(changed: Sequence[Array], axes: Sequence[int]) -> Iterator[list[Array]]:
    """Yield which elements have changed, then, along each axis, those in line with them."""
    yield list(changed)
    for axis in axes:
        yield [
            one | one.any(axis=axis, keepdims=True) if axis < one.ndim else one for one in changed
        ]


def _with_numbers(sample: Sample, arrays: Sequence[Array], part: float) -> list[Array]:
    """Return inputs with a number of their range, so far into it, for what is not finite."""
    found: list[Array] = []
    for one, (low, high) in zip(arrays, ranges_of(sample), strict=True):
        if one.dtype.kind == "f":
            number = one.dtype.type(low + part * (high - low))
            found.append(np.where(np.isfinite(one), one, number))
        else:
            found.append(one)
    return found
