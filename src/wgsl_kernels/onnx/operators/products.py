"""Products of matrices, and what is computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.onnx import ops
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.ops.linear_algebra.solving import det

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import Node


@operator("MatMul")
def matmul(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return the product of matrices, or of stacks of them."""
    return ops.matmul(a, b)


@operator("Gemm")
def gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """Return ``alpha * a @ b + beta * c``, either matrix transposed on request."""
    alpha, beta = node.attr("alpha"), node.attr("beta")
    found = ops.matmul(
        a, b, transpose_a=bool(node.attr("transA")), transpose_b=bool(node.attr("transB"))
    )
    found = found if alpha == 1 else found * alpha
    if c is None or beta == 0:
        return found
    return found + (c if beta == 1 else c * beta)


@operator("Einsum")
def einsum(node: Node, *xs: Tensor) -> Tensor:
    """Return sums of products by an equation of subscripts."""
    return ops.einsum(node.attr("equation").replace(" ", ""), *xs)


@operator("Det")
def determinant(node: Node, x: Tensor) -> Tensor:
    """Return the determinants of square matrices."""
    return det(x)
