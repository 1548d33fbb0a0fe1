"""What is bound behind an array's last element, of which an author's shader sees zeros alone.

A binding has whole elements of the shader's array: of a tensor of five numbers that is declared
``array<vec4<f32>>`` it has eight, of a float16 tensor of five it has six. Buffers come from a pool,
so what is there belonged to another tensor. The package's own shaders never use it. For all others
such an input is copied first. (It cannot be cleared where it is: a captured function may not write
into what it is given.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.array import ITEMSIZE, GpuArray
from wgsl_kernels.backends.webgpu.composing.accessors import declared_in_fours
from wgsl_kernels.backends.webgpu.launching.filling import as_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.operands import Operand
    from wgsl_kernels.backends.webgpu.composing.source import Source
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.backends.webgpu.launching.recipe import Compiled


def ends_behind(
    compiled: Compiled, inputs: Sequence[Operand], arrays: Mapping[str, GpuArray | None]
) -> tuple[tuple[str, int], ...]:
    """Return the inputs whose bindings end behind their last elements, each with its stride."""
    flat = {operand.name for operand in inputs if operand.access == "flat"}
    found: list[tuple[str, int]] = []
    for slot in compiled.slots:
        array = arrays.get(slot.name) if slot.name in flat else None
        if array is not None and _nbytes(array) % max(slot.stride, 4):
            found.append((slot.name, slot.stride))
    return tuple(found)


def may_end_behind(source: Source, name: str, array: GpuArray) -> bool:
    """Say whether the buffer that a view is in may have a half word or a part of a vec4 left."""
    return array.dtype == "float16" or declared_in_fours(source, name)


def padded(gpu: Gpu, array: GpuArray, stride: int) -> GpuArray:
    """Return a copy of a row-major array that is zero up to a multiple of ``stride`` bytes."""
    words = as_words(array)
    step = max(stride, 4)
    size = -(-words.size * 4 // step) * step // 4
    copy = gpu.empty((size,), "int32")
    params = {"mask": 0xFFFF if _nbytes(array) % 4 else 0xFFFFFFFF}
    arrays = {"x": words, "y": copy}
    gpu.dispatch("copy/padded.wgsl", arrays, params=params, groups=gpu.grid(size, 64))
    return GpuArray(array.shape, array.dtype, array.size, copy.storage, copy.device)


def _nbytes(array: GpuArray) -> int:
    return array.size * ITEMSIZE[array.dtype]
