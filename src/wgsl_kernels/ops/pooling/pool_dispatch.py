"""How pooling's gradients run on the GPU: where maxima stand, and what goes where."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.ops.convolution.windows import fields_of, shader_axes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.engine.values.windows import Sliding

LOOPS = 32_768
"""Turns of its loops that an invocation takes at most: some drivers stop it silently at 65,535."""
_PER_LINE = 2
"""Turns that a line takes beside those for its elements."""

Area = tuple[tuple[int, ...], tuple[int, ...]]
"""Where it begins and ends along rows, columns, and any planes."""


def pool_on(gpu: Gpu, x: GpuArray, sliding: Sliding) -> GpuArray:
    """Return where each window's maximum stands: in several dispatches if windows are large.

    Args:
        gpu: The device.
        x: Images.
        sliding: How the window moves over them.
    """
    y = gpu.empty(sliding.out_shape, "int32")
    images = _of_one_channel(gpu, x, sliding)
    sliding = sliding.of_one_channel()
    vec4 = _is_vec4(images) and sliding.channels % 4 == 0
    params, grid = _units(gpu, y, sliding, 4 if vec4 else 1)
    params |= fields_of(sliding, x=images)
    window = params["window"]
    for begin, end in _bands(window, window):
        gpu.dispatch(
            "pooling/pool_dispatch/max_pool_positions.wesl",
            {"x": images, "y": y},
            configuration=_configuration(sliding, vec4=vec4),
            params={**params, "begin": begin, "end": end},
            groups=grid,
        )
    return y


def spread_on(
    gpu: Gpu,
    shader: str,
    arrays: dict[str, GpuArray],
    sliding: Sliding,
    shape: Shape,
    dtype: str,
) -> GpuArray:
    """Run a shader over the places that cover each element: in several dispatches if many do.

    Args:
        gpu: The device.
        shader: It gives an element what the windows that hold it have for it.
        arrays: What it reads of each window.
        sliding: How the window moves over the images.
        shape: The images' shape.
        dtype: That of the result.
    """
    y = gpu.empty(shape, dtype)
    sliding = sliding.of_one_channel()
    vec4 = sliding.channels % 4 == 0
    params, grid = _units(gpu, y, sliding, 4 if vec4 else 1)
    reach = zip(params["window"], params["dilation"], strict=True)
    params["span"] = tuple([(window - 1) * apart + 1 for window, apart in reach])
    if not y.size:
        return y
    covering = zip(params["places"], params["span"], params["step"], strict=True)
    visited = [min(out, math.ceil(span / step)) for out, span, step in covering]
    for begin, end in _bands(params["places"], visited):
        gpu.dispatch(
            shader,
            {**arrays, "y": y},
            configuration=_configuration(sliding, vec4=vec4),
            params={**params, "begin": begin, "end": end},
            groups=grid,
        )
    return y


def chosen_on(gpu: Gpu, values: GpuArray, x: GpuArray, sliding: Sliding) -> GpuArray:
    """Return what ``values`` has where the maximum of each window of ``x`` stands."""
    positions = pool_on(gpu, x, sliding)
    y = gpu.empty(sliding.out_shape, values.dtype)
    sliding = sliding.of_one_channel()
    gpu.dispatch(
        "pooling/pool_dispatch/max_pool_grad_grad.wgsl",
        {"ddx": values, "positions": positions, "y": y},
        params={
            "area": math.prod(axis.size for axis in sliding.axes),
            "places_area": math.prod(axis.out for axis in sliding.axes),
            "depth": sliding.channels,
        },
    )
    return y


def _of_one_channel(gpu: Gpu, x: GpuArray, sliding: Sliding) -> GpuArray:
    """Return images as `Sliding.of_one_channel` has them."""
    if not sliding.is_channels_first:
        return x
    sizes = [axis.size for axis in sliding.axes]
    shape = (sliding.batch * sliding.channels, *sizes, 1)
    return gpu.view(gpu.contiguous(x), shape, row_major(shape), 0)


def _is_vec4(x: GpuArray) -> bool:
    """Say whether neighbouring channels can be read four at a time, if they are so many."""
    *steps, last = x.strides
    return last == 1 and not any(one % 4 for one in (x.offset, *steps))


def _configuration(sliding: Sliding, *, vec4: bool) -> dict[str, bool | int]:
    is_dilated = any(axis.dilation > 1 for axis in sliding.axes)
    return {"VEC4": vec4, "DILATED": is_dilated, **shader_axes(sliding)}


def _units(
    gpu: Gpu, y: GpuArray, sliding: Sliding, unit: int
) -> tuple[dict[str, Any], tuple[int, int, int]]:
    """Return parameters and grid for a y in units of so many channels."""
    units = y.size // unit
    params = {**sliding.fields(), "depth": sliding.channels // unit, "units": units}
    return params, gpu.grid(units, 64)


def _bands(extent: Sequence[int], visited: Sequence[int]) -> Iterator[Area]:
    """Yield parts of an area, row-major, each of at most ``LOOPS`` turns of an invocation.

    Args:
        extent: The area's height and width, and any depth.
        visited: How much of it one invocation visits.
    """
    inner_first = (1, 0, *range(2, len(extent)))  # columns, rows, planes
    cuts: list[list[tuple[int, int]]] = []
    most = LOOPS
    for axis in inner_first:
        length, seen = extent[axis], visited[axis]
        step = length if seen <= most else max(most, 1)
        cuts.append([(at, min(at + step, length)) for at in range(0, length, step)])
        most //= min(seen, step) + _PER_LINE
    for parts in itertools.product(*reversed(cuts)):
        *planes, rows, cols = parts
        begin, end = zip(rows, cols, *planes, strict=True)
        yield begin, end
