"""Every recorded run of a kernel that this package has, on both backends.

Of those without a quirk every third of a kernel; with WGSL_KERNELS_TEST_MODES=all every one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.choices import KERNEL_CHOICES
from tests.conformance.corpus import Array, Case, Unknown, cases
from tests.conformance.replay import BACKENDS, difference, replay
from tests.modes import some

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES = cases("kernels.jsonl.gz")


REFUSED = [id for id, choice in KERNEL_CHOICES.items() if choice.outputs is None]
ODD = [one for one in CASES if one.id not in REFUSED and (one.quirks or one.id in KERNEL_CHOICES)]
PLAIN = [one for one in CASES if one.id not in KERNEL_CHOICES and not one.quirks]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", [*ODD, *some(PLAIN, 5, "kernel records")], ids=lambda one: one.id)
def test_a_recorded_kernel_run_gives_its_outputs_again(case: Case, backend: str) -> None:
    actual = replay(case, backend)
    accepted = _accepted(case)

    problems = [difference(case, actual, wanted) for wanted in accepted]

    assert None in problems, f"{case.id} {case.quirks}: {'; or '.join(map(str, problems))}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "case", [one for one in CASES if one.id in REFUSED], ids=lambda one: one.id
)
def test_a_recorded_kernel_run_is_refused_where_a_choice_says_why(case: Case, backend: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=f"^{case.kernel}: "):
        replay(case, backend)


def test_every_choice_is_one_about_a_record() -> None:
    assert set(KERNEL_CHOICES) <= {case.id for case in CASES}


def _accepted(case: Case) -> list[Sequence[Array | Unknown | None]]:
    """Return the outputs that are right, any one of them."""
    choice = KERNEL_CHOICES.get(case.id)
    if choice is not None and choice.outputs is not None:
        return [choice.outputs(case)]
    right = [case.tensors("expected")] if case.raw.get("expected") else []
    if case.is_called("wrong"):
        return [*right]
    return [case.tensors("outputs"), *right]
