"""Pooling: the mean or the maximum of windows over images, and their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.pooling import (
    avg_pool_cpu,
    avg_pool_gradient_cpu,
    counts,
    max_pool_cpu,
)
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor, tensor
from wgsl_kernels.engine.windows import Padding, Pair, Sliding, pair, slide
from wgsl_kernels.ops import logical
from wgsl_kernels.ops.conv import on_batch
from wgsl_kernels.ops.windows import wide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec

LOOPS = 32_768
"""Turns of its loops that an invocation takes at most: some drivers stop it silently at 65,535."""
_PER_LINE = 2
"""Turns that a line takes beside those for its elements."""


def avg_pool(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """Return the mean of each window; padding does not count.

    Args:
        x: [batch, height, width, channels], or one image without the batch.
        filter_size: Height and width of the window, or one number for both.
        strides: Elements between two windows; by default ``filter_size``.
        pad: ``"valid"``: none; ``"same"``: so much that there is a window per stride of the image;
            a number: on all four sides; or (before, after) for each of the four axes.
        dim_rounding_mode: ``"floor"``, ``"round"`` or ``"ceil"``: what to do with a last window
            that is not whole. Only with a ``pad`` in numbers.

    Returns:
        [batch, places down, places across, channels]; NaN where a window lies in padding alone.

    Raises:
        ShapeError: The window is larger than the padded image.
        ArgumentError: An option is none of these.
    """
    return on_batch(
        "AvgPool",
        as_tensor(x),
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        dim_rounding_mode=dim_rounding_mode,
    )


@signature("AvgPool")
def _avg_pool_signature(
    x: Spec,
    /,
    *,
    filter_size: Pair,
    strides: Pair,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Spec:
    require_dtype("AvgPool", "x", x, "float32")
    return x.like(shape=pooled("AvgPool", "x", x, filter_size, strides, pad, dim_rounding_mode))


def pooled(
    kernel: str,
    name: str,
    spec: Spec,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> Shape:
    """Return the shape that pooling gives, or raise."""
    require_rank(kernel, name, spec, 4)
    return sliding_of(kernel, spec.shape, filter_size, strides, pad, dim_rounding_mode).out_shape


def sliding_of(
    kernel: str,
    shape: Shape,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> Sliding:
    """Return how the window moves over channels-last images of ``shape``."""
    window = pair(kernel, "filter_size", filter_size)
    return slide(
        kernel, shape, window, strides=strides, pad=pad, dim_rounding_mode=dim_rounding_mode
    )


@cpu_kernel("AvgPool")
def _avg_pool_cpu(x: Array, **geometry: Any) -> Array:
    sliding = sliding_of("AvgPool", x.shape, **geometry)
    return avg_pool_cpu(sliding, wide(x)).astype(x.dtype, copy=False)


wgsl_kernel("AvgPool", "pool/avg_pool.wesl", form="window", dtypes=("float32", "float16"))


def pool_on(gpu: Gpu, shader: str, x: GpuArray, sliding: Sliding, dtype: str) -> GpuArray:
    """Run a shader over the windows of ``x``: in several dispatches if they are large."""
    y = gpu.empty(sliding.out_shape, dtype)
    vec4 = _in_fours(x) and sliding.channels % 4 == 0
    params, grid = _units(gpu, y, sliding, 4 if vec4 else 1)
    window = (sliding.rows.window, sliding.cols.window)
    for begin, end in _bands(window, window):
        fields = {**params, "begin": begin, "end": end}
        gpu.dispatch(
            shader, {"x": x, "y": y}, configuration={"VEC4": vec4}, params=fields, groups=grid
        )
    return y


def _in_fours(x: GpuArray) -> bool:
    """Say whether neighbouring channels can be read four at a time, if they are so many."""
    *steps, last = x.strides
    return last == 1 and not any(one % 4 for one in (x.offset, *steps))


def _units(
    gpu: Gpu, y: GpuArray, sliding: Sliding, unit: int
) -> tuple[dict[str, Any], tuple[int, int, int]]:
    """Return parameters and grid for a y in units of so many channels."""
    units = y.size // unit
    params = {**sliding.fields(), "depth": sliding.channels // unit, "units": units}
    return params, gpu.grid(units, 64)


def _bands(
    extent: tuple[int, int], visited: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield parts of an area, row-major, each of at most ``LOOPS`` turns of an invocation.

    Args:
        extent: The area's height and width.
        visited: How much of it one invocation visits.
    """
    rows, cols = extent
    if visited[0] * (visited[1] + _PER_LINE) <= LOOPS:
        yield (0, 0), extent
        return
    across = min(visited[1], LOOPS)
    wide = cols if across == visited[1] else across
    high = max(LOOPS // (across + _PER_LINE), 1)
    for top in range(0, rows, high):
        for left in range(0, cols, wide):
            yield (top, left), (min(top + high, rows), min(left + wide, cols))


@gradient("AvgPool")
def _avg_pool_grad(
    dy: Tensor,
    x: Tensor,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> Tensor:
    return run(
        "AvgPoolGrad",
        dy,
        x,
        filter_size=filter_size,
        strides=strides,
        pad=pad,
        dim_rounding_mode=dim_rounding_mode,
    )


@signature("AvgPoolGrad")
def _avg_pool_grad_signature(
    dy: Spec,
    input: Spec,
    /,
    *,
    filter_size: Pair,
    strides: Pair,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Spec:
    require_dtype("AvgPoolGrad", "input", input, "float32")
    shape = pooled("AvgPoolGrad", "input", input, filter_size, strides, pad, dim_rounding_mode)
    check_like("AvgPoolGrad", "dy", dy, shape)
    return dy.like(shape=input.shape)


def check_like(kernel: str, name: str, spec: Spec, shape: Shape) -> None:
    """Refuse a tensor that has not the shape that pooling gives or takes."""
    require_dtype(kernel, name, spec, "float32")
    if spec.shape != shape:
        raise ShapeError(f"{kernel}: {name} has shape {show(spec.shape)}; want {show(shape)}.")


@cpu_kernel("AvgPoolGrad")
def _avg_pool_grad_cpu(dy: Array, input: Array, **geometry: Any) -> Array:
    sliding = sliding_of("AvgPoolGrad", input.shape, **geometry)
    return avg_pool_gradient_cpu(sliding, wide(dy)).astype(dy.dtype, copy=False)


@wgsl_kernel("AvgPoolGrad", dtypes=("float32", "float16"))
def _avg_pool_grad_webgpu(gpu: Gpu, dy: GpuArray, input: GpuArray, **geometry: Any) -> GpuArray:
    sliding = sliding_of("AvgPoolGrad", input.shape, **geometry)
    return spread_on(gpu, "pool/avg_pool_grad.wesl", {"dy": dy}, sliding, dy.dtype)


def spread_on(
    gpu: Gpu, shader: str, arrays: dict[str, GpuArray], sliding: Sliding, dtype: str
) -> GpuArray:
    """Run a shader over the places that cover each element: in several dispatches if many do."""
    rows, cols = sliding.rows, sliding.cols
    y = gpu.empty((sliding.batch, rows.size, cols.size, sliding.channels), dtype)
    covering = tuple(min(one.out, math.ceil(one.window / one.stride)) for one in (rows, cols))
    vec4 = sliding.channels % 4 == 0
    params, grid = _units(gpu, y, sliding, 4 if vec4 else 1)
    for begin, end in _bands((rows.out, cols.out), (covering[0], covering[1])):
        fields = {**params, "begin": begin, "end": end}
        gpu.dispatch(
            shader, {**arrays, "y": y}, configuration={"VEC4": vec4}, params=fields, groups=grid
        )
    return y


@gradient("AvgPoolGrad")
def _avg_pool_grad_grad(
    ddx: Tensor,
    input_shape: Shape,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> tuple[Tensor, None]:
    geometry: dict[str, Any] = {
        "filter_size": filter_size,
        "strides": strides,
        "pad": pad,
        "dim_rounding_mode": dim_rounding_mode,
    }
    means = run("AvgPool", ddx, **geometry)
    sliding = sliding_of("AvgPoolGrad", input_shape, **geometry)
    seen = counts(sliding.rows, sliding.cols).astype(np.bool_)
    if not seen.all():  # a window that sees nothing passes nothing on
        means = logical.where(tensor(seen), means, 0.0)
    return means, None


def max_pool(
    x: TensorLike,
    filter_size: Pair,
    *,
    strides: Pair | None = None,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """Return the maximum of each window; padding does not count, NaN is larger than all.

    The gradient goes to the first of equal maxima, row by row.

    Args:
        x: [batch, height, width, channels], or one image without the batch; float32 or int32.
        filter_size: Height and width of the window, or one number for both.
        strides: Elements between two windows; by default ``filter_size``.
        pad: As `avg_pool` takes it; so is ``dim_rounding_mode``.
        dim_rounding_mode: What to do with a last window that is not whole.

    Returns:
        [batch, places down, places across, channels]; the lowest number (-inf) where a window lies
        in padding alone.

    Raises:
        ShapeError: The window is larger than the padded image.
        ArgumentError: An option is none that `avg_pool` takes.

    Example:
        >>> grad(lambda x: max_pool(x, 2))(tensor([[[[1.0], [2.0]], [[2.0], [2.0]]]])).tolist()
        [[[[0.0], [1.0]], [[0.0], [0.0]]]]
    """
    return on_batch(
        "MaxPool",
        as_tensor(x),
        filter_size=filter_size,
        strides=filter_size if strides is None else strides,
        pad=pad,
        dim_rounding_mode=dim_rounding_mode,
    )


@signature("MaxPool")
def _max_pool_signature(
    x: Spec,
    /,
    *,
    filter_size: Pair,
    strides: Pair,
    pad: Padding = "valid",
    dim_rounding_mode: str | None = None,
) -> Spec:
    require_dtype("MaxPool", "x", x, "float32", "int32")
    return x.like(shape=pooled("MaxPool", "x", x, filter_size, strides, pad, dim_rounding_mode))


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind == "i" else -np.inf


@cpu_kernel("MaxPool")
def _max_pool_cpu(x: Array, **geometry: Any) -> Array:
    sliding = sliding_of("MaxPool", x.shape, **geometry)
    return max_pool_cpu(sliding, x, _lowest(x.dtype))


@wgsl_kernel("MaxPool", dtypes=("float32", "float16", "int32"))
def _max_pool_webgpu(gpu: Gpu, x: GpuArray, **geometry: Any) -> GpuArray:
    shader = "pool/max_pool_int32.wgsl" if x.dtype == "int32" else "pool/max_pool.wgsl"
    return gpu.window(shader, x, x.dtype, **geometry)


@gradient("MaxPool")
def _max_pool_grad(
    dy: Tensor,
    x: Tensor,
    y: Tensor,
    filter_size: Pair,
    strides: Pair,
    pad: Padding,
    dim_rounding_mode: str | None,
) -> Tensor:
    return run(
        "MaxPoolGrad",
        dy,
        x,
        y,
        filter_size=filter_size,
        strides=strides,
        pad=pad,
        dim_rounding_mode=dim_rounding_mode,
    )
