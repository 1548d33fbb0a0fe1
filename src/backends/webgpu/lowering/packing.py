"""Packing: int8 and uint8, four elements in each word of a buffer, out of numbers or of bytes."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.lowering.building import fold
from wgsl_kernels.backends.webgpu.lowering.call import Call
from wgsl_kernels.engine.origin import Origin

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.lowering.program import Grid
    from wgsl_kernels.engine.spec import Spec

_GROUP = 64


def packing_call(kernel: str, spec: Spec) -> Call:
    """Return the kernel that writes int32, or the bytes of a view, as ``spec`` has them.

    Args:
        kernel: The name under which it runs.
        spec: Of int8 or uint8.
    """
    return Call(_shader(kernel), ("x",), {}, (spec,), ("y",))


@functools.cache
def _shader(kernel: str) -> ShaderKernel:
    origin = Origin(__name__, __file__, 0)
    return ShaderKernel(kernel, "cast/to_bytes.wgsl", origin, groups=_groups)


def _groups(y_size: int) -> Grid:
    """Return the grid: an invocation writes a word."""
    return fold(math.ceil(math.ceil(y_size / 4) / _GROUP))
