"""Elements to try the laws of accumulators with: of a sample's numbers, and patterns in these."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.testing.inputs import arrays_for, ranges_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.testing.sample import Range, Sample

Array = np.ndarray[Any, Any]

COUNT = 24
"""Trials of one pattern."""
NEAR, FAR = 2.0**8, 2.0**14
"""How far from 0 numbers are tried beyond a range; where a domain has them, farther, too."""
FARTHEST = 1e30
"""How far from 0 numbers are tried at most: sums and squares of a few are finite in float64."""
BITS = 20
"""Bits of a number that is drawn, so that sums and products of a few are exact in float64."""


@dataclass(frozen=True)
class Trials:
    """Elements of one input, for many trials at once.

    Attributes:
        values: One row for each element, one column for each trial.
        patterns: What is special about each trial.
        is_far: Whether its numbers are outside of what the sample states.
    """

    values: Array
    patterns: tuple[str, ...]
    is_far: Array


def trials(sample: Sample, given: Array, elements: int, count: int = COUNT) -> Trials:
    """Return trials of so many elements each.

    Args:
        sample: The sample, whose ranges and domains are kept.
        given: What it gives the kernel as this input.
        elements: How many elements a trial has.
        count: How many trials have one pattern.
    """
    draw = np.random.default_rng(zlib.crc32(sample.id.encode()))
    shape = (elements, count)
    stated = _stated(sample, given)
    if stated is None or given.dtype.kind not in "fiu":
        found = [(name, one, False) for name, one in _of_pool(draw, given, shape)]
    else:
        found = list(_of_range(draw, given.dtype, *stated, shape))
    values = np.concatenate([one for _, one, _ in found], axis=1)
    patterns = tuple([name for name, *_ in found for _ in range(count)])
    is_far = np.repeat([far for *_, far in found], count)
    return Trials(values.astype(given.dtype), patterns, is_far)


def _stated(sample: Sample, given: Array) -> tuple[Range, Range | None] | None:
    """Return the range and the domain of an input, None where it is computed, or given."""
    if sample.make is not None or sample.values is not None:
        return None
    for one, range_, domain in zip(
        arrays_for(sample), ranges_of(sample), sample.domains, strict=True
    ):
        if one.shape == given.shape and one.dtype != object and np.array_equal(one, given):
            return range_, domain
    return None


def _patterns(draw: np.random.Generator, pool: Array, shape: tuple[int, int]) -> Iterator[Array]:
    """Yield numbers of a pool as they come, equal ones, and few kinds of them."""
    yield draw.choice(pool, shape)
    yield np.broadcast_to(draw.choice(pool, (1, shape[1])), shape)
    kinds = draw.choice(pool, (3, shape[1]))
    yield np.take_along_axis(kinds, draw.integers(0, len(kinds), shape), axis=0)


DRAWN = "as drawn"
_NAMES = ("{}", "{}, all equal", "{}, of few kinds")


def _of_pool(
    draw: np.random.Generator, given: Array, shape: tuple[int, int]
) -> Iterator[tuple[str, Array]]:
    pools = {DRAWN: given}
    if given.dtype.kind in "fi":
        pools |= {"numbers below 0": given[given < 0], "numbers above 0": given[given > 0]}
        pools |= {"zeros": given[given == 0]}
    for name, pool in pools.items():
        if pool.size:
            for form, one in zip(_NAMES, _patterns(draw, pool.ravel(), shape), strict=True):
                yield form.format(name), one


def _of_range(
    draw: np.random.Generator,
    dtype: np.dtype[Any],
    range_: Range,
    domain: Range | None,
    shape: tuple[int, int],
) -> Iterator[tuple[str, Array, bool]]:
    for name, (low, high), far in _ranges(dtype, range_, domain):
        pool = _drawn(draw, dtype, low, high)
        for form, one in zip(_NAMES, _patterns(draw, pool, shape), strict=True):
            yield form.format(name), one, far
    low, high = domain or range_
    if low <= 0 <= high:
        yield "zeros", np.zeros(shape), False


def _ranges(
    dtype: np.dtype[Any], range_: Range, domain: Range | None
) -> Iterator[tuple[str, Range, bool]]:
    """Yield ranges within a range, and then beyond it; these are far where no domain has them."""
    low, high = range_
    yield DRAWN, (low, high), False
    if low < 0 < high:
        yield "numbers below 0", (low, -1 if dtype.kind == "i" else low / 64), False
        yield "numbers above 0", (1 if dtype.kind in "iu" else high / 64, high), False
    if dtype.kind != "f":
        return
    end = FARTHEST if domain else FAR
    least, most = domain or (-end if low < 0 else low, end if high > 0 else high)
    least, most = max(least, -end), min(most, end)
    beyond: dict[Range, str] = {}
    for size in (NEAR, FAR, FARTHEST):
        if most > high:
            beyond[max(least, min(most, size) / 4), min(most, size)] = "large numbers"
        if least < low:
            beyond[max(least, -size), min(most, max(least, -size) / 4)] = "numbers far below 0"
    for one, name in beyond.items():
        if one[0] < one[1]:
            yield name, one, domain is None
    if domain is not None and (least < low or most > high):
        yield "the whole domain", (least, most), False


def _drawn(draw: np.random.Generator, dtype: np.dtype[Any], low: float, high: float) -> Array:
    """Return numbers of a range, floats with few bits."""
    if dtype.kind in "iu":
        return draw.integers(int(low), max(int(high), int(low) + 1), 4 * COUNT)
    found = draw.uniform(low, high, 4 * COUNT)
    fraction, exponent = np.frexp(found)
    few = np.ldexp(np.round(np.ldexp(fraction, BITS)), exponent - BITS)
    return np.asarray(np.clip(few, low, high))
