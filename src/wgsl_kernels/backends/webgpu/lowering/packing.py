"""Packing: int8 and uint8, four elements in each word of a buffer, out of numbers or of bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, device_bytes
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.lowering.free import lower_free
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.building import Bound, build, fold
from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid
    from wgsl_kernels.engine.values.spec import Spec

_GROUP = 64
_ALIGNED = 256
"""Elements that a part begins at a multiple of: a window begins at so many bytes."""


def packing_call(kernel: str, spec: Spec) -> ShaderCall:
    """Return the kernel that writes int32, or the bytes of a view, as ``spec`` has them.

    ``spec`` is of int8 or uint8.
    """
    origin = Origin(__name__, __file__, 0)
    shader = ShaderKernel(kernel, "elementwise/cast/to_bytes.wgsl", origin, groups=_groups)
    return ShaderCall(shader, ("x",), {}, (spec,), ("y",))


def lower_packing(
    call: ShaderCall, arguments: Sequence[Argument | None], adapter: Adapter
) -> Program:
    """Return the program of a `packing_call`: in parts where its input is above the binding limit.

    Raises:
        OutOfMemoryError: A view is, or the result.
    """
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
