"""Random numbers: of ONNX's distributions, from this library's generators; and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import known_shape
from wgsl_kernels.onnx.types import CARRIERS, element
from wgsl_kernels.ops.names import public_ops as ops
from wgsl_kernels.ops.random.streams import Generator

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


def _generator(node: OnnxNode) -> Generator | None:
    """Return a node's own generator, from its seed on; None, the common one, where it has none."""
    if node.attr("seed") is not None:
        node.attrs.setdefault("generator", Generator(int(node.attr("seed"))))
    found: Generator | None = node.attr("generator")
    return found


def _drawn(node: OnnxNode, shape: tuple[int, ...]) -> Tensor:
    generator = _generator(node)
    if "Normal" in node.op:
        found = ops.random_normal(
            shape, mean=node.attr("mean"), std_dev=node.attr("scale"), generator=generator
        )
    else:
        found = ops.random_uniform(
            shape, minval=node.attr("low"), maxval=node.attr("high"), generator=generator
        )
    return ops.astype(found, CARRIERS[element(node.out_types[0])])


@operator("RandomNormal", "RandomUniform", raw=True)
def random_of_shape(node: OnnxNode) -> Tensor:
    """Return random numbers of the shape that an attribute says."""
    return _drawn(node, tuple(node.attr("shape")))


@operator("RandomNormalLike", "RandomUniformLike", raw=True)
def random_like(node: OnnxNode, x: Any) -> Tensor:
    """Return random numbers of the shape of ``x``."""
    return _drawn(node, known_shape(x))


@operator("Bernoulli")
def bernoulli(node: OnnxNode, x: Tensor) -> Tensor:
    """Return 1 with the probabilities in ``x``, else 0."""
    drawn = ops.random_uniform(x.shape, generator=_generator(node))
    return ops.astype(drawn < x, CARRIERS[element(node.out_types[0])])


@operator("Multinomial")
def multinomial(node: OnnxNode, x: Tensor) -> Tensor:
    """Return classes drawn with the unnormalized log probabilities in ``x``."""
    return ops.multinomial(x, node.attr("sample_size"), generator=_generator(node))


@operator("Dropout", host=(1, 2))
def dropout(
    node: OnnxNode, x: Tensor, ratio: Array | None = None, training: Array | None = None
) -> Any:
    """Return ``x``; in training with elements dropped and the others made larger, and which."""
    rate = 0.5 if ratio is None else float(np.ravel(ratio)[0])
    if training is None or not bool(np.ravel(training)[0]) or rate == 0:
        return (x, ops.ones(x.shape, "bool"))[: node.wanted]
    drawn = ops.random_uniform(x.shape, generator=_generator(node))
    keep = drawn >= rate
    return (x * ops.astype(keep, x.dtype) * (1 / (1 - rate)), keep)[: node.wanted]
