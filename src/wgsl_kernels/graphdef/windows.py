"""TensorFlow's convolutions, poolings, fused operators and normalization over channels.

Source: TensorFlow, core/ops/nn_ops.cc; core/kernels/fused_eigen_output_kernels.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.graphdef.rules import rule
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode

_ACTIVATIONS = {"Relu", "Relu6", "Elu", "Sigmoid", "Tanh", "LeakyRelu", "Prelu"}


def _spatial(node: OnnxNode, name: str) -> tuple[int, ...]:
    """Return what an attribute with a number for each axis says of the axes of space."""
    every = node.attr(name)
    if every is None:
        every = [1] * len(node.attrs["strides"])
    form = str(node.attr("data_format", "N" + "DHW"[-(len(every) - 2) :] + "C"))
    first = form.index("C")
    if len(form) != len(every) or every[0] != 1 or every[first] != 1:
        raise ArgumentError(
            f"{node.op}: {name} is {every} for {form}; want 1 for the batch and the channels."
        )
    return tuple(n for i, n in enumerate(every) if i not in (0, first))


def _window(node: OnnxNode, *, dilated: bool = True) -> dict[str, Any]:
    """Return the attributes that kernels of convolution and pooling share."""
    pad: Any = str(node.attrs["padding"]).lower()
    if pad == "explicit":
        flat = node.attrs["explicit_paddings"]
        pad = tuple(zip(flat[::2], flat[1::2], strict=True))
    found: dict[str, Any] = {"strides": _spatial(node, "strides"), "pad": pad}
    if "data_format" in node.attrs:
        found["data_format"] = node.attr("data_format")
    if dilated:
        found["dilations"] = _spatial(node, "dilations")
    return found


def _convolution(kernel: str) -> Callable[..., Tensor]:
    def convolve(node: OnnxNode, x: Tensor, filters: Tensor) -> Tensor:
        return run(kernel, x, filters, **_window(node))

    return convolve


rule("Conv2D")(_convolution("Conv2D"))
rule("Conv3D")(_convolution("Conv3D"))
rule("DepthwiseConv2d", "DepthwiseConv2dNative")(_convolution("DepthwiseConv2dNative"))


@rule("Conv2DBackpropInput", host=(0,))
def conv2d_backprop_input(node: OnnxNode, shape: Any, filters: Tensor, dy: Tensor) -> Tensor:
    """Return a transposed convolution, into images of a given shape."""
    lengths = tuple(int(n) for n in shape)
    return run("Conv2DBackpropInput", dy, filters, input_shape=lengths, **_window(node))


@rule("Dilation2D")
def dilation2d(node: OnnxNode, x: Tensor, filters: Tensor) -> Tensor:
    """Return the largest sums of images and a filter."""
    return run(
        "Dilation2D",
        x,
        filters,
        strides=_spatial(node, "strides"),
        pad=str(node.attrs["padding"]).lower(),
        dilations=_spatial(node, "rates"),
    )


def _pooling(kernel: str) -> Callable[..., Tensor]:
    def pool(node: OnnxNode, x: Tensor) -> Tensor:
        return run(kernel, x, filter_size=_spatial(node, "ksize"), **_window(node, dilated=False))

    return pool


for _name in ("AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D"):
    rule(_name)(_pooling(_name))


@rule("MaxPoolWithArgmax", outputs=2)
def max_pool_with_argmax(node: OnnxNode, x: Tensor) -> tuple[Tensor, ...]:
    """Return the largest elements of windows, and where they are."""
    return run_many(
        "MaxPoolWithArgmax",
        x,
        filter_size=_spatial(node, "ksize"),
        strides=_spatial(node, "strides"),
        pad=str(node.attrs["padding"]).lower(),
        include_batch_in_index=node.attr("include_batch_in_index", False),
    )


def _epilogue(node: OnnxNode, given: tuple[Tensor, ...]) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Return bias and slopes, and the attributes of what is done to a product or convolution."""
    fused = list(node.attr("fused_ops") or ())
    bias = slopes = None
    left = list(given)
    if fused[:1] == ["BiasAdd"] and left:
        bias = left.pop(0)
        fused.pop(0)
    if fused == ["Prelu"] and left:
        slopes = left.pop(0)
    if left or len(fused) > 1 or not _ACTIVATIONS.issuperset(fused):
        raise ArgumentError(
            f"{node.op}: fused_ops are {node.attr('fused_ops')} of {len(given)} tensors; want "
            f"BiasAdd and then at most one of {', '.join(sorted(_ACTIVATIONS))}."
        )
    name = fused[0] if fused else "linear"
    attrs = {"activation": name if name == "Tanh" else name.lower()}
    if name == "LeakyRelu":
        attrs["leakyrelu_alpha"] = node.attr("leakyrelu_alpha", 0.2)
    return (bias, slopes), attrs


@rule("_FusedConv2D")
def fused_conv2d(node: OnnxNode, x: Tensor, filters: Tensor, *given: Tensor) -> Tensor:
    """Return images convolved, with a bias and an activation."""
    more, attrs = _epilogue(node, given)
    return run("FusedConv2D", x, filters, *more, **_window(node), **attrs)


@rule("FusedDepthwiseConv2dNative")
def fused_depthwise(node: OnnxNode, x: Tensor, filters: Tensor, *given: Tensor) -> Tensor:
    """Return images of which each channel is convolved apart, with a bias and an activation."""
    more, attrs = _epilogue(node, given)
    return run("FusedDepthwiseConv2D", x, filters, *more, **_window(node), **attrs)


@rule("_FusedMatMul")
def fused_matmul(node: OnnxNode, a: Tensor, b: Tensor, *given: Tensor) -> Tensor:
    """Return a product of matrices, with a bias and an activation."""
    more, attrs = _epilogue(node, given)
    for name in ("transpose_a", "transpose_b"):
        attrs[name] = node.attr(name, False)
    return run("_FusedMatMul", a, b, *more, **attrs)


def _per_channel(node: OnnxNode, values: Tensor, x: Tensor) -> Tensor:
    """Return one number a channel in a shape that broadcasts to ``x``."""
    if str(node.attr("data_format", "NHWC")).startswith("NC"):
        return ops.reshape(values, (-1, *(1,) * (x.ndim - 2)))
    return values


@rule("BiasAdd", "BiasAddV1")
def bias_add(node: OnnxNode, x: Tensor, bias: Tensor) -> Tensor:
    """Return ``x`` with a number added to each channel."""
    return run("Add", x, _per_channel(node, bias, x))


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    node: OnnxNode, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
) -> Tensor:
    """Return ``x`` normalised per channel, by moments that are given."""
    if node.attr("is_training", True):
        raise ArgumentError(f"{node.op}: is_training is set; want a graph that was frozen.")
    return ops.batch_norm(
        x,
        *(_per_channel(node, one, x) for one in (mean, variance, offset, scale)),
        variance_epsilon=node.attr("epsilon", 1e-4),
    )
