"""Normalization by means and variances that are given, or are those of the elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import WIDER, silent
from wgsl_kernels.backends.cpu.sums import deviations, total
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import broadcast_shapes, normalize_axis, require_dtype, show
from wgsl_kernels.ops.elementwise import unary
from wgsl_kernels.ops.linear_algebra.activations import broadcast_view
from wgsl_kernels.ops.reductions import reduce, statistics
from wgsl_kernels.ops.shapes.shape import reshaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec

_STEPS = 16
"""Rows that an invocation of a batch norm takes."""


@public(tfjs="batchNorm batchNorm2d batchNorm3d batchNorm4d")
def batch_norm(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    *,
    variance_epsilon: float = 0.001,
) -> Tensor:
    """Return ``(x - mean) * scale / sqrt(variance + variance_epsilon) + offset``.

    The error is at most 2^-20 times ``(|x| + |mean|) * |scale| / sqrt(variance +
    variance_epsilon) + |offset|``.

    Args:
        x: Any shape, float; the last axis is mostly that of the channels.
        mean: What broadcasts to ``x``: mostly one number per channel.
        variance: Likewise; not below 0.
        offset: Likewise; without it 0.
        scale: Likewise; without it 1.
        variance_epsilon: Added to the variance, so that nothing is divided by 0.

    Raises:
        ShapeError: One does not broadcast to ``x``.

    Example:
        >>> batch_norm(tensor([[1.0, 5.0]]), [0.0, 1.0], [1.0, 4.0], variance_epsilon=0.0).tolist()
        [[1.0, 2.0]]
    """
    return run(
        "FusedBatchNorm", x, mean, variance, offset, scale, variance_epsilon=variance_epsilon
    )


@signature(
    "FusedBatchNorm",
    promote=("x", "mean", "variance", "offset", "scale"),
    floats=("x", "mean", "variance", "offset", "scale"),
)
def _batch_norm_signature(
    x: Spec,
    mean: Spec,
    variance: Spec,
    offset: Spec | None = None,
    scale: Spec | None = None,
    /,
    *,
    variance_epsilon: float = 0.001,
) -> Spec:
    kernel = "FusedBatchNorm"
    if not 0 <= variance_epsilon < math.inf:
        raise ArgumentError(
            f"{kernel}: variance_epsilon is {variance_epsilon}; want a finite number, 0 or more."
        )
    require_dtype(kernel, "x", x, "float32")
    others = {"mean": mean, "variance": variance, "offset": offset, "scale": scale}
    for name, spec in others.items():
        if spec is not None and broadcast_shapes(spec.shape, x.shape) != x.shape:
            raise ShapeError(
                f"{kernel}: {name} is {show(spec.shape)}, x is {show(x.shape)}; want one number "
                "per channel, or what else broadcasts to x."
            )
    return x


@cpu_kernel("FusedBatchNorm")
@silent
def _batch_norm_cpu(
    x: Array,
    mean: Array,
    variance: Array,
    offset: Array | None,
    scale: Array | None,
    *,
    variance_epsilon: float,
) -> Array:
    wide = WIDER.get(x.dtype, x.dtype)
    work = np.dtype(np.float32) if x.dtype == np.float16 else x.dtype  # one rounding, at the end
    slope = numerics.rsqrt(variance.astype(wide) + wide.type(variance_epsilon))
    slope = slope if scale is None else slope * scale
    shift = -mean * slope if offset is None else offset - mean * slope
    y = np.asarray(np.multiply(x, slope.astype(work), dtype=work))
    y += shift.astype(work)
    return y.astype(x.dtype, copy=False)


@wgsl_kernel("FusedBatchNorm", dtypes=("float32", "float16"))
def _batch_norm_webgpu(
    gpu: Gpu,
    x: GpuArray,
    mean: GpuArray,
    variance: GpuArray,
    offset: GpuArray | None,
    scale: GpuArray | None,
    *,
    variance_epsilon: float,
) -> GpuArray:
    y = gpu.empty(x.shape, x.dtype)
    if y.size == 0:
        return y
    given = {"mean": mean, "variance": variance, "offset": offset, "scale": scale}
    channels = x.shape[-1] if x.shape else 1
    if channels % 4 == 0 and all(one is None or one.shape == (channels,) for one in given.values()):
        _by_channels(gpu, x, given, y, variance_epsilon)
        return y
    planes = _planes_of(x, given.values())
    if planes is not None:
        _by_planes(gpu, x, given, y, variance_epsilon, planes)
        return y
    views = {
        name: broadcast_view(gpu, gpu.empty((), x.dtype) if one is None else one, x.shape)
        for name, one in given.items()
    }
    gpu.dispatch(
        "normalization/normalization/fused_batch_norm.wesl",
        {"x": x, **views, "y": y},
        params={"variance_epsilon": variance_epsilon},
        constants=_has(given),
    )
    return y


def _by_channels(
    gpu: Gpu,
    x: GpuArray,
    given: Mapping[str, GpuArray | None],
    y: GpuArray,
    variance_epsilon: float,
) -> None:
    """Normalize with one number of each kind per channel, where channels come last."""
    channels = x.shape[-1]
    rows = x.size // channels
    walk, parts = _walk(gpu, rows)
    gpu.dispatch(
        "normalization/normalization/batch_norm_channels.wesl",
        {"x": x, **_present(given, x), "y": y},
        params={
            **walk,
            "rows": rows,
            "fours": channels // 4,
            "variance_epsilon": variance_epsilon,
        },
        groups=gpu.grid(parts * (channels // 4), 64),
        constants=_has(given),
    )


def _by_planes(
    gpu: Gpu,
    x: GpuArray,
    given: Mapping[str, GpuArray | None],
    y: GpuArray,
    variance_epsilon: float,
    planes: tuple[int, int],
) -> None:
    """Normalize with one number of each kind per plane, as where channels come first."""
    channels, places = planes
    is_vec4 = places % 4 == 0
    units, rows = places // 4 if is_vec4 else places, x.size // places
    walk, parts = _walk(gpu, units)
    flat = {
        name: None if one is None else reshaped(gpu, one, (channels,))
        for name, one in given.items()
    }
    gpu.dispatch(
        "normalization/normalization/batch_norm_planes.wesl",
        {"x": x, **_present(flat, x), "y": y},
        configuration={"VEC4": is_vec4},
        params={
            **walk,
            "rows": rows,
            "channels": channels,
            "units": units,
            "variance_epsilon": variance_epsilon,
        },
        groups=gpu.grid(rows * parts, 64),
        constants=_has(given),
    )


def _planes_of(x: GpuArray, given: Iterable[GpuArray | None]) -> tuple[int, int] | None:
    """Return how many planes have numbers of their own, and the places of one.

    A plane is what the last axes have of x. The planes behind so many have the same numbers again.
    None where numbers belong to something else.
    """
    shapes = {one.shape for one in given if one is not None}
    shape = shapes.pop()
    axes = next((n for n, length in enumerate(reversed(shape)) if length != 1), 0)
    lead = (1,) * (len(x.shape) - len(shape)) + shape[: len(shape) - axes]
    first = next((n for n, length in enumerate(lead) if length != 1), 0)
    places = math.prod(x.shape[len(lead) :])
    if shapes or places == 1 or lead[first:] != x.shape[first : len(lead)]:
        return None
    return math.prod(lead), places


def _walk(gpu: Gpu, steps_in_all: int) -> tuple[dict[str, int], int]:
    """Return how invocations share steps, and in how many parts."""
    steps = min(_STEPS, steps_in_all)
    parts = -(-steps_in_all // steps)
    first, apart = gpu.policy.batch_norm_walk(steps, parts)
    return {"parts": parts, "steps": steps, "first": first, "apart": apart}, parts


def _present(given: Mapping[str, GpuArray | None], x: GpuArray) -> dict[str, GpuArray]:
    """Return all arrays, ``x`` in place of those that are absent."""
    return {name: x if one is None else one for name, one in given.items()}


def _has(given: Mapping[str, GpuArray | None]) -> dict[str, bool]:
    return {f"with_{name}": given[name] is not None for name in ("offset", "scale")}


@gradient("FusedBatchNorm")
def _batch_norm_grad(
    dy: Tensor,
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    offset: Tensor | None,
    scale: Tensor | None,
    variance_epsilon: float,
) -> tuple[Tensor | None, ...]:
    # With s = 1 / sqrt(variance + epsilon): ds/dvariance = -s^3 / 2
    inverse = unary.rsqrt(variance + variance_epsilon)
    normal = (x - mean) * inverse
    scaled = dy if scale is None else dy * scale
    dx = scaled * inverse
    d_variance = scaled * normal * (inverse * inverse * -0.5)
    return (
        dx,
        unbroadcast(unary.negative(dx), mean.shape),
        unbroadcast(d_variance, variance.shape),
        None if offset is None else unbroadcast(dy, offset.shape),
        None if scale is None else unbroadcast(dy * normal, scale.shape),
    )


@public()
def layer_norm(
    x: TensorLike,
    scale: TensorLike | None = None,
    offset: TensorLike | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> Tensor:
    """Return ``(x - mean) / sqrt(variance + epsilon) * scale + offset``.

    Mean and variance are those of the elements along the axes from ``axis`` to the last. Where the
    variance is above the largest float32 the first term is 0.

    Args:
        x: At least one axis, float.
        scale: The shape of ``x`` from ``axis`` on; without it 1.
        offset: Likewise; without it 0.
        axis: The first of the axes along which elements are normalized.
        epsilon: Added to the variance, so that nothing is divided by 0.

    Raises:
        ShapeError: ``scale`` or ``offset`` has another shape.

    Example:
        >>> layer_norm(tensor([[1.0, 3.0], [5.0, 5.0]]), epsilon=0.0001, axis=1).numpy().round(2)
        array([[-1.,  1.],
               [ 0.,  0.]], dtype=float32)
        >>> layer_norm(tensor([1e38, 0.0, 0.0])).numpy() == 0.0
        array([ True,  True,  True])

    Source: Ba, Kiros, Hinton, Layer Normalization, 2016.
    """
    return run("LayerNorm", x, scale, offset, axis=axis, epsilon=epsilon)


@signature("LayerNorm", promote=("x", "scale", "offset"), floats=("x", "scale", "offset"))
def _layer_norm_signature(
    x: Spec,
    scale: Spec | None = None,
    offset: Spec | None = None,
    /,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> Spec:
    del epsilon  # any number will do
    require_dtype("LayerNorm", "x", x, "float32")
    want = x.shape[normalize_axis("LayerNorm", axis, x.ndim) :]
    for name, spec in {"scale": scale, "offset": offset}.items():
        if spec is not None and spec.shape != want:
            raise ShapeError(
                f"LayerNorm: {name} is {show(spec.shape)}, x is {show(x.shape)} and axis {axis}; "
                f"want {show(want)}."
            )
    return x


@cpu_kernel("LayerNorm")
@silent
def _layer_norm_cpu(
    x: Array, scale: Array | None, offset: Array | None, *, axis: int, epsilon: float
) -> Array:
    wide = np.dtype(np.float64) if x.dtype == np.float16 else x.dtype
    axes = tuple(range(axis % x.ndim, x.ndim))
    count = math.prod(x.shape[one] for one in axes)
    y = deviations(x.astype(wide, copy=False), axes)
    variance = total(np.square(y), axes, keepdims=True) / count
    y *= numerics.rsqrt(variance + wide.type(epsilon))
    if scale is not None:
        y *= scale
    if offset is not None:
        y += offset
    return y.astype(x.dtype, copy=False)


wgsl_kernel(
    "LayerNorm",
    "normalization/normalization/layer_norm.wesl",
    dtypes=("float32", "float16"),
    params=lambda x_shape, axis: {"axis": tuple(range(axis % len(x_shape), len(x_shape)))},
)


@gradient("LayerNorm")
def _layer_norm_grad(
    dy: Tensor,
    x: Tensor,
    scale: Tensor | None,
    offset: Tensor | None,
    axis: int,
    epsilon: float,
) -> tuple[Any, ...]:
    # With n the normalized x and g = dy * scale: dx = (g - mean(g) - n * mean(g * n)) / deviation
    axes = tuple(range(axis % x.ndim, x.ndim))
    normal = layer_norm(x, axis=axis, epsilon=epsilon)
    scaled = dy if scale is None else dy * scale

    def dx() -> Tensor:
        inverse = unary.rsqrt(statistics.var(x, axis=axes, keepdims=True) + epsilon)
        mean = reduce.mean(scaled, axis=axes, keepdims=True)
        along = reduce.mean(scaled * normal, axis=axes, keepdims=True)
        return (scaled - mean - normal * along) * inverse

    return (
        dx,
        None if scale is None else lambda: unbroadcast(dy * normal, scale.shape),
        None if offset is None else lambda: unbroadcast(dy, offset.shape),
    )
