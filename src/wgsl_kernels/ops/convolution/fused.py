"""Convolution with bias and activation in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import declare_product
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.windows import Padding, Pair, slide
from wgsl_kernels.ops.convolution.conv import CONVOLUTION, conv2d_cpu, on_batch
from wgsl_kernels.ops.convolution.conv_kernels import convolved_webgpu
from wgsl_kernels.ops.convolution.convolutions import declare_fused
from wgsl_kernels.ops.linear_algebra.activations import own_activation, with_epilogue

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

declare_product("FusedConv2D")
declare_fused("FusedConv2D", CONVOLUTION, conv2d_cpu)


@public(tfjs="fused.conv2d")
def fused_conv2d(
    x: TensorLike,
    filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    bias: TensorLike | None = None,
    activation: str = "linear",
    prelu_activation_weights: TensorLike | None = None,
    leakyrelu_alpha: float = 0.2,
) -> Tensor:
    """Return ``activation(conv2d(x, filter) + bias)``, in one kernel.

    Args:
        x: As `conv2d` takes it; so are ``filter`` and the options up to ``dim_rounding_mode``.
        filter: [filter height, filter width, channels, out channels].
        strides: Elements between two places of the filter.
        pad: ``"valid"``, ``"same"``, a number, or (before, after) for each of the four axes.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: Elements from one that the filter reads to the next.
        dim_rounding_mode: What to do with a last place that is not whole.
        bias: One number per out channel, or what else broadcasts to the result.
        activation: ``"linear"``, ``"relu"``, ``"relu6"``, ``"elu"``, ``"sigmoid"``,
            ``"leakyrelu"`` or ``"prelu"``; or another kernel of one input, yours too, as ``"tanh"``
            or ``"Tanh"``, which is fused behind.
        prelu_activation_weights: The slopes below 0 for ``"prelu"``, shaped as ``bias`` may be.
        leakyrelu_alpha: The slope below 0 for ``"leakyrelu"``.

    Raises:
        ShapeError: The channels differ, the filter is larger than the padded image, or bias or
            slopes do not broadcast to the result.
        ArgumentError: An option is none of these, or slopes and activation do not belong together.

    Example:
        >>> x = wk.ones((1, 2, 1, 1))
        >>> wk.fused_conv2d(x, [[[[-1.0]]]], bias=[0.5], activation="relu").tolist()
        [[[[0.0]], [[0.0]]]]
    """
    own, after = own_activation("FusedConv2D", activation)
    y = on_batch(
        "FusedConv2D",
        as_tensor(x),
        filter,
        bias,
        prelu_activation_weights,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
        activation=own,
        leakyrelu_alpha=leakyrelu_alpha,
    )
    return after(y)


@wgsl_kernel("FusedConv2D", dtypes=("float32", "float16"))
def _fused_conv2d_webgpu(
    gpu: Gpu,
    x: GpuArray,
    filter: GpuArray,
    bias: GpuArray | None,
    prelu_activation_weights: GpuArray | None,
    *,
    activation: str,
    leakyrelu_alpha: float | None,
    **geometry: Any,
) -> GpuArray:
    sliding = slide("FusedConv2D", x.shape, filter.shape, **geometry)
    slopes = prelu_activation_weights
    z = convolved_webgpu(gpu, sliding, x, filter, dtype="float32")
    return with_epilogue(
        gpu, z, x.dtype, bias, slopes, activation, leakyrelu_alpha, sliding.data_format
    )
