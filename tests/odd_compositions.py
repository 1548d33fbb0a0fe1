"""Right arguments of public functions that are compositions of others, for odd calls."""

from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk

Make = Callable[[], Any]


def _is(value: Any) -> Make:
    return lambda: value


def _ones(*shape: int) -> Make:
    return lambda: wk.ones(shape)


_SIGNAL: dict[str, Make] = {
    "signal": lambda: wk.tensor(np.arange(6, dtype="f4")),
    "stfts": lambda: wk.tensor(np.ones((2, 3), "c8")),
    "frame_length": _is(3), "frame_step": _is(2), "pad_end": _is(True), "pad_value": _is(0.5),
    "fft_length": _is(4), "window_fn": _is(wk.hann_window),
}  # fmt: skip
_WINDOW: dict[str, Make] = {"length": _is(4), "a": _is(0.5), "b": _is(0.25)}
_CELL: dict[str, Make] = {
    "forget_bias": _is(1.0), "lstm_kernel": _ones(5, 8), "lstm_bias": _ones(8),
    "gate_kernel": _ones(5, 4), "gate_bias": _ones(4), "candidate_kernel": _ones(5, 2),
    "candidate_bias": _ones(2), "data": _ones(1, 3), "c": _ones(1, 2), "h": _ones(1, 2),
}  # fmt: skip
_RANDOM: dict[str, Make] = {
    "shape": _is((3, 2)), "alpha": _is(2.0), "beta": _is(0.5), "generator": _is(None),
    "dtype": _is("float32"), "minval": _is(0), "maxval": _is(9), "mean": _is(0.5),
    "std_dev": _is(2.0), "rate": _is(0.25), "noise_shape": _is((2, 1)),
}  # fmt: skip
_CLASSES: dict[str, Make] = {
    "labels": lambda: wk.tensor([0, 1]), "predictions": lambda: wk.tensor([1, 1]),
    "num_classes": _is(2),
}  # fmt: skip

COMPOSED: dict[str, dict[str, Make]] = {
    **dict.fromkeys(("frame", "stft", "inverse_stft"), _SIGNAL),
    **dict.fromkeys(("cosine_window", "hann_window", "hamming_window"), _WINDOW),
    **dict.fromkeys(("basic_lstm_cell", "gru_cell"), _CELL),
    **dict.fromkeys(
        (
            "random_normal", "random_uniform", "random_gamma", "random_standard_normal",
            "random_uniform_int", "truncated_normal", "dropout",
        ),
        _RANDOM,
    ),
    "multi_rnn_cell": {
        "lstm_cells": lambda: [_added], "data": _ones(2), "c": lambda: [wk.ones((2,))],
        "h": lambda: [wk.ones((2,))],
    },
    "enclosing_power_of_two": {"value": _is(5)},
    "rfft": {"x": lambda: wk.tensor([1.0, 2.0, 3.0]), "n": _is(4), "norm": _is("ortho")},
    "irfft": {"x": lambda: wk.tensor([1.0, 2j, 3.0]), "n": _is(4), "norm": _is("ortho")},
    "confusion_matrix": {**_CLASSES, "weights": _ones(2)},
    "in_top_k": {"predictions": _ones(2, 3), "targets": lambda: wk.tensor([0, 2])},
    "norm": {"ord": _is(1)}, "gram_schmidt": {"xs": lambda: wk.tensor([[1.0, 2.0], [3.0, 5.0]])},
    "moving_average": {"v": _ones(2), "x": _ones(2), "decay": _is(0.5), "zero_debias": _is(True)},
    "ensure_shape": {"shape": _is((2, None))},
    "compute_weighted_loss": {"losses": _ones(2, 3)},
}  # fmt: skip
"""By function the arguments that do not go by the names of all functions."""


def _added(data: Any, c: Any, h: Any) -> Any:
    return c + data, h + data


def uncalled(f: Any) -> Any:
    """Return an odd function, but for one that can be called: what that raises is its own."""
    return wk.square if callable(f) else f


def _matrix() -> wk.Tensor:
    return wk.tensor([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])


def _row() -> wk.Tensor:
    return wk.tensor([0.5, 1.5, -2.0])


METHODS: dict[str, tuple[Callable[..., Any], tuple[Make, ...]]] = {
    "run": (lambda x: wk.run("Square", x), (_matrix,)),
    "scan": (
        lambda init, xs, length, reverse: wk.scan(
            lambda c, x: (c + wk.sum(x), x), init, xs, length=length, reverse=reverse
        ),
        (_is(0.0), _matrix, _is(None), _is(True)),
    ),
    "vjp": (lambda f, x, dy: wk.vjp(uncalled(f), x)[1](dy), (_is(wk.square), _matrix, _matrix)),
    **{
        name: (
            lambda f, x, along, name=name: getattr(wk, name)(uncalled(f), x, along),
            (_is(wk.square), _matrix, _matrix),
        )
        for name in ("jvp", "hvp")
    },
    **{
        name: (lambda f, x, name=name: getattr(wk, name)(uncalled(f))(x), (_is(wk.square), _row))
        for name in ("jacobian", "hessian")
    },
    "checkpoint": (
        lambda f, x: wk.grad(wk.checkpoint(uncalled(f)))(x), (_is(wk.square), _matrix)
    ),
    "vmap": (
        lambda f, x, start, end: wk.vmap(uncalled(f), start, end)(x),
        (_is(wk.square), _matrix, _is(1), _is(0)),
    ),
}  # fmt: skip
"""Calls of functions that take functions: a name, what is called, its arguments."""
