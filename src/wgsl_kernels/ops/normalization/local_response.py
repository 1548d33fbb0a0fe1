"""Local response normalization: elements divided by the size of their neighbouring channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent, wide
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.ops.elementwise import binary, cast, compare, unary
from wgsl_kernels.ops.linear_algebra import matrix
from wgsl_kernels.ops.shapes import ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec

_CHANNELS = 1 << 15
"""At most so many, since one invocation goes through them."""


@public(tfjs="localResponseNormalization")
def local_response_normalization(
    x: TensorLike,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
) -> Tensor:
    """Return ``x / (bias + alpha * s) ** beta``, s being the sum of squares of channels nearby.

    Args:
        x: [batch, height, width, channels] or without the batch, float32.
        depth_radius: How far channels may lie apart whose squares are added.
        bias: Added to the sum; above 0, so that nothing is divided by 0.
        alpha: The sum's factor.
        beta: The power.

    Raises:
        ShapeError: ``x`` has another rank, or more than 32768 channels.
        ArgumentError: ``depth_radius`` is below 0.

    Example:
        >>> y = wk.local_response_normalization(wk.ones((1, 1, 1, 3)), depth_radius=1)
        >>> y.numpy().round(3)
        array([[[[0.577, 0.5  , 0.577]]]], dtype=float32)

    Source: Krizhevsky, Sutskever, Hinton, ImageNet Classification with Deep Convolutional Neural
    Networks, 2012, section 3.3.
    """
    given = as_floats(x)
    single = given.ndim == 3
    images = shapes.expand_dims(given) if single else given
    attrs = {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}
    found = run("LRN", images, **attrs)
    return shapes.reshape(found, given.shape) if single else found


def _check(kernel: str, x: Spec, depth_radius: int) -> None:
    require_rank(kernel, "x", x, 4)
    require_dtype(kernel, "x", x, "float32")
    if depth_radius < 0:
        raise ArgumentError(f"{kernel}: depth_radius is {depth_radius}; want at least 0.")
    if x.shape[3] > _CHANNELS:
        raise ShapeError(
            f"{kernel}: x has shape {show(x.shape)}; want at most {_CHANNELS} channels."
        )


@signature("LRN", floats=("x",))
def _lrn_signature(
    x: Spec, /, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Spec:
    del bias, alpha, beta
    _check("LRN", x, depth_radius)
    return x


def _summed(x: Array, radius: int) -> Array:
    """Return the sums over channels at most ``radius`` away."""
    channels = x.shape[-1]
    totals = np.zeros((*x.shape[:-1], channels + 1), np.float64)
    np.cumsum(x, -1, np.float64, out=totals[..., 1:])
    first = np.maximum(np.arange(channels) - radius, 0)
    end = np.minimum(np.arange(channels) + radius, channels - 1) + 1
    if np.isfinite(totals[..., -1]).all():
        return totals[..., end] - totals[..., first]
    pairs = zip(first, end, strict=True)  # NaN and infinity stay where they are in reach
    sums = [x[..., one:two].sum(-1, np.float64) for one, two in pairs]
    return np.stack(sums, -1)


def _norms(x: Array, radius: int, bias: float, alpha: float) -> Array:
    return bias + alpha * _summed(np.square(x, dtype=np.float64), radius)


@cpu_kernel("LRN")
@silent
def _lrn_cpu(x: Array, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Array:
    return (x * _norms(x, depth_radius, bias, alpha) ** -beta).astype(x.dtype)


@wgsl_kernel("LRN")
def _lrn_webgpu(gpu: Gpu, x: GpuArray, **attrs: Any) -> GpuArray:
    return _forward(gpu, x, attrs, is_norm=False)


def _forward(gpu: Gpu, x: GpuArray, attrs: dict[str, Any], *, is_norm: bool) -> GpuArray:
    y = gpu.empty(x.shape, "float32" if is_norm else x.dtype)
    if y.size:
        names = ("bias", "alpha", "beta")
        gpu.dispatch(
            "normalization/local_response/lrn.wesl",
            {"x": x, "y": y},
            params={name: attrs[name] for name in names}
            | {
                "channels": x.shape[3],
                "radius": min(attrs["depth_radius"], x.shape[3]),
                "is_norm": int(is_norm),
            },
        )
    return y


@gradient("LRN")
def _lrn_grad(
    dy: Tensor, x: Tensor, y: Tensor, depth_radius: int, bias: float, alpha: float, beta: float
) -> Tensor:
    attrs = {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}
    return run("LRNGrad", x, y, dy, **attrs)


@signature("LRNGrad")
def _lrn_grad_signature(
    x: Spec, y: Spec, dy: Spec, /, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Spec:
    del bias, alpha, beta
    _check("LRNGrad", x, depth_radius)
    for name, one in (("y", y), ("dy", dy)):
        require_dtype("LRNGrad", name, one, x.dtype)
        if one.shape != x.shape:
            raise ShapeError(
                f"LRNGrad: {name} has shape {show(one.shape)}, x {show(x.shape)}; want the same."
            )
    return x


@cpu_kernel("LRNGrad")
@silent
def _lrn_grad_cpu(
    x: Array,
    y: Array,
    dy: Array,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Array:
    norms = _norms(x, depth_radius, bias, alpha)
    across = _summed(wide(dy) * wide(y) / norms, depth_radius)
    return (dy * norms**-beta - 2 * alpha * beta * wide(x) * across).astype(x.dtype)


@wgsl_kernel("LRNGrad")
def _lrn_grad_webgpu(gpu: Gpu, x: GpuArray, y: GpuArray, dy: GpuArray, **attrs: Any) -> GpuArray:
    norm = _forward(gpu, x, attrs, is_norm=True)
    out = gpu.empty(x.shape, x.dtype)
    if out.size:
        gpu.dispatch(
            "normalization/local_response/lrn_grad.wesl",
            {"x": x, "y": y, "dy": dy, "norm": norm, "out": out},
            params={
                "channels": x.shape[3],
                "radius": min(attrs["depth_radius"], x.shape[3]),
                "beta": attrs["beta"],
                "factor": 2 * attrs["alpha"] * attrs["beta"],
            },
        )
    return out


@gradient("LRNGrad")
def _lrn_grad_grad(
    ddx: Tensor,
    x: Tensor,
    y: Tensor,
    dy: Tensor,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> tuple[Tensor, Tensor, Tensor]:
    # dx = dy n^-beta - c x S(dy y / n), n = bias + alpha S(x^2), S the sum over the channels nearby
    factor = 2.0 * alpha * beta
    near = _nearby(x, depth_radius)
    n = matrix.matmul(x * x, near) * alpha + bias
    scale = binary.pow(n, -beta)
    crossed = matrix.matmul(ddx * x, near) * factor / n
    from_n = crossed * dy * y / n - ddx * dy * (scale / n * beta)
    in_x = matrix.matmul(from_n, near) * x * (2.0 * alpha)
    straight = ddx * matrix.matmul(dy * y / n, near) * factor
    return in_x - straight, -(crossed * dy), ddx * scale - crossed * y


def _nearby(x: Tensor, radius: int) -> Tensor:
    """Return 1 where two channels are at most ``radius`` apart, else 0; [channels, channels]."""
    numbers = ranges.arange(x.shape[3])
    apart = unary.abs(numbers - shapes.reshape(numbers, (-1, 1)))
    return cast.astype(compare.less_equal(apart, radius), x.dtype)
