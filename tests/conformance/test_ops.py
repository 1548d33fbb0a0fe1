"""Recorded calls of TensorFlow.js's public ops, by ours, on both backends.

Every call runs on cpu; on webgpu some of those ops that are no kernel of the same name, all calls
of all ops under WGSL_KERNELS_TEST_MODES=all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.conformance import tolerance
from tests.conformance.corpus import Case, Unknown, cases, optimizer_runs
from tests.conformance.op_calls import op_call, op_of
from tests.conformance.op_choices import OP_CHOICES, choice_of, right_results
from tests.conformance.replay import on, outside
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.ops.names.names import NOT_OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES = [one for one in cases("ops.jsonl.gz") if op_of(one) is not None]
BY_OP: dict[str, list[Case]] = {}
for _case in CASES:
    BY_OP.setdefault(_case.op, []).append(_case)

KERNELS = {one.kernel.lower() for one in cases("kernels.jsonl.gz")}
ON_A_GPU = [op for op in BY_OP if ALL_MODES or op.lower() not in KERNELS]
"""Ops that run on webgpu in every run: of the others the records of their kernels run there."""

ONE_IN = 1 if ALL_MODES else 6
"""Which part of their calls."""


@pytest.mark.parametrize("op", BY_OP)
def test_recorded_calls_of_an_op_give_their_results_again(op: str) -> None:
    problems = {case.id: _problem(case, "cpu") for case in BY_OP[op]}

    assert {id: problem for id, problem in problems.items() if problem} == {}


@pytest.mark.gpu
@pytest.mark.parametrize("op", ON_A_GPU)
def test_recorded_calls_of_an_op_give_their_results_on_a_gpu(op: str) -> None:
    problems = {case.id: _problem(case, "webgpu") for case in BY_OP[op][::ONE_IN]}

    assert {id: problem for id, problem in problems.items() if problem} == {}


def test_an_op_without_records_here_has_its_reason_or_is_to_come() -> None:
    absent = {one.op for one in cases("ops.jsonl.gz") if op_of(one) is None}
    known = {name.rpartition(".")[2] for name in NOT_OURS}

    assert absent <= known


def test_every_choice_is_one_about_a_call() -> None:
    assert set(OP_CHOICES) <= {case.id for case in cases("ops.jsonl.gz")}


def test_each_defect_on_record_has_a_row_in_the_docs() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/tensorflow-js.md").read_text()
    files = ("kernels.jsonl.gz", "grads.jsonl.gz", "ops.jsonl.gz")
    found = {quirk for file in files for case in cases(file) for quirk in case.quirks}
    found |= {quirk for run in optimizer_runs() for quirk in run["quirks"]}
    defects = {quirk.removeprefix("wrong: ") for quirk in found if quirk.startswith("wrong: ")}

    assert len(defects) > 20
    assert {one for one in defects if one.replace("may return", "returns") not in page} == set()


def _problem(case: Case, backend: str) -> str | None:
    """Return in words how a call's result differs from all that are right."""
    choice = choice_of(case)
    is_refused = choice is not None and choice.outputs is None
    try:
        with on(backend, list(case.args.values())):
            found = _values(op_call(case))
    except wk.WgslKernelsError as error:
        return None if is_refused else f"{type(error).__name__}: {error}"
    if is_refused:
        return "was taken"
    problems = [_difference(found, wanted) for wanted in right_results(case)]
    return None if None in problems else "; or ".join(map(str, problems))


def _values(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [one for value in result for one in _values(value)]
    return [np.asarray(result.numpy()) if isinstance(result, wk.Tensor) else result]


def _difference(found: Sequence[Any], wanted: Sequence[Any]) -> str | None:
    if len(found) != len(wanted):
        return f"{len(found)} results, want {len(wanted)}"
    for ours, theirs in zip(found, wanted, strict=True):
        problem = _compare(ours, theirs)
        if problem is not None:
            return problem
    return None


def _compare(ours: Any, theirs: Any) -> str | None:
    if theirs is None:
        return None
    if isinstance(theirs, Unknown):
        given = Unknown(ours.shape, str(ours.dtype))
        return None if given == theirs else f"{given}, want {theirs}"
    if not isinstance(theirs, np.ndarray):
        return None if ours == theirs else f"{ours!r}, want {theirs!r}"
    interval = None
    if theirs.dtype.kind in "fc" and np.shape(ours) == theirs.shape:
        interval = tolerance.composed_interval(theirs)
    return outside(np.asarray(ours), theirs, interval)
