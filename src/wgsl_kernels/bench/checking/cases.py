"""Cases that are made from a sample: other sizes, values that are no numbers, other dtypes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.testing.sample import Sample

Array = np.ndarray[Any, Any]

SIZES = (0, 1, 2, 63, 64, 65, 257)
"""Lengths that stand for each length of a sample's shapes in turn."""
MOST_ELEMENTS = 1 << 14
"""Elements of an input of such a case."""


@dataclass(frozen=True)
class Case:
    """One way to call a kernel.

    Attributes:
        sample: The sample that it was made from, with its own shapes and dtypes.
        what: What is special about it: ``size 2 -> 257``, ``NaN``.
        arrays: The inputs' values.
        twins: Other inputs of which the results would be right as well: subnormals flushed,
            zeros of the other sign.
    """

    sample: Sample
    what: str
    arrays: tuple[Array, ...]
    twins: tuple[tuple[Array, ...], ...] = ()

    @property
    def id(self) -> str:
        """The case's name in reports, and what ``--case`` takes."""
        return f"{self.sample.id}/{self.what}"


def plain(sample: Sample) -> Case:
    return Case(sample, "sample", tuple(arrays_for(sample)))


def sized(sample: Sample, groups: Sequence[int] = ()) -> Iterator[Case]:
    """Yield the sample at other sizes; a kernel's shape rule may refuse them.

    Each length of its shapes is replaced, wherever it occurs, so that what must agree still does.

    Args:
        sample: The sample.
        groups: Workgroup sizes of the kernel, around which sizes are of interest.
    """
    if sample.values is not None:
        return
    around = {one + d for one in groups for d in (-1, 0, 1)}
    lengths = sorted({length for shape in sample.shapes for length in shape})
    for length in lengths:
        for size in sorted({*SIZES, *around}):
            if size == length:
                continue
            case = resized(sample, {length: size})
            if case is not None:
                yield case


def resized(sample: Sample, sizes: Mapping[int, int]) -> Case | None:
    """Return the sample with other lengths, None where that is too large or the same."""
    shapes = tuple(tuple(sizes.get(one, one) for one in shape) for shape in sample.shapes)
    if shapes == sample.shapes or max(int(np.prod(one)) for one in shapes) > MOST_ELEMENTS:
        return None
    other = replace(sample, shapes=shapes)
    changes = ", ".join(f"{old} -> {new}" for old, new in sizes.items() if old != new)
    return Case(other, f"size {changes}", tuple(arrays_for(other)))


def named(sample: Sample, text: str) -> Case | None:
    """Return the case of other lengths that a finding's ``repeat`` names, None where it does not.

    A case's name begins with the sample that has its lengths already.
    """
    name, _, what = text.partition("/size ")
    changes = dict(changes_of(what))
    if sample.values is not None or not changes:
        return None
    case = resized(sample, changes)
    return case if case is not None and case.sample.id == name else None


def changes_of(what: str) -> list[tuple[int, int]]:
    """Return the lengths that a case's name says are replaced, each with the new one."""
    return [(int(old), int(new)) for old, new in _CHANGE.findall(what)]


_CHANGE = re.compile(r"(\d+) -> (\d+)")


def special(sample: Sample) -> Iterator[Case]:
    """Yield the sample with values among its inputs that are easily forgotten."""
    if sample.values is not None:
        return
    arrays = arrays_for(sample)
    floats = [n for n, one in enumerate(arrays) if one.dtype.kind in "fc" and one.size]
    if not floats:
        return
    for name, values in _SPECIAL.items():
        if name == "extreme":
            continue
        if name in ("zeros", "subnormals") and not _allows_zero(sample):
            continue
        is_real = all(arrays[n].dtype.kind == "f" for n in floats)
        if name == "subnormals" and not is_real:
            continue
        mixed = [_sprinkled(one, values, n) if n in floats else one for n, one in enumerate(arrays)]
        twins = _twins(mixed) if name in ("zeros", "subnormals") else ()
        yield Case(sample, name, tuple(mixed), twins)


def extreme(sample: Sample) -> Iterator[Case]:
    """Yield the sample with numbers far beyond its range."""
    arrays = arrays_for(sample)
    if sample.values is not None or not any(one.dtype.kind == "f" for one in arrays):
        return
    mixed = [
        _sprinkled(one, _SPECIAL["extreme"], n) if one.dtype.kind == "f" and one.size else one
        for n, one in enumerate(arrays)
    ]
    yield Case(sample, "extreme", tuple(mixed))


def of_dtype(sample: Sample, dtype: str) -> Case:
    """Return the sample with its first dtype replaced, wherever it occurs."""
    first = sample.input_dtypes[0]
    dtypes = tuple(dtype if one == first else one for one in sample.input_dtypes)
    other = replace(sample, dtypes=dtypes)
    if dtype == "float16":  # a bound may have been written for float32 alone
        other = replace(other, bound=None, rtol=2.0**-6, atol=2.0**-7, ulp=None)
    is_narrow = not isinstance(sample.low, tuple) and not isinstance(sample.high, tuple)
    if dtype == "int32" and is_narrow and int(sample.low) >= int(sample.high):  # type: ignore[arg-type]  # no tuples
        other = replace(other, low=-3, high=4)
    return Case(other, dtype, tuple(arrays_for(other)))


_SPECIAL: dict[str, tuple[float, ...]] = {
    "NaN": (float("nan"),),
    "+Inf": (float("inf"),),
    "-Inf": (float("-inf"),),
    "zeros": (0.0, -0.0),
    "subnormals": (1e-40, -1e-42),
    "extreme": (-100.0, 100.0, -90.0, 95.0),
}


def _allows_zero(sample: Sample) -> bool:
    lows = sample.low if isinstance(sample.low, tuple) else (sample.low,)
    highs = sample.high if isinstance(sample.high, tuple) else (sample.high,)
    return max(lows) <= 0 <= min(highs)


def _sprinkled(values: Array, special: Sequence[complex], seed: int) -> Array:
    """Return values with every third of them, at least one, made special."""
    mixed = values.copy()
    flat = mixed.reshape(-1)
    if values.dtype.kind == "c":  # one part of it alone
        special = [complex(a, b) for one in special for a, b in ((one, 1.0), (1.0, one))]
    if values.dtype == np.float16:
        special = [one if abs(one) < 6e4 or not np.isfinite(one) else 11.0 for one in special]
    least = len(special) if values.dtype.kind == "c" else 1  # each part alone
    places = np.random.default_rng(seed).permutation(flat.size)[: max(least, flat.size // 3)]
    for number, place in enumerate(places):
        flat[place] = special[number % len(special)]
    return mixed


def _twins(arrays: Sequence[Array]) -> tuple[tuple[Array, ...], ...]:
    """Return inputs that WGSL lets stand for these: subnormals as zeros, of either sign."""
    found: list[tuple[Array, ...]] = []
    for sign in (None, 0.0, -0.0):
        twin: list[Array] = []
        for one in arrays:
            if one.dtype.kind != "f":
                twin.append(one)
                continue
            tiny = np.abs(one) < np.finfo(one.dtype).tiny
            zero = np.copysign(np.zeros_like(one), one) if sign is None else one.dtype.type(sign)
            twin.append(np.where(tiny, zero, one).astype(numpy_dtype(one.dtype.name)))
        found.append(tuple(twin))
    return tuple(found)
