"""Filling new tensors, and what is behind a last element: an author's shader sees zeros alone.

A binding has whole elements of the shader's array: of a tensor of five numbers that is declared
``array<vec4<f32>>`` it has eight, of a float16 tensor of five it has six. Buffers come from a pool,
so what is there belonged to another tensor. The package's own shaders never use it. For all others
such an input is copied first. (It cannot be cleared where it is: a captured function may not write
into what it is given.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.modules.kernel_source import declared_as_vec4
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.backends.webgpu.programs.dispatching import own_dispatch
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.engine.values.dtypes import DType


def fill(adapter: Adapter, x: Argument, words: Words) -> Dispatch:
    """Return what makes all elements of a new tensor the number that these words are."""
    raw = as_words(x)
    groups = fold(math.ceil(math.ceil(raw.size / 4) / 64))
    params = {"even": words[0], "odd": words[1]}
    return own_dispatch(adapter, "Fill", "lowering/fill_words.wgsl", {"y": raw}, params, groups)


def as_words(x: Argument) -> Argument:
    """Return a contiguous tensor as the words that its elements fill, the last one perhaps half."""
    size = -(-x.size * ITEMSIZE[x.dtype] // 4)
    return Argument((size,), "int32", None, x.place)


def padded(
    adapter: Adapter,
    composed: Composed,
    inputs: Sequence[Operand],
    bound: dict[str, Argument],
    first: int,
) -> tuple[list[Dispatch], list[Spec]]:
    """Have copies bound of inputs that end within an element; return what makes them, and where.

    ``bound``, which the names are bound to, is changed; ``first`` is the number of the first
    buffer.
    """
    dispatches: list[Dispatch] = []
    buffers: list[Spec] = []
    flat = {operand.name for operand in inputs if operand.access == "flat"}
    for slot in composed.bindings:
        one = bound.get(slot.name) if slot.name in flat else None
        if one is None or not _nbytes(one) % max(slot.stride, 4):
            continue
        number = first + len(buffers)
        dispatch, spec, bound[slot.name] = _pad(adapter, one, slot.stride, number)
        dispatches.append(dispatch)
        buffers.append(spec)
    return dispatches, buffers


def may_end_behind(source: Source, name: str, dtype: DType) -> bool:
    """Say whether the buffer that a view is in may have a half word or a part of a vec4 left."""
    return dtype == "float16" or declared_as_vec4(source, name)


def _pad(
    adapter: Adapter, x: Argument, stride: int, number: int
) -> tuple[Dispatch, Spec, Argument]:
    """Return what copies a contiguous tensor, zero up to a multiple of ``stride`` bytes.

    Returns:
        The dispatch, the buffer that it writes, which is to have ``number``, and the copy.
    """
    words = as_words(x)
    step = max(stride, 4)
    spec = Spec((-(-words.size * 4 // step) * step // 4,), "int32")
    made = Argument.made(spec, number)
    params = {"mask": 0xFFFF if _nbytes(x) % 4 else 0xFFFFFFFF}
    arguments = {"x": words, "y": made}
    groups = fold(-(-spec.size // 64))
    one = own_dispatch(adapter, "Copy", "lowering/padded.wgsl", arguments, params, groups)
    return one, spec, Argument(x.shape, x.dtype, None, made.place)


def _nbytes(one: Argument) -> int:
    return one.size * ITEMSIZE[one.dtype]
