"""How the depthwise shaders are launched: tiles, parts of large windows, grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.ops.depthwise_sums import turns_of
from wgsl_kernels.ops.products import GROUPS_WANTED, ITERATIONS, SHORTEST_SUM, lie_in_fours
from wgsl_kernels.ops.windows import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape
    from wgsl_kernels.ops.windows import Sliding

GROUP = 64
"""Invocations of a workgroup."""

TILE = 4
"""Places of a line that an invocation of the forward shader sums."""

ELEMENTS = 3
"""Elements of a window's line that an invocation takes at a time."""

NATIVE = "conv/depthwise_conv2d_native.wgsl"
TO_INPUT = "conv/depthwise_conv2d_native_backprop_input.wgsl"
TO_FILTER = "conv/depthwise_conv2d_native_backprop_filter.wgsl"


@dataclass(frozen=True, slots=True)
class Ends:
    """What is done to each sum of a depthwise convolution.

    Attributes:
        whole: The shader that sums all in one part.
        last: The one that sums the parts of large windows.
        arrays: Further arrays of both.
        fields: Further fields of both.
    """

    whole: str
    last: str
    arrays: Mapping[str, GpuArray]
    fields: Mapping[str, Any]


PLAIN = Ends(NATIVE, "matrix/sum_parts.wgsl", {}, {})


def convolve(
    gpu: Gpu,
    sliding: Sliding,
    x: GpuArray,
    filter: GpuArray,
    ends: Ends = PLAIN,
    *,
    turned: bool = False,
) -> GpuArray:
    """Return a depthwise convolution as a new array.

    Args:
        gpu: The device.
        sliding: How the filter moves.
        x: Images in the format of ``sliding``.
        filter: [window height, window width, channels, multiplier].
        ends: What follows.
        turned: Whether the filter is read from its end.
    """
    height, _, channels, multiplier = filter.shape
    depth = channels * multiplier
    shape = sliding.shape_with(depth)
    y = gpu.empty(shape, x.dtype)
    if y.size == 0:
        return y
    if not (x.size and filter.size):
        return _sum_parts(gpu, ends, gpu.empty((0,), "float32"), y, 0)
    lanes = _lanes(sliding, multiplier, x)
    cols = sliding.cols
    elements = _elements(sliding)
    triples = elements["turns"] * elements["chunks"]
    part_rows = min(height, ITERATIONS)
    part_chunks = min(triples, max(ITERATIONS // part_rows, 1))
    parts = math.ceil(height / part_rows) * math.ceil(triples / part_chunks)
    tiles = math.ceil(cols.out / (TILE * elements["spread"])) * elements["spread"]
    invocations = parts * sliding.batch * sliding.rows.out * tiles * (depth // lanes)
    params = {
        **sliding.fields(),
        **elements,
        "batch": sliding.batch,
        "depth": depth,
        "multiplier": multiplier,
        "turned": int(turned),
        "part_rows": part_rows,
        "part_chunks": part_chunks,
        "tiles": tiles,
        "invocations": invocations,
    }
    grid = gpu.grid(invocations, GROUP)
    operands = {"x": x, "filter": filter}
    if parts == 1:
        arrays = {**operands, **ends.arrays, "y": y}
        fields = {**params, **ends.fields}
        gpu.dispatch(_shader(ends.whole, lanes), arrays, params=fields, groups=grid)
        return y
    sums = gpu.empty((parts * shape[0], *shape[1:]), "float32")
    gpu.dispatch(_shader(NATIVE, lanes), {**operands, "y": sums}, params=params, groups=grid)
    return _sum_parts(gpu, ends, sums, y, parts)


def spread_back(
    gpu: Gpu, sliding: Sliding, dy: GpuArray, filter: GpuArray, shape: Shape
) -> GpuArray:
    """Return the gradient of the images, of ``shape``, as a new array."""
    height, width, channels, multiplier = filter.shape
    y = gpu.empty(shape, dy.dtype)
    if y.size == 0:
        return y
    if not (dy.size and filter.size):
        return _sum_parts(gpu, PLAIN, gpu.empty((0,), "float32"), y, 0)
    lanes = _lanes(sliding, multiplier, dy)
    axes = (sliding.rows, sliding.cols)
    if lanes == 4 and all(
        axis.stride == 1 for axis in axes
    ):  # a convolution with the filter turned
        rows, cols = (
            replace(
                axis,
                size=axis.out,
                out=axis.size,
                before=(axis.window - 1) * axis.dilation - axis.before,
            )
            for axis in axes
        )
        return convolve(gpu, replace(sliding, rows=rows, cols=cols), dy, filter, turned=True)
    part_multiples = min(multiplier, ITERATIONS)
    part_taps = min(height * width, max(ITERATIONS // (part_multiples + 1), 1))
    parts = math.ceil(height * width / part_taps) * math.ceil(multiplier / part_multiples)
    invocations = parts * y.size // lanes
    params = {
        **sliding.fields(),
        "batch": sliding.batch,
        "depth": channels,
        "multiplier": multiplier,
        "part_taps": part_taps,
        "part_multiples": part_multiples,
        "invocations": invocations,
    }
    sums = y if parts == 1 else gpu.empty((parts * shape[0], *shape[1:]), "float32")
    arrays = {"dy": dy, "filter": filter, "y": sums}
    grid = gpu.grid(invocations, GROUP)
    gpu.dispatch(_shader(TO_INPUT, lanes), arrays, params=params, groups=grid)
    return y if parts == 1 else _sum_parts(gpu, PLAIN, sums, y, parts)


def gather_filter(gpu: Gpu, sliding: Sliding, x: GpuArray, dy: GpuArray, shape: Shape) -> GpuArray:
    """Return the gradient of the filter, of ``shape``, as a new array."""
    height, _, channels, multiplier = shape
    y = gpu.empty(shape, x.dtype)
    if y.size == 0:
        return y
    if not (x.size and dy.size):
        return _sum_parts(gpu, PLAIN, gpu.empty((0,), "float32"), y, 0)
    lanes = min(_lanes(sliding, multiplier, x), _lanes(sliding, multiplier, dy))
    depth = channels * multiplier
    elements = _elements(sliding)
    once = height * elements["turns"] * elements["chunks"] * (depth // lanes)
    lines, columns = sliding.batch * sliding.rows.out, sliding.cols.out
    wanted = math.ceil(GROUPS_WANTED * GROUP / once)
    part_columns = min(columns, ITERATIONS // 2)
    longest = max(math.ceil(lines / wanted), math.ceil(SHORTEST_SUM / part_columns))
    of_each = part_columns + elements["spread"] + 1
    part_lines = min(lines, longest, max(ITERATIONS // of_each, 1))
    parts = math.ceil(lines / part_lines) * math.ceil(columns / part_columns)
    params = {
        **sliding.fields(),
        **elements,
        "depth": depth,
        "multiplier": multiplier,
        "lines": lines,
        "part_lines": part_lines,
        "part_columns": part_columns,
        "invocations": parts * once,
    }
    sums = y if parts == 1 else gpu.empty((parts, *shape), "float32")
    arrays = {"x": x, "dy": dy, "y": sums}
    grid = gpu.grid(parts * once, GROUP)
    gpu.dispatch(_shader(TO_FILTER, lanes), arrays, params=params, groups=grid)
    return y if parts == 1 else _sum_parts(gpu, PLAIN, sums, y, parts)


def _elements(sliding: Sliding) -> dict[str, int]:
    """Return which elements of a window's line are taken together; the shaders explain how."""
    cols = sliding.cols
    turns = turns_of(cols)
    return {
        "turns": turns,
        "spread": cols.dilation * turns // cols.stride,
        "apart": cols.dilation * turns,
        "chunks": math.ceil(math.ceil(cols.window / turns) / ELEMENTS),
    }


def _lanes(sliding: Sliding, multiplier: int, x: GpuArray) -> int:
    """Return how many channels an invocation may take at a time."""
    last = sliding.data_format == "NHWC" and multiplier == 1
    return 4 if last and lie_in_fours(x, CHANNELS["NHWC"]) else 1


def _shader(name: str, lanes: int) -> str:
    return name if lanes == 1 else name.replace(".wgsl", "_vec4.wgsl")


def _sum_parts(gpu: Gpu, ends: Ends, parts: GpuArray, y: GpuArray, count: int) -> GpuArray:
    arrays = {**ends.arrays, "parts": parts, "y": y}
    gpu.dispatch(ends.last, arrays, params={"parts_count": count, **ends.fields})
    return y
