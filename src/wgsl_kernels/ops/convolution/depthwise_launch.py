"""How the depthwise shaders are launched: tiles, parts of large windows, grid."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.adapter.policy import BUSY_GROUPS
from wgsl_kernels.backends.webgpu.products.dispatching import is_vec4_along, sum_of_parts
from wgsl_kernels.backends.webgpu.products.tilings import ITERATIONS, SHORTEST_SUM
from wgsl_kernels.engine.values.phases import phase_count, phases_of
from wgsl_kernels.engine.values.windows import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.engine.values.windows import Sliding

GROUP = 64
"""Invocations of a workgroup."""

ELEMENTS = 3
"""Elements of a window's line that an invocation takes at a time."""

NATIVE = "convolution/depthwise_launch/depthwise_conv2d_native.wesl"
TO_INPUT = "convolution/depthwise_launch/depthwise_conv2d_native_backprop_input.wgsl"
TO_FILTER = "convolution/depthwise_launch/depthwise_conv2d_native_backprop_filter.wesl"


def convolve(
    gpu: Gpu,
    sliding: Sliding,
    x: GpuArray,
    filter: GpuArray,
    dtype: DType | None = None,
) -> GpuArray:
    """Return a depthwise convolution as a new array.

    Args:
        gpu: The device.
        sliding: How the filter moves.
        x: Images in the format of ``sliding``.
        filter: [window height, window width, channels, multiplier].
        dtype: The result's dtype, by default that of ``x``.
    """
    _, width, channels, multiplier = filter.shape
    depth = channels * multiplier
    shape = sliding.shape_with(depth)
    y = gpu.empty(shape, dtype or x.dtype)
    if y.size == 0:
        return y
    if not (x.size and filter.size):
        return sum_of_parts(gpu, gpu.empty((0,), "float32"), y, 0)
    lanes = _lanes(sliding, multiplier, x)
    elements = {"filter_start": 0, "filter_steps": (width * depth, depth)}
    parts = _parts(sliding)
    if parts == 1:
        fields = {**elements, "out_offset": 0, "out_strides": y.strides}
        arrays = {"x": x, "filter": filter, "y": y}
        _convolve(gpu, lanes, sliding, multiplier, arrays, fields)
        return y
    sums = gpu.empty((parts * shape[0], *shape[1:]), "float32")
    fields = {**elements, "out_offset": 0, "out_strides": sums.strides}
    arrays = {"x": x, "filter": filter, "y": sums}
    _convolve(gpu, lanes, sliding, multiplier, arrays, fields)
    return sum_of_parts(gpu, sums, y, parts)


def _parts(sliding: Sliding) -> int:
    """Return how many sums each result is made of, so that no invocation loops too long."""
    part_rows, part_chunks = _part(sliding)
    triples = _triples(sliding)
    return math.ceil(sliding.rows.window / part_rows) * math.ceil(triples / part_chunks)


def _part(sliding: Sliding) -> tuple[int, int]:
    part_rows = min(sliding.rows.window, ITERATIONS)
    return part_rows, min(_triples(sliding), max(ITERATIONS // part_rows, 1))


def _triples(sliding: Sliding) -> int:
    """Return how many times three elements a line of the window is taken in."""
    turns = phase_count(sliding.cols)
    return turns * math.ceil(math.ceil(sliding.cols.window / turns) / ELEMENTS)


def _convolve(
    gpu: Gpu,
    lanes: int,
    sliding: Sliding,
    multiplier: int,
    arrays: Mapping[str, GpuArray],
    fields: Mapping[str, Any],
) -> None:
    _, _, channels, _ = arrays["filter"].shape
    depth = channels * multiplier
    steps, constants = _steps(sliding)
    part_rows, part_chunks = _part(sliding)
    parts = _parts(sliding)
    spread = constants["spread"]
    tile = gpu.policy.depthwise_tile(lanes, sliding.cols.out)
    tiles = math.ceil(sliding.cols.out / (tile * spread)) * spread
    invocations = parts * sliding.batch * sliding.rows.out * tiles * (depth // lanes)
    params = {
        **sliding.fields(),
        **steps,
        "batch": sliding.batch,
        "depth": depth,
        "part_rows": part_rows,
        "part_chunks": part_chunks,
        "tiles": tiles,
        "invocations": invocations,
        **fields,
    }
    gpu.dispatch(
        NATIVE,
        arrays,
        params=params,
        groups=gpu.grid(invocations, GROUP),
        constants={
            **constants,
            "multiplier": multiplier,
            "is_whole": int(parts == 1),
            "TILE": tile,
        },
        configuration={"VEC4": lanes == 4},
    )


def spread_back(
    gpu: Gpu, sliding: Sliding, dy: GpuArray, filter: GpuArray, shape: Shape
) -> GpuArray:
    """Return the gradient of the images, of ``shape``, as a new array."""
    height, width, channels, multiplier = filter.shape
    y = gpu.empty(shape, dy.dtype)
    if y.size == 0:
        return y
    if not (dy.size and filter.size):
        return sum_of_parts(gpu, gpu.empty((0,), "float32"), y, 0)
    if _lanes(sliding, multiplier, dy) == 4 and _parts(sliding) == 1:
        _convolve_back(gpu, sliding, dy, filter, y)
        return y
    part_multiples = min(multiplier, ITERATIONS)
    part_taps = min(height * width, max(ITERATIONS // (part_multiples + 1), 1))
    parts = math.ceil(height * width / part_taps) * math.ceil(multiplier / part_multiples)
    invocations = parts * y.size
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
    gpu.dispatch(TO_INPUT, arrays, params=params, groups=grid)
    return y if parts == 1 else sum_of_parts(gpu, sums, y, parts)


def _convolve_back(gpu: Gpu, sliding: Sliding, dy: GpuArray, filter: GpuArray, y: GpuArray) -> None:
    """Write to ``y`` the gradient of the images: convolutions of ``dy``, see `turned`."""
    depth = filter.shape[2]
    image, down, right, channel = y.strides
    across = (filter.shape[1] * depth, depth)
    all_rows, all_cols = list(phases_of(sliding.rows)), list(phases_of(sliding.cols))
    if len(all_rows) * len(all_cols) < sliding.rows.stride * sliding.cols.stride:
        sum_of_parts(gpu, gpu.empty((0,), "float32"), y, 0)
    for rows_of_y, row_elements, rows in all_rows:
        for cols_of_y, col_elements, cols in all_cols:
            if not (rows.out and cols.out):
                continue
            last = (
                row_elements.start + (rows.window - 1) * row_elements.step,
                col_elements.start + (cols.window - 1) * col_elements.step,
            )
            fields = {
                "filter_start": last[0] * across[0] + last[1] * across[1],
                "filter_steps": (
                    -row_elements.step * across[0] % 2**32,
                    -col_elements.step * across[1] % 2**32,
                ),
                "out_offset": rows_of_y.start * down + cols_of_y.start * right,
                "out_strides": (image, rows_of_y.step * down, cols_of_y.step * right, channel),
            }
            phase = replace(sliding, axes=(rows, cols))
            arrays = {"x": dy, "filter": filter, "y": y}
            _convolve(gpu, 4, phase, 1, arrays, fields)


def gather_filter(gpu: Gpu, sliding: Sliding, x: GpuArray, dy: GpuArray, shape: Shape) -> GpuArray:
    """Return the gradient of the filter, of ``shape``, as a new array."""
    height, _, channels, multiplier = shape
    y = gpu.empty(shape, x.dtype)
    if y.size == 0:
        return y
    if not (x.size and dy.size):
        return sum_of_parts(gpu, gpu.empty((0,), "float32"), y, 0)
    lanes = min(_lanes(sliding, multiplier, x), _lanes(sliding, multiplier, dy))
    depth = channels * multiplier
    steps, constants = _steps(sliding)
    once = height * _triples(sliding) * (depth // lanes)
    lines, columns = sliding.batch * sliding.rows.out, sliding.cols.out
    wanted = math.ceil(BUSY_GROUPS * GROUP / once)
    part_columns = min(columns, ITERATIONS // 2)
    longest = max(math.ceil(lines / wanted), math.ceil(SHORTEST_SUM / part_columns))
    of_each = part_columns + constants["spread"] + 1
    part_lines = min(lines, longest, max(ITERATIONS // of_each, 1))
    parts = math.ceil(lines / part_lines) * math.ceil(columns / part_columns)
    params = {
        **sliding.fields(),
        **steps,
        **constants,
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
    vec4 = {"VEC4": lanes == 4}
    gpu.dispatch(TO_FILTER, arrays, configuration=vec4, params=params, groups=grid)
    return y if parts == 1 else sum_of_parts(gpu, sums, y, parts)


def _steps(sliding: Sliding) -> tuple[dict[str, int], dict[str, int]]:
    """Return which elements of a window's line are taken together: as fields and as constants."""
    cols = sliding.cols
    turns = phase_count(cols)
    fields = {"apart": cols.dilation * turns, "chunks": _triples(sliding) // turns}
    constants = {
        "turns": turns,
        "spread": cols.dilation * turns // cols.stride,
        "channels_first": int(sliding.data_format == "NCHW"),
    }
    return fields, constants


def _lanes(sliding: Sliding, multiplier: int, x: GpuArray) -> int:
    """Return how many channels an invocation may take at a time."""
    last = sliding.data_format == "NHWC" and multiplier == 1
    return 4 if last and is_vec4_along(x, CHANNELS["NHWC"]) else 1
