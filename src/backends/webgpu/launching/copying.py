"""Copies of views: what makes a plain array of a transposed, sliced, turned or repeated one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray, row_major
from wgsl_kernels.backends.webgpu.launching.collapse import collapse
from wgsl_kernels.backends.webgpu.launching.recipe import fold

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.gpu import Gpu

LEAST = 4096
"""Elements from which on a copy is worth a kernel of its own; below, the copying map does."""
_LEAST_ACROSS = 4
"""How long both axes of a transposition are at least, for tiles to pay."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """A copy: the axes of y with the steps in x and y, neighbours merged.

    In a transposition the axis along which x lies side by side comes before the last one.
    """

    shape: tuple[int, ...]
    steps_x: tuple[int, ...]
    steps_y: tuple[int, ...]
    offset: int
    is_transposed: bool


def copied(gpu: Gpu, array: GpuArray) -> GpuArray:
    """Return a view's elements row-major in a new array.

    Measured on a software adapter against a map that divides for each element: transposing 2048
    rows of 2048 took a quarter of the time, slicing a third, tiling and broadcasting a sixth.

    Args:
        gpu: The device.
        array: A view with at least one element.
    """
    walk = _walk(array)
    y = gpu.empty(array.shape, array.dtype)
    view = gpu.view(array, walk.shape, walk.steps_x, walk.offset)
    inner = 2 if walk.is_transposed else 1
    corners = math.prod(walk.shape[:-inner])
    name = _variant(array, walk, staged=gpu.policy.stages_transpositions)
    params: dict[str, Any] = {"steps_y": walk.steps_y, "corners": corners}
    params |= dict.fromkeys(("turns", "along_bits", "across_bits"), 0)
    if not walk.is_transposed:
        params["turns"] = gpu.policy.units_moved("Copy")
        fours = corners * math.ceil(walk.shape[-1] / 4)
        groups = math.ceil(fours / (64 * params["turns"]))
    else:
        wide, high, together = 32, 32, 1
        if name != "tiles_staged":
            params["along_bits"] = along = min(_bits(walk.shape[-1], 4), 5)
            params["across_bits"] = across = min(_bits(walk.shape[-2], 16), 8 - along)
            wide, high, together = 4 << along, 16 << across, 1 << (8 - along - across)
        tiles = math.ceil(walk.shape[-1] / wide) * math.ceil(walk.shape[-2] / high)
        groups = math.ceil(corners / together) * tiles
    arrays = {"x": view, "y": y}
    gpu.dispatch(f"copy/{name}.wesl", arrays, params=params, groups=fold(groups))
    return y


def _bits(length: int, size: int) -> int:
    """Return how often to double ``size`` to cover ``length``."""
    return (math.ceil(length / size) - 1).bit_length()


def _walk(array: GpuArray) -> _Walk:
    shape, merged, _ = collapse(array.shape, [array.strides])
    steps = merged[0] if shape else ()
    shape, steps = (shape, steps) if shape else ((1,), (1,))
    ahead = row_major(shape)
    length = shape[-1]
    across = [axis for axis in range(len(shape) - 1) if steps[axis] == 1]
    if steps[-1] == 1 or length < _LEAST_ACROSS or not across:
        return _Walk(shape, steps, ahead, array.offset, is_transposed=False)
    chosen = max(across, key=lambda axis: shape[axis])
    if shape[chosen] < _LEAST_ACROSS:
        return _Walk(shape, steps, ahead, array.offset, is_transposed=False)
    order = [axis for axis in range(len(shape) - 1) if axis != chosen] + [chosen, len(shape) - 1]
    return _Walk(
        tuple(shape[axis] for axis in order),
        tuple(steps[axis] for axis in order),
        tuple(ahead[axis] for axis in order),
        array.offset,
        is_transposed=True,
    )


def _variant(array: GpuArray, walk: _Walk, *, staged: bool) -> str:
    if array.dtype == "complex64":  # no vector holds four
        return ("tiles_staged" if staged else "tiles") if walk.is_transposed else "rows"
    unit = -2 if walk.is_transposed else -1
    steps = [step for axis, step in enumerate(walk.steps_x) if axis != len(walk.shape) + unit]
    in_fours = not any(one % 4 for one in (walk.offset, walk.shape[unit], *steps))
    if not walk.is_transposed:
        if walk.shape[-1] % 4:
            return "rows"
        return "rows_vec4" if in_fours and walk.steps_x[-1] == 1 else "rows_fours"
    if staged:
        return "tiles_staged"
    return "tiles_vec4" if in_fours and walk.shape[-1] % 4 == 0 else "tiles"
