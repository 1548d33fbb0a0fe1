"""Depthwise convolution with bias and activation in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.convolution.conv import on_batch
from wgsl_kernels.ops.convolution.convolutions import declare_fused
from wgsl_kernels.ops.convolution.depthwise import BY_CHANNEL, depthwise_conv2d_cpu
from wgsl_kernels.ops.convolution.depthwise_launch import convolve
from wgsl_kernels.ops.convolution.windows import sliding_of
from wgsl_kernels.ops.linear_algebra.activations import own_activation, with_epilogue

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.windows import Padding, Pair

declare_fused("FusedDepthwiseConv2D", BY_CHANNEL, depthwise_conv2d_cpu)


@public(tfjs="fused.depthwiseConv2d")
def fused_depthwise_conv2d(
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
    """Return ``activation(depthwise_conv2d(x, filter) + bias)``, in one kernel.

    Args:
        x: As `depthwise_conv2d` takes it; so are ``filter`` and the options up to
            ``dim_rounding_mode``.
        filter: [filter height, filter width, channels, multiplier].
        strides: Elements between two places of the filter.
        pad: ``"valid"``, ``"same"``, a number, or (before, after) for each of the four axes.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: Elements from one that the filter reads to the next.
        dim_rounding_mode: What to do with a last place that is not whole.
        bias: One number per channel of the result, or what else broadcasts to it.
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
        >>> x, filter = wk.ones((1, 2, 2, 3)), wk.ones((2, 2, 3, 1))
        >>> wk.fused_depthwise_conv2d(x, filter, bias=[0.5, 0.0, -9.0]).tolist()
        [[[[4.5, 4.0, -5.0]]]]
    """
    own, after = own_activation("FusedDepthwiseConv2D", activation)
    y = on_batch(
        "FusedDepthwiseConv2D",
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


@wgsl_kernel("FusedDepthwiseConv2D", dtypes=("float32", "float16"))
def _fused_depthwise_conv2d_webgpu(
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
    sliding = sliding_of("FusedDepthwiseConv2D", x.shape, filter.shape, **geometry)
    slopes = prelu_activation_weights
    z = convolve(gpu, sliding, x, filter, "float32")
    return with_epilogue(
        gpu, z, x.dtype, bias, slopes, activation, leakyrelu_alpha, sliding.data_format
    )
