"""TensorFlow's operators on values: reductions, gathering, scattering, choosing, casts, images.

Source: TensorFlow, core/ops/math_ops.cc, array_ops.cc, image_ops.cc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient as stopped
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.values.shapes import normalize_axis
from wgsl_kernels.graphdef.rules import rule
from wgsl_kernels.graphdef.shapes import carrier
from wgsl_kernels.onnx.running import ints
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, x, axes: function(
        x, axis=ints(axes), keepdims=node.attr("keep_dims", False)
    )


for _name, _op, _function in (
    ("All", ops.all, np.all),
    ("Any", ops.any, np.any),
    ("Max", ops.max, np.max),
    ("Min", ops.min, np.min),
    ("Prod", ops.prod, np.prod),
    ("Sum", ops.sum, np.sum),
):
    rule(_name, host=(1,), numpy=_reduction(_function))(_reduction(_op))
rule("Mean", host=(1,))(_reduction(ops.mean))


@rule("EuclideanNorm", host=(1,))
def euclidean_norm(node: OnnxNode, x: Tensor, axes: Array) -> Tensor:
    """Return the root of the sum of squares along axes."""
    return ops.sqrt(_reduction(ops.sum)(node, ops.square(x), axes))


@rule("ArgMax", "ArgMin", host=(1,))
def extreme_place(node: OnnxNode, x: Tensor, axis: Array | None = None) -> Tensor:
    """Return the index of the largest or smallest element along an axis."""
    return run(node.op, x, axis=0 if axis is None else int(axis))


rule("DivNoNan")(lambda node, a, b: ops.div_no_nan(a, b))
rule("FloorDiv", numpy=lambda node, a, b: np.floor_divide(a, b))(
    lambda node, a, b: ops.floor_divide(a, b)
)
rule("StopGradient")(lambda node, x: stopped(x))
rule("Unique", reads=True, outputs=2)(lambda node, x: run_many("Unique", x, axis=0))
rule("Where", reads=True)(lambda node, x: ops.stack(list(ops.nonzero(x)), 1))


@rule("Cast", numpy=lambda node, x: x.astype(carrier(node.attrs["DstT"])))
def cast(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` in another dtype."""
    return ops.astype(x, carrier(node.attrs["DstT"]))


@rule("SelectV2", numpy=lambda node, condition, t, e: np.where(condition, t, e))
def select(node: OnnxNode, condition: Tensor, t: Tensor, e: Tensor) -> Tensor:
    """Return ``t`` where a condition holds, else ``e``; all three broadcast."""
    shape = np.broadcast_shapes(condition.shape, t.shape, e.shape)
    return run("Select", ops.broadcast_to(condition, shape), t, e)


@rule("Select")
def select_rows(node: OnnxNode, condition: Tensor, t: Tensor, e: Tensor) -> Tensor:
    """Return ``t`` where a condition holds, else ``e``; a condition of one axis picks rows."""
    if condition.ndim == 1 and t.ndim > 1:
        condition = ops.reshape(condition, (-1, *(1,) * (t.ndim - 1)))
    return run("Select", ops.broadcast_to(condition, t.shape), t, e)


def _gathered_on_host(node: OnnxNode, x: Array, indices: Array, axis: Any = 0) -> Any:
    if node.attr("batch_dims", 0):
        raise ValueError("batch_dims of what is on the host")
    return np.take(x, indices, int(axis))


@rule("Gather", "GatherV2", host=(2,), numpy=_gathered_on_host)
def gather(node: OnnxNode, x: Tensor, indices: Tensor, axis: Any = 0) -> Tensor:
    """Return the slices of ``x`` that indices name along an axis."""
    along = normalize_axis(node.op, int(axis), x.ndim)
    return run("GatherV2", x, indices, axis=along, batch_dims=node.attr("batch_dims", 0))
