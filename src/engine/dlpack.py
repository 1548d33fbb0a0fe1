"""Tensors of what other libraries have in host memory, through DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.tensor import Tensor, tensor
from wgsl_kernels.engine.words import shown


def from_dlpack(source: Any) -> Tensor:
    """Return a tensor with a copy of the values behind a DLPack object in host memory.

    Raises:
        ArgumentError: ``source`` is no such object, or not in host memory.
    """
    if isinstance(source, Tensor):
        return tensor(source)
    try:
        values = np.from_dlpack(source)
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise ArgumentError(
            f"from_dlpack: source is {shown(source)}, which NumPy does not take: {said}."
        ) from None
    return tensor(values)
