"""Functions of WGSL on NumPy, in the precision of a dtype."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.library import LEAVES
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.simulator.domains import float32, float64
from wgsl_kernels.simulator.masks import Cell
from wgsl_kernels.simulator.module import EndlessLoopError, ModuleCompiler
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.simulator.statements import MOST_ROUNDS
from wgsl_kernels.wgsl.errors.errors import coded
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.types.kinds import Scalar, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.syntax.places import Text

_SCALARS = {
    "float64": "f32",
    "float32": "f32",
    "float16": "f16",
    "bool": "bool",
    "complex64": "vec2<f32>",
}

_ENDLESS = f"this loop does not end: it was stopped after {MOST_ROUNDS:,} rounds."


def scalar_of_dtype(dtype: str) -> str:
    """Return the type of WGSL that stands for a dtype in a text that runs on NumPy."""
    return _SCALARS.get(dtype, "i32")


class NumpyFunctions:
    """The functions of a text that lacks nothing."""

    def __init__(
        self,
        kernel: str,
        source: Source,
        text: Text,
        dtype: str,
        point: Callable[[str, int], str],
    ) -> None:
        """Take the text.

        Args:
            kernel: The kernel that they are of.
            source: Its file, which declares the attributes.
            text: The text.
            dtype: What is computed in; ``float64`` stands for ``f32``.
            point: Returns a message that shows the author's line of a place in the text.
        """
        self._kernel, self._source, self._point = kernel, source, point
        domain = (float64 if dtype == "float64" else float32)(LEAVES)
        with self._refusals():
            self._module = ModuleCompiler(parse(text), {}, domain)

    def need(self, *names: str) -> None:
        """Compile functions."""
        with self._refusals():
            for name in names:
                self._module.function(name)

    @contextmanager
    def with_attributes(self, attrs: Mapping[str, Any]) -> Iterator[Callable[..., Any]]:
        """Set the attributes; give what calls functions by name.

        Raises:
            ShaderError: A loop does not end; the message points at it.
        """
        module = self._module
        module.globals.update(module.first_values())
        if "attrs" in module.variables:
            module.globals[module.private("attrs")] = Cell(self._attributes(attrs))
        with np.errstate(all="ignore"), module.stack(), self._refusals():
            yield self._call

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except RefusedError as error:
            message = self._point(error.message, error.begin)
            raise ShaderError(f"{self._kernel}: {message}") from None
        except EndlessLoopError as error:
            message = self._point(_ENDLESS, error.begin)
            raise coded("runaway-loop", f"{self._kernel}: {message}") from None

    def _call(self, name: str, *given: Any) -> Any:
        return self._module.globals[self._module.function(name)](True, *given)

    def _attributes(self, attrs: Mapping[str, Any]) -> list[Any]:
        found: list[Any] = []
        for field in self._source.structs["Attrs"].fields:
            if field.name not in attrs:
                raise ArgumentError(f"{self._kernel}: attribute {field.name!r} is missing.")
            type_, value = self._module.named(field.type), attrs[field.name]
            if isinstance(type_, Vector):
                parts = value if np.ndim(value) else (value.real, value.imag)
                found.append([self._module.scalars[type_.element.name](one) for one in parts])
            else:
                assert isinstance(type_, Scalar)
                found.append(self._module.scalars[type_.name](value))
        return found
