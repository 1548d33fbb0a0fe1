"""The error for an attribute that no kernel can have, which is found when none can look it up."""

from __future__ import annotations

from typing import Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import attr_key


def odd_attribute(kernel: str, attrs: dict[str, Any]) -> ArgumentError:
    """Return the error for the attribute that is a tensor, or that no dictionary can hold."""
    name, value = next(pair for pair in attrs.items() if not _is_plain(pair[1]))
    if isinstance(value, Tensor):
        return ArgumentError(
            f"{kernel}: {name} is a tensor, but it is an attribute: a plain value. "
            "Pass item() or tolist() of it."
        )
    kind = type(value).__name__
    return ArgumentError(f"{kernel}: {name} is a {kind}; want numbers, strings or a tuple.")


def _is_plain(value: Any) -> bool:
    try:
        hash(attr_key(value))
    except Exception:
        return False
    return True
