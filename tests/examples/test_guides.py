"""The examples that extend the library do what they say, on both backends."""

import functools
import re

import numpy as np
import pytest
from tests.examples.program import numbers_after, output_of

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
printed_by = functools.cache(lambda backend: output_of("guide_ops.py", "--backend", backend))


@BACKENDS
def test_the_custom_op_passes_both_of_its_checks(backend: str) -> None:
    printed = output_of("custom_op.py", "--backend", backend)

    x = np.array([-1.0, 0.0, 0.5])
    want = x + np.sin(2.0 * x) ** 2 / 2.0
    assert numbers_after("", printed) == pytest.approx(want, abs=2.0**-10)
    assert re.search(r"^Snake: \d+ checks, 0 failed$", printed, re.MULTILINE)


@BACKENDS
def test_the_guide_shows_each_way_to_extend(backend: str) -> None:
    printed = printed_by(backend)

    average = np.zeros(2)
    for step, seen in enumerate(np.array([[1.0, 4.0], [3.0, 4.0], [2.0, 4.0]]), start=1):
        average += 0.1 * (seen - average) / (1.0 - 0.9**step)
    assert numbers_after("moving average", printed) == pytest.approx(average)
    assert numbers_after("square root", printed) == pytest.approx([1.0, 2.0**0.5, 3.0])
    assert numbers_after("square  ", printed) == [4.0, 0.0625, 9.0]
    assert numbers_after("its gradient", printed) == [-4.0, 0.5, 6.0]


@BACKENDS
def test_an_overridden_gradient_is_restored(backend: str) -> None:
    printed = printed_by(backend)

    own, other = [-4.0, 0.5, 6.0], [-1.0, 0.5, 1.0]
    assert numbers_after("in a block", printed) == other
    assert numbers_after("after it", printed) == own
    assert numbers_after("replaced", printed) == other
    assert numbers_after("restored", printed) == own


@BACKENDS
def test_cross_entropy_past_the_registry_has_the_exact_gradient(backend: str) -> None:
    printed = printed_by(backend)

    logits, labels = np.array([1.0, 3.0, 0.5]), np.array([0.0, 1.0, 0.0])
    softmax = np.exp(logits) / np.exp(logits).sum()
    values = numbers_after("cross-entropy", printed)
    assert values == pytest.approx([-np.log(softmax[1]), np.log(2.0)], rel=1e-5)
    want = [*(softmax - labels), 0.0, 0.0, 0.0]
    assert numbers_after("gradient for the logits", printed) == pytest.approx(want, rel=1e-4)
    assert numbers_after("its error", printed)[0] < 1e-4
