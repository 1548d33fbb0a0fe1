"""``wk_print`` of whatever type: each call is that of a function for the type of what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.instrument.rewrite import PRINT
from wgsl_kernels.wgsl.lint.remarks import functions_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.made import written_function
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit, TextBuilder, WrittenText
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import F32, Scalar, Vector, concrete, value_of

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap


def with_typed_prints(source_map: SourceMap) -> SourceMap:
    """Return a text in which what is no ``f32`` is printed by a function for its type."""
    composed = source_map.composed
    if f"{PRINT}(" not in composed.text:
        return source_map
    written = WrittenText(COMPOSED, composed.text, source_map)
    module = parse(written)
    types = infer(module.declarations)
    edits: list[Edit] = []
    needed: dict[str, str] = {}
    for function in functions_of(module):
        for node in descendants(function.body):
            if not isinstance(node, tree.Call) or node.callee.name != PRINT:
                continue
            found = types.of(node.arguments[0]) if len(node.arguments) == 1 else None
            type_ = None if found is None else concrete(value_of(found))
            if isinstance(type_, (Scalar, Vector)) and type_ != F32:
                name = f"{PRINT}_{str(type_).replace('<', '_').rstrip('>')}"
                edits.append(Edit(node.callee.span, name))
                needed[name] = str(type_)
    if not edits:
        return source_map
    text = TextBuilder()
    edits.sort(key=lambda one: one.span.begin)
    text.quote(written, Span(0, len(composed.text)), edits)
    for name, type_name in needed.items():
        if name not in module.functions:
            text.generate("\n" + written_function(name, {"value": type_name}, None))
    return text.finish()
