"""Making a case that fails smaller: the least lengths at which it still does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.bench.checking import cases

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding

MOST_RUNS = 24
"""How often a case is run to make it smaller."""


def shrunk(
    sample: Sample,
    sizes: dict[int, int],
    found: list[Finding],
    judge: Callable[[Case], list[Finding]],
) -> list[Finding]:
    """Return the findings of the smallest case that still fails in the same way.

    Args:
        sample: What the case is made from.
        sizes: Which lengths are replaced by which.
        found: What was found of it.
        judge: Runs a case.
    """
    if sample.values is not None:
        return found
    runs = 0
    lengths = sorted({one for shape in sample.shapes for one in shape}, reverse=True)
    for length in lengths:
        high = sizes.get(length, length)  # fails
        low = 0  # is held not to
        while high - low > 1 and runs < MOST_RUNS:
            runs += 1
            middle = 1 if low == 0 and high > 2 else (low + high) // 2
            smaller = {**sizes, length: middle}
            case = cases.resized(sample, smaller)
            again = [] if case is None else judge(case)
            if {one.code for one in again} & {one.code for one in found}:
                high, sizes, found = middle, smaller, again
            else:
                low = middle
    return found
