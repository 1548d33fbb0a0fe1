"""What the array API standard asks of an array beside its operators."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the array API standard, of which the last one is followed."""


class Standard:
    """Mixin: the namespace of a tensor's functions, and the device that it is on."""

    __slots__ = ()

    __array_priority__ = 100.0
    """Above arrays of NumPy and Dask: what mixes them by this number alone makes tensors."""

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the package, which is the namespace of the array API standard.

        Raises:
            ArgumentError: ``api_version`` is one that is not known here.
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ArgumentError(
                f"__array_namespace__: api_version is {shown(api_version)}; "
                f"want one of {', '.join(VERSIONS)}."
            )
        return importlib.import_module("wgsl_kernels")

    @property
    def device(self: Tensor) -> str:  # type: ignore[misc]  # the mixin's only class is Tensor
        """The name of the backend that holds the values."""
        return self.backend
