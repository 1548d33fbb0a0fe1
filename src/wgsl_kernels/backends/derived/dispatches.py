"""The kernels of derived accumulations on webgpu: one dispatch after the other."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.derived.context import common, declared
from wgsl_kernels.backends.derived.kernels import DerivedKernel
from wgsl_kernels.backends.derived.passes import (
    BOUND_LIMIT,
    GROUP,
    MOST_BOUND,
    RUN,
    SHORT,
    SIZES,
    Pass,
    Passes,
    part_size,
)
from wgsl_kernels.backends.webgpu.lowering.scan import WHOLE
from wgsl_kernels.backends.webgpu.programs.building import fold
from wgsl_kernels.engine.values.dtypes import itemsize
from wgsl_kernels.wgsl.derive.accumulations import Pulled
from wgsl_kernels.wgsl.syntax.names import free_name
from wgsl_kernels.wgsl.syntax.parser import parse, parse_expression
from wgsl_kernels.wgsl.syntax.places import text_beside
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.kinds import FLOATS, Array, Vector
from wgsl_kernels.wgsl.types.layouts import TypeLayouts
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.derived.accumulations import Derivation
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.wgsl.derive.accumulations import Accumulation
    from wgsl_kernels.wgsl.types.kinds import Type

_HALF = re.compile(r"\b(T|T_\w+|f16)\b")
"""Types that parameters of a dispatch are not given as."""
_DTYPES = {"f32": "float32", "f16": "float16"}


class ShaderTexts:
    """What the texts of an accumulation's dispatches, or of its gradient's, have in common.

    Attributes:
        one: The accumulation.
        pulled: The gradient.
        upstream: What the upstream gradient is called.
        result: What the result is called.
        head: The functions.
    """

    def __init__(self, derivation: Derivation, found: Accumulation | Pulled) -> None:
        self.pulled = found if isinstance(found, Pulled) else None
        self.one = found.of if isinstance(found, Pulled) else found
        taken = {each.name for each in self.one.elements}
        self.upstream, self.result = free_name("dy", taken), free_name("wk_result", taken)
        enabled = "enable f16;\n" if derivation.scalar == "f16" else ""
        self.head = f"{enabled}{derivation.given()}{found.text}"
        self._attrs = derivation.source.structs.get("Attrs")
        self._named = NamedTypes([*declared(self.head), *parse(common()).declarations])

    @property
    def is_zero(self) -> bool:
        """Whether the gradient is zero throughout."""
        return self.pulled is not None and self.pulled.is_zero

    def buffer(self, type_: str) -> tuple[str, int]:
        """Return the dtype of a buffer of values of a type, and the bytes from one to the next."""
        stride = TypeLayouts(self._named).written(type_).stride
        return _dtype(self._named.of(parse_expression(type_))), stride

    def text(self, one: Pass, types: Mapping[str, str], sizes: Mapping[str, str]) -> str:
        """Return the shader of a dispatch.

        Args:
            one: The dispatch.
            types: What each buffer is made of.
            sizes: The fields of ``wk_sizes``, and their types.
        """
        fields = "".join(f"  {name}: {type_},\n" for name, type_ in sizes.items())
        values: list[str] = []
        for each in () if self._attrs is None else self._attrs.fields:
            type_, given = spell(each.type), f"wk_sizes.attr_{each.name}"
            plain = "u32" if type_ == "bool" else _HALF.sub("f32", type_)
            fields += f"  attr_{each.name}: {plain},\n"
            values.append(f"{type_}({given})" if plain != type_ else given)
        bindings = [f"struct wk_Sizes {{\n{fields}}}\n"]
        bindings += [
            f"@group(0) @binding({n}) var<storage, read_write> {name}: array<{types[name]}>;"
            for n, name in enumerate(one.buffers)
        ]
        bindings.append(f"@group(0) @binding({len(one.buffers)}) var<uniform> wk_sizes: wk_Sizes;")
        attributes = f"  attrs = Attrs({', '.join(values)});\n" if values else ""
        main = text_beside(__file__, "main.wgsl").replace(
            "  wk_pass();\n", f"{attributes}{one.body}"
        )
        return "\n".join((self.head, *bindings, f"const wk_group = {GROUP}u;", main))


class Shaders(ShaderTexts):
    """The texts of an accumulation of rows, or of its gradient by one input, for one dtype.

    Attributes:
        passes: The dispatches, and the shader of each, by whether an invocation takes a whole row
            and by how many elements go at a time.
        buffers: The dtype of each buffer, and the bytes from one accumulator to the next.
        bound: How many arrays a dispatch binds at most where an invocation takes a whole row.
    """

    def __init__(self, derivation: Derivation, found: Accumulation | Pulled) -> None:
        super().__init__(derivation, found)
        one, pulled = self.one, self.pulled
        by_four = all(each.type in FLOATS for each in one.elements)
        types = Passes(one, pulled, self.upstream, self.result).types()
        sizes = dict.fromkeys(SIZES, "u32")
        self.passes: dict[tuple[bool, int], tuple[Passes, list[tuple[Pass, str]]]] = {}
        self.bound = 0
        for whole in (False, True):
            for lanes in (1, 4) if by_four else (1,):
                every = Passes(one, pulled, self.upstream, self.result, whole, lanes)
                made = [] if self.is_zero else every.written()
                if whole and any(one.bound > MOST_BOUND for one in made):
                    continue
                self.bound = max([self.bound, *[one.bound for one in made if whole]])
                texts = [(each, self.text(each, types, sizes)) for each in made]
                self.passes[whole, lanes] = every, texts
        self.buffers = {name: self.buffer(type_) for name, type_ in types.items()}


class DeviceKernel(DerivedKernel[Shaders]):
    """A derived kernel with full control."""

    def make(self, derivation: Derivation, found: Accumulation | Pulled, dtype: str) -> Shaders:
        del dtype  # the derivation is for it
        return Shaders(derivation, found)

    def __call__(self, gpu: Gpu, *arrays: GpuArray, **attrs: Any) -> GpuArray:
        has_upstream = self.wanted is not None
        x = arrays[1 if has_upstream else 0]
        made = self.made(x.dtype)
        names = [each.name for each in made.one.elements]
        tensors = dict(zip([made.upstream] * has_upstream + names, arrays, strict=True))
        n = x.shape[-1]
        rows = math.prod(x.shape[:-1])
        shape, dtype = x.shape, x.dtype
        if not has_upstream and made.one.form == "reduce":
            shape = x.shape[:-1]
        elif has_upstream:
            dtype = tensors[str(self.wanted)].dtype
        if made.is_zero or not rows * n:
            return gpu.full(shape, dtype, 0)
        y = tensors[made.result] = gpu.empty(shape, dtype)
        policy, scans = gpu.policy, made.one.form == "scan"
        fills = n <= SHORT or rows >= policy.scan_invocations  # invocations of a row each
        most = gpu.device.limits[BOUND_LIMIT] - policy.ends_loops  # which takes the status, too
        whole = fills and n <= WHOLE and (True, 1) in made.passes and made.bound <= most
        part = n if whole and scans else part_size(n)
        parts = -(-n // part)
        alone = n <= SHORT or (fills and policy.reduces_row_alone(n))
        sizes = {
            "rows": rows, "n": n, "part": part, "parts": parts, "short": int(alone),
            "exclusive": int(bool(attrs.pop("exclusive", False))),
            "backward": int(bool(attrs.pop("reverse", False))),
        }  # fmt: skip
        params = sizes | {f"attr_{name}": field_of(value) for name, value in attrs.items()}
        buffers: dict[str, GpuArray] = {}
        lanes = 4 if n % 4 == 0 and not sizes["exclusive"] and (whole, 4) in made.passes else 1
        every, passes = made.passes[whole, lanes]
        counts = every.counts(rows, n, parts)
        for one, text in passes:
            for name in one.buffers:
                if name not in buffers:
                    held, stride = made.buffers[name]
                    size = counts[name] * stride // itemsize(held)
                    buffers[name] = gpu.empty((size,), held)
            given = {name: tensors[name] for name in one.tensors}
            given |= {name: buffers[name] for name in one.buffers}
            over = "rows" if one.over == "elements" and alone else one.over
            gpu.dispatch(text, given, params=params, groups=_grid(over, rows, n, parts))
        return y


def _grid(over: str, rows: int, n: int, parts: int) -> tuple[int, int, int]:
    """Return the workgroup counts of a pass."""
    if over == "elements":
        across, along, _ = fold(rows)
        return -(-n // RUN), across, along
    items = rows * parts if over == "parts" else rows
    return fold(-(-items // GROUP))


def _dtype(type_: Type | None) -> str:
    """Return the dtype of a buffer of values of a type; that of structs is any of four bytes."""
    while isinstance(type_, (Array, Vector)):
        type_ = type_.element
    return _DTYPES.get(str(type_), "int32")


def field_of(value: Any) -> Any:
    """Return an attribute as a field of a uniform struct."""
    return int(value) if isinstance(value, bool) else value
