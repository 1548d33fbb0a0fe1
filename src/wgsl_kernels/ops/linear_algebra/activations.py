"""Bias and activation of fused kernels: checks, on the CPU, behind a dispatch, and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.precision import select, silent
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.engine.values.attributes import text
from wgsl_kernels.engine.values.shapes import broadcast_shapes, show
from wgsl_kernels.ops.elementwise import logical

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec

ACTIVATIONS = ("linear", "relu", "relu6", "elu", "sigmoid", "leakyrelu", "prelu")
"""Activations that fused kernels do themselves, as TensorFlow.js's do.

Any other kernel of one input is run on the result."""


def own_activation(kernel: str, activation: str) -> tuple[str, Callable[[Tensor], Tensor]]:
    """Return the activation that a fused kernel does itself, and what is done to its result.

    Args:
        kernel: The fused kernel's name.
        activation: One of `ACTIVATIONS`, or a kernel of one input: by its name, or by that in
            snake_case. A map is fused into the product's dispatch.

    Raises:
        ArgumentError: It is neither. The second raises so where the kernel changes the shape.
    """
    given = text(kernel, "activation", activation)
    if given in ACTIVATIONS:
        return given, _unchanged
    words = "".join([one[:1].upper() + one[1:] for one in given.split("_")])
    for name in (given, words):
        backends = [one for one in ("cpu", "webgpu") if get_kernel(name, one) is not None]
        if backends:
            break
    else:
        raise ArgumentError(
            f"{kernel}: activation is {given!r}; want one of {', '.join(ACTIVATIONS)}, or the name "
            "of a kernel of one input."
        )
    declared, found = find_signature(name), get_kernel(name, backends[0])
    assert found is not None
    inputs = found.input_names if declared is None else [one.name for one in declared.inputs]
    if len(inputs) != 1:
        raise ArgumentError(
            f"{kernel}: activation is {given!r}, a kernel of {len(inputs)} inputs; want one."
        )

    def after(y: Tensor) -> Tensor:
        result = run(name, y)
        if result.shape != y.shape:
            raise ArgumentError(
                f"{kernel}: activation {given!r} makes {show(result.shape)} of {show(y.shape)}; "
                "want the same shape."
            )
        return result

    return "linear", after


def _unchanged(y: Tensor) -> Tensor:
    return y


def check_epilogue(
    kernel: str,
    activation: str,
    bias: Spec | None,
    slopes: Spec | None,
    shape: Shape,
    what: str,
    data_format: str = "",
) -> None:
    """Refuse an unknown activation, slopes that do not belong to it, and what does not broadcast.

    Args:
        kernel: The kernel's name.
        activation: What the caller asked for.
        bias: What is added, if anything.
        slopes: Those of ``"prelu"``.
        shape: The result's shape.
        what: The result and what may be added to it, for the message.
        data_format: ``"NCHW"`` where one number per channel comes before the places.

    Raises:
        ArgumentError: The activation is not one of `ACTIVATIONS`, or does not fit the slopes.
        ShapeError: Bias or slopes do not broadcast to ``shape``.
    """
    if activation not in ACTIVATIONS:
        raise ArgumentError(
            f"{kernel}: activation is {activation!r}; want one of {', '.join(ACTIVATIONS)}."
        )
    if (activation == "prelu") != (slopes is not None):
        given = "absent" if slopes is None else "given"
        raise ArgumentError(
            f"{kernel}: activation is {activation!r}, prelu_activation_weights is {given}; "
            "want both or neither."
        )
    for name, spec in (("bias", bias), ("prelu_activation_weights", slopes)):
        if spec is not None and broadcast_shapes(aligned(spec.shape, data_format), shape) != shape:
            raise ShapeError(f"{kernel}: {name} is {show(spec.shape)}, {what}")


def activated(z: Array, activation: str, slopes: Array) -> Array:
    """Return the activation of ``z`` on the CPU, maybe in its place.

    Args:
        z: An array that nobody else holds.
        activation: One of `ACTIVATIONS`.
        slopes: Those below 0, of two of the activations.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        match activation:
            case "relu":
                return np.clip(z, z.dtype.type(0), z.dtype.type(np.inf), out=z)
            case "relu6":
                return np.clip(z, z.dtype.type(0), z.dtype.type(6), out=z)
            case "elu":
                return select(z < 0, np.asarray(np.expm1(np.minimum(z, 0))), z)
            case "sigmoid":
                return np.asarray(numerics.sigmoid(z))
            case "leakyrelu" | "prelu":
                return select(z < 0, np.asarray(slopes * z), z)
            case _:
                return z


def with_epilogue(
    gpu: Gpu,
    z: GpuArray,
    dtype: DType,
    bias: GpuArray | None,
    slopes: GpuArray | None,
    activation: str,
    alpha: float | None,
    data_format: str = "",
) -> GpuArray:
    """Return the activation of ``z`` plus ``bias``, computed in the dispatch that writes ``z``.

    Args:
        gpu: The device.
        z: A product, in float32 but for arrays above the binding limit.
        dtype: The result's dtype.
        bias: What is added, if anything.
        slopes: Those of ``"prelu"``.
        activation: One of `ACTIVATIONS`.
        alpha: The slope of ``"leakyrelu"``.
        data_format: As for `check_epilogue`.
    """
    shape, wide = z.shape, z.dtype

    def operand(x: GpuArray) -> GpuArray:
        own = aligned(x.shape, data_format), aligned(x.strides, data_format)
        whole = x if x.shape == shape else broadcast_view(gpu, gpu.view(x, *own, x.offset), shape)
        return whole if x.dtype == wide else gpu.epilogue(_CAST, {"x": whole}, shape, wide)

    if bias is not None:
        z = gpu.epilogue(_ADD, {"a": z, "b": operand(bias)}, shape, wide)
    if activation != "linear":
        given = {"x": z} if slopes is None else {"x": z, "alpha": operand(slopes)}
        attrs = {"alpha": alpha or 0.0} if activation == "leakyrelu" else {}
        z = gpu.epilogue(_OF_ACTIVATION[activation], given, shape, wide, **attrs)
    return z if dtype == wide else gpu.epilogue(_CAST, {"x": z}, shape, dtype)


_ADD, _CAST = "elementwise/binary/add.wgsl", "elementwise/cast/to_real.wgsl"
_OF_ACTIVATION = {
    "relu": "elementwise/activation/relu.wesl",
    "relu6": "elementwise/activation/relu6.wesl",
    "elu": "elementwise/activation/elu.wesl",
    "sigmoid": "elementwise/activation/sigmoid.wesl",
    "leakyrelu": "elementwise/activation/leaky_relu.wesl",
    "prelu": "elementwise/activation/prelu.wesl",
}
"""The maps that compute them."""


def broadcast_view(gpu: Gpu, x: GpuArray, shape: Shape) -> GpuArray:
    """Return a view of ``x`` in ``shape``, with strides of 0 where it is broadcast."""
    pairs = zip(x.shape, x.strides, strict=True)
    strides = tuple([0 if length == 1 else step for length, step in pairs])
    return gpu.view(x, shape, (0,) * (len(shape) - len(strides)) + strides, x.offset)


def before_activation(
    dy: Tensor, y: Tensor, z: Tensor | None, activation: str, slope: Tensor | float | None
) -> Tensor:
    """Return the gradient before the activation, from its result ``y`` where that tells enough."""
    match activation:
        case "relu":
            return logical.where(y > 0.0, dy, 0.0)
        case "relu6":
            return logical.where((y > 0.0) & (y < 6.0), dy, 0.0)
        case "elu":
            return run("EluGrad", dy, y)
        case "sigmoid":
            return dy * (y * (1.0 - y))
        case "leakyrelu" | "prelu":
            return logical.where((y if z is None else z) < 0.0, dy * slope, dy)
        case _:
            return dy


def aligned(shape: Shape, data_format: str) -> Shape:
    """Return the shape in which one number per channel broadcasts to images of a format."""
    return (*shape, 1, 1) if data_format == "NCHW" and len(shape) == 1 else shape


@silent
def finished(
    z: Array,
    bias: Array | None,
    slopes: Array | None,
    activation: str,
    alpha: float | None,
    data_format: str = "",
) -> Array:
    """Return the activation of ``z`` plus ``bias`` on the CPU, in the place of ``z``."""
    if bias is not None:
        z += bias.astype(z.dtype, copy=False).reshape(aligned(bias.shape, data_format))
    if slopes is None:
        return activated(z, activation, np.asarray(alpha or 0, z.dtype))
    wide_slopes = slopes.astype(z.dtype, copy=False).reshape(aligned(slopes.shape, data_format))
    return activated(z, activation, wide_slopes)


def needs_sum(activation: str, alpha: float | None) -> bool:
    """Say whether the gradient of an activation is told by its argument only, not its result."""
    return activation == "prelu" or (activation == "leakyrelu" and (alpha or 0.0) <= 0.0)


def end_gradients(
    dy: Tensor,
    y: Tensor,
    z: Tensor | None,
    bias: Tensor | None,
    slopes: Tensor | None,
    activation: str,
    alpha: float | None,
    data_format: str = "",
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the gradients of the sums, of ``bias`` and of the slopes.

    Args:
        dy: The upstream gradient.
        y: The result.
        z: What the activation was applied to, where `needs_sum`.
        bias: What was added, if anything.
        slopes: Those of ``"prelu"``.
        activation: Its name.
        alpha: The slope of ``"leakyrelu"``.
        data_format: As for `check_epilogue`.
    """
    slope: Tensor | float | None = alpha
    if slopes is not None:
        slope = run("Reshape", slopes, shape=aligned(slopes.shape, data_format))
    dz = before_activation(dy, y, z, activation, slope)
    d_slopes = None
    if z is not None and slopes is not None:
        d_slopes = _summed_to(logical.where(z < 0.0, dy * z, 0.0), slopes, data_format)
    return dz, None if bias is None else _summed_to(dz, bias, data_format), d_slopes


def _summed_to(d_broadcast: Tensor, given: Tensor, data_format: str) -> Tensor:
    """Return the gradient of an input that was broadcast to the result."""
    return run(
        "Reshape", unbroadcast(d_broadcast, aligned(given.shape, data_format)), shape=given.shape
    )
