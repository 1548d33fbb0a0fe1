"""The gradient of a scan that adds single numbers: the library's own scan, from the other end.

It is a composition of kernels, which lazy evaluation fuses with what is before and behind it:
slopes of ``finish``, a ``Cumsum``, slopes of ``lift``. Its own gradient follows from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.maps import PartShader, map_gradients, map_text, register_slopes
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.wgsl.syntax.made import written_function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation

_WAYS = ("exclusive", "reverse")
"""Attributes that say how a scan goes."""


@dataclass(frozen=True)
class SumScan:
    """A scan that adds, of rows.

    Attributes:
        shader: The shader.
        parts: Its ``lift`` and its ``finish`` as maps, as far as it has them.
    """

    shader: ShaderKernel
    parts: dict[str, PartShader] = field(default_factory=dict[str, PartShader])

    @classmethod
    def of(cls, shader: ShaderKernel, one: Accumulation) -> SumScan | None:
        """Return a shader's scan, None where it does more than to add numbers of one type."""
        types = {one.total, one.elements[0].type, one.gives}
        functions = shader.source.functions
        given = [functions[name] for name in ("lift", "finish") if name in functions]
        if not (one.form == "scan" and one.adds and one.is_straight and types == {"f32"}):
            return None
        if any(len(each.parameters) != 1 for each in given):  # it takes its place, or a count
            return None
        return cls(shader, {each.name: _part(shader, each.name) for each in given})

    def register(self) -> None:
        """Register the slopes of its parts."""
        for one in self.parts.values():
            register_slopes(one)

    def gradient(self, dy: Tensor, x: Tensor, attrs: Mapping[str, Any]) -> Tensor:
        ways = {name: bool(attrs.get(name, False)) for name in _WAYS}
        read = {name: value for name, value in attrs.items() if name not in _WAYS}
        if "finish" in self.parts:  # its slope is the same whatever it is given
            dy = _slope(self.parts["finish"], dy, dy, read)
        ways["reverse"] = not ways["reverse"]
        dy = run("Cumsum", dy, axis=1, **ways)
        return _slope(self.parts["lift"], dy, x, read) if "lift" in self.parts else dy

    def text(self) -> str:
        """Return the kernels that it runs, as text."""
        texts = [map_text(one, "x") for one in self.parts.values()]
        slopes = f"; slopes of {' and '.join(self.parts)} follow" if texts else ""
        return "\n".join(
            (f"// Cumsum of the upstream gradient, from the other end{slopes}.", *texts)
        )


def _part(shader: ShaderKernel, name: str) -> PartShader:
    op = written_function("op", {"x": "T"}, "T", f"return T({name}(x));")
    return PartShader(
        f"{shader.name} {name}", f"<{name} of {shader.name}>", shader.origin, parent=shader,
        wanted=name, op=op,
    )  # fmt: skip


def _slope(part: PartShader, dy: Tensor, x: Tensor, attrs: Mapping[str, Any]) -> Tensor:
    found: Tensor = map_gradients(part, ("x",), True, dy, x, **attrs)[0]()
    return found
