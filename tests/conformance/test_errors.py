"""Every recorded refusal of bad input by an op or kernel that this package has.

That it is refused is what the records say; the words are ours, and the same on both backends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.choices import ERROR_CHOICES
from tests.conformance.corpus import Case, cases
from tests.conformance.op_calls import op_call, op_of
from tests.conformance.replay import BACKENDS, on, outputs_of, tensors_of

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator


def _checks() -> Iterator[Case]:
    for case in cases("errors.jsonl.gz"):
        if case.raw["kind"] == "check" and (case.kernel or op_of(case) is not None):
            yield case


CASES = list(_checks())
REFUSED = [one for one in CASES if one.id not in ERROR_CHOICES]
ACCEPTED = [one for one in CASES if one.id in ERROR_CHOICES]


@pytest.mark.gpu
@pytest.mark.parametrize("case", REFUSED, ids=lambda one: one.id)
def test_recorded_bad_input_is_refused_in_the_same_words_everywhere(case: Case) -> None:
    first, second = [_words(case, backend) for backend in BACKENDS]

    assert first is not None, f"{case.id}: accepted; TensorFlow.js says: {case.raw['message']}"
    assert first == second


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", REFUSED, ids=lambda one: one.id)
def test_recorded_bad_input_leaves_nothing_behind(case: Case, backend: str) -> None:
    with wk.use_backend(backend):
        before = wk.memory()
        _words(case, backend)
        after = wk.memory()

    assert (after.num_tensors, after.num_bytes) == (before.num_tensors, before.num_bytes)
    assert after.num_buffers == before.num_buffers


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", ACCEPTED, ids=lambda one: one.id)
def test_recorded_bad_input_is_taken_where_a_choice_says_why(case: Case, backend: str) -> None:
    assert _words(case, backend) is None


def test_every_choice_is_one_about_a_record() -> None:
    assert len(ACCEPTED) == len(ERROR_CHOICES)


def _words(case: Case, backend: str) -> str | None:
    """Return the message with which a case is refused, None where it is not."""
    try:
        with on(backend, _given(case)):
            result = _kernel_run(case) if case.kernel else op_call(case)
            for one in outputs_of(result):
                one.numpy()  # a device tells of an index out of range when it is read
    except wk.WgslKernelsError as error:
        return f"{type(error).__name__}: {error}"
    return None


def _given(case: Case) -> list[Any]:
    return list((case.inputs if case.kernel else case.args).values())


def _kernel_run(case: Case) -> Any:
    return wk.engine().run_kernel(case.kernel, tensors_of(case.inputs), case.attrs)
