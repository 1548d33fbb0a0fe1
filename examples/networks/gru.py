"""A gated recurrent unit learns to write the licence of this project, letter by letter."""

from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import wgsl_kernels as wk

LICENCE = Path(__file__).resolve().parents[2] / "LICENSE"
LENGTH = 32


def main(steps: int = 100) -> None:
    """Train, and print the loss in nats a letter."""
    letters, ids = np.unique(list(LICENCE.read_text(encoding="utf-8")), return_inverse=True)
    windows = sliding_window_view(ids, LENGTH + 1)
    net = wk.nn.sequential(
        wk.nn.embedding(len(letters), 32),
        wk.nn.gru(32, 64, returns="outputs"),
        wk.nn.dense(64, len(letters), bias=False),
    )
    adam = wk.train.Adam(3e-3)

    @wk.capture
    def step(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        return adam.minimize(lambda: wk.sparse_softmax_cross_entropy(y, net(x)), net)

    data = wk.data.batches(windows[:, :-1], windows[:, 1:], 16, shuffle=True)
    for number, (x, y) in enumerate(data.steps(steps), 1):
        loss = step(x, y)
        if number % 10 == 0:
            print(f"step {number}  loss {loss:.3f}")
