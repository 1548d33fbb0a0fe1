"""Where a kernel loses its digits: the line, for values that are wrong and bounds that are wide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.composing.text.operands import VARIANTS
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.bench.checking import cases, right, simulated, sizes, specials
from wgsl_kernels.bench.checking.right import values_of
from wgsl_kernels.bench.checking.subject import repeat
from wgsl_kernels.bench.comparison import faults, leeway
from wgsl_kernels.bench.comparison.judging import exact_of, mismatch, states_bound, wide_inputs
from wgsl_kernels.bench.digits import UNSIMULATED, digits_of
from wgsl_kernels.engine.values.dtypes import INTEGERS
from wgsl_kernels.simulator.digits import PRECISION, wrong_bits
from wgsl_kernels.testing.gradients.evaluation import widened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.bench.checking.cases import Array, Case
    from wgsl_kernels.bench.checking.subject import Subject
    from wgsl_kernels.bench.comparison.judging import Mismatch
    from wgsl_kernels.bench.digits import LostDigits
    from wgsl_kernels.testing.report import Row
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding

MANY_ULPS = 2.0**16
"""Units in the last place from which on a bound may be as wide as the result."""
MANY_BITS = 4.0
"""Bits that one operation loses where that is worth a word."""
FEW_BITS = 2.0**-8
"""What a result is off, of itself, that has lost its digits: 16 of 24 bits."""
SAME = 1e-6
"""How far, relative to it, float64 may be from the exact result where the formula is right."""


def wide_bound(subject: Subject, sample: Sample, row: Row) -> list[Finding]:
    """Return a warning where roundings may make up all of a result, and an error where they do.

    Args:
        subject: The kernel.
        sample: A sample that is right on webgpu.
        row: The comparison there.
    """
    if states_bound(sample):
        return []
    if row.tolerance * row.worst_ulp <= MANY_ULPS * row.worst_abs:
        return _of_ends(subject, sample)
    case = cases.plain(sample)
    ratio = _width(case, case.exact)
    if ratio <= 1:
        return []
    lost = _lost(subject, case, "in the sample's own range", least=0.0)
    evidence = (("bound", f"{ratio:.3g} times the result, over all elements"), ("case", case.id))
    at = _worst(subject, case, None)
    if at is None:
        words = (
            "the bound of its roundings is wider than the result: values that are far off would "
            "pass. State the sample's bound."
        )
        return [subject.finding("bound-wider-than-result", words, evidence=evidence), *lost]
    words = f"{at.words}, so that roundings may make up the whole result. Rearrange the formula."
    return [replace(at, words=words, evidence=evidence), *lost]


def _of_ends(subject: Subject, sample: Sample) -> list[Finding]:
    """Return a warning where a map loses its digits at the ends of a sample's range, or near 0.

    The bound of its roundings allows that; that of few drawn numbers may seem narrow.
    """
    case = specials.at_ends(sample) if subject.is_map else None
    if case is None:
        return []
    lost = _lost(subject, case, "at the ends of the sample's range, or near 0", 0.0, FEW_BITS)
    more = "Roundings may make that much: rearrange the formula."
    return [
        replace(one, code="bound-wider-than-result", words=f"{one.words} {more}") for one in lost
    ]


def explained(subject: Subject, case: Case, found: list[Finding]) -> list[Finding]:
    """Return findings of a case that tell where digits went if the formula itself is right."""
    if not found or not found[0].code.startswith("wrong-"):
        return found
    at = _worst(subject, case, case.exact)
    if at is None:
        return found
    line = at.source.strip().rstrip(";")
    words = f"{at.words} at {at.place}: {line}; in float64 the same text is right"
    return [found[0].with_evidence(digits=words), *found[1:]]


def blamed(subject: Subject, case: Case, backend: str, found: list[Finding]) -> list[Finding]:
    """Return wrong values with who is the odd one, where that is not the shader or is not known."""
    if not subject.on_gpu or not found or "index" not in dict(found[0].evidence):
        return found
    with cases.quiet():
        try:
            exact = case.exact
            gpu, cpu = (values_of(case, one) for one in ("webgpu", "cpu"))
            results = [widened(values) for _, values in gpu.found]
            wide = None if backend == "cpu" else simulated.wide(case)
            text = [("float64", one) for one in wide or [] if one is not None]

            def agree(some: Sequence[tuple[str, Array]], others: Sequence[Array]) -> bool:
                return mismatch(gpu.may.bounds, case.arrays, some, [others]) is None

            is_cpu_alone = agree(gpu.found, exact)
            is_cpu_like_gpu = agree(cpu.found, results)
            is_text_like_gpu = bool(text) and agree(text, results) and agree(cpu.found, exact)
        except Exception as error:  # what raises there is said elsewhere
            faults.note(error)
            return found
    first, *others = found
    facts = {"evidence": first.evidence}
    if is_cpu_alone:
        words = f"the CPU kernel is the odd one, webgpu gives what is expected: {first.words}"
        return [subject.finding(first.code, words, "cpu", **facts), *others]
    if is_cpu_like_gpu and case.sample.reference is None:
        words = (
            "the CPU kernel is the odd one, which gives in float32 what webgpu does, in float64 "
            f"what is expected here: {first.words}"
        )
        return [subject.finding(first.code, words, "cpu", **facts), *others]
    if is_cpu_like_gpu:
        words = f"reference= is the odd one, both kernels give the same: {first.words}"
        return [replace(first, words=words), *others]
    if is_text_like_gpu and case.sample.reference is None:
        words = (
            "The text gives this in float64, too: if it is meant, the CPU kernel is the odd one."
        )
        return [replace(first, words=f"{first.words} {words}"), *others]
    return found


def with_large_mean(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample whose numbers are far from 0 and near each other, as E[x²] - m² has it wrong.

    What is told is what the shader's formula loses: float64 of the same text is right, and results
    hardly change with the last bits of the inputs.
    """
    for case in specials.shifted(sample):
        if not subject.is_map and not _is_of_places(case):
            yield _lost(subject, case, "where the mean is large", least=1.0)


def _is_of_places(case: Case) -> bool:
    """Say whether every result depends on the elements at its own place alone."""
    if not cases.is_elementwise(case):
        return False

    def is_one() -> bool:
        return all(
            not one.size or cases.is_of_place(case, number, (0,) * one.ndim, one.flat[0])
            for number, one in enumerate(case.exact)
        )

    return faults.attempted(is_one, True)  # other numbers at other places may be refused


def _lost(
    subject: Subject, case: Case, where: str, least: float, part: float = cases.GROSS
) -> list[Finding]:
    """Return a finding where the shader's formula loses the digits of results that have them.

    Args:
        subject: The kernel.
        case: How it is called.
        where: What is said of the case.
        least: The size of a result below which what it is off counts as of one of this size.
        part: What a result may be off, of its size.
    """
    try:
        exact = case.exact
        beside = exact_of(case.sample, leeway.beside(case.arrays))
        run = values_of(replace(case, sample=cases.grossly(case.sample, least, part)), "webgpu")
        found = [
            (dtype, np.where(leeway.is_calm(one, other, least), values, one).astype(values.dtype))
            for (dtype, values), one, other in zip(run.found, exact, beside, strict=True)
        ]
        wrong = mismatch(run.may.bounds, case.arrays, found, [exact], subject.input_names)
    except Exception as error:  # a case that is refused is none
        faults.note(error)
        return []
    at = None if wrong is None else _worst(subject, case, exact)
    if wrong is None or at is None:
        return []
    words = f"{at.words} {where}: got {wrong.got}, expected {wrong.expected}."
    return [replace(at, code="lost-digits", words=words, evidence=_shown(wrong, case))]


def _shown(wrong: Mismatch, case: Case) -> tuple[tuple[str, str], ...]:
    evidence = (*wrong.evidence(), ("case", case.id), ("repeat", repeat(case)))
    return tuple([pair for pair in evidence if pair[0] != "inputs"])


def _width(case: Case, exact: Sequence[Array]) -> float:
    """Return how wide the bound of the results is, by what they are."""
    run, inputs = values_of(case, "webgpu"), wide_inputs(case.arrays)
    ratio = 0.0
    for number, (expected, (dtype, _)) in enumerate(zip(exact, run.found, strict=True)):
        if dtype not in PRECISION:
            continue
        low, high = run.may.bounds[min(number, len(run.may.bounds) - 1)](inputs, expected)
        with np.errstate(all="ignore"):
            allowed = np.maximum(high - expected, expected - low)
        known = np.isfinite(allowed) & np.isfinite(expected)
        whole = float(np.abs(expected[known]).sum())
        if whole:
            ratio = max(ratio, float(allowed[known].sum()) / whole)
    return ratio


def _worst(subject: Subject, case: Case, exact: Sequence[Array] | None) -> Finding | None:
    """Return a finding at the operation that lost the most, None where none lost many digits.

    With exact results it is of elements that are right in float64.
    """
    results = faults.attempted(lambda: digits_of(case.sample, case.arrays), (), UNSIMULATED)
    best: tuple[float, LostDigits, int] | None = None
    for number, one in enumerate(results):
        if one is None or not one.near.size:
            continue
        is_wrong = wrong_bits(one.near, one.wide) >= MANY_BITS
        is_wrong &= np.isfinite(one.near) & np.isfinite(one.wide)
        if exact is not None:
            if exact[number].shape != one.wide.shape:
                return None
            is_wrong &= np.abs(one.wide - exact[number]) <= SAME * np.abs(exact[number])
        most = np.where(is_wrong, one.most, 0)
        at = int(np.argmax(most))
        if most.flat[at] >= MANY_BITS and (best is None or most.flat[at] > best[0]):
            best = float(most.flat[at]), one, at
    if best is None:
        return None
    bits, one, at = best
    dispatch, site = one.places[int(one.sites.flat[at])]
    words = f"loses {bits:.0f} of {PRECISION[str(one.near.dtype)]} bits"
    return subject.placed("bound-wider-than-result", words, dispatch.module, site.span)


_OF_FLOATS = frozenset({"float32", "float16", *INTEGERS})
"""The dtypes that a sample of floats is tried with, where nobody names them."""


def _with_functions(subject: Subject) -> frozenset[str]:
    """Return the dtypes for which a map's file has functions of their own."""
    if subject.shader is None or not subject.is_map:
        return frozenset()
    functions = subject.shader.source.functions
    return frozenset(
        [dtype for dtype, names in VARIANTS.items() if not functions.keys().isdisjoint(names)]
    )


def dtypes(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with every other dtype that the kernel claims.

    A sample of floats stands for all numbers. Other dtypes are tried where ``dtypes=`` names them,
    or the file has a function for them.
    """
    kernel = subject.kernel
    served = None if kernel is None else kernel.served
    first = sample.input_dtypes[0] if sample.input_dtypes else ""
    if sample.values is not None:
        return
    if first in INTEGERS:
        yield from _of_whole(subject, sample)
    if kernel is None or served is None or not first or first == "string":
        return
    choice = choose_adapter()
    others = served - {one for other in subject.samples for one in other.input_dtypes}
    meant = _OF_FLOATS if first in ("float32", "float16") else frozenset[str]()
    others &= meant | (kernel.dtypes or frozenset()) | _with_functions(subject)
    for dtype in sorted(others | ({first} & {"float16"})):
        has_f16 = choice is not None and "shader-f16" in choice.info.features
        if dtype == "float16" and not has_f16:
            continue
        case = cases.of_dtype(sample, dtype)
        if dtype != first:
            yield _claimed(subject, case, dtype)
        if dtype in INTEGERS:
            yield from _of_whole(subject, case.sample)
        if dtype == "float16" and not subject.is_map:
            large = specials.squared_beyond_halves(case.sample)
            if large is not None and cases.is_held(large, np.float16):
                yield right.judged(subject, large, "webgpu", "wrong-at-extreme")
            for long in sizes.long(case.sample, sizes.LONG, right.ran):
                yield _claimed(subject, long, dtype)


def _of_whole(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check that a kernel whose results are integers of its inputs keeps those no float32 has."""
    case = specials.beyond_floats(sample)
    if case is not None and cases.is_choice(case):
        yield right.judged(subject, case, "webgpu", "wrong-dtype")


def _claimed(subject: Subject, case: Case, dtype: str) -> list[Finding]:
    """Check a dtype that `coverage` claims, where the CPU kernel and the shape rule take it.

    One that ``dtypes=`` names must be taken by the CPU kernel, too, unless the shape rule refuses.
    """
    stated = subject.kernel is not None and dtype in (subject.kernel.dtypes or ())
    try:
        _ = case.exact, values_of(case, "cpu")
    except Exception as error:  # the shape rule refuses it, or the CPU kernel does
        is_of_kernel = getattr(error, "blames_kernel", False)
        is_of_kernel |= sizes.is_from_cpu_kernel(subject, error)
        if faults.note(error) or not (stated and is_of_kernel):
            return []
        return [_refused_on_cpu(subject, case, dtype, error)]
    found = right.judged(subject, case, "webgpu", "wrong-dtype")
    broken = [one for one in found if one.section == "compiles"]
    if broken:
        words = (
            f"{'dtypes= names' if stated else 'coverage() claims'} {dtype}, for which it does not "
            f'compile: {broken[0].words} Write the formula in T, or pass dtypes=["float32"].'
        )
        code = "stated-dtype" if stated else "claimed-dtype"
        found = [replace(broken[0], code=code, words=words)]
    held = f"rtol {cases.HALF_RTOL:g}, atol {cases.HALF_ATOL:g}"
    return [one.with_evidence(**{"held to": held}) if dtype == "float16" else one for one in found]


def _refused_on_cpu(subject: Subject, case: Case, dtype: str, error: Exception) -> Finding:
    """Return that the CPU kernel refuses a dtype that the shader is said to take."""
    said = str(error).removeprefix(f"{subject.name}: ").rstrip(".")
    words = (
        f"dtypes= names {dtype}, which the cpu kernel refuses: {type(error).__name__}: {said}. "
        "Have it give what the signature says, or leave the dtype out."
    )
    evidence = (("case", f"{case.id}, cpu"),)
    return subject.finding("stated-dtype", words, "cpu", evidence=evidence)
