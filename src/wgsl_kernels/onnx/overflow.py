"""The watch over integers that leave 32 bits, which ``config.check_numerics`` turns on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import NumericsError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.types import element, limits
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode

_WIDER = frozenset({"int64", "uint32", "uint64"})
"""Types that have values which their carrier, int32, has not."""
_CASTS = frozenset({"Cast", "CastLike"})
_ARITHMETIC = frozenset(
    {
        "Abs", "Add", "CumProd", "CumSum", "Einsum", "Gemm", "MatMul", "Mul", "Neg", "Pow",
        "ReduceL1", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sub", "Sum",
    }
)  # fmt: skip


def check_integers(node: OnnxNode, inputs: Sequence[Any]) -> None:
    """Refuse integers that a node computes where int32, which carries them, does not have them.

    Its arithmetic is repeated in float64 on ``cpu``, which is exact up to 53 bits.

    Args:
        node: The node.
        inputs: What its function takes.

    Raises:
        NumericsError: There is one; names the operator, the value and its index.
    """
    type_ = element(node.out_types[0])
    if node.domain or type_ not in _WIDER or node.op not in _ARITHMETIC | _CASTS:
        return
    exact = _truncated(inputs[0]) if node.op in _CASTS else _repeated(node, inputs)
    least, most = limits(type_)
    beyond = np.argwhere((exact < least) | (exact > most))
    if len(beyond):
        index = tuple(int(one) for one in beyond[0])
        raise NumericsError(
            f"{node.op}: output 0 of shape {show(exact.shape)} holds {exact[index]:.17g} at "
            f"{show(index)}; {type_} is computed in int32: want all from {least} to {most}."
        )


def _values(x: Any) -> Array:
    if isinstance(x, Constant):
        return x.array
    found: Array = x.numpy() if isinstance(x, (Tensor, Variable)) else np.asarray(x)
    return found


def _truncated(x: Any) -> Array:
    return np.trunc(_values(x).astype(np.float64))


def _repeated(node: OnnxNode, inputs: Sequence[Any]) -> Array:
    """Return what a node gives in float64; inputs that it reads on the host stay as they are."""
    row = node.implementation
    on_cpu = context.changed(driver=find_driver("cpu"), interceptors=())
    with on_cpu, config.using(check_numerics=False):
        wide = [
            x if x is None or at in row.host else ops.tensor(_values(x), dtype="float64")
            for at, x in enumerate(inputs)
        ]
        return _values(row.function(node, *wide))
