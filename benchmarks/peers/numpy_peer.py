"""The items in plain NumPy: the reference for every result."""

import math
from typing import Any

import numpy as np
from benchmarks.items.item import Array, Item, Work
from benchmarks.peers.numpy_places import crop_and_resize, transform
from benchmarks.peers.peer import Peer, Running
from benchmarks.peers.vocabulary import ADAM_EPSILON, EPSILON, LEARNING_RATE, spoken
from numpy.lib.stride_tricks import sliding_window_view


def _softmax(x: Array) -> Array:
    y: Array = np.exp(x - x.max(-1, keepdims=True))
    y /= y.sum(-1, keepdims=True)
    return y


def _log_softmax(x: Array) -> Array:
    shifted: Array = x - x.max(-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shifted


def _layer_norm(x: Array, scale: Array, offset: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    y: Array = centred / np.sqrt(variance + np.float32(EPSILON)) * scale + offset
    return y


def _windows(x: Array, size: int, stride: int) -> Array:
    """Return [batch, height, width, channels, size, size]."""
    reach = size // 2
    padded = np.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0))) if reach else x
    seen = sliding_window_view(padded, (size, size), (1, 2))
    found: Array = seen[:, ::stride, ::stride]
    return found


def _conv2d(x: Array, filter: Array, stride: int) -> Array:
    seen = _windows(x, len(filter), stride).transpose(0, 1, 2, 4, 5, 3)
    rows = seen.reshape(-1, math.prod(filter.shape[:3]))
    y: Array = rows @ filter.reshape(rows.shape[1], -1)
    return y.reshape(*seen.shape[:3], -1)


def _conv3d(x: Array, filter: Array) -> Array:
    size = len(filter)
    reach = size // 2
    padded = np.pad(x, ((0, 0), *((reach, reach),) * 3, (0, 0)))
    seen = sliding_window_view(padded, (size, size, size), (1, 2, 3))
    rows = seen.transpose(0, 1, 2, 3, 5, 6, 7, 4).reshape(-1, math.prod(filter.shape[:4]))
    y: Array = rows @ filter.reshape(rows.shape[1], -1)
    return y.reshape(*x.shape[:4], -1)


def _depthwise(x: Array, filter: Array, stride: int) -> Array:
    seen = _windows(x, len(filter), stride)
    y = np.zeros(seen.shape[:4], np.float32)
    for row, column in np.ndindex(filter.shape[:2]):
        y += seen[..., row, column] * filter[row, column, :, 0]
    return y


def _tiles(x: Array, size: int) -> tuple[Array, tuple[int, ...]]:
    """Return images or volumes cut into windows, and the axes within these."""
    batch, *spatial, channels = x.shape
    cut = [part for length in spatial for part in (length // size, size)]
    return x.reshape(batch, *cut, channels), tuple(range(2, 2 * len(spatial) + 1, 2))


def _max_pool(x: Array, size: int) -> Array:
    tiles, axes = _tiles(x, size)
    y: Array = tiles.max(axes)
    return y


def _avg_pool(x: Array, size: int) -> Array:
    tiles, axes = _tiles(x, size)
    y: Array = tiles.mean(axes)
    return y


def _batch_norm(x: Array, mean: Array, variance: Array, offset: Array, scale: Array) -> Array:
    factor = scale / np.sqrt(variance + np.float32(EPSILON))
    y: Array = x * factor + (offset - mean * factor)
    return y


def _gelu(x: Array) -> Array:
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    y: Array = np.float32(0.5) * x * (1 + np.tanh(inner))
    return y


def _scatter_add(updates: Array, indices: Array, rows: int) -> Array:
    y = np.zeros((rows, updates.shape[1]), np.float32)
    np.add.at(y, indices, updates)
    return y


def _topk(x: Array, k: int) -> tuple[Array, Array]:
    candidates = np.argpartition(x, -k)[:, -k:]
    values = np.take_along_axis(x, candidates, 1)
    order = np.argsort(-values, 1)
    return np.take_along_axis(values, order, 1), np.take_along_axis(candidates, order, 1)


def _cross_entropy(labels: Array, logits: Array) -> Any:
    return -(labels * _log_softmax(logits)).sum() / np.float32(len(logits))


def _number(y: Any) -> Any:
    return np.float32(y) if isinstance(y, float) else y


OPS = spoken(
    {
        "add": lambda x, y: x + _number(y),
        "subtract": lambda x, y: x - _number(y),
        "multiply": lambda x, y: x * _number(y),
        "negative": np.negative,
        "abs": np.abs,
        "sqrt": np.sqrt,
        "exp": np.exp,
        "relu": lambda x: np.maximum(x, 0),
        "relu6": lambda x: np.clip(x, 0, 6),
        "gelu": _gelu,
        "matmul": np.matmul,
        "sum": np.sum,
        "max": np.max,
        "mean": np.mean,
        "argmax": np.argmax,
        "softmax": _softmax,
        "log_softmax": _log_softmax,
        "layer_norm": _layer_norm,
        "reshape": lambda x, shape: x.reshape(shape),
        "transpose": lambda x, axes: np.ascontiguousarray(x.transpose(axes)),
        "conv2d": _conv2d,
        "depthwise": _depthwise,
        "max_pool": _max_pool,
        "conv3d": _conv3d,
        "max_pool3d": _max_pool,
        "avg_pool3d": _avg_pool,
        "batch_norm": _batch_norm,
        "take": lambda x, indices: x[indices],
        "scatter_add": _scatter_add,
        "cumulative_sum": np.cumsum,
        "topk": _topk,
        "fft": np.fft.fft,
        "cross_entropy": _cross_entropy,
        "crop_and_resize": crop_and_resize,
        "transform": transform,
        "einsum": lambda a, b, equation: np.einsum(equation, a, b, optimize=True),
    }
)


class NumpyPeer(Peer):
    """Plain NumPy; a training step by the gradient that its item gives by hand."""

    def facts(self) -> dict[str, str]:
        """Return NumPy's version."""
        return {"numpy": np.__version__}

    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return the program on NumPy's arrays."""
        step = _training(work) if work.kind == "training" else None
        call = step or (lambda: work.program(OPS, **work.inputs))
        return {"": Running(call, lambda: None, arrays_of)}


def _training(work: Work) -> Any:
    if work.by_hand is None:
        raise NotImplementedError("no gradient by hand")
    by_hand, own = work.by_hand, dict(work.variables)
    first = {name: np.zeros_like(one) for name, one in own.items()}
    second = {name: np.zeros_like(one) for name, one in own.items()}
    count = 0

    def step() -> Any:
        nonlocal count
        count += 1
        loss, gradients = by_hand(own, work.inputs)
        rate = LEARNING_RATE * math.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        epsilon = ADAM_EPSILON * math.sqrt(1 - 0.999**count)
        for name, slope in gradients.items():
            first[name] += np.float32(0.1) * (slope - first[name])
            second[name] += np.float32(0.001) * (np.square(slope) - second[name])
            root = np.sqrt(second[name]) + np.float32(epsilon)
            own[name] = own[name] - np.float32(rate) * first[name] / root
        return loss

    return step


def arrays_of(result: Any) -> list[Array]:
    """Return a result, one array or several, as a list of arrays."""
    parts = result if isinstance(result, tuple | list) else (result,)
    return [np.asarray(one) for one in parts]
