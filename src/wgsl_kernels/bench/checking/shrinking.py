"""Making a case that fails smaller: the least lengths at which it still does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.bench.checking import sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.bench.checking.cases import Case
    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.findings import Finding

MOST_RUNS = 24
"""How often a case is run to make it smaller."""


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
    if sample.values is not None:
        return case, found
    runs, first = 0, found
    for length in sizes.lengths_of(sample)[::-1]:
        high = replaced.get(length, length)  # fails
        low = 0  # is held not to
        while high - low > 1 and runs < MOST_RUNS:
            runs += 1
            middle = 1 if low == 0 and high > 2 else (low + high) // 2
            smaller = {**replaced, length: middle}
            tried = sizes.resized(sample, smaller)
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
