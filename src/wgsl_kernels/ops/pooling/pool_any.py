"""Pooling of images or volumes by its type: the mean or the maximum of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import text
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.engine.values.windows import each_axis, sliding_by
from wgsl_kernels.ops.convolution.conv import on_batch
from wgsl_kernels.ops.pooling import pool as pool2d
from wgsl_kernels.ops.pooling import pool3d
from wgsl_kernels.ops.pooling.poolings import MEAN, NUMBERS, maximum_cpu, maximum_webgpu, mean_cpu
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.engine.values.windows import Padding, Pair

KINDS = {4: pool2d.POOLING, 5: pool3d.POOLING}
"""What pools, by the rank of the input."""
DTYPES = {"avg": ("float32",), "max": ("float32", "int32")}
"""What each type of pooling takes."""


@public(tfjs="pool")
def pool(
    input: TensorLike,
    window_shape: Pair,
    pooling_type: str,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """Return the mean or the maximum of each window, as `avg_pool` or `max_pool` does.

    Padding does not count, with dilations neither.

    Args:
        input: [batch, height, width, channels], or one image without the batch; volumes
            [batch, depth, height, width, channels] where ``window_shape`` has three numbers.
        window_shape: Height and width of the window, or one number for both.
        pooling_type: ``"avg"`` or ``"max"``.
        strides: Elements between two windows.
        pad: As `avg_pool` takes it.
        dilations: Elements from one that a window reads to the next; above 1 only where the
            strides are 1.
        dim_rounding_mode: As `avg_pool` takes it.

    Returns:
        The shape of ``input``, with a value per window.

    Raises:
        ShapeError: The window is larger than the padded image.
        ArgumentError: An option is none of these.

    Example:
        >>> pool([[[1.0], [2.0], [3.0]]], (1, 2), "max", dilations=2).tolist()
        [[[3.0]]]
    """
    takes_floats = text("Pool", "pooling_type", pooling_type) == "avg"
    is_volume = isinstance(window_shape, (tuple, list)) and len(window_shape) == 3
    return on_batch(
        "Pool",
        as_floats(input) if takes_floats else as_tensor(input),
        axes=3 if is_volume else 2,
        window_shape=window_shape,
        pooling_type=pooling_type,
        strides=strides,
        pad=pad,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
    )


@signature("Pool")
def _pool_signature(
    input: Spec,
    /,
    *,
    window_shape: Pair,
    pooling_type: str,
    strides: Pair = 1,
    pad: Padding = "valid",
    dilations: Pair = 1,
    dim_rounding_mode: str | None = None,
) -> Spec:
    if pooling_type not in DTYPES:
        raise ArgumentError(f"Pool: pooling_type is {shown(pooling_type)}; want 'avg' or 'max'.")
    require_dtype("Pool", "input", input, *DTYPES[pooling_type])
    if input.ndim not in KINDS:
        raise ShapeError(
            f"Pool: input has shape {show(input.shape)}; want [batch, height, width, channels], or "
            "a depth before the height."
        )
    count = input.ndim - 2
    every = each_axis("Pool", "strides", strides, count)
    apart = each_axis("Pool", "dilations", dilations, count)
    if max(every) > 1 and max(apart) > 1:
        raise ArgumentError(
            f"Pool: strides is {shown(strides)} and dilations {shown(dilations)}; want one of them "
            "to be 1."
        )
    geometry = _geometry(
        window_shape,
        strides=strides,
        pad=pad,
        dilations=dilations,
        dim_rounding_mode=dim_rounding_mode,
    )
    return input.like(shape=sliding_by("Pool", input.shape, geometry).out_shape)


@cpu_kernel("Pool")
def _pool_cpu(input: Array, *, pooling_type: str, **attrs: Any) -> Array:
    sliding = sliding_by("Pool", input.shape, _geometry(**attrs))
    return mean_cpu(sliding, input) if pooling_type == "avg" else maximum_cpu(sliding, input)


@wgsl_kernel("Pool", dtypes=NUMBERS, repeats=False)
def _pool_webgpu(gpu: Gpu, input: GpuArray, *, pooling_type: str, **attrs: Any) -> GpuArray:
    geometry = _geometry(**attrs)
    if pooling_type == "max":
        return maximum_webgpu(gpu, input, geometry)
    return gpu.window(MEAN, input, input.dtype, **geometry)


@gradient("Pool")
def _pool_grad(dy: Tensor, input: Tensor, y: Tensor, pooling_type: str, **attrs: Any) -> Tensor:
    kind, geometry = KINDS[input.ndim], _geometry(**attrs)
    if pooling_type == "avg":
        return run(kind.avg_grad, dy, input, **geometry)
    return run(kind.max_grad, dy, input, y, **geometry)


def _geometry(window_shape: Pair, **geometry: Any) -> dict[str, Any]:
    """Return the attributes as the other kernels of pooling name them."""
    return {"filter_size": window_shape, **geometry}
