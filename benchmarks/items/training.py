"""One step of training with Adam: a perceptron 784-256-10 and small convolutional networks.

The wide one is there for the gradients of convolution and pooling, which are most of it.
"""

from typing import Any

import numpy as np
from benchmarks.items.item import Array, Draw, Item, Work
from numpy.lib.stride_tricks import sliding_window_view


def _mlp(draw: Draw, batch: int, pixels: int, hidden: int, classes: int) -> Work:
    def loss(o: Any, x: Any, labels: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        h = o.relu(o.add(o.matmul(x, w1), b1))
        return o.cross_entropy(labels, o.add(o.matmul(h, w2), b2))

    inputs = {"x": draw.normal(batch, pixels), "labels": draw.labels(batch, classes)}
    variables = {
        "w1": draw.normal(pixels, hidden, scale=0.05),
        "b1": np.zeros(hidden, np.float32),
        "w2": draw.normal(hidden, classes, scale=0.05),
        "b2": np.zeros(classes, np.float32),
    }
    return Work(inputs, loss, "training", variables, _mlp_by_hand)


def _mlp_by_hand(own: dict[str, Array], inputs: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
    x = inputs["x"]
    h = np.maximum(x @ own["w1"] + own["b1"], 0)
    loss, dz = _cross_entropy(h @ own["w2"] + own["b2"], inputs["labels"])
    dh = (dz @ own["w2"].T) * (h > 0)
    return loss, {"w1": x.T @ dh, "b1": dh.sum(0), "w2": h.T @ dz, "b2": dz.sum(0)}


def _cnn(draw: Draw, batch: int, side: int, channels: tuple[int, int], classes: int) -> Work:
    def loss(
        o: Any, x: Any, labels: Any, f1: Any, b1: Any, f2: Any, b2: Any, w: Any, b: Any
    ) -> Any:
        h = o.max_pool(o.relu(o.add(o.conv2d(x, f1, stride=1), b1)), size=2)
        h = o.max_pool(o.relu(o.add(o.conv2d(h, f2, stride=1), b2)), size=2)
        h = o.reshape(h, shape=(batch, flat))
        return o.cross_entropy(labels, o.add(o.matmul(h, w), b))

    first, second = channels
    flat = (side // 4) ** 2 * second
    inputs = {"x": draw.normal(batch, side, side, 1), "labels": draw.labels(batch, classes)}
    variables = {
        "f1": draw.normal(3, 3, 1, first, scale=0.1),
        "b1": np.zeros(first, np.float32),
        "f2": draw.normal(3, 3, first, second, scale=0.1),
        "b2": np.zeros(second, np.float32),
        "w": draw.normal(flat, classes, scale=0.05),
        "b": np.zeros(classes, np.float32),
    }
    return Work(inputs, loss, "training", variables, _cnn_by_hand)


def _cnn_by_hand(own: dict[str, Array], inputs: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
    x, labels = inputs["x"], inputs["labels"]
    seen1 = _windows(x)
    a1 = np.maximum(seen1 @ _flat(own["f1"]) + own["b1"], 0)
    p1 = _pool(a1)
    seen2 = _windows(p1)
    a2 = np.maximum(seen2 @ _flat(own["f2"]) + own["b2"], 0)
    p2 = _pool(a2)
    h = p2.reshape(len(x), -1)
    loss, dz = _cross_entropy(h @ own["w"] + own["b"], labels)
    da2 = _unpool((dz @ own["w"].T).reshape(p2.shape), a2, p2) * (a2 > 0)
    df2, db2 = _filter_gradient(seen2, da2, own["f2"])
    turned = own["f2"][::-1, ::-1].swapaxes(2, 3)
    dp1 = _windows(da2) @ _flat(turned)
    da1 = _unpool(dp1, a1, p1) * (a1 > 0)
    df1, db1 = _filter_gradient(seen1, da1, own["f1"])
    found = {"f1": df1, "b1": db1, "f2": df2, "b2": db2, "w": h.T @ dz, "b": dz.sum(0)}
    return loss, found


def _cross_entropy(logits: Array, labels: Array) -> tuple[Any, Array]:
    """Return the mean loss and its gradient for the logits."""
    shifted = logits - logits.max(1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(1, keepdims=True))
    logs = shifted - log_sum
    loss = -(labels * logs).sum() / np.float32(len(logits))
    return loss, (np.exp(logs) - labels) / np.float32(len(logits))


def _windows(x: Array) -> Array:
    """Return [batch, height, width, 9 * channels]: the 3x3 pixels around each one."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    seen = sliding_window_view(padded, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    return np.ascontiguousarray(seen).reshape(*x.shape[:3], -1)


def _flat(filter: Array) -> Array:
    return filter.reshape(-1, filter.shape[-1])


def _filter_gradient(seen: Array, dy: Array, filter: Array) -> tuple[Array, Array]:
    rows = dy.reshape(-1, dy.shape[-1])
    return (seen.reshape(len(rows), -1).T @ rows).reshape(filter.shape), rows.sum(0)


def _pool(x: Array) -> Array:
    batch, height, width, channels = x.shape
    found: Array = x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))
    return found


def _unpool(dy: Array, x: Array, y: Array) -> Array:
    """Return the gradient of a pool of 2x2, for the first largest of each window."""
    dx = np.zeros_like(x)
    open_still = np.ones(y.shape, bool)
    for row in (0, 1):
        for column in (0, 1):
            corner = (slice(None), slice(row, None, 2), slice(column, None, 2))
            taken = (x[corner] == y) & open_still
            dx[corner] = dy * taken
            open_still &= ~taken
    return dx


ITEMS = [
    Item(
        "mlp-step",
        "training",
        _mlp,
        {"batch": 64, "pixels": 784, "hidden": 256, "classes": 10},
        {"batch": 4, "pixels": 12, "hidden": 8, "classes": 3},
        calls=4,
    ),
    Item(
        "cnn-step",
        "training",
        _cnn,
        {"batch": 64, "side": 28, "channels": (16, 32), "classes": 10},
        {"batch": 2, "side": 8, "channels": (2, 4), "classes": 3},
        calls=1,
        without={"limit": "nobody wrote it in raw WGSL"},
    ),
    Item(
        "cnn-step-wide",
        "training",
        _cnn,
        {"batch": 8, "side": 56, "channels": (32, 64), "classes": 10},
        {"batch": 2, "side": 8, "channels": (4, 2), "classes": 3},
        calls=1,
        without={"limit": "nobody wrote it in raw WGSL"},
    ),
]
