"""How other libraries name and lay out the weights of layers.

Sources: the ``state_dict`` of PyTorch's modules (torch.nn), and the ``weights`` of Keras' layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wgsl_kernels.nn.convolution import Conv, ConvTranspose
from wgsl_kernels.nn.multi_head import MultiHeadAttention
from wgsl_kernels.nn.normalization import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from wgsl_kernels.nn.projection import Dense, Embedding
from wgsl_kernels.nn.recurrent import GRU, LSTM

Array = np.ndarray[Any, Any]


class WeightSource(NamedTuple):
    """Where a variable's values come from.

    Attributes:
        names: What they are called, below the layer's path.
        converted: Makes them of the arrays of these names.
    """

    names: tuple[str, ...]
    converted: Callable[..., Array] = lambda array: array


Fields = Mapping[str, WeightSource]
"""The sources of a layer's variables, by the path of each from the layer, joined by dots."""


def _turned(array: Array) -> Array:
    return array.T


def _window_first(array: Array) -> Array:
    """Return [*window, in, out] of [out, in, *window], and [*window, out, in] of its transpose."""
    return np.moveaxis(array, (1, 0), (-2, -1))


def _scaled(scale: str, offset: str) -> dict[str, WeightSource]:
    return {"scale": WeightSource((scale,)), "offset": WeightSource((offset,))}


def _third(part: int, turned: bool) -> Callable[[Array], Array]:
    """Return what takes the weights of queries, keys or values out of those of all three."""

    def taken(array: Array) -> Array:
        found = np.split(array, 3, axis=0)[part]
        return found.T if turned else found

    return taken


_IN_PROJ = {
    f"{name}.{field}": WeightSource((f"in_proj_{field}",), _third(part, field == "weight"))
    for part, name in enumerate(("query", "key", "value"))
    for field in ("weight", "bias")
}
_TORCH_NORM = _scaled("weight", "bias")
_TORCH: Mapping[type, Fields] = {
    Dense: {"weight": WeightSource(("weight",), _turned), "bias": WeightSource(("bias",))},
    Embedding: {"weight": WeightSource(("weight",))},
    Conv: {"weight": WeightSource(("weight",), _window_first), "bias": WeightSource(("bias",))},
    ConvTranspose: {
        "weight": WeightSource(("weight",), _window_first),
        "bias": WeightSource(("bias",)),
    },
    BatchNorm: {
        **_TORCH_NORM,
        "mean": WeightSource(("running_mean",)),
        "variance": WeightSource(("running_var",)),
    },
    LayerNorm: _TORCH_NORM,
    GroupNorm: _TORCH_NORM,
    RMSNorm: {"scale": WeightSource(("weight",))},
    LSTM: {
        "input_weight": WeightSource(("weight_ih_l0",), _turned),
        "hidden_weight": WeightSource(("weight_hh_l0",), _turned),
        "bias": WeightSource(("bias_ih_l0", "bias_hh_l0"), np.add),
    },
    GRU: {
        "input_weight": WeightSource(("weight_ih_l0",), _turned),
        "hidden_weight": WeightSource(("weight_hh_l0",), _turned),
        "input_bias": WeightSource(("bias_ih_l0",)),
        "hidden_bias": WeightSource(("bias_hh_l0",)),
    },
    MultiHeadAttention: {
        **_IN_PROJ,
        "out.weight": WeightSource(("out_proj.weight",), _turned),
        "out.bias": WeightSource(("out_proj.bias",)),
    },
}


def reset_first(array: Array) -> Array:
    """Return the gates reset, update, new of Keras' update, reset, new."""
    update, reset, new = np.split(array, 3, axis=-1)
    return np.concatenate([reset, update, new], axis=-1)


def _row(number: int) -> Callable[[Array], Array]:
    return lambda array: reset_first(array[number])


def _heads_joined(array: Array) -> Array:
    """Return [features, heads * size] of [features, heads, size]; of a bias [heads * size]."""
    return array.reshape(-1) if array.ndim == 2 else array.reshape(array.shape[0], -1)


_KERAS_DENSE = {"weight": WeightSource(("kernel",)), "bias": WeightSource(("bias",))}
_KERAS: Mapping[type, Fields] = {
    Dense: _KERAS_DENSE,
    Embedding: {"weight": WeightSource(("embeddings",))},
    Conv: _KERAS_DENSE,
    ConvTranspose: _KERAS_DENSE,
    BatchNorm: {
        **_scaled("gamma", "beta"),
        "mean": WeightSource(("moving_mean",)),
        "variance": WeightSource(("moving_variance",)),
    },
    LayerNorm: _scaled("gamma", "beta"),
    GroupNorm: _scaled("gamma", "beta"),
    RMSNorm: {"scale": WeightSource(("scale",))},
    LSTM: {
        "input_weight": WeightSource(("kernel",)),
        "hidden_weight": WeightSource(("recurrent_kernel",)),
        "bias": WeightSource(("bias",)),
    },
    GRU: {
        "input_weight": WeightSource(("kernel",), reset_first),
        "hidden_weight": WeightSource(("recurrent_kernel",), reset_first),
        "input_bias": WeightSource(("bias",), _row(0)),
        "hidden_bias": WeightSource(("bias",), _row(1)),
    },
    MultiHeadAttention: {
        **{
            f"{name}.{field}": WeightSource((f"{name}.{theirs}",), _heads_joined)
            for name in ("query", "key", "value")
            for field, theirs in (("weight", "kernel"), ("bias", "bias"))
        },
        "out.weight": WeightSource(
            ("attention_output.kernel",), lambda array: array.reshape(-1, array.shape[-1])
        ),
        "out.bias": WeightSource(("attention_output.bias",)),
    },
}
LAYOUTS: Mapping[str, Mapping[type, Fields]] = {"torch": _TORCH, "keras": _KERAS}
IGNORED = {"torch": ("num_batches_tracked",), "keras": ("seed_generator_state",)}
"""What is left over by their layers, and needed by none."""


def fields_of(layout: str | None, layer: Any) -> Fields | None:
    """Return the sources of a layer's variables; None where its fields have the names of ours."""
    return None if layout is None else LAYOUTS[layout].get(type(layer))
