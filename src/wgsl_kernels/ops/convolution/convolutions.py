"""What all kinds of convolution have in common: signatures, gradients, and the end of fused ones.

A convolution and its two gradients are one sum over three factors (image, filter, result), so that
the gradients of each are the other two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import wide
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.environment.parameters import takes
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.engine.values.windows import COUNTS
from wgsl_kernels.ops.linear_algebra.activations import (
    check_epilogue,
    end_gradients,
    finished,
    needs_sum,
)
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Shape, Spec
    from wgsl_kernels.engine.values.windows import Padding, Pair


_FUSED = ("x", "filter", "bias", "prelu_activation_weights")


class ConvolutionAttrs:
    """The attributes that say how a filter moves over images, as signatures declare them."""

    strides: Pair = 1
    pad: Padding = "valid"
    data_format: str
    dilations: Pair | None = 1
    dim_rounding_mode: str | None = None


class GroupedAttrs(ConvolutionAttrs):
    """These, and into how many parts channels are cut, which are convolved apart."""

    groups: int = 1


@dataclass(frozen=True, slots=True)
class Convolution:
    """One kind of convolution.

    Attributes:
        forward: The name of its kernel.
        to_input: The name of the kernel that gives the gradient of the images.
        to_filter: The one that gives the gradient of the filter.
        convolved: Returns the shape that it gives, of a kernel's name, images, a filter and the
            attributes, or raises.
        data_format: The format by default; images and filters have an axis for each of its letters.
        attrs: What the attributes are.
    """

    forward: str
    to_input: str
    to_filter: str
    convolved: Callable[..., Shape]
    data_format: str = "NHWC"
    attrs: type[ConvolutionAttrs] = ConvolutionAttrs


def declare_convolution(kind: Convolution) -> None:
    """Declare the signatures and gradients of the three kernels of a kind of convolution."""
    _declare_forward(kind)
    _declare_to_input(kind)
    _declare_to_filter(kind)


def _declare_forward(kind: Convolution) -> None:
    @signature(kind.forward, promote=("x", "filter"), floats=("x", "filter"))
    @takes(kind.attrs, data_format=kind.data_format)
    def forward_signature(x: Spec, filter: Spec, /, **geometry: Any) -> Spec:
        return x.like(shape=kind.convolved(kind.forward, x, filter, **geometry))

    @gradient(kind.forward)
    def forward_grad(dy: Tensor, x: Tensor, filter: Tensor, **geometry: Any) -> tuple[Lazy, Lazy]:
        return (
            lambda: run(kind.to_input, dy, filter, input_shape=x.shape, **geometry),
            lambda: run(kind.to_filter, x, dy, filter_shape=filter.shape, **geometry),
        )


def _declare_to_input(kind: Convolution) -> None:
    @signature(kind.to_input, promote=("dy", "filter"))
    @takes(kind.attrs, data_format=kind.data_format)
    def to_input_signature(
        dy: Spec, filter: Spec, /, *, input_shape: Sequence[int], **geometry: Any
    ) -> Spec:
        x = dy.like(shape=_shape_of(kind, kind.to_input, "input_shape", input_shape))
        _check_dy(kind.to_input, dy, kind.convolved(kind.to_input, x, filter, **geometry))
        return x

    @gradient(kind.to_input)
    def to_input_grad(
        ddx: Tensor, dy: Tensor, filter: Tensor, input_shape: Shape, **geometry: Any
    ) -> tuple[Lazy, Lazy]:
        return (
            lambda: run(kind.forward, ddx, filter, **geometry),
            lambda: run(kind.to_filter, ddx, dy, filter_shape=filter.shape, **geometry),
        )


def _declare_to_filter(kind: Convolution) -> None:
    @signature(kind.to_filter, promote=("x", "dy"))
    @takes(kind.attrs, data_format=kind.data_format)
    def to_filter_signature(
        x: Spec, dy: Spec, /, *, filter_shape: Sequence[int], **geometry: Any
    ) -> Spec:
        shape = _shape_of(kind, kind.to_filter, "filter_shape", filter_shape)
        filter = x.like(shape=shape)
        _check_dy(kind.to_filter, dy, kind.convolved(kind.to_filter, x, filter, **geometry))
        return filter

    @gradient(kind.to_filter)
    def to_filter_grad(
        ddw: Tensor, x: Tensor, dy: Tensor, filter_shape: Shape, **geometry: Any
    ) -> tuple[Lazy, Lazy]:
        return (
            lambda: run(kind.to_input, dy, ddw, input_shape=x.shape, **geometry),
            lambda: run(kind.forward, x, ddw, **geometry),
        )


def declare_fused(kernel: str, kind: Convolution, convolve: Callable[..., Array]) -> None:
    """Declare the signature, CPU kernel and gradient of a convolution with bias and activation.

    Args:
        kernel: Its name.
        kind: What is convolved.
        convolve: The CPU kernel of ``kind``.
    """

    @signature(kernel, promote=_FUSED, floats=_FUSED)
    @takes(ConvolutionAttrs, data_format=kind.data_format)
    def fused_signature(
        x: Spec,
        filter: Spec,
        bias: Spec | None = None,
        prelu_activation_weights: Spec | None = None,
        /,
        *,
        activation: str = "linear",
        leakyrelu_alpha: float | None = 0.2,
        **geometry: Any,
    ) -> Spec:
        shape = kind.convolved(kernel, x, filter, **geometry)
        slopes, data_format = prelu_activation_weights, geometry["data_format"]
        what = (
            f"the convolution gives {show(shape)} ({data_format}); want one number, one per out "
            "channel, or what broadcasts to it."
        )
        check_epilogue(kernel, activation, bias, slopes, shape, what, data_format)
        return x.like(shape=shape)

    @cpu_kernel(kernel)
    def fused_cpu(
        x: Array,
        filter: Array,
        bias: Array | None,
        prelu_activation_weights: Array | None,
        *,
        activation: str,
        leakyrelu_alpha: float | None,
        **geometry: Any,
    ) -> Array:
        z = convolve(wide(x), wide(filter), **geometry)  # one rounding, at the end
        slopes, data_format = prelu_activation_weights, geometry["data_format"]
        y = finished(z, bias, slopes, activation, leakyrelu_alpha, data_format)
        return y.astype(x.dtype, copy=False)

    @gradient(kernel)
    def fused_grad(
        dy: Tensor,
        x: Tensor,
        filter: Tensor,
        bias: Tensor | None,
        prelu_activation_weights: Tensor | None,
        y: Tensor,
        activation: str,
        leakyrelu_alpha: float | None,
        **geometry: Any,
    ) -> tuple[Tensor | None, ...]:
        z = None
        if needs_sum(activation, leakyrelu_alpha):
            z = run(kernel, x, filter, bias, None, activation="linear", **geometry)
        slopes, data_format = prelu_activation_weights, geometry["data_format"]
        dz, d_bias, d_slopes = end_gradients(
            dy, y, z, bias, slopes, activation, leakyrelu_alpha, data_format
        )
        return (
            run(kind.to_input, dz, filter, input_shape=x.shape, **geometry),
            run(kind.to_filter, x, dz, filter_shape=filter.shape, **geometry),
            d_bias,
            d_slopes,
        )


def _shape_of(kind: Convolution, kernel: str, name: str, shape: Sequence[int]) -> Shape:
    """Return an attribute that is a shape of images or of a filter.

    Raises:
        ArgumentError: It has not as many lengths as they have axes.
    """
    count = len(kind.data_format)
    lengths: tuple[Any, ...] = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if len(lengths) != count or not all(type(one) is int and one >= 0 for one in lengths):
        raise ArgumentError(f"{kernel}: {name} is {shown(shape)}; want {COUNTS[count]} lengths.")
    return lengths


def _check_dy(kernel: str, dy: Spec, shape: Shape) -> None:
    """Refuse a gradient that has not the shape of what the convolution gives.

    Raises:
        DTypeError, ShapeError: It has another dtype or shape.
    """
    require_dtype(kernel, "dy", dy, "float32")
    if dy.shape != shape:
        raise ShapeError(
            f"{kernel}: dy has shape {show(dy.shape)}; the convolution gives {show(shape)}."
        )
