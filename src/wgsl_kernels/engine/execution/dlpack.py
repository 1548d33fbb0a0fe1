"""Tensors of what other libraries have in host memory, through DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.wgsl.errors.words import shown


def from_dlpack(source: Any, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Return a tensor with a copy of the values behind a DLPack object in host memory.

    Args:
        source: The object.
        device: The backend that it is on; without one the backend in force.
        copy: False is refused: a tensor's values belong to it.

    Raises:
        ArgumentError: ``source`` is no such object, or not in host memory; ``copy`` is False.
    """
    if copy is not None and not flag("from_dlpack", "copy", copy):
        raise ArgumentError("from_dlpack: copy is False; a tensor has a copy of its values.")
    if device is not None:
        with use_backend(device):
            return from_dlpack(source)
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
