"""Recurrent cells beside NumPy, their gradients, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import check_gradient

RNG = np.random.default_rng(5)


def drawn(*shape: int) -> np.ndarray:
    """Return normal numbers, as float32."""
    return RNG.standard_normal(shape).astype(np.float32)


X, C, H = drawn(2, 3), drawn(2, 4), drawn(2, 4)
KERNEL, BIAS = drawn(7, 16), drawn(16)
GATES, CANDIDATES = drawn(7, 8), drawn(7, 4)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return the logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_cells_follow_their_formulas(backend: str) -> None:
    i, j, f, o = np.split(np.concatenate([X, H], 1) @ KERNEL + BIAS, 4, axis=1)
    c = sigmoid(f + 1) * C + sigmoid(i) * np.tanh(j)
    r, u = np.split(sigmoid(np.concatenate([X, H], 1) @ GATES), 2, axis=1)
    new = np.tanh(np.concatenate([X, r * H], 1) @ CANDIDATES)
    with wk.use_backend(backend):
        states = wk.basic_lstm_cell(1.0, KERNEL, BIAS, X, C, H)
        state = wk.gru_cell(GATES, wk.zeros((8,)), CANDIDATES, wk.zeros((4,)), X, H)
        np.testing.assert_allclose(states[0].numpy(), c, atol=1e-5)
        np.testing.assert_allclose(states[1].numpy(), sigmoid(o) * np.tanh(c), atol=1e-5)
        np.testing.assert_allclose(state.numpy(), u * H + (1 - u) * new, atol=1e-5)


def test_gradients_flow_through_cells() -> None:
    def lstm(kernel: wk.Tensor, x: wk.Tensor) -> wk.Tensor:
        c, h = wk.basic_lstm_cell(0.5, kernel, BIAS, x, C, H)
        return wk.sum(c * h)

    def gru(gates: wk.Tensor, h: wk.Tensor) -> wk.Tensor:
        return wk.gru_cell(gates, wk.zeros((8,)), CANDIDATES, wk.zeros((4,)), X, h)

    with wk.use_backend("cpu"):
        check_gradient(lstm, [KERNEL, X])
        check_gradient(gru, [GATES, H])


def test_cells_name_the_argument_that_does_not_fit() -> None:
    with pytest.raises(wk.ShapeError, match=r"lstm_kernel has shape \[7, 8\]; want \[7, 16\]"):
        wk.basic_lstm_cell(1.0, KERNEL[:, :8], BIAS, X, C, H)
    with pytest.raises(wk.ShapeError, match=r"gru_cell: h has shape \[4\]; want \[2, units\]"):
        wk.gru_cell(GATES, BIAS, CANDIDATES, BIAS, X, H[0])
    with pytest.raises(wk.ArgumentError, match="c has 0 tensors for 1 cells; want one each"):
        wk.multi_rnn_cell([lambda data, c, h: (c, h)], 1.0, [], [1.0])
