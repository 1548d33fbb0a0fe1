"""What all kinds of pooling have in common: signatures, kernels, and gradients of every order.

The gradient of a maximum goes by where the largest element of each window stands: the first of
equals, row by row, and the first NaN before all numbers. One kernel takes values there, another
fetches them: each is the other's gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import wide
from wgsl_kernels.backends.cpu.windows.pool_maxima import chosen_cpu, max_pool_gradient_cpu
from wgsl_kernels.backends.cpu.windows.pooling import (
    avg_pool_cpu,
    avg_pool_gradient_cpu,
    counts,
    max_pool_cpu,
)
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.environment.parameters import takes
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.values.windows import sliding_by
from wgsl_kernels.ops.elementwise import logical
from wgsl_kernels.ops.pooling.pool_dispatch import chosen_on, pool_on, spread_on

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Shape, Spec
    from wgsl_kernels.engine.values.windows import Padding, Pair, Sliding

FLOATS = ("float32", "float16")
NUMBERS = (*FLOATS, "int32")
MEAN = "pooling/poolings/avg_pool.wesl"


@dataclass(frozen=True, slots=True)
class Pooling:
    """Pooling of images, or of volumes: the names of its kernels.

    Attributes:
        avg: The mean of windows.
        avg_grad: Its gradient.
        max: The maximum of windows.
        max_grad: Its gradient.
        max_grad_grad: The gradient of that.
        data_format: The format by default; images have an axis for each of its letters.
    """

    avg: str
    avg_grad: str
    max: str
    max_grad: str
    max_grad_grad: str
    data_format: str


class PoolingAttrs:
    """The attributes that say how a window moves over images, as signatures declare them."""

    filter_size: Pair
    strides: Pair
    pad: Padding = "valid"
    dilations: Pair = 1
    dim_rounding_mode: str | None = None
    data_format: str


def declare_pooling(kind: Pooling) -> None:
    """Declare the signatures, kernels and gradients of a kind of pooling."""
    _declare_avg(kind)
    _declare_avg_grad(kind)
    _declare_max(kind)
    _declare_max_grad(kind)
    _declare_max_grad_grad(kind)


def pooled(kernel: str, name: str, spec: Spec, rank: int, geometry: dict[str, Any]) -> Shape:
    """Return the shape that pooling gives, or raise."""
    require_rank(kernel, name, spec, rank)
    return sliding_by(kernel, spec.shape, geometry).out_shape


def mean_cpu(sliding: Sliding, x: Array) -> Array:
    y = avg_pool_cpu(sliding.of_one_channel(), _images(sliding, wide(x)))
    return y.reshape(sliding.out_shape).astype(x.dtype, copy=False)


def maximum_cpu(sliding: Sliding, x: Array) -> Array:
    lowest = np.iinfo(x.dtype).min if x.dtype.kind == "i" else -np.inf
    y = max_pool_cpu(sliding.of_one_channel(), _images(sliding, x), lowest)
    return y.reshape(sliding.out_shape)


def maximum_webgpu(gpu: Gpu, x: GpuArray, geometry: dict[str, Any]) -> GpuArray:
    """Return the maximum of each window; ``geometry`` as `sliding_by` takes it."""
    shader = (
        "pooling/poolings/max_pool_int32.wgsl"
        if x.dtype == "int32"
        else "pooling/poolings/max_pool.wgsl"
    )
    return gpu.window(shader, x, x.dtype, **geometry)


def _declare_avg(kind: Pooling) -> None:
    kernel = kind.avg

    @signature(kernel)
    @takes(PoolingAttrs, data_format=kind.data_format)
    def avg_signature(x: Spec, /, **geometry: Any) -> Spec:
        require_dtype(kernel, "x", x, "float32")
        return x.like(shape=pooled(kernel, "x", x, len(kind.data_format), geometry))

    @cpu_kernel(kernel)
    def avg_cpu(x: Array, **geometry: Any) -> Array:
        return mean_cpu(sliding_by(kernel, x.shape, geometry), x)

    wgsl_kernel(kernel, MEAN, form="window", dtypes=FLOATS)

    @gradient(kernel)
    def avg_rule(dy: Tensor, x: Tensor, **geometry: Any) -> Tensor:
        return run(kind.avg_grad, dy, x, **geometry)


def _declare_avg_grad(kind: Pooling) -> None:
    kernel = kind.avg_grad

    @signature(kernel)
    @takes(PoolingAttrs, data_format=kind.data_format)
    def avg_grad_signature(dy: Spec, input: Spec, /, **geometry: Any) -> Spec:
        require_dtype(kernel, "input", input, "float32")
        shape = pooled(kernel, "input", input, len(kind.data_format), geometry)
        _check_like(kernel, "dy", dy, shape)
        return dy.like(shape=input.shape)

    @cpu_kernel(kernel)
    def avg_grad_cpu(dy: Array, input: Array, **geometry: Any) -> Array:
        sliding = sliding_by(kernel, input.shape, geometry)
        dx = avg_pool_gradient_cpu(sliding.of_one_channel(), _places(sliding, wide(dy)))
        return dx.reshape(input.shape).astype(dy.dtype, copy=False)

    @wgsl_kernel(kernel, dtypes=FLOATS)
    def avg_grad_webgpu(gpu: Gpu, dy: GpuArray, input: GpuArray, **geometry: Any) -> GpuArray:
        sliding = sliding_by(kernel, input.shape, geometry)
        return spread_on(
            gpu, "pooling/poolings/avg_pool_grad.wesl", {"dy": dy}, sliding, input.shape, dy.dtype
        )

    @gradient(kernel)
    def avg_grad_rule(ddx: Tensor, input_shape: Shape, **geometry: Any) -> tuple[Tensor, None]:
        means = run(kind.avg, ddx, **geometry)
        sliding = sliding_by(kernel, input_shape, geometry)
        seen = counts[sliding.axes].astype(np.bool_)
        if not seen.all():  # a window that sees nothing passes nothing on
            mask = seen[..., 0] if sliding.is_channels_first else seen
            means = logical.where(tensor(mask), means, 0.0)
        return means, None


def _declare_max(kind: Pooling) -> None:
    kernel = kind.max

    @signature(kernel)
    @takes(PoolingAttrs, data_format=kind.data_format)
    def max_signature(x: Spec, /, **geometry: Any) -> Spec:
        require_dtype(kernel, "x", x, "float32", "int32")
        return x.like(shape=pooled(kernel, "x", x, len(kind.data_format), geometry))

    @cpu_kernel(kernel)
    def max_cpu(x: Array, **geometry: Any) -> Array:
        return maximum_cpu(sliding_by(kernel, x.shape, geometry), x)

    @wgsl_kernel(kernel, dtypes=NUMBERS, repeats=False)
    def max_webgpu(gpu: Gpu, x: GpuArray, **geometry: Any) -> GpuArray:
        return maximum_webgpu(gpu, x, geometry)

    @gradient(kernel)
    def max_rule(dy: Tensor, x: Tensor, y: Tensor, **geometry: Any) -> Tensor:
        return run(kind.max_grad, dy, x, y, **geometry)


def _declare_max_grad(kind: Pooling) -> None:
    kernel = kind.max_grad

    @signature(kernel)
    @takes(PoolingAttrs, data_format=kind.data_format)
    def max_grad_signature(dy: Spec, input: Spec, output: Spec, /, **geometry: Any) -> Spec:
        require_dtype(kernel, "input", input, "float32")
        shape = pooled(kernel, "input", input, len(kind.data_format), geometry)
        _check_like(kernel, "dy", dy, shape)
        _check_like(kernel, "output", output, shape)
        return dy.like(shape=input.shape)

    @cpu_kernel(kernel)
    def max_grad_cpu(dy: Array, input: Array, output: Array, **geometry: Any) -> Array:
        sliding = sliding_by(kernel, input.shape, geometry)
        given, images = _places(sliding, wide(dy)), _images(sliding, input)
        dx = max_pool_gradient_cpu(sliding.of_one_channel(), given, images)
        return dx.reshape(input.shape).astype(dy.dtype, copy=False)

    @wgsl_kernel(kernel, dtypes=FLOATS)
    def max_grad_webgpu(
        gpu: Gpu, dy: GpuArray, input: GpuArray, output: GpuArray, **geometry: Any
    ) -> GpuArray:
        sliding = sliding_by(kernel, input.shape, geometry)
        arrays = {"dy": dy, "positions": pool_on(gpu, input, sliding)}
        return spread_on(
            gpu, "pooling/poolings/max_pool_grad.wesl", arrays, sliding, input.shape, dy.dtype
        )

    @gradient(kernel)
    def max_grad_rule(ddx: Tensor, input: Tensor, **geometry: Any) -> tuple[Tensor, None, None]:
        return run(kind.max_grad_grad, ddx, input, **geometry), None, None


def _declare_max_grad_grad(kind: Pooling) -> None:
    kernel = kind.max_grad_grad

    @signature(kernel)
    @takes(PoolingAttrs, data_format=kind.data_format)
    def max_grad_grad_signature(ddx: Spec, input: Spec, /, **geometry: Any) -> Spec:
        require_dtype(kernel, "input", input, "float32")
        shape = pooled(kernel, "input", input, len(kind.data_format), geometry)
        _check_like(kernel, "ddx", ddx, input.shape)
        return ddx.like(shape=shape)

    @cpu_kernel(kernel)
    def max_grad_grad_cpu(ddx: Array, input: Array, **geometry: Any) -> Array:
        sliding = sliding_by(kernel, input.shape, geometry)
        given, images = _images(sliding, ddx), _images(sliding, input)
        return chosen_cpu(sliding.of_one_channel(), given, images).reshape(sliding.out_shape)

    @wgsl_kernel(kernel, dtypes=FLOATS)
    def max_grad_grad_webgpu(gpu: Gpu, ddx: GpuArray, input: GpuArray, **geometry: Any) -> GpuArray:
        return chosen_on(gpu, ddx, input, sliding_by(kernel, input.shape, geometry))

    @gradient(kernel)
    def max_grad_grad_rule(dy: Tensor, input: Tensor, **geometry: Any) -> tuple[Tensor, None]:
        # The third input, the maxima, only has to be there: dy is of their shape.
        return run(kind.max_grad, dy, input, dy, **geometry), None


def _check_like(kernel: str, name: str, spec: Spec, shape: Shape) -> None:
    """Refuse a tensor that has not the shape that pooling gives or takes."""
    require_dtype(kernel, name, spec, "float32")
    if spec.shape != shape:
        raise ShapeError(f"{kernel}: {name} has shape {show(spec.shape)}; want {show(shape)}.")


def _images(sliding: Sliding, x: Array) -> Array:
    """Return images as `Sliding.of_one_channel` has them."""
    if not sliding.is_channels_first:
        return x
    sizes = [axis.size for axis in sliding.axes]
    return x.reshape(sliding.batch * sliding.channels, *sizes, 1)


def _places(sliding: Sliding, y: Array) -> Array:
    """Return values of the places likewise."""
    return y.reshape(sliding.of_one_channel().out_shape)
