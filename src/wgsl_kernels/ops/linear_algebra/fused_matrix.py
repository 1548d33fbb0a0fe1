"""A product of matrices with bias and activation in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import wide
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import declare_product
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.linear_algebra.activations import (
    check_epilogue,
    end_gradients,
    finished,
    needs_sum,
    own_activation,
    with_epilogue,
)
from wgsl_kernels.ops.linear_algebra.matrix import (
    product_cpu,
    product_gradients,
    product_shape,
    product_webgpu,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec

declare_product("_FusedMatMul")

_INPUTS = ("a", "b", "bias", "prelu_activation_weights")


@public(tfjs="fused.matMul")
def fused_mat_mul(
    a: TensorLike,
    b: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: TensorLike | None = None,
    activation: str = "linear",
    prelu_activation_weights: TensorLike | None = None,
    leakyrelu_alpha: float = 0.2,
) -> Tensor:
    """Return ``activation(matmul(a, b) + bias)``, in one kernel.

    Args:
        a: [..., rows, terms], float.
        b: [..., terms, columns]. The axes before the matrices broadcast.
        transpose_a: Whether ``a`` is [..., terms, rows] instead.
        transpose_b: Whether ``b`` is [..., columns, terms] instead.
        bias: One number per column, or what else broadcasts to the result.
        activation: ``"linear"``, ``"relu"``, ``"relu6"``, ``"elu"``, ``"sigmoid"``,
            ``"leakyrelu"`` or ``"prelu"``; or another kernel of one input, yours too, as ``"tanh"``
            or ``"Tanh"``, which is fused behind.
        prelu_activation_weights: The slopes below 0 for ``"prelu"``, shaped as ``bias`` may be.
        leakyrelu_alpha: The slope below 0 for ``"leakyrelu"``.

    Raises:
        ShapeError: The terms differ in number, or bias or slopes do not broadcast to the result.
        ArgumentError: The activation is none of these, or slopes and activation do not belong
            together.

    Example:
        >>> fused_mat_mul([[1.0, 2.0]], [[1.0], [-3.0]], bias=[1.0], activation="relu").tolist()
        [[0.0]]
    """
    own, after = own_activation("_FusedMatMul", activation)
    y = run(
        "_FusedMatMul",
        a,
        b,
        bias,
        prelu_activation_weights,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        activation=own,
        leakyrelu_alpha=leakyrelu_alpha,
    )
    return after(y)


@signature("_FusedMatMul", promote=_INPUTS, floats=_INPUTS)
def _fused_mat_mul_signature(
    a: Spec,
    b: Spec,
    bias: Spec | None = None,
    prelu_activation_weights: Spec | None = None,
    /,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: str = "linear",
    leakyrelu_alpha: float | None = 0.2,
) -> Spec:
    kernel = "_FusedMatMul"
    require_dtype(kernel, "a", a, "float32")
    shape = product_shape(kernel, a, b, transpose_a, transpose_b)
    wanted = "one number, one per column, or what else broadcasts to it."
    what = f"the product {show(shape)}; want {wanted}"
    check_epilogue(kernel, activation, bias, prelu_activation_weights, shape, what)
    return a.like(shape=shape)


@cpu_kernel("_FusedMatMul")
def _fused_mat_mul_cpu(
    a: Array,
    b: Array,
    bias: Array | None,
    prelu_activation_weights: Array | None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    leakyrelu_alpha: float | None,
) -> Array:
    z = product_cpu(wide(a), wide(b), transpose_a=transpose_a, transpose_b=transpose_b)
    y = finished(z, bias, prelu_activation_weights, activation, leakyrelu_alpha)
    return y.astype(a.dtype, copy=False)


@wgsl_kernel("_FusedMatMul", dtypes=("float32", "float16"))
def _fused_mat_mul_webgpu(
    gpu: Gpu,
    a: GpuArray,
    b: GpuArray,
    bias: GpuArray | None,
    prelu_activation_weights: GpuArray | None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    leakyrelu_alpha: float | None,
) -> GpuArray:
    z = product_webgpu(gpu, a, b, transpose_a, transpose_b, "float32")
    slopes = prelu_activation_weights
    return with_epilogue(gpu, z, a.dtype, bias, slopes, activation, leakyrelu_alpha)


@gradient("_FusedMatMul")
def _fused_mat_mul_grad(
    dy: Tensor,
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    prelu_activation_weights: Tensor | None,
    y: Tensor,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    leakyrelu_alpha: float | None,
) -> tuple[Tensor | None, ...]:
    slopes, z = prelu_activation_weights, None
    if needs_sum(activation, leakyrelu_alpha):
        transposed = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        z = run("_FusedMatMul", a, b, bias, None, activation="linear", **transposed)
    dz, d_bias, d_slopes = end_gradients(dy, y, z, bias, slopes, activation, leakyrelu_alpha)
    return (*product_gradients(dz, a, b, transpose_a, transpose_b), d_bias, d_slopes)
