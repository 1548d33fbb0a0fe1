"""Networks of several kinds, each with a training step on one batch; always the same numbers."""

from __future__ import annotations

import itertools

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.train import Adam

BATCH, INPUTS, HIDDEN, CLASSES = 16, 384, 128, 10


class Network:
    """Two dense layers, trained on one batch; always the same numbers."""

    def __init__(self) -> None:
        draw = np.random.default_rng(5)
        shapes = {
            "w1": (INPUTS, HIDDEN),
            "b1": (HIDDEN,),
            "w2": (HIDDEN, CLASSES),
            "b2": (CLASSES,),
        }
        self.variables = {
            name: wk.variable(draw.normal(0.0, 0.1, shape), name=name, dtype="float32")
            for name, shape in shapes.items()
        }
        self.x = wk.tensor(draw.normal(size=(BATCH, INPUTS)), dtype="float32")
        self.labels = wk.tensor(np.eye(CLASSES)[draw.integers(0, CLASSES, BATCH)], dtype="float32")
        self.adam = Adam(0.01)

    def step(self) -> wk.Tensor:
        """Do one step and return the loss before it."""
        return self.adam.minimize(self._loss)

    def values(self) -> list[bytes]:
        """Return the bits of all variables."""
        return [one.numpy().tobytes() for one in self.variables.values()]

    def _loss(self) -> wk.Tensor:
        own = self.variables
        hidden = wk.relu(self.x @ own["w1"] + own["b1"])
        return wk.softmax_cross_entropy(self.labels, hidden @ own["w2"] + own["b2"])


class Deep(Network):
    """Four dense layers of unlike widths and a large batch, so that activations count."""

    widths = (64, 256, 32, 128, CLASSES)

    def __init__(self) -> None:
        draw = np.random.default_rng(6)
        self.variables = {}
        for number, (inputs, outputs) in enumerate(itertools.pairwise(self.widths)):
            values = draw.normal(0.0, 0.1, (inputs, outputs))
            self.variables[f"w{number}"] = wk.variable(values, dtype="float32")
            self.variables[f"b{number}"] = wk.variable(np.zeros(outputs), dtype="float32")
        self.x = wk.tensor(draw.normal(size=(128, self.widths[0])), dtype="float32")
        self.labels = wk.tensor(np.eye(CLASSES)[draw.integers(0, CLASSES, 128)], dtype="float32")
        self.adam = Adam(0.01)

    def _loss(self) -> wk.Tensor:
        own, x = self.variables, self.x
        for number in range(len(self.widths) - 1):
            x = x @ own[f"w{number}"] + own[f"b{number}"]
            x = wk.tanh(x) if number < len(self.widths) - 2 else x
        return wk.softmax_cross_entropy(self.labels, x)


class Convolutions(Network):
    """Two convolutions with pooling, then a dense layer."""

    def __init__(self) -> None:
        draw = np.random.default_rng(7)
        shapes = {
            "c1": (3, 3, 1, 8),
            "b1": (8,),
            "c2": (3, 3, 8, 16),
            "b2": (16,),
            "w": (7 * 7 * 16, CLASSES),
            "b": (CLASSES,),
        }
        self.variables = {
            name: wk.variable(draw.normal(0.0, 0.1, shape), name=name, dtype="float32")
            for name, shape in shapes.items()
        }
        self.x = wk.tensor(draw.normal(size=(BATCH, 28, 28, 1)), dtype="float32")
        self.labels = wk.tensor(np.eye(CLASSES)[draw.integers(0, CLASSES, BATCH)], dtype="float32")
        self.adam = Adam(0.01)

    def _loss(self) -> wk.Tensor:
        own, x = self.variables, self.x
        x = wk.relu(wk.conv2d(x, own["c1"], pad="same") + own["b1"])
        x = wk.max_pool(x, 2)
        x = wk.relu(wk.conv2d(x, own["c2"], pad="same") + own["b2"])
        x = wk.max_pool(x, 2)
        x = wk.reshape(x, (BATCH, -1)) @ own["w"] + own["b"]
        return wk.softmax_cross_entropy(self.labels, x)


class Wide(Network):
    """Two dense layers with many units between them."""

    def __init__(self) -> None:
        draw = np.random.default_rng(8)
        shapes = {"w1": (64, 1024), "b1": (1024,), "w2": (1024, CLASSES), "b2": (CLASSES,)}
        self.variables = {
            name: wk.variable(draw.normal(0.0, 0.1, shape), name=name, dtype="float32")
            for name, shape in shapes.items()
        }
        self.x = wk.tensor(draw.normal(size=(BATCH, 64)), dtype="float32")
        self.labels = wk.tensor(np.eye(CLASSES)[draw.integers(0, CLASSES, BATCH)], dtype="float32")
        self.adam = Adam(0.01)


class Attending(Network):
    """A transformer's block, with attention of four heads, then a dense layer."""

    batch, length, width, heads = 2, 32, 64, 4

    def __init__(self) -> None:
        draw = np.random.default_rng(9)
        wide = self.width
        shapes: dict[str, tuple[int, ...]] = {
            **dict.fromkeys(("query", "key", "value", "joined"), (wide, wide)),
            "up": (wide, 4 * wide),
            "up_b": (4 * wide,),
            "down": (4 * wide, wide),
            "down_b": (wide,),
            "scale1": (wide,),
            "scale2": (wide,),
            "w": (wide, CLASSES),
        }
        self.variables = {
            name: wk.variable(draw.normal(0.0, 0.1, shape), name=name, dtype="float32")
            for name, shape in shapes.items()
        }
        shape = (self.batch, self.length, wide)
        self.x = wk.tensor(draw.normal(size=shape), dtype="float32")
        labels = np.eye(CLASSES)[draw.integers(0, CLASSES, self.batch)]
        self.labels = wk.tensor(labels, dtype="float32")
        self.adam = Adam(0.01)

    def _loss(self) -> wk.Tensor:
        own, x = self.variables, self.x
        before = _normal(x) * own["scale1"]
        query, key, value = (self._split(before @ own[one]) for one in ("query", "key", "value"))
        near = wk.softmax(wk.matmul(query, key, transpose_b=True) * 0.25)
        seen = wk.permute_dims(wk.matmul(near, value), (0, 2, 1, 3))
        x = x + wk.reshape(seen, x.shape) @ own["joined"]
        inner = wk.relu(_normal(x) * own["scale2"] @ own["up"] + own["up_b"])
        x = x + inner @ own["down"] + own["down_b"]
        return wk.softmax_cross_entropy(self.labels, wk.mean(x, axis=1) @ own["w"])

    def _split(self, x: wk.Tensor) -> wk.Tensor:
        parts = wk.reshape(x, (self.batch, self.length, self.heads, self.width // self.heads))
        return wk.permute_dims(parts, (0, 2, 1, 3))


def _normal(x: wk.Tensor) -> wk.Tensor:
    centred = x - wk.mean(x, axis=-1, keepdims=True)
    return centred * wk.rsqrt(wk.mean(wk.square(centred), axis=-1, keepdims=True) + 1e-5)
