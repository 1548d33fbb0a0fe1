"""A residual network with batch norms reads handwritten digits."""

from dataclasses import dataclass
from typing import Any

from sklearn.datasets import load_digits

import wgsl_kernels as wk


def conv_norm(inputs: int, outputs: int) -> wk.nn.Sequential:
    """Return a convolution of 3 by 3 pixels and a batch norm."""
    conv = wk.nn.conv(inputs, outputs, 3, pad="same", bias=False, initializer=wk.nn.he_normal)
    return wk.nn.sequential(conv, wk.nn.batch_norm(outputs))


@dataclass
class Residual:
    """Layers whose result is added to what they are given."""

    body: wk.nn.Sequential

    def __call__(self, x: wk.Tensor, *, train: bool = False) -> wk.Tensor:
        """Return what has the shape of ``x``."""
        return wk.relu(x + self.body(x, train=train))


def main(steps: int = 138) -> None:
    """Train, and print after each epoch how many of the held-out digits are right."""
    digits: Any = load_digits()
    images, labels = digits.images[..., None] / 16, digits.target
    net = wk.nn.sequential(
        conv_norm(1, 16),
        wk.relu,
        Residual(wk.nn.sequential(conv_norm(16, 16), wk.relu, conv_norm(16, 16))),
        lambda x: x.mean((1, 2)),
        wk.nn.dense(16, 10),
    )
    adamw = wk.train.AdamW(3e-3, weight_decay=1e-4)

    @wk.capture
    def step(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        return adamw.minimize(lambda: wk.sparse_softmax_cross_entropy(y, net(x, train=True)), net)

    data = wk.data.batches(images[:1472], labels[:1472], 64, shuffle=True)
    for number, (x, y) in enumerate(data.steps(steps), 1):
        loss = step(x, y)
        if number % len(data) == 0:
            right = wk.metrics.accuracy()
            right.update(labels[1472:], net(images[1472:]))
            print(f"step {number}  loss {loss:.3f}  held out {right.result():.3f}")
