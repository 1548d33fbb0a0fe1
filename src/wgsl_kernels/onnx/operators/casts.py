"""Casts between element types, and bits read as another type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.onnx.narrow import fit, rounded
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import device, host
from wgsl_kernels.onnx.types import BITS, FLOATS, element, numpy_type, released
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode

_SATURATING = frozenset(name for name in FLOATS if name.startswith("float8"))


@operator("Cast")
def cast(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` in another type; floats become integers cut toward zero."""
    return converted(x, node.in_types[0], node.out_types[0], bool(node.attr("saturate", 1)))


@operator("CastLike", raw=True)
def cast_like(node: OnnxNode, x: Any, like: Any) -> Tensor:
    """Return ``x`` in the type of another tensor, of which nothing else is read."""
    saturate = bool(node.attr("saturate", 1))
    return converted(device(x), node.in_types[0], node.out_types[0], saturate)


def converted(x: Tensor, given: str, wanted: str, saturate: bool) -> Tensor:
    """Return ``x`` of one type as one that carries another.

    Raises:
        DTypeError: One of both is a string.
    """
    source, target = element(given), element(wanted)
    if "string" in (source, target) and source != target:
        raise DTypeError(f"Cast: from {source} to {target}: strings are not converted.")
    if target in _SATURATING:
        return rounded(ops.astype(x, "float32"), target, saturate=saturate)
    if target == "bool":
        return ops.not_equal(x, 0) if x.dtype != "bool" else x
    if target in BITS and source in FLOATS and BITS[target][0] < 32:
        x = ops.astype(x, "int32")
    return fit(x, target)


@operator("BitCast", raw=True, reads=True)
def bit_cast(node: OnnxNode, x: Any) -> Tensor | Array:
    """Return the bits of ``x`` as another type of as many bits; those of floats on the host."""
    given, wanted = node.in_types[0], node.out_types[0]
    if {element(given), element(wanted)} <= {"bool", *BITS}:
        return converted(device(x), given, wanted, saturate=False)
    values, kind = released(host(x), given), numpy_type(element(wanted))
    return np.frombuffer(values.tobytes(), kind).reshape(values.shape)
