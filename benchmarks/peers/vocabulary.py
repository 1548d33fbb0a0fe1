"""The words in which items are written; every peer says them in its own way.

Images are [batch, height, width, channels]; filters [height, width, in, out], for a depthwise one
[height, width, channels, 1]. Volumes and their filters have a depth before the height. A window
reaches half its size (rounded down) beyond the image's edge.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

WORDS = (
    "add",  # (x, y): y may be a number here and in the next two
    "subtract",
    "multiply",
    "negative",
    "abs",
    "sqrt",
    "exp",
    "relu",
    "relu6",
    "gelu",  # (x): by tanh
    "matmul",  # (a, b): leading axes are batches
    "sum",  # (x, axis=): None for all, as below
    "max",  # (x, axis=)
    "mean",  # (x, axis=)
    "argmax",  # (x, axis=)
    "softmax",  # (x): along the last axis, as the next two
    "log_softmax",
    "layer_norm",  # (x, scale, offset)
    "reshape",  # (x, shape=)
    "transpose",  # (x, axes=): the elements are moved
    "conv2d",  # (x, filter, stride=)
    "depthwise",  # (x, filter, stride=)
    "max_pool",  # (x, size=)
    "conv3d",  # (x, filter): of volumes, as the next two
    "max_pool3d",  # (x, size=)
    "avg_pool3d",  # (x, size=)
    "batch_norm",  # (x, mean, variance, offset, scale)
    "take",  # (x, indices): rows
    "scatter_add",  # (updates, indices, rows=): each update is added to the row with its index
    "cumulative_sum",  # (x)
    "topk",  # (x, k=): values and indices
    "fft",  # (x): along the last axis
    "cross_entropy",  # (labels, logits): the mean over the batch
    "crop_and_resize",  # (image, boxes, indices, size=): between elements
    "transform",  # (image, numbers): between elements, 0 outside
    "einsum",  # (a, b, equation=)
)
EPSILON = 1e-5
"""Beside the variance, in layer_norm and batch_norm."""
LEARNING_RATE = 1e-3
ADAM_EPSILON = 1e-8


def spoken(meanings: Mapping[str, Callable[..., Any]]) -> SimpleNamespace:
    """Return the vocabulary as an object, ``o`` in every program."""
    if odd := set(meanings) ^ set(WORDS):
        raise ValueError(f"not the vocabulary's words: {sorted(odd)}")
    return SimpleNamespace(**meanings)
