"""Kernels that formats of graphs lack, as other kernels: each function does what its kernel does.

They are called with the kernel's inputs and its attributes by name, while a function is traced.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.onnx.saving import array_compositions, value_compositions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.onnx.saving.tracing import Composition

COMPOSITIONS: Mapping[str, Composition] = MappingProxyType(
    {**array_compositions.COMPOSITIONS, **value_compositions.COMPOSITIONS}
)
"""By the kernel's name."""
