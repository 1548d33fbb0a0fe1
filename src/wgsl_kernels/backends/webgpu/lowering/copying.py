"""Lowering copies: a transposed, sliced, turned or repeated array becomes contiguous.

What is packed becomes int8 or uint8, four elements in each word of a buffer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import (
    ITEMSIZE,
    device_bytes,
    is_row_major,
    row_major,
)
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.lowering.free import lower_free
from wgsl_kernels.backends.webgpu.lowering.map import lower_map
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, collapse
from wgsl_kernels.backends.webgpu.programs.building import Bound, build, fold
from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
from wgsl_kernels.backends.webgpu.programs.dispatching import own_dispatch
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.origin import Origin
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid

COPY_ORIGIN = Origin(__name__, __file__, 0)
_COPY = ShaderKernel("Copy", "lowering/copy.wgsl", COPY_ORIGIN)
_SHADERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "rows": ("rows", ()),
    "rows_fours": ("rows", ("VEC4_Y",)),
    "rows_vec4": ("rows", ("VEC4_X", "VEC4_Y")),
    "tiles": ("tiles", ()),
    "tiles_vec4": ("tiles", ("VEC4",)),
    "tiles_staged": ("tiles_staged", ()),
}
"""The shader of a variant, and which of its conditions hold."""
LEAST = 4096
"""Elements from which on a copy is worth a kernel of its own; below, the copying map does."""
_LEAST_ACROSS = 4
"""How long both axes of a transposition are at least, for tiles to pay."""


@dataclass(frozen=True, slots=True)
class _StridedCopy:
    """A copy: the axes of y with the steps in x and y, neighbours merged.

    In a transposition the axis along which x lies side by side comes before the last one.
    """

    shape: tuple[int, ...]
    steps_x: tuple[int, ...]
    steps_y: tuple[int, ...]
    offset: int
    is_transposed: bool


def lower_copy(x: Argument, adapter: Adapter) -> Program:
    """Return the program that copies a view's elements to a new contiguous tensor.

    Measured on a software adapter against a map that divides for each element: transposing 2048
    rows of 2048 took a quarter of the time, slicing a third, tiling and broadcasting a sixth.

    ``x`` is a view with at least one element.
    """
    spec = Spec(x.shape, x.dtype)
    if x.dtype in BYTES:
        return lower_packing(packing_call("Copy", spec), [x], adapter)
    if x.size < LEAST:
        return lower_map(ShaderCall(_COPY, ("x",), {}, (spec,), ("y",)), [x], adapter)
    walk = _walk(x)
    is_whole = walk.offset == 0 and is_row_major(walk.shape, walk.steps_x)
    layout = None if is_whole else (walk.steps_x, walk.offset)
    view = replace(x, shape=walk.shape, layout=layout)
    inner = 2 if walk.is_transposed else 1
    corners = math.prod(walk.shape[:-inner])
    policy = adapter.policy
    name = _variant(x, walk, staged=policy.stages_transpositions)
    params: dict[str, Any] = {"steps_y": walk.steps_y, "corners": corners}
    params |= dict.fromkeys(("turns", "along_bits", "across_bits"), 0)
    if not walk.is_transposed:
        params["turns"] = policy.units_moved("Copy")
        vectors = corners * math.ceil(walk.shape[-1] / 4)
        groups = math.ceil(vectors / (64 * params["turns"]))
    else:
        wide, high, together = 32, 32, 1
        if name != "tiles_staged":
            params["along_bits"] = along = min(_bits(walk.shape[-1], 4), 5)
            params["across_bits"] = across = min(_bits(walk.shape[-2], 16), 8 - along)
            wide, high, together = 4 << along, 16 << across, 1 << (8 - along - across)
        tiles = math.ceil(walk.shape[-1] / wide) * math.ceil(walk.shape[-2] / high)
        groups = math.ceil(corners / together) * tiles
    arguments = {"x": view, "y": Argument.made(spec, 0)}
    grid = fold(groups)
    shader, conditions = _SHADERS[name]
    path = f"lowering/{shader}.wesl"
    configuration = dict.fromkeys(conditions, True)
    one = own_dispatch(adapter, "Copy", path, arguments, params, grid, configuration)
    return Program((one,), (spec,), (0,), (("variant", name),))


def _bits(length: int, size: int) -> int:
    """Return how often to double ``size`` to cover ``length``."""
    return (math.ceil(length / size) - 1).bit_length()


def _walk(array: Argument) -> _StridedCopy:
    shape, merged, _ = collapse(array.shape, [array.strides])
    steps = merged[0] if shape else ()
    shape, steps = (shape, steps) if shape else ((1,), (1,))
    ahead = row_major(shape)
    length = shape[-1]
    across = [axis for axis in range(len(shape) - 1) if steps[axis] == 1]
    if steps[-1] == 1 or length < _LEAST_ACROSS or not across:
        return _StridedCopy(shape, steps, ahead, array.offset, is_transposed=False)
    chosen = max(across, key=lambda axis: shape[axis])
    if shape[chosen] < _LEAST_ACROSS:
        return _StridedCopy(shape, steps, ahead, array.offset, is_transposed=False)
    order = [axis for axis in range(len(shape) - 1) if axis != chosen] + [chosen, len(shape) - 1]
    return _StridedCopy(
        tuple(shape[axis] for axis in order),
        tuple(steps[axis] for axis in order),
        tuple(ahead[axis] for axis in order),
        array.offset,
        is_transposed=True,
    )


def _variant(array: Argument, walk: _StridedCopy, *, staged: bool) -> str:
    if array.dtype == "complex64":  # no vector holds four
        return ("tiles_staged" if staged else "tiles") if walk.is_transposed else "rows"
    unit = -2 if walk.is_transposed else -1
    steps = [step for axis, step in enumerate(walk.steps_x) if axis != len(walk.shape) + unit]
    is_vec4 = not any(one % 4 for one in (walk.offset, walk.shape[unit], *steps))
    if not walk.is_transposed:
        if walk.shape[-1] % 4:
            return "rows"
        return "rows_vec4" if is_vec4 and walk.steps_x[-1] == 1 else "rows_fours"
    if staged:
        return "tiles_staged"
    return "tiles_vec4" if is_vec4 and walk.shape[-1] % 4 == 0 else "tiles"


_GROUP = 64
_ALIGNED = 256
"""Elements that a part begins at a multiple of: a window begins at so many bytes."""


def packing_call(kernel: str, spec: Spec) -> ShaderCall:
    """Return the kernel that writes int32, or the bytes of a view, as int8 or uint8."""
    path = "elementwise/cast/to_bytes.wgsl"
    shader = ShaderKernel(kernel, path, COPY_ORIGIN, groups=_groups)
    return ShaderCall(shader, ("x",), {}, (spec,), ("y",))


def lower_packing(
    call: ShaderCall, arguments: Sequence[Argument | None], adapter: Adapter
) -> Program:
    """Return the program of a `packing_call`, in parts if its input is above the limit."""
    x = arguments[0]
    if x is None or x.layout is not None or x.bound_bytes <= adapter.largest_binding:
        return lower_free(call, arguments, adapter)
    (spec,) = call.outputs
    y = Argument.made(spec, 0)
    composition = call.composition([Operand("x", x.dtype, len(x.shape))], ())
    composed = composition.composed()
    step = adapter.largest_binding // ITEMSIZE[x.dtype] // _ALIGNED * _ALIGNED
    found: list[Dispatch] = []
    for first in range(0, x.size, step):
        count = min(step, x.size - first)
        size = ITEMSIZE[x.dtype]
        windows = {"x": (first * size, count * size), "y": (first, device_bytes(count, spec.dtype))}
        bound = Bound({"x": x, "y": y}, windows=windows)
        facts = {"y_size": count}
        found.append(build(adapter, composition, composed, _groups(count), bound, facts))
    return Program(tuple(found), (spec,), (0,))


def _groups(y_size: int) -> Grid:
    """Return the grid: an invocation writes a word."""
    return fold(math.ceil(math.ceil(y_size / 4) / _GROUP))
