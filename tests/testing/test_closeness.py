"""assert_close: which elements it lets pass, and what it says of the others."""

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import assert_close

ULP = 2.0**-23
"""One unit in the last place of 1."""
INF, NAN = np.inf, np.nan


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("actual", "expected", "tolerances"),
    [
        (f32(1.0), f32(1.0), {}),
        (f32(1.000009), f32(1.0), {}),
        (f32(5e-7), f32(0.0), {}),
        (f32(NAN, INF, -INF), f32(NAN, INF, -INF), {}),
        (f32(1.1), f32(1.0), {"atol": 0.2}),
        (f32(11.0), f32(10.0), {"rtol": 0.11}),
        (f32(1 + 3 * ULP), f32(1.0), {"ulp": 3}),
        (f32(1.1), f32(1.0), {"ulp": 3, "atol": 0.2}),
        (f32(1 + 3 * ULP), f32(1.0), {"ulp": 3, "rtol": 0.0}),
        (np.array([3]), np.array([3]), {}),
        (np.array([3]), np.array([4]), {"atol": 1}),
        (np.array(["a"], object), np.array(["a"], object), {}),
        (np.array([1 + 2j]), np.array([1 + 2j]), {}),
        (f32(), f32(), {}),
    ],
)
def test_near_values_pass(actual: Any, expected: Any, tolerances: dict[str, float]) -> None:
    assert_close(actual, expected, **tolerances)


@pytest.mark.parametrize(
    ("actual", "expected", "tolerances"),
    [
        (f32(1.00002), f32(1.0), {}),
        (f32(2e-6), f32(0.0), {}),
        (f32(NAN), f32(1.0), {"atol": INF}),
        (f32(1.0), f32(NAN), {"atol": INF}),
        (f32(NAN), f32(INF), {}),
        (f32(INF), f32(-INF), {"rtol": 1.0}),
        (f32(3e38), f32(INF), {"rtol": 1.0}),
        (f32(INF), f32(3e38), {"rtol": 1.0}),
        (f32(1.3), f32(1.0), {"atol": 0.2}),
        (f32(1.1), f32(1.0), {"rtol": 0.0}),
        (f32(1 + 4 * ULP), f32(1.0), {"ulp": 3}),
        (np.array([3]), np.array([4]), {}),
        (np.array([True]), np.array([False]), {}),
        (np.array(["a"], object), np.array(["b"], object), {}),
        (np.array([1 + 2j]), np.array([1 - 2j]), {}),
        (f32(1.0, 2.0), f32(1.0), {}),
    ],
)
def test_far_values_raise(actual: Any, expected: Any, tolerances: dict[str, float]) -> None:
    with pytest.raises(AssertionError, match="assert_close: "):
        assert_close(actual, expected, **tolerances)


def test_the_worst_element_is_named_with_both_values() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close(f32(1.0, 2.5, 3.1), [1.0, 2.0, 3.0])
    message = str(caught.value)
    assert "2 of 3 elements differ; worst at [1]" in message
    assert "2.5" in message
    assert "off 0.5" in message


def test_tensors_and_lists_of_them_are_read() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor([1.0, 2.0])
        assert_close(x, [1.0, 2.0])
        assert_close((x, x), [[1.0, 2.0], x])
        with pytest.raises(AssertionError, match="got 1 tensors, want 2"):
            assert_close([x], [x, x])


def test_float64_is_held_to_its_own_precision() -> None:
    with pytest.raises(AssertionError, match="assert_close"):
        assert_close(np.array([1.0 + 1e-9]), np.array([1.0]))
