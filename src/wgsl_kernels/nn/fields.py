"""How layers say what they are."""

from __future__ import annotations

import dataclasses
from typing import Any

from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import at_least
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.shapes import creation


def shown_by_fields(self: Any) -> str:
    """Return a layer's class and fields, tensors by dtype and shape; a layer's ``__repr__``."""
    parts = []
    for field in dataclasses.fields(self):
        value = getattr(self, field.name)
        said = f"{value.dtype}{show(value.shape)}" if isinstance(value, Tensor) else repr(value)
        parts.append(f"{field.name}={said}")
    return f"{type(self).__name__}({', '.join(parts)})"


def count(layer: str, name: str, value: Any) -> int:
    """Return an argument that is a number of things.

    Raises:
        ArgumentError: It is no integer, or below 1.
    """
    return at_least(layer, name, value, 1)


def zeros(*shape: int) -> Variable:
    """Return a variable of zeros."""
    return variable(creation.zeros(shape))


def ones(*shape: int) -> Variable:
    """Return a variable of ones."""
    return variable(creation.ones(shape))
