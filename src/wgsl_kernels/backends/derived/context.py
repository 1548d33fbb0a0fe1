"""What a map's file may name besides what it declares, as declarations."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.operands import VARIANTS
from wgsl_kernels.backends.webgpu.modules.source import load_file, shaders_folder
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function

FLOAT_OPS = ("op_f32", "op")


def op_of(source: Source, dtype: str = "float32") -> Function | None:
    """Return the function of a map that serves a dtype, None where there is none."""
    names = (*VARIANTS.get(dtype, ()), "op")
    return next((source.functions[one] for one in names if one in source.functions), None)


def given_names(source: Source, op: Function, scalar: str) -> str:
    """Return declarations of what the composer gives a map whose first type is ``scalar``."""
    lines = [f"alias T = {scalar};", "alias T_wide = f32;"]
    lines += [f"alias T_{one.name} = {scalar};" for one in op.parameters]
    lines += [f"alias T_y = {scalar};"]
    for one in op.parameters:
        lines += [f"const has_{one.name} = true;", f"const {one.name}_rank = 1u;"]
    if "Attrs" in source.structs:
        lines.append("var<private> attrs: Attrs;")
    declared = source.declared
    kept = [line for line in lines if line.split()[1].rstrip(";:=") not in declared]
    return "\n".join((*kept, ""))


@functools.cache
def common() -> Text:
    """Return what any kernel may name."""
    return load_file(shaders_folder() / "templates" / "any_kernel.wgsl").own.text


def declared(text: str) -> Sequence[Declaration]:
    """Return the declarations of a text."""
    return parse(Text(COMPOSED, text)).declarations
