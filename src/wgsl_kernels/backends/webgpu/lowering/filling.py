"""Lowering fills: a new tensor becomes a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.backends.webgpu.programs.dispatching import own_dispatch

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch


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
