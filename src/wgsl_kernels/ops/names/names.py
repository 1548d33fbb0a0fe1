"""Which of our ops is which of TensorFlow.js's: for the aliases and for the docs.

Keys are TensorFlow.js's public paths without ``tf.``; an op that it does not publish stands under
its own name.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.engine.registry.public_names import aliases_of, all_public, snake_case

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_OURS: Mapping[str, str] = MappingProxyType(
    {
        "buffer": "build a NumPy array and pass it to tensor",
        "conv2DBackpropFilter": 'run_kernel("Conv2DBackpropFilter", ...)',
        "conv2DBackpropInput": 'run_kernel("Conv2DBackpropInput", ...)',
        "depthwiseConv2dNativeBackpropFilter": (
            'run_kernel("DepthwiseConv2dNativeBackpropFilter", ...)'
        ),
        "depthwiseConv2dNativeBackpropInput": (
            'run_kernel("DepthwiseConv2dNativeBackpropInput", ...)'
        ),
        "op": "a Python function needs no wrapper",
        "print": "Python's own print shows a tensor's values",
        "rand": "draw the values with NumPy and pass them to tensor",
    }
)
"""TensorFlow.js's name of each other op, and what stands in its place."""


def tfjs_names() -> Mapping[str, str]:
    """Return TensorFlow.js's name of each op that we have, and ours, by name."""
    found = {theirs: one.path for one in all_public().values() for theirs in one.tfjs}
    return {theirs: found[theirs] for theirs in sorted(found)}


def public_names() -> dict[str, str]:
    """Return TensorFlow.js's name of each op in snake_case, without namespaces, and ours.

    Of two names that end alike (``conv2d``, ``fused.conv2d``) the last by name counts.
    """
    return {snake_case(theirs.rpartition(".")[2]): ours for theirs, ours in tfjs_names().items()}


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Return the further names under which ops are public: TensorFlow.js's own, in snake_case."""
    return aliases_of(tfjs_names())
