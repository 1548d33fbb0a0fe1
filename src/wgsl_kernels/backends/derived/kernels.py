"""Derived kernels of whatever backend: what they make of a shader for dtypes, which is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from wgsl_kernels.backends.derived.accumulations import derived_by
from wgsl_kernels.engine.environment.errors import GradientNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.derived.accumulations import Derivation
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation, Pulled

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


class KeptByDtype(Generic[_K, _T]):
    """What is made of a shader for inputs of some dtypes, until the shader's text changes."""

    def __init__(self, shader: ShaderKernel, make: Callable[[_K], _T]) -> None:
        self._shader, self._make = shader, make
        self._kept: dict[_K, tuple[bytes, _T]] = {}

    def __getitem__(self, dtypes: _K) -> _T:
        kept = self._kept.get(dtypes)
        if kept is None or kept[0] != self._shader.source.digest:
            made = self._make(dtypes)
            kept = self._kept[dtypes] = self._shader.source.digest, made
        return kept[1]


def refuse_complex(kernel: str, tensors: Sequence[Tensor]) -> None:
    """Refuse to derive a gradient where tensors are of complex numbers.

    Raises:
        GradientNotFound: One is.
    """
    found = next((one.dtype for one in tensors if one.dtype.startswith("complex")), None)
    if found is not None:
        raise GradientNotFound(
            f"{kernel}: gradient='derive' is of real numbers, and was called with {found}. "
            f"Register one with @gradient({kernel!r}, override=True)."
        )


class DerivedKernel(ABC, Generic[_T]):
    """A kernel of a shader that combines elements, or of its gradient by one input.

    It takes the upstream gradient, where it is a gradient, then the inputs with the axis that is
    combined as their last.
    """

    def __init__(self, shader: ShaderKernel, path: tuple[str, ...], wanted: str | None) -> None:
        self.shader, self.path, self.wanted = shader, path, wanted
        self._kept: KeptByDtype[str, _T] = KeptByDtype(shader, self._derived)

    def made(self, dtype: str) -> _T:
        """Return what runs for a first input of a dtype."""
        return self._kept[dtype]

    @abstractmethod
    def make(self, derivation: Derivation, found: Accumulation | Pulled, dtype: str) -> _T:
        """Return what runs of what is derived."""

    def _derived(self, dtype: str) -> _T:
        return self.make(*derived_by(self.shader, dtype, self.path, self.wanted), dtype)
