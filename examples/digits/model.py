"""A small convolutional network: two convolutions, a maximum pool, two dense layers."""

from collections.abc import Mapping

import numpy as np
from activation import squareplus
from data import CLASSES

import wgsl_kernels as wk

SHAPES = {
    "conv1/filter": (3, 3, 1, 16),
    "conv1/bias": (16,),
    "conv2/filter": (3, 3, 16, 32),
    "conv2/bias": (32,),
    "dense1/weights": (4 * 4 * 32, 64),
    "dense1/bias": (64,),
    "dense2/weights": (64, CLASSES),
    "dense2/bias": (CLASSES,),
}
"""The variables by name; images are 8 by 8 and halved once on their way to the dense layers."""

Values = dict[str, np.ndarray]


def initial_values(seed: int) -> Values:
    """Return what every variable starts from: He's normal weights, and biases of 0."""
    draw = np.random.default_rng(seed)
    values = {}
    for name, shape in SHAPES.items():
        inputs = int(np.prod(shape[:-1]))
        spread = 0.0 if name.endswith("bias") else np.sqrt(2.0 / inputs)
        values[name] = draw.normal(0.0, 1.0, shape).astype(np.float32) * np.float32(spread)
    return values


class Network:
    """The variables on one backend, and what they compute."""

    def __init__(self, values: Values) -> None:
        self.variables = {name: wk.variable(value, name=name) for name, value in values.items()}

    def __call__(self, images: wk.Tensor) -> wk.Tensor:
        """Return logits [count, 10] of images [count, 8, 8, 1]."""
        return logits(self.variables, images)

    def loss(self, images: wk.Tensor, labels: wk.Tensor) -> wk.Tensor:
        """Return the mean cross entropy with one-hot labels [count, 10], a scalar."""
        return wk.softmax_cross_entropy(labels, self(images))

    def values(self) -> Values:
        """Return a copy of every variable."""
        return {name: one.numpy() for name, one in self.variables.items()}


def logits(variables: Mapping[str, wk.Tensor], images: wk.Tensor) -> wk.Tensor:
    """Return what the network says of ``images``, as logits [count, 10]."""
    x = wk.conv2d(images, variables["conv1/filter"], pad="same") + variables["conv1/bias"]
    x = wk.conv2d(squareplus(x), variables["conv2/filter"], pad="same") + variables["conv2/bias"]
    x = squareplus(wk.max_pool(x, 2))
    x = wk.reshape(x, (x.shape[0], -1))
    x = squareplus(x @ variables["dense1/weights"] + variables["dense1/bias"])
    return x @ variables["dense2/weights"] + variables["dense2/bias"]
