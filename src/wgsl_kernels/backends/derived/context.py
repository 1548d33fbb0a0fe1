"""What a map's file may name besides what it declares, as declarations."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.derived.library import LEAVES, RULES
from wgsl_kernels.backends.webgpu.composing.text.operands import VARIANTS
from wgsl_kernels.backends.webgpu.modules.files import is_ours
from wgsl_kernels.backends.webgpu.modules.source import load_file, shaders_folder, text_given
from wgsl_kernels.wgsl.derive.custom import renamed_with_rules, rules_written
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.names.predeclared import PREDECLARED
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax.names import free_name, wgsl_name
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Span, Text
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, SourceMap, TextBuilder, WrittenText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.products.written import ProductFile
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Function, Name


def op_of(source: Source, dtype: str = "float32") -> Function | None:
    """Return the function of a map that serves a dtype, None where there is none."""
    names = (*VARIANTS.get(dtype, ()), "op")
    return next((source.functions[one] for one in names if one in source.functions), None)


def warn_of_zero(shader: ShaderKernel, wanted: str) -> None:
    """Warn where a shader is registered whose gradient by an input is zero throughout."""
    message = f"{shader.name}: the gradient by {wanted} is zero throughout."
    warnings.warn_explicit(message, RuntimeWarning, shader.origin.file, shader.origin.line)


def type_meant(source: Source, node: Name | None) -> str:
    """Return a type as it is spelled, in place of an alias of the file what that means."""
    seen = set[str]()
    while node is not None and node.name in source.aliases and node.name not in seen:
        seen.add(node.name)
        node = source.aliases[node.name].type
    return spell(node)


_GIVEN = re.compile(r"\b(T_\w+|has_\w+|\w+_rank)\b")


def given_names(source: Source, scalar: str, others: Mapping[str, str] | None = None) -> str:
    """Return declarations of what the composer gives a map whose tensors are of ``scalar``.

    Args:
        source: Its file.
        scalar: The type of the elements of its first input, and of those that ``others`` lacks.
        others: The types of the elements of further tensors, by name.
    """
    types = {} if others is None else others
    wide = types.get("y", scalar)
    wide = "f32" if wide == "f16" else wide
    lines = {"T": f"alias T = {scalar};", "T_wide": f"alias T_wide = {wide};"}
    for file in source.files:
        for word in _GIVEN.findall(file.text.text):
            if word.startswith("T_"):
                type_ = types.get(wgsl_name(word.removeprefix("T_")), scalar)
                lines.setdefault(word, f"alias {word} = {type_};")
            elif word.startswith("has_"):
                lines[word] = f"const {word} = true;"
            else:
                lines[word] = f"const {word} = 1u;"
    if "Attrs" in source.structs:
        lines["attrs"] = "var<private> attrs: Attrs;"
    declared = source.declared
    return "".join(f"{line}\n" for name, line in lines.items() if name not in declared)


def in_one_text(source: Source, head: str = "", *shared: Text) -> SourceMap:
    """Return the declarations of all files in one text, behind others.

    With functions go the comments that give their derivatives.
    """
    text = TextBuilder()
    text.generate(head)
    for one in shared:
        text.quote(one, Span(0, len(one.text)))
    own, *imported = files_of(source)
    for file in (own, *imported):
        for name, span in rules_written(file.text):
            if file is own or name in file.module.functions:
                text.quote(file.text, span)
                text.generate("\n")
        for node in file.module.declarations:
            text.generate("\n")
            text.quote(file.text, node.span)
    text.generate("\n")
    return text.finish()


def own_text(shader: ShaderKernel) -> Text:
    """Return the file of a shader, which imports nothing but what any file may.

    With it are the functions that it imports of its author's other files.
    """
    source, origin = shader.source, shader.origin
    if not all(is_ours(one.text.file) for one in source.imported):
        whole = in_one_text(source)
        return WrittenText(source.file, whole.composed.text, whole)
    raw = text_given(shader.given, origin.folder, origin.inline)
    if is_ours(raw.file):
        raw = Text(raw.file, raw.text.replace("package::", "wgsl_kernels::"))
    new = _new_names(source)
    return renamed_with_rules(names_of(parse_source(raw).module), new) if new else raw


_KNOWN = RULES.keys() | LEAVES.keys() | PREDECLARED
"""What derivations know by its name: of WGSL, of the library."""
_MADE = re.compile(r"<(?!inline )")
"""What the files are called that are made of authors' files, which may have all in one."""


def files_of(source: Source) -> tuple[Names, ...]:
    """Return a source's files, its own first, in which such a name is never the author's."""
    new = _new_names(source)
    return tuple([_with_names(file, new) for file in source.files]) if new else source.files


def file_apart(file: ProductFile) -> ProductFile:
    """Return a product's file, in which such a name is never the author's."""
    new = _names_apart(file.names)
    if not new:
        return file
    names = _with_names(file.names, new)
    return replace(file, text=names.text, names=names, functions=names.module.functions)


def _with_names(file: Names, new: Mapping[str, str]) -> Names:
    """Return a file with other names, also where comments give derivatives."""
    return names_of(parse_source(renamed_with_rules(file, new)).module)


def _names_apart(file: Names) -> dict[str, str]:
    """Return other names for what a file declares as derivations know something else."""
    if _MADE.match(file.text.file):
        return {}
    taken = {one.name for one in file.symbols} | {use.ident.name for use in file.uses}
    known = [one.name for one in file.symbols if one.is_global and one.name in _KNOWN]
    return {one: free_name(f"{one}_value", taken) for one in known}


def _new_names(source: Source) -> dict[str, str]:
    new: dict[str, str] = {}
    for file in source.files:
        if not is_ours(file.text.file):
            new |= _names_apart(file)
    return new


def common() -> Text:
    """Return what any kernel may name."""
    return load_file(shaders_folder() / "templates" / "any_kernel.wgsl").own.text


def declared(text: str) -> Sequence[Declaration]:
    """Return the declarations of a text."""
    return parse(Text(COMPOSED, text)).declarations
