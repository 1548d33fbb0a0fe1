"""einops computes on tensors: its functions ask a backend, defined when einops is imported."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import is_differentiable
from wgsl_kernels.ops.linear_algebra import einsum
from wgsl_kernels.ops.shapes import joining, ranges, shape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType

HOME = "einops._backends"
"""The module whose ``AbstractBackend`` is subclassed; einops looks subclasses up by itself."""

_defined: list[type] = []  # a class that nobody holds is forgotten by its base


def define_backend(home: ModuleType) -> None:
    """Define the backend for tensors, which einops finds among the subclasses of its own."""

    class WgslKernelsBackend(home.AbstractBackend):  # type: ignore[misc, name-defined]  # einops has no types
        framework_name = "wgsl_kernels"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return tensor(x)

        def to_numpy(self, x: Tensor) -> Any:
            return x.numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return ranges.arange(start, stop)

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return joining.stack(tensors)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return shape.expand_dims(x, new_position)

        def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
            return joining.tile(x, repeats)

        def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
            return joining.concat(tensors, axis)

        def is_float_type(self, x: Tensor) -> bool:
            return is_differentiable(x.dtype)

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return einsum.einsum(pattern, *x)

    _defined.append(WgslKernelsBackend)


class _AfterImport:
    """A finder that finds nothing by itself, but sees when einops' backends are imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != HOME:
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(name, path, target)
        if found is not None and found.loader is not None:
            found.loader = _EinopsLoader(found.loader)  # type: ignore[assignment]  # what has its methods
        return found


class _EinopsLoader:
    """einops' own loader, and afterwards the backend for tensors."""

    def __init__(self, own: Loader) -> None:
        self.own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.own.exec_module(module)
        define_backend(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def register() -> None:
    """Define the backend: now where einops is imported already, else when it is."""
    if HOME in sys.modules:
        define_backend(sys.modules[HOME])
    else:
        sys.meta_path.insert(0, _AfterImport())
