"""A small convolutional network: two convolutions with a maximum pool between, two dense layers."""

import numpy as np

import wgsl_kernels as wk
from activation import squareplus
from data import CLASSES

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
    return {
        name: _initial(draw, shape, 0.0 if name.endswith("bias") else 2.0)
        for name, shape in SHAPES.items()
    }


def _initial(draw: np.random.Generator, shape: tuple[int, ...], gain: float) -> np.ndarray:
    values = draw.normal(size=shape) * np.sqrt(gain / np.prod(shape[:-1]))
    return np.asarray(values, np.float32)


class Network:
    """The variables on the active backend, and what is computed from them."""

    def __init__(self, values: Values) -> None:
        self.variables = {name: wk.variable(value, name=name) for name, value in values.items()}

    def __call__(self, images: wk.Tensor) -> wk.Tensor:
        """Return logits [count, 10] of images [count, 8, 8, 1]."""
        own = self.variables
        x = wk.conv2d(images, own["conv1/filter"], pad="same") + own["conv1/bias"]
        x = squareplus(wk.max_pool(x, 2))
        x = wk.conv2d(x, own["conv2/filter"], pad="same") + own["conv2/bias"]
        x = wk.reshape(squareplus(x), (images.shape[0], -1))
        x = squareplus(x @ own["dense1/weights"] + own["dense1/bias"])
        return x @ own["dense2/weights"] + own["dense2/bias"]

    def loss(self, images: wk.Tensor, labels: wk.Tensor) -> wk.Tensor:
        """Return the mean cross entropy with one-hot labels [count, 10], a scalar."""
        return wk.softmax_cross_entropy(labels, self(images))

    def values(self) -> Values:
        """Return a copy of every variable."""
        return {name: one.numpy() for name, one in self.variables.items()}
