"""Functions of complex numbers: their gradients, and C99's values where no referee's cases go."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import check_gradient

NAMES = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "cumulative_prod",
    "cumulative_sum",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "prod",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


def _drawn(*shape: int) -> np.ndarray:
    draw = np.random.default_rng(2)
    return (draw.uniform(-2, 2, shape) + 1j * draw.uniform(-2, 2, shape)).astype(np.complex64)


@pytest.mark.parametrize("name", NAMES)
def test_a_complex_function_has_the_gradient_of_its_numbers(name: str) -> None:
    with wk.use_backend("cpu"):
        check_gradient(getattr(wk, name), [_drawn(6)])


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_of_complex_numbers_go_both_ways(exclusive: bool, reverse: bool) -> None:
    x = _drawn(5)
    y = wk.cumulative_prod(x, exclusive=exclusive, reverse=reverse).numpy()
    order = x[::-1] if reverse else x
    whole = np.cumprod(np.concatenate([[1], order]))
    wanted = whole[:-1] if exclusive else whole[1:]

    np.testing.assert_allclose(y, wanted[::-1] if reverse else wanted, rtol=1e-5)


def test_roots_and_powers_keep_to_their_branch() -> None:
    below = complex(-4.0, -0.0)
    with wk.use_backend("cpu"):
        assert wk.sqrt([-4 + 0j, below, 0j]).tolist() == [2j, -2j, 0j]
        assert wk.pow([0j, 0j], [0j, 2 + 0j]).tolist() == [1 + 0j, 0j]
        np.testing.assert_allclose(wk.tanh([400 + 1j]).numpy(), [1], atol=1e-6)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_the_sign_of_a_complex_zero_is_zero_without_a_sign(backend: str) -> None:
    zeros = [complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)]
    with wk.use_backend(backend):
        found = wk.sign(wk.tensor([*zeros, -3j])).numpy()
    assert found.tobytes() == np.array([0, 0, 0, 0, -1j], np.complex64).tobytes()
