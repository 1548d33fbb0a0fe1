"""What fused kernels do to a product before they store it: bias and activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.precision import select
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.run import run
from wgsl_kernels.ops import logical

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.spec import Shape, Spec
    from wgsl_kernels.engine.tensor import Tensor

ACTIVATIONS = ("linear", "relu", "relu6", "elu", "sigmoid", "leakyrelu", "prelu")
"""Names of activations; shaders know them by their numbers here."""


def check_activation(kernel: str, activation: str, slopes: Spec | None) -> None:
    """Refuse an unknown activation, and slopes where none belong or the reverse.

    Raises:
        ArgumentError: The activation is not one of `ACTIVATIONS`, or does not fit the slopes.
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


def spread(gpu: Gpu, given: GpuArray | None, shape: Shape, dtype: DType) -> GpuArray:
    """Return a view of ``given`` in ``shape``, with strides of 0 where it is broadcast.

    Where it is absent, what is returned only fills its binding.
    """
    if given is None:
        given = gpu.empty((), dtype)
    own = zip(given.shape, given.strides, strict=True)
    strides = tuple(0 if length == 1 else step for length, step in own)
    missing = len(shape) - len(given.shape)
    return gpu.view(given, shape, (0,) * missing + strides, given.offset)


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
