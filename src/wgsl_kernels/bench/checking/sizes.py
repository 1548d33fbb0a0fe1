"""Cases that are made from a sample by other lengths, and the smallest that still fails."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import time
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wgsl_kernels.bench.checking.cases import FURTHER, Case, is_drawn, is_taken
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.values.dtypes import INTEGERS
from wgsl_kernels.testing.inputs import arrays_for, ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.bench.checking.cases import Array
    from wgsl_kernels.bench.checking.subject import Subject
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding

Position: TypeAlias = "tuple[int, int]"
"""A tensor's number and one of its axes."""

MOST_RUNS = 24
"""How often a case that fails is run to make it smaller."""
SIZES = (0, 1, 2, 63, 64, 65, 257)
"""Lengths that stand for each length of a sample's shapes in turn."""
MOST_ELEMENTS = 1 << 14
"""Elements of an input of such a case."""
UNTIED = (7, 5)
"""What one of several equal lengths becomes: the first that it is not already."""
MOST_UNTIED = 24
"""Cases of untied lengths that are made from a sample."""
BOTH = 129
"""A length above two workgroups, for two axes at once; the second is two more."""
BEYOND = 1 << 16
"""Elements that an index of 16 bits cannot tell apart."""
TIMED = (257, 1030)
"""Lengths whose times tell how long a large case takes."""
SLOW = 0.125
"""Seconds that the first of these may take."""
CHEAP = 0.5
"""Seconds that a large case may take."""
LONG = 1 << 14
"""A length of float16 inputs that is long: running sums along it lose their digits."""
MOST_LARGE = (1 << 17) + 14
"""Elements of an input of a case that is large: twice a length above 65,536."""


def sized(
    sample: Sample, groups: Sequence[int] = (), among: Sequence[int] = SIZES
) -> Iterator[Case]:
    """Yield the sample at other sizes; a kernel's shape rule may refuse them.

    Each length of its shapes is replaced, wherever it occurs, so that what must agree still does.

    Args:
        sample: The sample.
        groups: Workgroup sizes of the kernel, around which sizes are of interest.
        among: The other sizes.
    """
    around = {one + d for one in groups for d in (-1, 0, 1)}
    for length in lengths_of(sample):
        for size in sorted({*among, *around} - {length}):
            yield from _if_made(resized(sample, {length: size}))


def further(
    sample: Sample, tried: Sequence[Case], refused: Sequence[tuple[Case, Exception]]
) -> Iterator[Case]:
    """Yield the sample with a length that is the next larger one, where no larger one was taken.

    So a filter that must fit into an image has another size. Who takes a case adds it to ``tried``,
    and to ``refused``: then the next is tried.
    """
    for length in lengths_of(sample):
        for more in FURTHER:
            taken = {case.what for case in tried} - {case.what for case, _ in refused}
            found = [change for what in taken for change in changes_of(what)]
            if not any(old == length < new for old, new in found):
                yield from _if_made(resized(sample, {length: length + more}))


def refused(subject: Subject, tried: Sequence[Case]) -> Iterator[list[Finding]]:
    """Yield a remark on lengths that nothing checks: the CPU kernel refuses them, or all are.

    A signature may refuse what it likes, and NumPy what is empty.
    """
    by_cpu = [
        (case, error)
        for case, error in subject.refused
        if all(one.size for one in case.arrays) and is_from_cpu_kernel(subject, error)
    ]
    if not by_cpu and not 0 < len(tried) == len(subject.refused):
        return
    case, error = by_cpu[0] if by_cpu else subject.refused[0]
    first = (str(error).splitlines() or ["no words"])[0].rstrip(".")
    said = f"{type(error).__name__}: {first}"
    if by_cpu:
        words = (
            f"the cpu kernel refuses {len(by_cpu)} of {len(tried)} sizes that the signature takes, "
            f"which are not checked; {said}. Refuse them in the signature, or {_FITTING}."
        )
        yield [subject.finding("refused-size", words, "cpu", evidence=(("case", case.id),))]
    else:
        words = (
            f"no other size is checked, as the signature refuses all {len(tried)}; {said}. Add "
            f"a sample of other shapes, or {_FITTING}."
        )
        yield [subject.finding("refused-size", words, evidence=(("case", case.id),))]


_FITTING = "draw inputs that fit, by make= or domain= of Sample"


def is_from_cpu_kernel(subject: Subject, error: Exception) -> bool:
    """Say whether a kernel of the author's for cpu raised, or what it called."""
    kernel = get_kernel(subject.name, "cpu")
    code = None if kernel is None else getattr(inspect.unwrap(kernel.func), "__code__", None)
    cause: BaseException | None = error
    while cause is not None:
        if any(frame.f_code is code for frame, _ in traceback.walk_tb(cause.__traceback__)):
            return True
        cause = cause.__cause__
    return False


def lengths_of(sample: Sample) -> list[int]:
    """Return the lengths that can be replaced: of inputs that are drawn, the size alone."""
    if sample.make is not None:
        return [sample.size]
    return sorted({length for shape in sample.shapes for length in shape})


def resized(sample: Sample, sizes: Mapping[int, int], most: int = MOST_ELEMENTS) -> Case | None:
    """Return the sample with other lengths, None where they are too large or the same.

    None also for inputs that the sample gives, of which there are no others.
    """
    changes = ", ".join(f"{old} -> {new}" for old, new in sizes.items() if old != new)
    if sample.make is not None:
        size = sizes.get(sample.size, sample.size)
        if size == sample.size:
            return None
        return _case(replace(sample, size=size), f"size {changes}", most)
    shapes = tuple(tuple(sizes.get(one, one) for one in shape) for shape in sample.shapes)
    return None if shapes == sample.shapes else _shaped(sample, shapes, f"size {changes}", most)


def _shaped(
    sample: Sample, shapes: tuple[tuple[int, ...], ...], what: str, most: int
) -> Case | None:
    if sample.values is not None or max((math.prod(one) for one in shapes), default=0) > most:
        return None
    within = _still_inside(sample, shapes)
    return None if within is None else _case(replace(within, shapes=shapes), what, most)


def _still_inside(sample: Sample, shapes: Sequence[tuple[int, ...]]) -> Sample | None:
    """Return the sample with integers of a stated domain below the lengths that they may point at.

    None where such a length becomes 0, so that there is no number to draw.
    """
    ranges = ranges_of(sample)
    for number, (dtype, domain) in enumerate(zip(sample.input_dtypes, sample.domains, strict=True)):
        if domain is None or dtype not in INTEGERS:
            continue
        shorter = [
            new
            for at, (before, after) in enumerate(zip(sample.shapes, shapes, strict=True))
            for old, new in zip(before, after, strict=True)
            if at != number and new < old and domain[1] < old
        ]
        low, high = ranges[number]
        ranges[number] = low, min([high, *shorter])
        if ranges[number][1] <= low and np.prod(shapes[number]):
            return None
    if ranges == ranges_of(sample):
        return sample
    return replace(
        sample,
        low=tuple([low for low, _ in ranges]),
        high=tuple([max(low, high) for low, high in ranges]),
    )


def _case(sample: Sample, what: str, most: int) -> Case | None:
    with np.errstate(over="ignore"):  # what float16 cannot hold is infinite
        arrays = tuple(arrays_for(sample))
    if max((one.size for one in arrays), default=0) > most:
        return None
    if sample.make is None:
        arrays = tuple([_with_ends_behind(one) for one in arrays])
    is_untied = what.startswith("shapes")
    return Case(sample, what, arrays, is_unforeseen=is_untied)


def _with_ends_behind(values: Array) -> Array:
    """Return values whose largest and least are the last along an axis beyond 65,536.

    So places of 16 bits are too few for what finds them.
    """
    if (
        values.dtype.kind not in "fiu"
        or not values.size
        or max(values.shape, default=0) <= BEYOND + 1
    ):
        return values
    axis = int(np.argmax(values.shape))
    swapped = np.moveaxis(values.copy(), axis, -1)
    for to, find in ((-1, np.argmax), (-2, np.argmin)):
        at = np.expand_dims(find(swapped, axis=-1), -1)
        found = np.take_along_axis(swapped, at, -1)
        np.put_along_axis(swapped, at, swapped[..., to, None], -1)
        swapped[..., to, None] = found
    return np.moveaxis(swapped, -1, axis)


def named(sample: Sample, text: str) -> Case | None:
    """Return the case of other lengths that a finding's ``repeat`` names, None where it does not.

    A case's name begins with the sample that has its lengths already.
    """
    name, _, what = text.partition("/size ")
    case = resized(sample, dict(changes_of(what)))
    return case if case is not None and case.sample.id == name else None


def changes_of(what: str) -> list[tuple[int, int]]:
    """Return the lengths that a case's name says are replaced, each with the new one."""
    return [(int(old), int(new)) for old, new in _CHANGE.findall(what)]


_CHANGE = re.compile(r"(\d+) -> (\d+)")


def untied(sample: Sample) -> Iterator[Case]:
    """Yield the sample with one of several equal lengths changed, as 4x4 to 4x7.

    Which of them must agree is for the shape rule to say: one alone, those of one axis, pairs.
    """
    if not is_drawn(sample):
        return
    done: set[tuple[tuple[int, ...], ...]] = {sample.shapes}
    for length in lengths_of(sample):
        at = _positions(sample, length)
        if length < 2 or len(at) < 2:
            continue
        other = next(one for one in UNTIED if one != length)
        for chosen in _parts(sample, at):
            shapes = _with(sample, chosen, other)
            if shapes not in done and len(done) <= MOST_UNTIED:
                done.add(shapes)
                yield from _if_made(_shaped(sample, shapes, _untied_words(sample, shapes), BEYOND))


def apart(sample: Sample) -> Sample:
    """Return the sample with as many of its equal lengths different as the kernel takes."""
    for length in lengths_of(sample) if is_drawn(sample) else ():
        at = _positions(sample, length)
        for chosen in _parts(sample, at) if length > 1 and len(at) > 1 else ():
            if all(sample.shapes[tensor][axis] == length for tensor, axis in chosen):
                taken = {one for shape in sample.shapes for one in shape}
                other = next(one for one in itertools.count(length + 1) if one not in taken)
                case = _shaped(sample, _with(sample, chosen, other), "apart", MOST_ELEMENTS)
                sample = case.sample if case is not None and is_taken(case) else sample
    return sample


def _parts(sample: Sample, at: Sequence[Position]) -> Iterator[list[Position]]:
    """Yield the positions of a length that may change without the rest."""
    ranks = [len(one) for one in sample.shapes]
    for from_end in (False, True):
        axes = {axis - ranks[tensor] if from_end else axis for tensor, axis in at}
        for axis in sorted(axes):
            yield [one for one in at if (one[1] - ranks[one[0]] if from_end else one[1]) == axis]
    for one in at:
        yield [one]
    for number, one in enumerate(at):
        for two in at[number + 1 :]:
            if one[0] != two[0]:
                yield [one, two]


def broadcast(sample: Sample) -> Iterator[Case]:
    """Yield the sample with a length of 1 in one input alone."""
    if not is_drawn(sample) or len(sample.shapes) < 2:
        return
    for tensor, shape in enumerate(sample.shapes):
        for axis, length in enumerate(shape):
            if length < 2:
                continue
            shapes = _with(sample, [(tensor, axis)], 1)
            yield from _if_made(_shaped(sample, shapes, _untied_words(sample, shapes), BEYOND))


def large(sample: Sample) -> Iterator[Case]:
    """Yield the sample with two lengths above two workgroups, and with more than 65,536 elements.

    The first that a shape rule takes of each kind is enough.
    """
    if sample.make is not None:
        yield from _if_made(resized(sample, {sample.size: 1030}, MOST_LARGE))
    if not is_drawn(sample):
        return
    lengths = lengths_of(sample)[::-1]
    if len(lengths) > 1:
        both = {one: BOTH + 2 * number for number, one in enumerate(lengths[:2])}
        yield from _if_made(resized(sample, both, MOST_LARGE))
    largest = max(sample.shapes, key=lambda one: (len(one), one), default=())
    if len(set(largest)) == 1 and len(largest) == 2:
        shapes = tuple([(BOTH, BOTH + 2) if one == largest else one for one in sample.shapes])
        words = _untied_words(sample, shapes)
        yield from _if_made(_shaped(sample, shapes, words, MOST_LARGE))
    for length in lengths:
        others = [
            np.prod([n for n in one if n != length]) for one in sample.shapes if length in one
        ]
        rest = int(max(others))
        case = resized(sample, {length: BEYOND // rest + 7}, MOST_LARGE) if rest else None
        if case is not None and max(one.size for one in case.arrays) > BEYOND:
            yield case


def cheap(sample: Sample, run: Callable[[Case], None]) -> Iterator[Case]:
    """Yield the large cases that take little time, then those with one length beyond 65,536.

    Args:
        sample: What they are made from.
        run: Runs a case; it raises where a shape rule refuses it.
    """
    beyond = list(large(sample))
    seconds = _seconds_by_elements(sample, run) if beyond else None
    for case in beyond:
        if seconds is not None and seconds(case) < CHEAP:
            yield case
    if is_drawn(sample) and len(lengths_of(sample)) > 1:
        yield from long(sample, BEYOND + 7, run)


def long(sample: Sample, most: int, run: Callable[[Case], None]) -> Iterator[Case]:
    """Yield the sample with each length so long and the others short, where that is cheap."""
    lengths = lengths_of(sample)
    for length in lengths:
        short = {one: min(one, 2) for one in lengths}
        found = [resized(sample, {**short, length: n}, MOST_LARGE) for n in (*TIMED, most)]
        small, medium, largest = found
        if small is not None and medium is not None and largest is not None:
            seconds = _seconds_by(small, medium, run)
            if seconds is not None and seconds(largest) < CHEAP:
                yield largest


def _seconds_by_elements(
    sample: Sample, run: Callable[[Case], None]
) -> Callable[[Case], float] | None:
    """Return about how long a large case takes, by two smaller ones; None where none runs."""
    for length in lengths_of(sample)[::-1]:
        small, medium = (resized(sample, {length: one}, MOST_LARGE) for one in TIMED)
        if small is not None and medium is not None:
            seconds = _seconds_by(small, medium, run)
            if seconds is not None:
                return seconds
    return None


def _seconds_by(
    small: Case, medium: Case, run: Callable[[Case], None]
) -> Callable[[Case], float] | None:
    """Return about how long a larger case takes, by two cases; None where they do not run.

    None, too, where the first takes so long that a larger one is not cheap, or they are empty.
    """
    times: list[float] = []
    for case in (small, medium):
        try:
            times.append(min(_timed(run, case) for _ in range(2)))
        except Exception as error:  # a shape rule refused the case
            faults.note(error)
            return None
        if times[0] > SLOW:
            return None
    elements = [sum(one.size for one in case.arrays) for case in (small, medium)]
    if not all(elements):
        return None
    ratio = elements[1] / elements[0]
    power = np.log(times[1] / times[0]) / np.log(max(ratio, 1.5))
    grows = float(np.clip(power, 1.0, 3.0))
    return lambda case: times[1] * (sum(one.size for one in case.arrays) / elements[1]) ** grows


def _timed(run: Callable[[Case], None], case: Case) -> float:
    begin = time.perf_counter()
    run(case)
    return time.perf_counter() - begin


def _positions(sample: Sample, length: int) -> list[Position]:
    return [
        (tensor, axis)
        for tensor, shape in enumerate(sample.shapes)
        for axis, one in enumerate(shape)
        if one == length
    ]


def _with(sample: Sample, chosen: Sequence[Position], length: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(length if (tensor, axis) in chosen else one for axis, one in enumerate(shape))
        for tensor, shape in enumerate(sample.shapes)
    )


def _untied_words(sample: Sample, shapes: tuple[tuple[int, ...], ...]) -> str:
    pairs = [
        f"{'x'.join(map(str, old))} to {'x'.join(map(str, new))} of input {number}"
        for number, (old, new) in enumerate(zip(sample.shapes, shapes, strict=True))
        if old != new
    ]
    return f"shapes {', '.join(pairs)}"


def _if_made(case: Case | None) -> Iterator[Case]:
    if case is not None:
        yield case


def shrunk(
    sample: Sample,
    replaced: dict[int, int],
    case: Case,
    found: list[Finding],
    judge: Callable[[Case], list[Finding]],
) -> tuple[Case, list[Finding]]:
    """Return the smallest case that still fails in the same way, and what is found of it.

    What wrong elements had in common before is kept as evidence: a small case has no pattern.

    Args:
        sample: What the case is made from.
        replaced: Which lengths are replaced by which.
        case: The case that fails.
        found: What was found of it.
        judge: Runs a case.
    """
    runs, first = 0, found
    for length in lengths_of(sample)[::-1]:
        high = replaced.get(length, length)  # fails
        low = 0  # is held not to
        while high - low > 1 and runs < MOST_RUNS:
            runs += 1
            middle = 1 if low == 0 and high > 2 else (low + high) // 2
            smaller = {**replaced, length: middle}
            tried = resized(sample, smaller)
            again = [] if tried is None else judge(tried)
            if tried is not None and {one.code for one in again} & {one.code for one in first}:
                high, replaced, case, found = middle, smaller, tried, again
            else:
                low = middle
    if found is first:
        return case, found
    return case, [_with_pattern(one, first) for one in found]


def _with_pattern(one: Finding, before: list[Finding]) -> Finding:
    """Return a finding of a smaller case with the pattern of the larger one."""
    for other in before:
        facts = dict(other.evidence)
        if other.code == one.code and "," in facts.get("wrong", ""):
            return one.with_evidence(before=f"{facts['wrong']}, in {facts['case']}")
    return one
