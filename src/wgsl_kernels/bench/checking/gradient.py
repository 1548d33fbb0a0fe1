"""Is its gradient right: against differences in float64, on every backend, of every layout."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.checking import cases, right, sizes, specials
from wgsl_kernels.bench.checking.subject import Subject, findings_of, with_case
from wgsl_kernels.bench.comparison import faults
from wgsl_kernels.bench.comparison.checks import (
    PARITY,
    SINGLE,
    check_direction,
    check_gradient_by_numbers,
    check_gradient_parity,
    check_second_order,
    only,
)
from wgsl_kernels.engine.autodiff.autodiff import GradientTape
from wgsl_kernels.engine.autodiff.double import double_precision
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.ops.shapes import shape as shape_ops
from wgsl_kernels.testing.closeness import largest_at
from wgsl_kernels.testing.gradients.differences import (
    DOUBLE,
    distance,
    double_gradients,
    parity_noise,
    tolerance,
)
from wgsl_kernels.testing.gradients.evaluation import (
    UpstreamGradients,
    gradients_of,
    outputs_of,
    smooth,
    wide_tensor,
)
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, call_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.testing.gradients.evaluation import Array
    from wgsl_kernels.testing.report import Row
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding


def by_numbers(subject: Subject, sample: Sample) -> Row:
    """Compare the gradient with differences."""
    return _judged_row(subject, check_gradient_by_numbers(sample), "wrong-gradient", sample.id)


def parity(subject: Subject, sample: Sample, backend: str) -> Row:
    """Compare a backend's gradient with that in float64."""
    return _judged_row(
        subject, check_gradient_parity(sample, backend), "gradient-parity", sample.id
    )


def second(subject: Subject, sample: Sample) -> Row:
    """Compare the gradient of the gradient with differences."""
    return _judged_row(subject, check_second_order(sample), "wrong-second-order", sample.id)


def _judged_row(subject: Subject, row: Row, code: str, case: str) -> Row:
    if row.passed:
        return row
    shown = dict(row.evidence)
    if np.isfinite(row.worst_abs):
        words = f"{row.note}: off by {row.worst_abs:.3g}, allowed {row.tolerance:.3g}."
    else:
        words = f"{row.note}."
    if "got" in shown:
        words = f"{words[:-1]}; got {shown['got']}, expected {shown['expected']}."
    found = subject.finding(code, words, "gradient", evidence=row.evidence)
    return row.with_findings(with_case([found], f"{case}, {row.backend}"))


def of_cases(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Check gradients for other attributes, with lengths untied, and with one of 1 in one input."""
    for case in (*right.defined(sample, ()), *sizes.broadcast(sample), *sizes.untied(sample)):
        yield _of_case(subject, case)


def _of_case(subject: Subject, case: Case) -> list[Finding]:
    """Compare the gradient along one direction with differences; where it is off, every element."""
    if not cases.is_taken(case):
        return []
    try:
        row = check_direction(case.sample)
        if not row.passed:
            row = check_gradient_by_numbers(case.sample)
            if not np.isfinite(float(dict(row.evidence).get("expected", 0.0))):
                return []  # there are no differences to hold it against
    except ArgumentError:
        return []  # the rule refuses the attribute
    except Exception as error:  # a rule may raise anything; the check tells
        return with_case(findings_of(error, subject, "gradient-raises"), case.id)
    return list(_judged_row(subject, row, "wrong-gradient", case.id).findings)


def extreme(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Tell of gradients at special values that are NaN or infinite, where float64's are not."""
    zeros = [one for one in specials.special(sample) if one.what == "zeros"]
    far = [one for one in specials.far(sample) if one.what in ("extreme", "tiny")]
    for case in (*zeros, *far):
        f, weights = call_of(sample), UpstreamGradients()
        run = functools.partial(double_gradients, f, case.arrays, weights)
        want = faults.attempted(run, None)
        with only("webgpu", sample):
            run = functools.partial(_of_values, f, case.arrays, weights)
            got = faults.attempted(run, None)
        is_inside = case.what == "zeros" or specials.is_in_domain(case)
        code = "gradient-parity" if is_inside else "gradient-at-extreme"
        yield _made_nonfinite(subject, case, want or [], got or [], code)


def _of_values(
    f: Callable[..., Any], arrays: Sequence[Array], weights: UpstreamGradients
) -> list[Array | None]:
    return gradients_of(f, tensors_for(arrays), weights)


def _made_nonfinite(
    subject: Subject,
    case: Case,
    want: list[Array | None],
    got: list[Array | None],
    code: str,
) -> list[Finding]:
    for number, (one, other) in enumerate(zip(want, got, strict=False)):
        if one is None or other is None or one.shape != other.shape:
            continue
        wrong = (np.abs(one) < float(np.finfo(np.float32).max)) & ~np.isfinite(other)
        if wrong.any():
            at = largest_at(wrong)
            words = (
                f"input {number} at {list(at)}: the gradient is {other[at]}, in float64 "
                f"{one[at]:.6g}; x = {case.arrays[number][at]}."
            )
            return [subject.finding(code, words, "gradient", evidence=(("case", case.id),))]
    return []


def layouts(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare gradients of upstream gradients that are views, and one that is broadcast."""
    of = functools.partial(_on_gpu, sample)
    want = faults.attempted(of, None)
    if want is None:
        return
    for layout in ("transposed", "sliced", "reversed"):
        run = functools.partial(of, lay_out=LAYOUTS[layout])
        yield _as_wanted(subject, sample, want, layout, run)
    ones = faults.attempted(lambda: of(_Ones()), None)
    if ones is not None:
        yield _as_wanted(subject, sample, ones, "broadcast", lambda: of(_Ones(), _seen_often))


def repeated(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare the bits of the gradients of three runs."""
    want = faults.attempted(lambda: _on_gpu(sample), None)
    for _ in range(0 if want is None else 2):
        got = _on_gpu(sample)
        for number, (one, other) in enumerate(zip(want or [], got, strict=True)):
            same = one is None or other is None or one.tobytes() == other.tobytes()
            if not same:
                words = f"the gradient of input {number} has other bits from run to run. A race?"
                yield _found(subject, sample, "gradient-unstable", words)
                return
    yield []


def alone(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare the gradients of each output alone, of several, with those in float64."""
    arrays = arrays_for(sample)
    f = call_of(sample)
    with double_precision():
        count = len(_smooth_outputs(sample, [wide_tensor(one) for one in arrays]))
    if count < 2:
        return
    whole = double_gradients(f, arrays, UpstreamGradients())
    parts: list[list[Array | None]] = []
    for number in range(count):
        in_double = functools.partial(_in_double, sample, arrays, number)
        want = in_double()
        parts.append(want)
        try:
            with only("webgpu", sample), config.using(small_ops="device"):
                got = _of_output(sample, tensors_for(arrays), number)
        except Exception as error:  # a rule may raise anything; the check tells
            label = f"{sample.id}, output {number} alone"
            yield with_case(findings_of(error, subject, "gradient-raises"), label)
            continue
        redrawn = functools.partial(in_double, 1)
        yield _of_one(subject, sample, want, got, number, redrawn)
    yield _summed(subject, sample, whole, parts)


def _summed(
    subject: Subject,
    sample: Sample,
    whole: list[Array | None],
    parts: list[list[Array | None]],
) -> list[Finding]:
    """Compare the sum of the gradients of each output with that of all at once."""
    smooth_only = [one for one in whole if one is not None]
    for index, one in enumerate(smooth_only):
        total = sum((np.zeros(one.shape) if p[index] is None else p[index]) for p in parts)  # type: ignore[misc]  # None is sorted out
        off = distance(np.asarray(total), one)
        if not (off <= tolerance(one, DOUBLE, 1e-9)).all():
            words = f"those of input {index} for each output alone do not add up to that of all."
            return _found(subject, sample, "gradient-of-one-output", words)
    return []


def _of_one(
    subject: Subject,
    sample: Sample,
    want: list[Array | None],
    got: list[Array | None],
    number: int,
    redrawn: Callable[[], list[Array | None]],
) -> list[Finding]:
    for index, (one, other) in enumerate(zip(want, got, strict=True)):
        if one is None and other is None:
            continue
        like = one if one is not None else other
        assert like is not None
        exactly, actual = (np.zeros(like.shape) if a is None else a for a in (one, other))
        factor = PARITY.get(sample.input_dtypes[index], SINGLE)
        noise = parity_noise(actual, exactly, factor, redrawn, index)
        allowed = tolerance(exactly, factor, noise)
        if actual.shape != exactly.shape or not (distance(actual, exactly) <= allowed).all():
            words = (
                f"the gradient of input {index} for output {number} alone is not that in float64."
            )
            return _found(subject, sample, "gradient-of-one-output", words)
    return []


def _smooth_outputs(sample: Sample, xs: Sequence[Tensor]) -> list[Tensor]:
    return smooth(outputs_of(call_of(sample), xs))


def _in_double(
    sample: Sample, arrays: Sequence[Array], number: int, seed: int = 0
) -> list[Array | None]:
    """Return the gradients of one output alone, in float64."""
    with double_precision():
        return _of_output(sample, [wide_tensor(one) for one in arrays], number, seed)


def _of_output(
    sample: Sample, xs: Sequence[Tensor], number: int, seed: int = 0
) -> list[Array | None]:
    """Return the gradients where only one output has an upstream gradient, drawn from ``seed``."""
    sources = smooth(xs)
    with GradientTape() as tape:
        tape.watch(sources)
        y = _smooth_outputs(sample, xs)[number]
    weights = UpstreamGradients(seed).of(number, y)
    found = tape.gradient([y], sources, [tensor(weights.astype(y.dtype), dtype=y.dtype)])
    return [None if one is None else one.numpy() for one in found]


def _found(subject: Subject, sample: Sample, code: str, words: str) -> list[Finding]:
    return [subject.finding(code, words, "gradient", evidence=(("case", sample.id),))]


class _Ones(UpstreamGradients):
    """Upstream gradients that are 1 everywhere."""

    def of(self, index: int, like: Tensor | Array) -> Array:
        return np.ones(like.shape)


def _seen_often(ones: Array) -> Tensor:
    return shape_ops.broadcast_to(tensor(np.ones((), ones.dtype)), ones.shape)


def _on_gpu(
    sample: Sample,
    weights: UpstreamGradients | None = None,
    lay_out: Callable[[Array], Tensor] = tensor,
) -> list[Array | None]:
    """Return the gradients on webgpu for upstream gradients, which are made by ``lay_out``."""
    with only("webgpu", sample):
        given = tensors_for(arrays_for(sample))
        return gradients_of(call_of(sample), given, weights or UpstreamGradients(), lay_out)


def _as_wanted(
    subject: Subject,
    sample: Sample,
    want: list[Array | None],
    layout: str,
    run: Callable[[], list[Array | None]],
) -> list[Finding]:
    """Compare gradients of upstream gradients in some layout with those of contiguous ones."""
    try:
        got = run()
    except Exception as error:  # a rule may raise anything; the check tells
        return with_case(findings_of(error, subject, "gradient-raises"), f"{sample.id}, {layout}")
    for number, (one, other) in enumerate(zip(want, got, strict=True)):
        if one is None or other is None:
            continue
        size = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
        close = np.isclose(one, other, rtol=2.0**-12, atol=2.0**-12 * size, equal_nan=True)
        if not close.all():
            at = largest_at(~close)
            words = (
                f"upstream gradient {layout}: the gradient of input {number} is {other[at]} at "
                f"{list(at)}; of a contiguous one it is {one[at]}."
            )
            return _found(subject, sample, "gradient-layout", words)
    return []
