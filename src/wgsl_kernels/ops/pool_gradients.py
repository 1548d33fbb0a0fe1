"""The gradient of the maximum of windows, and the gradient of that.

Both go by where the largest element of each window stands: the first of equals, row by row, and the
first NaN before all numbers. One takes values there, the other fetches them: each is the other's
gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.pool_maxima import chosen_cpu, max_pool_gradient_cpu
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import require_dtype
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.ops.pool import check_like, pool_on, pooled, sliding_of, spread_on

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Spec
    from wgsl_kernels.engine.tensor import Tensor
    from wgsl_kernels.engine.windows import Padding, Pair


@signature("MaxPoolGrad")
def _max_pool_grad_signature(
    dy: Spec,
    input: Spec,
    output: Spec,
    /,
    *,
    filter_size: Pair,
    strides: Pair,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Spec:
    kernel = "MaxPoolGrad"
    require_dtype(kernel, "input", input, "float32")
    shape = pooled(kernel, "input", input, filter_size, strides, pad, dim_rounding_mode)
    check_like(kernel, "dy", dy, shape)
    check_like(kernel, "output", output, shape)
    return dy.like(shape=input.shape)


@cpu_kernel("MaxPoolGrad")
def _max_pool_grad_cpu(dy: Array, input: Array, output: Array, **geometry: Any) -> Array:
    sliding = sliding_of("MaxPoolGrad", input.shape, **geometry)
    return max_pool_gradient_cpu(sliding, dy, input)


@wgsl_kernel("MaxPoolGrad", dtypes=("float32", "float16"))
def _max_pool_grad_webgpu(
    gpu: Gpu, dy: GpuArray, input: GpuArray, output: GpuArray, **geometry: Any
) -> GpuArray:
    sliding = sliding_of("MaxPoolGrad", input.shape, **geometry)
    positions = pool_on(gpu, "pool/max_pool_positions.wesl", input, sliding, "int32")
    arrays = {"dy": dy, "positions": positions}
    return spread_on(gpu, "pool/max_pool_grad.wesl", arrays, sliding, dy.dtype)


@gradient("MaxPoolGrad")
def _max_pool_grad_grad(
    ddx: Tensor,
    input: Tensor,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> tuple[Tensor, None, None]:
    found = run(
        "MaxPoolGradGrad",
        ddx,
        input,
        filter_size=filter_size,
        strides=strides,
        pad=pad,
        dim_rounding_mode=dim_rounding_mode,
    )
    return found, None, None


@signature("MaxPoolGradGrad")
def _max_pool_grad_grad_signature(
    ddx: Spec,
    input: Spec,
    /,
    *,
    filter_size: Pair,
    strides: Pair,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Spec:
    kernel = "MaxPoolGradGrad"
    require_dtype(kernel, "input", input, "float32")
    shape = pooled(kernel, "input", input, filter_size, strides, pad, dim_rounding_mode)
    check_like(kernel, "ddx", ddx, input.shape)
    return ddx.like(shape=shape)


@cpu_kernel("MaxPoolGradGrad")
def _max_pool_grad_grad_cpu(ddx: Array, input: Array, **geometry: Any) -> Array:
    sliding = sliding_of("MaxPoolGradGrad", input.shape, **geometry)
    return chosen_cpu(sliding, ddx, input)


@wgsl_kernel("MaxPoolGradGrad", dtypes=("float32", "float16"))
def _max_pool_grad_grad_webgpu(
    gpu: Gpu, ddx: GpuArray, input: GpuArray, **geometry: Any
) -> GpuArray:
    sliding = sliding_of("MaxPoolGradGrad", input.shape, **geometry)
    rows, cols = sliding.rows, sliding.cols
    positions = pool_on(gpu, "pool/max_pool_positions.wesl", input, sliding, "int32")
    y = gpu.empty(sliding.out_shape, ddx.dtype)
    params = {
        "area": rows.size * cols.size,
        "places_area": rows.out * cols.out,
        "depth": sliding.channels,
    }
    arrays = {"ddx": ddx, "positions": positions, "y": y}
    gpu.dispatch("pool/max_pool_grad_grad.wgsl", arrays, params=params)
    return y


@gradient("MaxPoolGradGrad")
def _max_pool_grad_grad_grad(
    dy: Tensor,
    input: Tensor,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> tuple[Tensor, None]:
    # The third input, the maxima, only has to be there: dy is of their shape.
    found = run(
        "MaxPoolGrad",
        dy,
        input,
        dy,
        filter_size=filter_size,
        strides=strides,
        pad=pad,
        dim_rounding_mode=dim_rounding_mode,
    )
    return found, None
