"""Is it right: the same bits fused, captured, again, in other orders; and signs of zeros."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.webgpu.tuning import tuner
from wgsl_kernels.bench.checking import cases, portable, simulated, specials
from wgsl_kernels.bench.checking.subject import repeat
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import only
from wgsl_kernels.bench.comparison.judging import bound_of, wide_inputs, wrong_elements
from wgsl_kernels.engine.capture.capture import capture
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.ops.elementwise import unary
from wgsl_kernels.testing.closeness import equal_or_nan, largest_at
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import call_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.bench.checking.cases import Array, Case
    from wgsl_kernels.bench.checking.subject import Subject
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.simulator.dispatch import Order
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding


def fused(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare bits where maps before and behind the kernel may share its dispatch."""
    case = cases.plain(sample)
    if not any(one.dtype.kind == "f" for one in case.arrays):
        return
    want = faults.attempted(lambda: alone(sample, case.arrays), None, WgslKernelsError)
    if want is None:
        return

    def negated(values: Array) -> Tensor:
        return unary.negative(tensor(-values)) if values.dtype.kind == "f" else tensor(values)

    for what in ("before", "behind"):
        with only("webgpu", sample), config.using(fusion="always", small_ops="device"):
            make = negated if what == "before" else tensor
            given = [make(one) for one in case.arrays]
            outputs = outputs_of(call_of(sample), given)
            got = [
                -unary.negative(one).numpy()
                if what == "behind" and one.dtype.startswith("float")
                else one.numpy()
                for one in outputs
            ]
        yield _same_bits(subject, case, want, got, "wrong-fused", f"fused {what}")


def captured(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare the bits of a replay, where the kernel can be captured."""
    case = cases.plain(sample)
    want = faults.attempted(lambda: alone(sample, case.arrays), None, WgslKernelsError)
    if want is None or any(one.dtype == object for one in case.arrays):
        return
    fast = capture(call_of(sample))
    with only("webgpu", sample), config.using(small_ops="device"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            got: list[Array] = []
            for _ in range(3):
                given = tensors_for(case.arrays)
                got = [one.numpy() for one in outputs_of(fast, given)]
        finally:
            fast.dispose()
    yield _same_bits(subject, case, want, got, "wrong-captured", "captured")


def stable(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare the bits of three runs."""
    case = cases.plain(sample)
    want = faults.attempted(lambda: alone(sample, case.arrays), None, WgslKernelsError)
    for _ in range(2 if want is not None else 0):
        found = _same_bits(
            subject, case, want or [], alone(sample, case.arrays), "unstable", "again"
        )
        if found:
            yield found
            return
    yield _in_orders(subject, case)


def _in_orders(subject: Subject, case: Case) -> list[Finding]:
    """Compare the bits of runs whose invocations come in other orders, on the simulator."""
    run = functools.partial(simulated.results, case, "forward")
    want = faults.attempted(run, None, WgslKernelsError)
    orders: tuple[Order, ...] = ("reversed", "shuffled")
    for order in orders if want is not None else ():
        got, what = simulated.results(case, order), f"invocations {order}"
        found = _same_bits(subject, case, want or [], got, "order-dependent", what)
        if found:
            return found
    return []


def signs_of_zero(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare what a shader's text makes of zeros of both signs with what the CPU kernel does.

    WGSL lets a device ignore the sign of a zero: it is the text that is judged, on the simulator,
    and not where a function of WGSL may give either zero.
    """
    if not cases.is_elementwise(cases.plain(sample)) or portable.gives_either_zero(subject, sample):
        return
    for case in specials.zeros(sample):
        with cases.quiet():
            yield _signs_of_zero(subject, case)


def _signs_of_zero(subject: Subject, case: Case) -> list[Finding]:
    given = faults.attempted(lambda: (case.alternatives, simulated.results(case, "forward")), None)
    if given is None:  # it is refused, or does what is not simulated
        return []
    (exact, *others), found = given
    floats = [one for one in case.arrays if one.dtype.kind == "f"]
    shape = np.broadcast_shapes(*(one.shape for one in case.arrays))
    bound, inputs = bound_of(cases.grossly(case.sample)), wide_inputs(case.arrays)
    for number, (got, want) in enumerate(zip(found, exact, strict=True)):
        if got.dtype.kind != "f" or not got.size or not got.shape == want.shape == shape:
            continue
        far, *from_others = [
            wrong_elements(bound, inputs, got, one[number]) for one in (exact, *others)
        ]
        signs = (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
        differs = signs | (far & ~np.logical_and.reduce(from_others))
        differs &= np.logical_or.reduce([np.broadcast_to(one == 0, got.shape) for one in floats])
        at = largest_at(differs)
        if not differs[at] or not cases.is_of_place(case, number, at, want[at]):
            continue
        words = (
            f"got {got[at]}, expected {want[at]} at {list(at)}, by the sign of a zero. is_negative "
            "of wgsl_kernels::lib::safe_math asks for it; waive={'zero-sign': …} says that either "
            "will do."
        )
        evidence = (
            ("inputs", ", ".join(f"{np.broadcast_to(one, got.shape)[at]}" for one in case.arrays)),
            ("wrong", f"{int(differs.sum())} of {differs.size} elements"),
            ("case", f"{case.id}, simulator"),
            ("repeat", repeat(case)),
        )
        return [subject.finding("zero-sign", words, evidence=evidence)]
    return []


def alone(sample: Sample, arrays: Sequence[Array]) -> list[Array]:
    with only("webgpu", sample), config.using(fusion="never", small_ops="device"):
        given = tensors_for(arrays)
        return [one.numpy() for one in outputs_of(call_of(sample), given)]


def configurations_of(case: Case) -> tuple[list[str], list[Array]]:
    """Return the configurations that may be chosen for a case, where there are any; its results."""
    with tuner.watching() as seen:
        results = alone(case.sample, case.arrays)
    names = sorted(seen.get(case.sample.kernel, ()))
    return names if len(names) > 1 else [], results


def _same_bits(
    subject: Subject,
    case: Case,
    want: Sequence[Array],
    got: Sequence[Array],
    code: str,
    what: str,
) -> list[Finding]:
    for number, (one, other) in enumerate(zip(want, got, strict=True)):
        same = equal_or_nan(one, other)
        if same.all():
            continue
        at = largest_at(~same)
        race = " A race?" if code == "unstable" else ""
        words = f"{what}: got {other[at]}, alone {one[at]} at {list(at)} of output {number}.{race}"
        evidence = (
            ("got", f"{other[at]}"),
            ("expected", f"{one[at]}"),
            ("wrong", f"{int((~same).sum())} of {same.size} elements"),
            ("case", f"{case.id}, {what}"),
            ("repeat", repeat(case, what)),
        )
        return [subject.finding(code, words, evidence=evidence)]
    return []
