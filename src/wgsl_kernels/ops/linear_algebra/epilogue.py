"""What fused kernels do to a product before they store it: bias and activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.precision import select, silent
from wgsl_kernels.backends.webgpu.products.dispatching import Epilogue
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
"""Activations that fused kernels do themselves, as TensorFlow.js's do; shaders know them by their
numbers here. Any other kernel of one input is run on the result."""


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


def epilogue_for(
    gpu: Gpu,
    bias: GpuArray | None,
    slopes: GpuArray | None,
    activation: str,
    alpha: float | None,
    shape: Shape,
    data_format: str = "",
) -> Epilogue:
    """Return what becomes of the sums of a product of ``shape``.

    Args:
        gpu: The device.
        bias: What is added, if anything.
        slopes: Those of ``"prelu"``.
        activation: One of `ACTIVATIONS`.
        alpha: The slope of ``"leakyrelu"``.
        shape: The result's shape.
        data_format: As for `check_epilogue`.
    """
    arrays: dict[str, GpuArray] = {}
    configuration = {"ACTIVATION": ACTIVATIONS.index(activation)}
    for name, given in (("bias", bias), ("prelu_activation_weights", slopes)):
        if given is None:
            continue
        own = aligned(given.shape, data_format), aligned(given.strides, data_format)
        strides = broadcast_strides(*own, len(shape))
        is_along_last = not any(strides[:-1])
        kept = slice(-1, None) if is_along_last else slice(None)
        arrays[name] = gpu.view(given, shape[kept], strides[kept], given.offset)
        configuration[_CONSTANTS[name]] = ALONG_LAST if is_along_last else FOR_EACH
    return Epilogue(arrays, configuration, {"leakyrelu_alpha": alpha or 0.0})


ALONG_LAST, FOR_EACH = 1, 2
"""How ``shaders/operands/epilogue.wesl`` reads bias and slopes."""

_CONSTANTS = {"bias": "BIAS", "prelu_activation_weights": "SLOPES"}


def broadcast_view(gpu: Gpu, given: GpuArray | None, shape: Shape, dtype: DType) -> GpuArray:
    """Return a view of ``given`` in ``shape``, with strides of 0 where it is broadcast.

    Where it is absent, what is returned only fills its binding.
    """
    if given is None:
        given = gpu.empty((), dtype)
    strides = broadcast_strides(given.shape, given.strides, len(shape))
    return gpu.view(given, shape, strides, given.offset)


def broadcast_strides(shape: Shape, strides: Shape, ndim: int) -> Shape:
    """Return the strides of an array seen with ``ndim`` axes: 0 where it is broadcast."""
    own = tuple(0 if length == 1 else step for length, step in zip(shape, strides, strict=True))
    return (0,) * (ndim - len(own)) + own


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
