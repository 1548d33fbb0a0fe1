"""Cases with values among a sample's inputs that are easily forgotten."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.checking.cases import AXES, Case, attributes_of, grossly, is_drawn
from wgsl_kernels.bench.laws.combined import combined_by
from wgsl_kernels.bench.laws.rows import patterned
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.testing.inputs import arrays_for, ranges_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.bench.checking.cases import Array
    from wgsl_kernels.testing.sample import Sample

_SPECIAL: dict[str, tuple[float, ...]] = {
    "NaN": (float("nan"),),
    "+Inf": (float("inf"),),
    "-Inf": (float("-inf"),),
    "zeros": (0.0, -0.0),
    "subnormals": (1e-40, -1e-42),
}
_FAR: dict[str, tuple[float, ...]] = {
    "extreme": (-100.0, 100.0, -90.0, 95.0),
    "huge": (1e30, -1e30),
    "tiny": (1e-30, -1e-30),
    "halves": (0.5, -0.5, 1.5, -1.5, 2.5, -2.5),
}
"""What need not be in a sample's range."""
TINY, HUGE = 1e-6, 1e6
"""Between these are numbers that a threshold may be: others are guards against 0 and infinity."""


def special(sample: Sample) -> Iterator[Case]:
    """Yield the sample with NaN, infinities, zeros and subnormals among its floats."""
    arrays, floats = _drawn(sample, "fc")
    is_real = all(arrays[n].dtype.kind == "f" for n in floats)
    for name, values in _SPECIAL.items():
        if name in ("zeros", "subnormals") and not _allows_zero(sample):
            continue
        if name == "subnormals" and not is_real:
            continue
        mixed = _mixed(sample, arrays, floats, name, values)
        if mixed is not None:
            twins = _twins(mixed) if name in ("zeros", "subnormals") else ()
            yield Case(sample, name, tuple(mixed), twins)


def zeros(sample: Sample) -> Iterator[Case]:
    """Yield the sample with zeros of both signs; of several inputs each sign meets each."""
    arrays, floats = _drawn(sample, "f")
    values = _SPECIAL["zeros"]
    mixed = _mixed(sample, arrays, floats, "zeros", values) if _allows_zero(sample) else None
    if mixed is None:
        return
    yield Case(sample, "zeros", tuple(mixed), _twins(mixed))
    edges = {n: _inside(sample, n, values) for n in floats}
    for turn in range(2 if len(floats) > 1 else 0):
        met = _cycled(arrays, edges, turn)
        yield Case(sample, f"zeros, turn {turn}", met, _twins(met))


def far(sample: Sample) -> Iterator[Case]:
    """Yield the sample with numbers beyond its range, very large and very small, and halves."""
    arrays, floats = _drawn(sample, "f")
    wide = [n for n in floats if arrays[n].dtype != np.float16]
    for name, values in _FAR.items():
        mixed = _mixed(sample, arrays, wide if name == "tiny" else floats, name, values)
        if mixed is not None:
            yield Case(sample, name, tuple(mixed))


def _drawn(sample: Sample, kinds: str) -> tuple[list[Array], list[int]]:
    """Return the inputs, and the numbers of those of some kinds; none where they are given."""
    if not is_drawn(sample):
        return [], []
    arrays = arrays_for(sample)
    return arrays, [n for n, one in enumerate(arrays) if one.dtype.kind in kinds and one.size]


def _mixed(
    sample: Sample, arrays: list[Array], floats: list[int], name: str, values: Sequence[float]
) -> list[Array] | None:
    """Return the inputs with these values among them, None where the sample excludes them all."""
    if name in sample.special:
        return None
    allowed = {n: _inside(sample, n, _held(arrays[n], values)) for n in floats}
    if name in ("halves", "-Inf"):  # numbers below 0, where a sample draws none, are none of it
        allowed = {
            n: [v for v in some if v > 0 or ranges_of(sample)[n][0] < 0]
            for n, some in allowed.items()
        }
    if not any(allowed.values()):
        return None
    return [
        _sprinkled(one, allowed[n], n) if allowed.get(n) else one for n, one in enumerate(arrays)
    ]


def _held(array: Array, values: Sequence[float]) -> list[float]:
    """Return the values as a dtype can hold them: float16 ends below 65,504."""
    if array.dtype != np.float16:
        return list(values)
    return [
        float(np.copysign(3e4 if abs(one) > 6e4 else abs(one), one)) if np.isfinite(one) else one
        for one in values
    ]


def is_in_domain(case: Case) -> bool:
    """Say whether a sample states a domain for each of its floats, so that a case is inside."""
    pairs = zip(case.sample.input_dtypes, case.sample.domains, strict=True)
    domains = [domain for dtype, domain in pairs if dtype.startswith("float")]
    return bool(domains) and None not in domains


def _inside(sample: Sample, number: int, values: Sequence[float]) -> list[float]:
    """Return those of the values that a tensor's domain has."""
    domain = sample.domains[number]
    return [one for one in values if domain is None or domain[0] <= one <= domain[1]]


def rows(sample: Sample) -> Iterator[tuple[str, Case]]:
    """Yield a sample whose elements are combined with rows of one sign, equal ones, long ones.

    With each is what wrong values are called there; they are held to what no roundings explain.
    """
    combined = combined_by(sample)
    for one in () if combined is None else patterned(sample, combined):
        yield one.code, Case(grossly(one.sample), one.what, one.arrays, is_unforeseen=True)


def edges(sample: Sample) -> Iterator[Case]:
    """Yield the sample with integers at their edges: least, largest, -1, 0, widths of shifts.

    A domain leaves some out, what a sample draws none. Of several integers each edge meets each;
    where all of that is refused, as indices are, one input alone has them.
    """
    arrays, whole = _drawn(sample, "iu")
    values = {n: found for n in whole if (found := _edges_of(sample, n, arrays[n]))}
    if not values or "edges" in sample.special:
        return
    turns = max(map(len, values.values())) if len(values) > 1 else 1
    for turn in range(turns):
        what = f"edges, turn {turn}" if turns > 1 else "edges"
        yield Case(sample, what, _cycled(arrays, values, turn))
    for alone in values if len(values) > 1 else ():
        yield Case(sample, f"edges of input {alone}", _cycled(arrays, {alone: values[alone]}))


def indices(sample: Sample) -> Iterator[Case]:
    """Yield the sample with integers that are no indices of its tensors: -1, and beyond each axis.

    One input at a time has them, unless the sample says by a domain which numbers it may have.
    """
    arrays, whole = _drawn(sample, "iu")
    for number in whole if "edges" not in sample.special else ():
        lengths = {n for at, other in enumerate(arrays) if at != number for n in other.shape}
        least = [-1] if arrays[number].dtype.kind == "i" else []
        beyond = [*least, *sorted(n + more for n in lengths for more in (0, 3))]
        if lengths and sample.domains[number] is None:
            what = f"no indices in input {number}"
            yield Case(sample, what, _cycled(arrays, {number: beyond}))


def beyond_arrays(sample: Sample, lengths: Sequence[int]) -> Iterator[Case]:
    """Yield the sample with integer attributes as large as a shader's own arrays, and by 1 larger.

    Integers among its inputs are beside these lengths, too.
    """
    integers = [name for name, value in attributes_of(sample).items() if type(value) is int]
    counts = [name for name in integers if name not in AXES]
    arrays, whole = _drawn(sample, "iu")
    for name in counts if is_drawn(sample) else ():
        for value in (one + more for one in lengths for more in (0, 1)):
            changed = replace(sample, attrs={**sample.attrs, name: value})
            near = {n: _inside(sample, n, [value - 1, value, value + 1]) for n in whole}
            met = _cycled(arrays, near)
            yield Case(changed, f"{name}={value}", met, is_unforeseen=True)


MOST_THRESHOLDS = 8
"""Numbers that a shader compares with which are tried."""


def thresholds(sample: Sample, compared: Sequence[float | str]) -> Iterator[Case]:
    """Yield the sample with each number that a shader compares with, and those beside it.

    Of both signs, as it may compare what ``abs`` gives. Of an attribute the nearest number of few
    digits is tried, which all dtypes hold.

    Args:
        sample: The sample.
        compared: Numbers, and names of attributes.
    """
    attrs = attributes_of(sample)
    for one in compared[:MOST_THRESHOLDS]:
        value = attrs.get(one) if isinstance(one, str) else one
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        if not TINY < abs(value) < HUGE:
            continue
        tried = sample
        if isinstance(one, str) and isinstance(value, float):
            fraction, exponent = math.frexp(value)
            value = math.ldexp(round(fraction * 256), exponent - 8)
            tried = replace(sample, attrs={**sample.attrs, one: value})
        arrays, numbers = _drawn(tried, "fiu")
        near = {n: _beside(tried, n, arrays[n].dtype, value) for n in numbers}
        if any(near.values()):
            ranges = ranges_of(tried)
            is_far = any(not ranges[n][0] <= v <= ranges[n][1] for n in near for v in near[n])
            mixed = [_among(x, near.get(n, [])) for n, x in enumerate(arrays)]
            is_own = tried.attrs == sample.attrs and not is_far
            held = tried if is_own else grossly(tried)
            yield Case(held, f"at {one}={value}", tuple(mixed))
            if len(near) > 1:  # so that each meets 0, and is equal to another
                met = [
                    np.random.default_rng(n).choice(pool, x.shape).astype(x.dtype)
                    if n in near and (pool := _inside(tried, n, [0.0, value, -value]))
                    else x
                    for n, x in enumerate(arrays)
                ]
                yield Case(held, f"at {one}={value}, met", tuple(met))


def _beside(sample: Sample, number: int, dtype: np.dtype[Any], value: float) -> list[float]:
    """Return a number, if an input's dtype holds it, its neighbours, and the same below 0."""
    if dtype.kind in "iu":
        found = [value, value - 1, value + 1] if value == int(value) else []
    else:
        near = dtype.type(value)
        sides = [float(np.nextafter(near, dtype.type(to))) for to in (-np.inf, np.inf)]
        found = [*([value] if near == value else []), *sides]
    signed = [one * sign for one in found for sign in (1, -1)]
    is_signed = ranges_of(sample)[number][0] < 0
    return _inside(sample, number, [one for one in signed if one >= 0 or is_signed])


def _among(values: Array, numbers: Sequence[float]) -> Array:
    """Return values with numbers in half of their places, each at least once."""
    if not numbers or not values.size:
        return values
    mixed = values.copy()
    count = min(values.size, max(len(numbers), values.size // 2))
    places = np.random.default_rng(0).permutation(values.size)[:count]
    mixed.flat[places] = np.resize(np.array(numbers), count).astype(values.dtype)
    return mixed


FAR_MEAN = 512.0
"""How far the mean is from 0, in widths of the range that numbers are drawn from."""


def shifted(sample: Sample) -> Iterator[Case]:
    """Yield the sample with a mean that is large against the deviation of its float32 inputs."""
    arrays, floats = _drawn(sample, "f")
    moved = list(arrays)
    for n in floats:
        low, high = ranges_of(sample)[n]
        mean = FAR_MEAN * (high - low)
        is_moved = arrays[n].dtype == np.float32 and arrays[n].ndim and _inside(sample, n, [mean])
        if is_moved:
            moved[n] = arrays[n] + np.float32(mean)
    yield from _if_changed(sample, "large mean", arrays, moved)


def _if_changed(
    sample: Sample, what: str, before: Sequence[Array], arrays: Sequence[Array]
) -> Iterator[Case]:
    if any(one is not other for one, other in zip(before, arrays, strict=True)):
        yield Case(sample, what, tuple(arrays))


def at_ends(sample: Sample) -> Case | None:
    """Return the sample with its float32 numbers near both ends of their range, and near 0."""
    if not is_drawn(sample):
        return None
    arrays, floats = _drawn(sample, "f")
    parts = np.array([0.0, 1.0, 1 / 64, 63 / 64, 1 / 16, 15 / 16])
    for n in floats:
        low, high = ranges_of(sample)[n]
        if arrays[n].dtype == np.float32:
            near = [one for one in (low / 700, high / 900) if low < 0 < high]
            ends = np.resize([*near, *(low + parts * (high - low))], arrays[n].shape)
            arrays[n] = ends.astype(np.float32)
    return Case(sample, "ends", tuple(arrays))


LARGEST = {"float16": 2.0**7, "float32": 1e15}
"""How far from 0 numbers of a domain are tried where elements meet: their squares are finite."""
SMALLEST = 2.0**-16
"""How much smaller than the end of a domain numbers of every size are."""
NEAR_END = 2.0**-6
"""The part of a domain that is near an end."""


def of_domain(sample: Sample) -> Iterator[Case]:
    """Yield the sample with numbers of the domain that it states, where that is wider than drawn.

    They are of every size, then all near the one end, and all near the other; each end is there.
    """
    arrays, numbers = _drawn(sample, "fiu")
    draw = np.random.default_rng(len(arrays))
    for what in ("whole domain", "low end", "high end"):
        mixed = list(arrays)
        for n in numbers:
            ends = _wider(sample, n, arrays[n].dtype)
            if not ends or (what != "whole domain" and what not in ends):
                continue
            low, high = ends["low"], ends["high"]
            part = np.asarray(draw.uniform(0, 1, arrays[n].shape))
            if what == "whole domain":
                sides = draw.choice([low, high], part.shape) * SMALLEST**part
                values, first = np.clip(sides, low, high), [low, high]
            else:
                other = low + high - ends[what]
                values, first = ends[what] + NEAR_END * part * (other - ends[what]), [ends[what]]
            mixed[n] = np.array(values).astype(arrays[n].dtype)
            mixed[n].flat[: len(first)] = first[: mixed[n].size]
        yield from _if_changed(sample, what, arrays, mixed)


def _wider(sample: Sample, number: int, dtype: np.dtype[Any]) -> dict[str, float]:
    """Return the ends of a domain, also those that are beyond what is drawn; nothing if none is."""
    domain = sample.domains[number]
    if domain is None:
        return {}
    drawn = ranges_of(sample)[number]
    most = LARGEST.get(dtype.name) or float(np.iinfo(dtype).max)
    low, high = max(domain[0], -most), min(domain[1], most)
    beyond = {"low end": low} if low < drawn[0] else {}
    if high > drawn[1] - (dtype.kind in "iu"):
        beyond["high end"] = high
    return {"low": low, "high": high, **beyond} if beyond and low < high else {}


def of_one_sign(sample: Sample) -> Iterator[Case]:
    """Yield the sample with floats that are all below 0, and all above, of the size of its own."""
    arrays, floats = _drawn(sample, "f")
    for what, sign in (("all below 0", -1), ("all above 0", 1)):
        mixed = list(arrays)
        for n in floats:
            low, high = ranges_of(sample)[n]
            if low < 0 < high:
                size = np.minimum(np.abs(arrays[n]), min(-low, high))
                mixed[n] = (sign * size).astype(arrays[n].dtype)
        yield from _if_changed(grossly(sample), what, arrays, mixed)


def infinite(sample: Sample) -> Iterator[Case]:
    """Yield the sample with floats that all are an infinity, one input alone and all of them."""
    arrays, floats = _drawn(sample, "f")
    for name in ("-Inf", "+Inf"):
        for chosen in dict.fromkeys([(floats[0],), tuple(floats)] if floats else ()):
            mixed = _mixed(sample, arrays, list(chosen), name, _SPECIAL[name])
            if mixed is not None:
                where = "" if len(chosen) == len(floats) else f" in input {floats[0]}"
                whole = [
                    np.full_like(one, _SPECIAL[name][0]) if one is not given else one
                    for one, given in zip(mixed, arrays, strict=True)
                ]
                yield Case(sample, f"all {name}{where}", tuple(whole))


def beyond_floats(sample: Sample) -> Case | None:
    """Return the sample with integers that float32 does not hold, None where it takes none."""
    if not is_drawn(sample):
        return None
    arrays = arrays_for(sample)
    draw = np.random.default_rng(0)
    for n, one in enumerate(arrays):
        odd = 2 * draw.integers(1 << 24, 1 << 25, one.shape) + 1
        inside = np.isin(odd, _inside(sample, n, odd.ravel().tolist()))
        if one.dtype in (np.int32, np.uint32):
            arrays[n] = np.where(inside, odd, one).astype(one.dtype)
    return Case(sample, "beyond float32", tuple(arrays))


def squared_beyond_halves(sample: Sample) -> Case | None:
    """Return the sample with numbers whose squares no float16 holds, None where it has none."""
    arrays, floats = _drawn(sample, "f")
    halves = [n for n in floats if arrays[n].dtype == np.float16]
    mixed = _mixed(sample, arrays, halves, "extreme", (300.0, -260.0))
    return None if mixed is None else Case(sample, "squares beyond float16", tuple(mixed))


def _edges_of(sample: Sample, number: int, array: Array) -> list[int]:
    info = np.iinfo(array.dtype)
    below = [info.min, -1] if info.min else []
    found = [int(one) for one in _inside(sample, number, [*below, 0, info.max, 31, 1, 32, 33])]
    ends = [int(np.clip(one, info.min, info.max)) for one in sample.domains[number] or ()]
    return [*dict.fromkeys([*found, *ends])]


def _cycled(
    arrays: Sequence[Array], edges: Mapping[int, Sequence[float]], turn: int = 0
) -> tuple[Array, ...]:
    """Return inputs of which some have their edges in turn, and one number between rounds.

    Those of the first begin with the first, of others with that of the turn.
    """
    found = list(arrays)
    for n, some in edges.items():
        at = np.arange(found[n].size)
        if some:
            met = np.array(some)[(at + turn * (n != min(edges))) % len(some)]
            mixed = np.where(at % (len(some) + 1) < len(some), met, found[n].ravel())
            found[n] = mixed.astype(found[n].dtype).reshape(found[n].shape)
    return tuple(found)


def _allows_zero(sample: Sample) -> bool:
    return all(low <= 0 <= high for low, high in ranges_of(sample))


def _sprinkled(values: Array, special: Sequence[complex], seed: int) -> Array:
    """Return values with every third of them, at least one, made special."""
    mixed = values.copy()
    flat = mixed.reshape(-1)
    if values.dtype.kind == "c":  # one part of it alone
        special = [complex(a, b) for one in special for a, b in ((one, 1.0), (1.0, one))]
    least = len(special) if values.dtype.kind == "c" else 1  # each part alone
    places = np.random.default_rng(seed).permutation(flat.size)[: max(least, flat.size // 3)]
    flat[places] = np.resize(special, len(places))
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
