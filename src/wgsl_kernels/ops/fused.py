"""Convolution with bias and activation in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.gradients import gradient, unbroadcast
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import broadcast_shapes, require_dtype, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops import logical
from wgsl_kernels.ops.conv import conv2d_cpu, forward_product, forward_tiling, on_batch
from wgsl_kernels.ops.epilogue import (
    ACTIVATIONS,
    activated,
    before_activation,
    check_activation,
    spread,
)
from wgsl_kernels.ops.products import Shaders, multiply
from wgsl_kernels.ops.windows import Padding, Pair, convolved, slide

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec

SHADERS = Shaders(
    "conv/fused_conv2d.wgsl", last="conv/fused_sum_parts.wgsl", parts="conv/conv2d.wgsl"
)


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
            ``"leakyrelu"`` or ``"prelu"``.
        prelu_activation_weights: The slopes below 0 for ``"prelu"``, shaped as ``bias`` may be.
        leakyrelu_alpha: The slope below 0 for ``"leakyrelu"``.

    Raises:
        ShapeError: The channels differ, the filter is larger than the padded image, or bias or
            slopes do not broadcast to the result.
        ArgumentError: An option is none of these, or slopes and activation do not belong together.
    """
    return on_batch(
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
        activation=activation,
        leakyrelu_alpha=leakyrelu_alpha,
    )


@signature("FusedConv2D", promote=("x", "filter", "bias", "prelu_activation_weights"))
def _fused_conv2d_signature(
    x: Spec,
    filter: Spec,
    bias: Spec | None = None,
    prelu_activation_weights: Spec | None = None,
    /,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    data_format: str = "NHWC",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
    activation: str = "linear",
    leakyrelu_alpha: float | None = 0.2,
) -> Spec:
    kernel = "FusedConv2D"
    check_activation(kernel, activation, prelu_activation_weights)
    shape = convolved(
        kernel,
        x,
        filter,
        strides=strides,
        pad=pad,
        data_format=data_format,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
    )
    _check_spreads(kernel, "bias", bias, shape, data_format)
    _check_spreads(kernel, "prelu_activation_weights", prelu_activation_weights, shape, data_format)
    return x.like(shape=shape)


def _check_spreads(
    kernel: str, name: str, spec: Spec | None, shape: Shape, data_format: str
) -> None:
    if spec is None:
        return
    require_dtype(kernel, name, spec, "float32")
    if broadcast_shapes(aligned(spec.shape, data_format), shape) != shape:
        raise ShapeError(
            f"{kernel}: {name} is {show(spec.shape)}, the convolution gives {show(shape)} "
            f"({data_format}); want one number, one per out channel, or what broadcasts to it."
        )


def aligned(shape: Shape, data_format: str) -> Shape:
    """Return the shape in which one number per channel broadcasts to images of a format."""
    return (*shape, 1, 1) if data_format == "NCHW" and len(shape) == 1 else shape


@cpu_kernel("FusedConv2D")
def _fused_conv2d_cpu(
    x: Array,
    filter: Array,
    bias: Array | None,
    prelu_activation_weights: Array | None,
    *,
    activation: str,
    leakyrelu_alpha: float | None,
    **geometry: Any,
) -> Array:
    data_format = geometry["data_format"]
    wide = np.float32 if x.dtype == np.float16 else x.dtype  # one rounding, at the end
    z = conv2d_cpu(x.astype(wide, copy=False), filter.astype(wide, copy=False), **geometry)
    if bias is not None:
        z += bias.astype(wide, copy=False).reshape(aligned(bias.shape, data_format))
    if prelu_activation_weights is not None:
        slopes = prelu_activation_weights.astype(wide, copy=False)
        slopes = slopes.reshape(aligned(slopes.shape, data_format))
    else:
        slopes = np.asarray(leakyrelu_alpha or 0, wide)
    return activated(z, activation, slopes).astype(x.dtype, copy=False)


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
    shape = sliding.shape_with(filter.shape[3])
    data_format = sliding.data_format
    given = {"bias": bias, "prelu_activation_weights": prelu_activation_weights}
    epilogue = {
        name: spread(gpu, one and _aligned(gpu, one, data_format), shape, x.dtype)
        for name, one in given.items()
    }
    ends = {
        "with_bias": int(bias is not None),
        "activation_code": ACTIVATIONS.index(activation),
        "leakyrelu_alpha": leakyrelu_alpha or 0.0,
        "out_shape": shape,
    }
    return multiply(
        gpu,
        SHADERS,
        forward_product(sliding, filter.shape),
        {"x": x, "filter": filter},
        shape,
        x.dtype,
        params={**sliding.fields(), **ends},
        epilogue=epilogue,
        last_params=ends,
        in_fours=forward_tiling(x, filter, data_format),
    )


def _aligned(gpu: Gpu, given: GpuArray, data_format: str) -> GpuArray:
    """Return a view of ``given`` that broadcasts to images of a format."""
    own = aligned(given.shape, data_format)
    return gpu.view(given, own, aligned(given.strides, data_format), given.offset)


@gradient("FusedConv2D")
def _fused_conv2d_grad(
    dy: Tensor,
    x: Tensor,
    filter: Tensor,
    bias: Tensor | None,
    prelu_activation_weights: Tensor | None,
    y: Tensor,
    strides: Pair,
    pad: Padding,
    data_format: str,
    dilations: Pair,
    dim_rounding_mode: str | None,
    activation: str,
    leakyrelu_alpha: float | None,
) -> tuple[Tensor | None, ...]:
    geometry: dict[str, Any] = {
        "strides": strides,
        "pad": pad,
        "data_format": data_format,
        "dilations": dilations,
        "dim_rounding_mode": dim_rounding_mode,
    }
    z = None
    if activation == "prelu" or (activation == "leakyrelu" and (leakyrelu_alpha or 0.0) <= 0.0):
        z = run("FusedConv2D", x, filter, bias, None, activation="linear", **geometry)
    slopes = None
    if prelu_activation_weights is not None:
        own_shape = prelu_activation_weights.shape
        slopes = run("Reshape", prelu_activation_weights, shape=aligned(own_shape, data_format))
    dz = before_activation(dy, y, z, activation, leakyrelu_alpha if slopes is None else slopes)
    d_slopes = None
    if z is not None and prelu_activation_weights is not None:
        d_slopes = _back(logical.where(z < 0.0, dy * z, 0.0), prelu_activation_weights, data_format)
    return (
        run("Conv2DBackpropInput", dz, filter, input_shape=x.shape, **geometry),
        run("Conv2DBackpropFilter", x, dz, filter_shape=filter.shape, **geometry),
        None if bias is None else _back(dz, bias, data_format),
        d_slopes,
    )


def _back(d_spread: Tensor, given: Tensor, data_format: str) -> Tensor:
    """Return the gradient of an input that was broadcast to the result."""
    return run(
        "Reshape", unbroadcast(d_spread, aligned(given.shape, data_format)), shape=given.shape
    )
