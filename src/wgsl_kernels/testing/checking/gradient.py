"""Is its gradient right: against differences in float64, on every backend, of every layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.autodiff import GradientTape
from wgsl_kernels.engine.config import config
from wgsl_kernels.engine.tensor import tensor
from wgsl_kernels.ops import shape as shape_ops
from wgsl_kernels.testing.checking.subject import Subject, findings_of, with_case
from wgsl_kernels.testing.checks import (
    check_gradient_by_numbers,
    check_gradient_parity,
    check_second_order,
    only,
)
from wgsl_kernels.testing.evaluation import Weights, gradients_of, outputs_of, smooth
from wgsl_kernels.testing.inputs import arrays_for, tensors_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.engine.findings import Finding
    from wgsl_kernels.testing.evaluation import Array
    from wgsl_kernels.testing.report import Row
    from wgsl_kernels.testing.sample import Sample


def by_numbers(subject: Subject, sample: Sample) -> Row:
    """Compare the gradient with differences."""
    return _judged_row(subject, check_gradient_by_numbers(sample), "wrong-gradient", sample)


def parity(subject: Subject, sample: Sample, backend: str) -> Row:
    """Compare a backend's gradient with that in float64."""
    return _judged_row(subject, check_gradient_parity(sample, backend), "gradient-parity", sample)


def second(subject: Subject, sample: Sample) -> Row:
    """Compare the gradient of the gradient with differences."""
    return _judged_row(subject, check_second_order(sample), "wrong-second-order", sample)


def _judged_row(subject: Subject, row: Row, code: str, sample: Sample) -> Row:
    if row.passed:
        return row
    if np.isfinite(row.worst_abs):
        words = f"{row.note}: off by {row.worst_abs:.3g}, allowed {row.tolerance:.3g}."
    else:
        words = f"{row.note}."
    case = f"{sample.id}, {row.backend}"
    return row.with_findings(with_case([subject.finding(code, words)], case))


def layouts(subject: Subject, sample: Sample) -> Iterator[list[Finding]]:
    """Compare gradients of upstream gradients that are views, and one that is broadcast."""
    want = _attempt(lambda: _of_layout(sample, "default"))
    if want is None:
        return
    for layout in ("transposed", "sliced", "reversed"):
        try:
            got = _of_layout(sample, layout)
        except Exception as error:  # a rule may raise anything; the check tells
            yield with_case(
                findings_of(error, subject, "gradient-raises"), f"{sample.id}, {layout}"
            )
            continue
        yield _compared(subject, sample, want, got, f"upstream gradient {layout}")
    ones = _attempt(lambda: _of_ones(sample, broadcast=False))
    if ones is not None:
        try:
            got = _of_ones(sample, broadcast=True)
        except Exception as error:  # a rule may raise anything; the check tells
            yield with_case(
                findings_of(error, subject, "gradient-raises"), f"{sample.id}, broadcast"
            )
            return
        yield _compared(subject, sample, ones, got, "upstream gradient broadcast")


def _attempt(run: Callable[[], list[Array | None]]) -> list[Array | None] | None:
    try:
        return run()
    except Exception:  # said where gradients are compared
        return None


def _of_layout(sample: Sample, layout: str) -> list[Array | None]:
    with only("webgpu", sample):
        given = tensors_for(arrays_for(sample))
        return gradients_of(lambda *xs: sample.f(*xs, **sample.attrs), given, Weights(), layout)


def _of_ones(sample: Sample, *, broadcast: bool) -> list[Array | None]:
    """Return gradients for upstream gradients of ones, which may be one number seen often."""
    with only("webgpu", sample), config.using(small_ops="device"):
        xs = tensors_for(arrays_for(sample))
        sources = smooth(xs)
        with GradientTape() as tape:
            tape.watch(sources)
            ys = smooth(outputs_of(lambda *given: sample.f(*given, **sample.attrs), xs))
        dys = [
            shape_ops.broadcast_to(tensor(1.0, dtype=y.dtype), y.shape)
            if broadcast
            else tensor(np.ones(y.shape), dtype=y.dtype)
            for y in ys
        ]
        found = tape.gradient(ys, sources, dys)
        return [None if one is None else one.numpy() for one in found]


def _compared(
    subject: Subject,
    sample: Sample,
    want: list[Array | None],
    got: list[Array | None],
    what: str,
) -> list[Finding]:
    for number, (one, other) in enumerate(zip(want, got, strict=True)):
        if one is None or other is None:
            continue
        size = np.max(np.abs(one), initial=0.0)
        close = np.isclose(one, other, rtol=2.0**-12, atol=2.0**-12 * size, equal_nan=True)
        if not close.all():
            at = tuple(int(i) for i in np.unravel_index(int(np.argmin(close)), close.shape))
            words = (
                f"{what}: the gradient of input {number} is {other[at]} at {list(at)}; of a "
                f"contiguous one it is {one[at]}."
            )
            return [subject.finding("gradient-layout", words, evidence=(("case", sample.id),))]
    return []
