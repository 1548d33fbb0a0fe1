"""The maximum of each window and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.windows.pool_maxima import chosen_cpu
from wgsl_kernels.backends.cpu.windows.pooling import max_pool_cpu
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype
from wgsl_kernels.engine.values.windows import sliding_by
from wgsl_kernels.ops.pooling.pool_dispatch import pool_on
from wgsl_kernels.ops.pooling.poolings import pooled

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.engine.values.windows import Padding, Pair


@public(tfjs="maxPoolWithArgmax")
def max_pool_with_argmax(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window, as `max_pool` does, and its index.

    Args:
        x: [batch, height, width, channels], float32.
        filter_size: Height and width of the window, or one number for both.
        strides: Elements between two windows; by default ``filter_size``.
        pad: As `avg_pool` takes it.
        include_batch_in_index: Whether an index counts the elements of all images; else those of
            its own.

    Returns:
        The maxima, [batch, places down, places across, channels], and int32 indices of that shape:
        ``(row * width + column) * channels + channel``; 0 where a window lies in padding alone.

    Raises:
        ShapeError: The window is larger than the padded image.

    Example:
        >>> y, indices = max_pool_with_argmax(tensor([[[[1.0], [2.0]], [[4.0], [3.0]]]]), 2)
        >>> y.item(), indices.item()
        (4.0, 2)
    """
    y, indices = run_many(
        "MaxPoolWithArgmax",
        x,
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        include_batch_in_index=include_batch_in_index,
    )
    return y, indices


@signature("MaxPoolWithArgmax", floats=("x",))
def _max_pool_with_argmax_signature(
    x: Spec,
    /,
    *,
    filter_size: Pair,
    strides: Pair,
    pad: Padding = "valid",
    include_batch_in_index: bool = False,
) -> dict[str, Spec]:
    del include_batch_in_index
    require_dtype("MaxPoolWithArgmax", "x", x, "float32")
    geometry = {"filter_size": filter_size, "strides": strides, "pad": pad}
    y = x.like(shape=pooled("MaxPoolWithArgmax", "x", x, 4, geometry))
    return {"y": y, "indices": y.like(dtype="int32")}


@cpu_kernel("MaxPoolWithArgmax")
def _max_pool_with_argmax_cpu(
    x: Array, *, include_batch_in_index: bool, **geometry: Any
) -> tuple[Array, Array]:
    sliding = sliding_by("MaxPoolWithArgmax", x.shape, geometry)
    every = np.arange(x.size, dtype=np.int32).reshape(x.shape)
    if not include_batch_in_index and x.size:
        every = every % (x.size // x.shape[0])
    return max_pool_cpu(sliding, x, -np.inf), chosen_cpu(sliding, every, x)


@wgsl_kernel("MaxPoolWithArgmax", dtypes=("float32", "float16"))
def _max_pool_with_argmax_webgpu(
    gpu: Gpu, x: GpuArray, *, include_batch_in_index: bool, **geometry: Any
) -> tuple[GpuArray, GpuArray]:
    sliding = sliding_by("MaxPoolWithArgmax", x.shape, geometry)
    y = gpu.window("pooling/poolings/max_pool.wgsl", x, x.dtype, **geometry)
    indices = gpu.empty(sliding.out_shape, "int32")
    if indices.size:
        rows, cols, channels = sliding.rows, sliding.cols, sliding.channels
        positions = pool_on(gpu, x, sliding)
        image_size = rows.size * cols.size * channels
        gpu.dispatch(
            "pooling/pool_places/indices_of_positions.wgsl",
            {"positions": positions, "indices": indices},
            params={
                "channels": channels,
                "places": rows.out * cols.out,
                "image_size": image_size if include_batch_in_index else 0,
            },
        )
    return y, indices


@gradient("MaxPoolWithArgmax", none=True)
def _max_pool_with_argmax_grad(
    dys: tuple[Tensor | None, ...],
    x: Tensor,
    y: Tensor,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
) -> Tensor | None:
    dy = dys[0]
    if dy is None:
        return None
    geometry: dict[str, Any] = {"filter_size": filter_size, "strides": strides, "pad": pad}
    return run("MaxPoolGrad", dy, x, y, dim_rounding_mode=None, **geometry)
