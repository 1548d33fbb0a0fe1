"""Is it right: values against exact ones, over cases that are made from the samples."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.programs.building import folding_at
from wgsl_kernels.backends.webgpu.tuning import tuner
from wgsl_kernels.bench.checking import bits, cases, portable, safe, simulated, sizes, specials
from wgsl_kernels.bench.checking.sizes import shrunk
from wgsl_kernels.bench.checking.subject import (
    Subject,
    findings_of,
    labelled,
    repeat,
    step_command,
    with_case,
)
from wgsl_kernels.bench.comparison import faults, leeway
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.comparison.derived import run_bounded
from wgsl_kernels.bench.comparison.judging import exact_of, mismatch, states_bound
from wgsl_kernels.engine.environment.errors import (
    DeviceLostError,
    DTypeError,
    IndexOutOfRange,
    KernelFault,
    OutOfMemoryError,
    ShaderError,
    WgslKernelsError,
)
from wgsl_kernels.engine.execution.creation import tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from wgsl_kernels.bench.checking.cases import Array, Case
    from wgsl_kernels.bench.comparison.derived import BoundedResults
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding


def values_of(case: Case, backend: str, make: Callable[[Array], Tensor] = tensor) -> BoundedResults:
    """Return what a case gives on a backend, with its inputs made by ``make``, and may give."""
    sample = case.sample
    with only(backend, sample), _poisoned(backend):
        return run_bounded(sample, [make(one) for one in case.arrays], backend)


def _poisoned(backend: str) -> AbstractContextManager[object]:
    """Have memory hold nothing that is right by chance, as what ran before may have left it."""
    return safe.on_poison() if backend == "webgpu" else nullcontext()


@cases.quiet()
def judged(
    subject: Subject,
    case: Case,
    backend: str,
    code: str,
    make: Callable[[Array], Tensor] = tensor,
    what: str = "",
    right: Sequence[Array] | None = None,
) -> list[Finding]:
    """Return a finding where a case gives values outside of the bound, or raises.

    Args:
        subject: The kernel.
        case: The case.
        backend: Where it runs.
        code: What wrong values are called.
        make: Makes its inputs.
        what: What else is special about the run.
        right: What is known to be right, so that the same bits are.
    """
    label = f"{labelled(case, what)}, {backend}"
    try:
        alternatives = case.alternatives
    except Exception as error:  # a shape rule refused the case: on all backends alike
        return contradicted(subject, case, error, label)
    try:
        run = values_of(case, backend, make)
    except DeviceLostError:
        raise
    except OutOfMemoryError:
        return []  # a shape that a device cannot hold is no fault of the kernel
    except Exception as error:  # a kernel may raise anything; the check tells
        found = with_case(findings_of(error, subject, "raises", backend), label)
        if [one.code for one in found] != ["runaway-loop"]:
            return found
        return _beyond_adapter(subject, case, code, found[0])
    if run.is_equal_to(right) or run.are_nearest(case.arrays, alternatives):
        return []
    try:
        names = subject.input_names
        wrong = mismatch(run.may.bounds, case.arrays, run.found, alternatives, names)
    except (ValueError, IndexError):
        if all(one.size for one in case.arrays) and not case.is_unforeseen:
            raise
        return []  # a bound that knows nothing of empty inputs, or of other shapes or attributes
    if wrong is None or leeway.may_fall_either_way(case.arrays, wrong):
        return []
    if leeway.is_of_nothing(case.sample, case.arrays, wrong):
        return []
    held = leeway.HeldResults(case.sample, case.arrays, run, alternatives)
    if code in ("wrong-at-extreme", "wrong-in-domain"):
        if wrong.is_whole and code == "wrong-at-extreme":
            return []  # a choice by numbers that are rounded may fall either way
        if not subject.is_map and leeway.is_within_sums(held):
            return []
        if code == "wrong-in-domain" and leeway.is_unsettled(held):
            return []
        if case.what == "halves" and leeway.is_wrong_though_bounded(held):
            code = "wrong-though-bounded"
        elif specials.is_in_domain(case):
            code = "wrong-in-domain"
    if leeway.is_unknown(held, lambda: simulated.wide(case)):
        code = "unknown-bound"
    if wrong.got is None:
        words = f"{wrong.what}."
    else:
        words = f"got {wrong.got}, expected {wrong.expected} at {list(wrong.index)}."
        words += leeway.UNKNOWN if code == "unknown-bound" else ""
    is_unwritten = backend == "webgpu" and safe.shows_poison(run.found, wrong.index)
    words += safe.UNWRITTEN if is_unwritten else ""
    may_cancel = code == "wrong-nonfinite" and not subject.is_map
    if may_cancel and leeway.is_of_infinities(held):
        code, words = "nan-of-infinities", f"{words} {_CANCELS}"
    elif (
        code == "wrong-nonfinite"
        and portable.is_open_to_nan(subject, case.sample)
        and leeway.is_reached(held)
    ):
        code, words = "nan-compared", f"{words} {_OPEN}"
    evidence = (
        *wrong.evidence(),
        *((("bound", run.may.words),) if run.may.words and not wrong.is_whole else ()),
        *(_excluded_by(case) if code in _NONFINITE and not wrong.is_whole else ()),
        ("case", label),
        ("repeat", repeat(case, what)),
        *(
            (("step", step_command(subject.origin, case, wrong.index, what)),)
            if wrong.index
            else ()
        ),
    )
    said = subject.finding(code, words, evidence=evidence)
    return [subject.at_write(said) if is_unwritten else said]


def _beyond_adapter(subject: Subject, case: Case, code: str, ended: Finding) -> list[Finding]:
    """Return what is wrong with a case on the simulator, as the adapter does not end its loops.

    Where nothing is, or a case before was simulated, the adapter's limit is all there is to say.
    """
    shown = "on the simulator values are right there"
    if subject.ended:
        shown = f"nor is {subject.ended[0]}"
    else:
        sample = case.sample if states_bound(case.sample) else cases.grossly(case.sample)
        with simulated.ending():
            found = judged(subject, replace(case, sample=sample), "simulator", code)
        if found:
            is_wrong = all(one.code.startswith("wrong-") for one in found)
            if is_wrong:
                return found
            return [simulated.endless_loop(subject, case) or ended]
    subject.ended.append(case.id)
    words = (
        "this size is not checked on the adapter, which ends the loops of an invocation after "
        f"65,535 rounds; {shown}. Spread the work over more invocations."
    )
    return [replace(ended, code="adapter-limit", words=words)]


def is_ended(found: Iterable[Finding]) -> bool:
    """Say whether findings are of a case whose loops the adapter has ended."""
    return any(one.code in ("runaway-loop", "adapter-limit") for one in found)


def _excluded_by(case: Case) -> tuple[tuple[str, str], ...]:
    """Return how a sample says that results for a case may be anything."""
    name = case.what.removeprefix("all ").partition(" ")[0]
    return (("unless", f"Sample(..., special=({name!r},)) says that these may be anything"),)


_NONFINITE = ("wrong-nonfinite", "nan-compared", "nan-of-infinities")
_CANCELS = "Whether infinities cancel to NaN depends on the order of a formula's sums."
_OPEN = (
    "A comparison decides, or a function made of comparisons, and WGSL leaves open what these give "
    "for it. Ask is_nan of wgsl_kernels::lib::safe_math before."
)


def contradicted(subject: Subject, case: Case, error: Exception, label: str) -> list[Finding]:
    """Return a finding where the CPU kernel gave another shape than the signature says.

    Of anything else that is raised the signature, or NumPy, refused the case.
    """
    if faults.note(error):
        return []
    is_of_kernel = isinstance(error, WgslKernelsError) and error.blames_kernel
    if not is_of_kernel or isinstance(error, DTypeError) or not case.is_meant:
        subject.refused.append((case, error))
        return []
    return with_case(findings_of(error, subject, "wrong-shape"), label)


def of_sizes(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample at other sizes, the smallest that fails alone; and with lengths untied."""
    done: set[int] = set()
    sides = {one.module.composed.workgroup_size[0] for one in subject.dispatches(sample)}
    groups = sorted(sides - {64})[:2]
    subject.refused.clear()
    tried: list[Case] = []
    further = sizes.further(sample, tried, subject.refused)
    for case in itertools.chain(sizes.sized(sample, groups), further):
        tried.append(case)
        (length, size), *_ = sizes.changes_of(case.what)
        if length in done:
            continue
        found = at_size(subject, case)
        is_open = all(one.code == "unknown-bound" for one in found)
        if not is_open:
            done.add(length)
        if not is_open and any(one.code != "adapter-limit" for one in found):
            least, found = shrunk(
                sample, {length: size}, case, found, lambda one: at_size(subject, one)
            )
            found = explained(subject, least, found)
        yield found
    yield from sizes.refused(subject, tried)
    for case in (*sizes.untied(sample), *sizes.broadcast(sample)):
        yield explained(subject, case, at_size(subject, case))
    for case in sizes.cheap(sample, ran):
        found = at_size(subject, replace(case, sample=cases.grossly(case.sample)))
        yield [] if is_ended(found) else found  # software adapters' alone


def explained(subject: Subject, case: Case, found: list[Finding]) -> list[Finding]:
    """Return what is wrong with a case's accesses before what is wrong with its values.

    Values that the adapter spoilt, as it ended a loop, are no fault of the formula.
    """
    if not any(one.code.startswith("wrong-") for one in found):
        return found
    try:
        seen = safe.watched(subject, case)
    except (KernelFault, ShaderError) as error:
        seen = findings_of(error, subject, "raises")
    except Exception as error:  # it raises where values are compared
        faults.note(error)
        return found
    causes = [one for one in seen if one.severity == "error" or one.code == "unordered-atomics"]
    if not causes:
        return found
    shown = {name: text for name, text in found[0].evidence if name in ("got", "expected", "wrong")}
    causes[0] = causes[0].with_evidence(**shown)
    is_ended = any(one.code == "runaway-loop" for one in causes)
    return causes if is_ended else [*causes, *found]


def at_size(subject: Subject, case: Case) -> list[Finding]:
    """Check one case of other lengths."""
    return judged(subject, case, "webgpu", "wrong-at-size")


def ran(case: Case) -> None:
    """Run a case for its time: exact results, and those of webgpu."""
    with cases.quiet():
        exact_of(case.sample, case.arrays)
        bits.alone(case.sample, case.arrays)


SUBGROUPS = (4, 8, 16, 32, 64, 128)
"""Invocations that subgroups of some device have."""
LARGER = 257
"""A size at which workgroups have several subgroups, and the last is not full."""
FOLDED = 1030
"""A length that takes several workgroups."""


def folded(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample of several workgroups where grids fold at two, as large ones do.

    An author's own grid folds as it says, or grows no more: that is tried where a small case with
    such a grid is wrong.
    """
    case = _large_enough(sample)
    if case is not None:
        with folding_at(2):
            found = judged(subject, case, "webgpu", "wrong-where-folded", what="folded")
            if not found and subject.has_own_loop:
                found = _outside(subject, case)
            yield explained(subject, case, found)
    suspected: dict[object, list[Finding]] = {}
    for own in portable.own_grids(subject, sample):
        if own.change not in suspected:
            with portable.regridded(subject, own.change):
                small = judged(subject, own.small, "webgpu", "wrong-where-folded")
                small = small or _outside(subject, own.small)  # devices drop such accesses
            suspected[own.change] = small
        if {one.place for one in suspected[own.change]} <= subject.outside:
            continue
        case = sizes.resized(sample, own.lengths, most=portable.MOST_CONFIRMED)
        if case is None:
            continue
        large = replace(case, sample=cases.grossly(case.sample))
        found = judged(subject, large, "webgpu", "wrong-where-folded")
        found = [portable.of_groups(subject, one) for one in found]
        if not found:
            found = _outside_on_device(subject, large)
            subject.outside.update(one.place for one in found)
        yield found
        if found:
            break


def _large_enough(sample: Sample) -> Case | None:
    """Return the sample with a length that takes several workgroups, None where none is taken."""
    made = (sizes.resized(sample, {one: FOLDED}) for one in sizes.lengths_of(sample))
    return next((one for one in made if one is not None and cases.is_taken(one)), None)


def views(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with inputs that are views."""
    case = cases.plain(sample)
    right = faults.attempted(lambda: bits.alone(sample, case.arrays), None)
    for name, make in cases.VIEWS.items():
        yield judged(subject, case, "webgpu", "wrong-view", make, name, right)
    wide = cases.with_equal_rows(case)
    if wide is not None:
        yield judged(subject, wide, "webgpu", "wrong-view", cases.as_one_row)


def nonfinite(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with NaN, infinities, zeros and subnormals, and with numbers far away."""
    for case in specials.special(sample):
        if not cases.is_complex_all_through(case):
            yield judged(subject, case, "webgpu", "wrong-nonfinite")
    for case in () if subject.is_map else specials.infinite(sample):
        if cases.is_held(case, with_infinity=True):
            yield judged(subject, case, "webgpu", "wrong-nonfinite")
    for case in specials.far(sample):
        if case.what in ("huge", "tiny") and not cases.is_elementwise(case):
            continue  # sums of them overflow, in whatever order
        yield judged(subject, case, "webgpu", "wrong-at-extreme")


def rows(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample whose elements are combined with rows that show what accumulators forget."""
    for code, case in specials.rows(sample):
        if cases.is_held(case):
            yield judged(subject, case, "webgpu", code)


def domain(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with numbers of its whole domain, and with those of one sign."""
    stated = cases.grossly(sample) if states_bound(sample) or not subject.is_map else sample
    for case in specials.of_domain(stated):
        if cases.is_held(case):
            yield judged(subject, case, "webgpu", "wrong-in-domain")
    for case in () if subject.is_map else specials.of_one_sign(sample):
        if cases.is_held(case):
            yield judged(subject, case, "webgpu", "wrong-values")


def edges(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with integers at their edges, where a kernel computes with them.

    Of other kernels they are indices or sizes, and the largest would make arrays of that size:
    these are tried with numbers a little beyond the lengths of their tensors.
    """
    if not any(one.startswith(("int", "uint")) for one in sample.input_dtypes):
        return
    if cases.is_elementwise(cases.plain(sample)):
        for case in specials.edges(sample):
            yield judged(subject, case, "webgpu", "wrong-at-edge")
    else:
        for case in specials.indices(sample):
            yield _at_index(subject, case)


def thresholds(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample at numbers that its shader compares with: ``<`` where ``<=`` is meant."""
    for case in specials.thresholds(sample, subject.thresholds):
        if cases.is_held(case):
            yield judged(subject, case, "webgpu", "wrong-at-edge")


def _at_index(subject: Subject, case: Case) -> list[Finding]:
    """Check a case whose integers are no indices; a kernel may refuse them, or report them."""
    with cases.quiet():
        try:
            _ = case.exact
            bits.alone(case.sample, case.arrays)
        except IndexOutOfRange:
            return []
        except IndexError:  # NumPy refuses them: then the shader must not read there
            return _outside(subject, case)
        except Exception as error:  # the signature refuses them, or it is told of elsewhere
            faults.note(error)
            return []
    found = explained(subject, case, judged(subject, case, "webgpu", "wrong-at-edge"))
    return found or _outside(subject, case)  # memory may give what is right by chance


def _outside(subject: Subject, case: Case) -> list[Finding]:
    """Return the accesses of a case that are outside of an array; none where it reports them."""

    def seen() -> list[Finding]:
        bits.alone(case.sample, case.arrays)
        return safe.watched(subject, case)

    return _only_outside(faults.attempted(seen, []))


def _outside_on_device(subject: Subject, case: Case) -> list[Finding]:
    """Return its accesses outside of arrays, of a case that is too large to be simulated."""
    return _only_outside(faults.attempted(lambda: safe.on_device(subject, case), []))


def _only_outside(found: Sequence[Finding]) -> list[Finding]:
    return [one for one in found if one.code.startswith("out-of-bounds")]


def attributes(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample with other values of each attribute that it can be given, one at a time.

    A value that the shader's fields cannot hold, or that leads to NaN, is refused in its way.
    """
    for case in defined(sample):
        found = judged(subject, case, "webgpu", "wrong-for-attribute")
        yield [one for one in found if one.code in ("wrong-for-attribute", "wrong-shape")]
    for case in specials.beyond_arrays(sample, subject.array_lengths):
        found = judged(subject, case, "webgpu", "wrong-for-attribute")
        wrong = [one for one in found if one.code == "wrong-for-attribute"]
        yield explained(subject, case, wrong) or (_outside(subject, case) if not found else [])


def defined(sample: Sample, factors: Sequence[int] = cases.LARGER) -> Iterator[Case]:
    """Yield a sample with other attributes whose exact results are finite, or of a wrong shape.

    Where the kernel takes it, lengths that are equal in the sample are different.
    """
    apart = sizes.apart(sample)
    alike = [sample] if apart is sample else [apart, sample]
    for several in zip(*[cases.varied(one, factors) for one in alike], strict=True):
        for case in filter(None, itertools.chain(*itertools.zip_longest(*several))):
            try:
                exact = case.exact
            except Exception as error:  # NumPy refused the value, or the signature did
                if faults.note(error) or not getattr(error, "blames_kernel", False):
                    continue
                exact = []
            if all(one.dtype.kind not in "fc" or np.isfinite(one).all() for one in exact):
                yield case
            break


def configurations(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a sample in every configuration that may be chosen for it, and where grids fold.

    Where the device cannot run one, the simulator does.
    """
    case = cases.plain(sample)
    names, right = bits.configurations_of(case)
    large = _large_enough(sample) if names and not subject.is_ours else None
    for name in names:
        with tuner.forced(sample.kernel, name):
            found = judged(subject, case, "webgpu", "wrong-configuration", what=name, right=right)
            if any(not one.code.startswith("wrong-") for one in found):
                found = judged(subject, case, "simulator", "wrong-configuration", what=name)
            elif large is not None and not found:
                what = f"{name}, folded"
                with folding_at(2):
                    found = judged(subject, large, "webgpu", "wrong-configuration", what=what)
        yield found


def subgroups(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check a kernel that names subgroups with those of each size, on the simulator."""
    if not subject.uses_subgroups:
        return
    larger = filter(cases.is_taken, sizes.sized(sample, among=(LARGER,)))
    for case in (cases.plain(sample), *larger):
        for size in SUBGROUPS:
            with simulated.in_subgroups(size):
                what = f"subgroups of {size}"
                yield judged(subject, case, "simulator", "wrong-configuration", what=what)
