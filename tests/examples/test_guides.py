"""The examples that extend the library do what they say, on both backends."""

import numpy as np
import pytest
from tests.examples.program import numbers_after, output_of

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@BACKENDS
def test_the_custom_op_passes_both_of_its_checks(backend: str) -> None:
    printed = output_of("custom_op.py", "--backend", backend)

    x = np.array([-1.0, 0.0, 0.5])
    want = x + np.sin(2.0 * x) ** 2 / 2.0
    np.testing.assert_allclose(numbers_after("", printed), want, rtol=2e-3)
    assert "Snake" in printed


@BACKENDS
def test_the_guide_shows_each_way_to_extend(backend: str) -> None:
    printed = output_of("guide_ops.py", "--backend", backend)

    decayed = np.array([1.0 * 0.9 * 0.9 + 3.0 * 0.9 + 2.0, 4.0 * (0.81 + 0.9 + 1.0)]) * 0.1
    biased = decayed / (1.0 - 0.9**3)
    assert numbers_after("moving average", printed)[1] == pytest.approx(4.0)
    assert biased[1] == pytest.approx(4.0)
    assert numbers_after("square root", printed) == pytest.approx([1.0, 2.0**0.5, 3.0])
    assert numbers_after("square  ", printed) == [4.0, 0.0625, 9.0]
    assert numbers_after("its gradient", printed) == [-4.0, 0.5, 6.0]


@BACKENDS
def test_an_overridden_gradient_is_restored(backend: str) -> None:
    printed = output_of("guide_ops.py", "--backend", backend)

    own, other = [-4.0, 0.5, 6.0], [-1.0, 0.5, 1.0]
    assert numbers_after("in a block", printed) == other
    assert numbers_after("after it", printed) == own
    assert numbers_after("replaced", printed) == other
    assert numbers_after("restored", printed) == own
