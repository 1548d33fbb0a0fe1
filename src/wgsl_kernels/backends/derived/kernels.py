"""Derived kernels of whatever backend: what they make of a shader for a dtype, which is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from wgsl_kernels.backends.derived.accumulations import derived_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.derived.accumulations import Derivation
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation, Pulled

_T = TypeVar("_T")


class KeptByDtype(Generic[_T]):
    """What is made of a shader for a first input of a dtype, until the shader's text changes."""

    def __init__(self, shader: ShaderKernel, make: Callable[[str], _T]) -> None:
        self._shader, self._make = shader, make
        self._kept: dict[str, tuple[bytes, _T]] = {}

    def __getitem__(self, dtype: str) -> _T:
        kept = self._kept.get(dtype)
        if kept is None or kept[0] != self._shader.source.digest:
            made = self._make(dtype)
            kept = self._kept[dtype] = self._shader.source.digest, made
        return kept[1]


class DerivedKernel(ABC, Generic[_T]):
    """A kernel of a shader that combines elements, or of its gradient by one input.

    It takes the upstream gradient, where it is a gradient, then the inputs with the axis that is
    combined as their last.
    """

    def __init__(self, shader: ShaderKernel, path: tuple[str, ...], wanted: str | None) -> None:
        self.shader, self.path, self.wanted = shader, path, wanted
        self._kept = KeptByDtype(shader, self._derived)

    def made(self, dtype: str) -> _T:
        """Return what runs for a first input of a dtype."""
        return self._kept[dtype]

    @abstractmethod
    def make(self, derivation: Derivation, found: Accumulation | Pulled, dtype: str) -> _T:
        """Return what runs of what is derived."""

    def _derived(self, dtype: str) -> _T:
        return self.make(*derived_by(self.shader, dtype, self.path, self.wanted), dtype)
