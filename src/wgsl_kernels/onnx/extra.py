"""The package ``onnx``, imported where a file is read: what is said where it is missing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES = ("google", "ml_dtypes", "onnx")


@contextmanager
def needing_onnx(name: str) -> Iterator[None]:
    """Say how the package is installed where the imports of the block miss it.

    Raises:
        ArgumentError: It, or one that it needs, is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise ArgumentError(
            f'{name}: wants the package onnx; pip install "wgsl-kernels[onnx]".'
        ) from None
