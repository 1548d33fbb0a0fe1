"""Every recorded gradient of a kernel that this package has, on both backends.

Of those without a quirk every third of a kernel; with WGSL_KERNELS_TEST_MODES=all every one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conformance import tolerance
from tests.conformance.choices import GRADIENT_CHOICES
from tests.conformance.corpus import Array, Case, cases
from tests.conformance.replay import BACKENDS, on, outputs_of, outside, tensors_of
from tests.modes import some

import wgsl_kernels as wk

CASES = cases("grads.jsonl.gz")
# No gradient flows to integers and bools here; the tape of TensorFlow.js has one for them as well.
OF_INTEGERS = [one for one in CASES if not one.differentiable]
CHOSEN = {id: one.gradients for id, one in GRADIENT_CHOICES.items() if one.gradients is not None}
REFUSED = [one for one in CASES if one.id in GRADIENT_CHOICES and one.id not in CHOSEN]
OF_FLOATS = [one for one in CASES if one.differentiable and one not in REFUSED]
ODD = [one for one in OF_FLOATS if one.quirks or one.id in CHOSEN]
PLAIN = [one for one in OF_FLOATS if not one.quirks and one.id not in CHOSEN]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "case", [*ODD, *some(PLAIN, 5, "gradient records")], ids=lambda one: one.id
)
def test_a_recorded_gradient_comes_out_again(case: Case, backend: str) -> None:
    found = _gradients(case, backend)
    wrong = case.is_called("wrong")
    expected = case.gradients("expected_dx")
    if case.id in CHOSEN:
        expected = CHOSEN[case.id](case)

    for name in case.differentiable:
        ours = found[name]
        theirs = case.gradients("dx")[name]
        right = expected.get(name) if wrong else theirs
        if right is None:  # this one is not what is wrong, where its shape is the input's
            right = theirs
        shape = np.shape(case.input(name))
        problem = _problem(case, name, ours, right, shape)
        assert problem is None, f"{case.id} {case.quirks}: gradient of {name}: {problem}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", REFUSED, ids=lambda one: one.id)
def test_a_recorded_gradient_is_refused_where_a_choice_says_why(case: Case, backend: str) -> None:
    with pytest.raises(wk.ShapeError, match="dy has shape"):
        _gradients(case, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", OF_INTEGERS, ids=lambda one: one.id)
def test_no_gradient_flows_to_integers_and_bools(case: Case, backend: str) -> None:
    with on(backend), wk.GradientTape() as tape:
        tensors = tensors_of(case.inputs)
        for name in case.gradients("dx"):
            with pytest.raises(wk.DTypeError, match="no gradient flows through dtype"):
                tape.watch(case.input(name, tensors))


def test_every_choice_is_one_about_a_record() -> None:
    assert set(GRADIENT_CHOICES) <= {case.id for case in CASES}


def _problem(
    case: Case, name: str, ours: Array | None, right: Array, shape: tuple[int, ...]
) -> str | None:
    if ours is None:
        return "None" if np.any(right) else None  # a gradient of zeros agrees with none
    if ours.shape != shape:
        return f"shape {ours.shape}, want the input's, {shape}"
    kinks = np.isnan(right)  # numbers do not settle the gradient there
    right = np.where(kinks, ours, right).astype(right.dtype)
    return outside(ours, right, tolerance.gradient_interval(right))


def _gradients(case: Case, backend: str) -> dict[str, Array | None]:
    """Return our gradients by the record's input names."""
    with on(backend):
        tensors = tensors_of(case.inputs)
        sources = [case.input(name, tensors) for name in case.differentiable]
        with wk.GradientTape() as tape:
            tape.watch(sources)
            result = wk.engine().run_kernel(case.kernel, tensors, case.attrs)
        pairs = [
            (y, wk.tensor(dy, dtype=dy.dtype))
            for y, dy in zip(outputs_of(result), case.arriving, strict=True)
            if dy is not None
        ]
        found: list[Any] = tape.gradient([y for y, _ in pairs], sources, [dy for _, dy in pairs])
        return {
            name: None if one is None else one.numpy()
            for name, one in zip(case.differentiable, found, strict=True)
        }
