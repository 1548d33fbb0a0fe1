"""What can be said of a shader's text by itself: no device is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.modules.source import load_file, load_text
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
from wgsl_kernels.backends.webgpu.products.form import ProductForm
from wgsl_kernels.backends.webgpu.templates.prelude import is_prelude_name, prelude_names
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.errors.placed import placed_finding
from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.lint.lint import lint
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.lint.remarks import Remark
    from wgsl_kernels.wgsl.syntax.tree import Declaration

_PRODUCT = frozenset({"a_at", "b_at", "b_vec4"})
"""The functions by which a product is known, whose tensors the composer binds by their names."""


def lint_file(path: Path) -> list[Finding]:
    """Return what can be said of a shader file by itself, without a GPU."""
    try:
        source = load_file(path.resolve())
    except ShaderError as error:
        found = placed_finding(error)
        return [] if _is_template(path) else [found or Finding("syntax", str(error), "", str(path))]
    return [replace(one, file=str(path)) for one in lint_source(source)]


def lint_inline(text: str, name: str, beside: Path, kernel: str = "") -> list[Finding]:
    """Return what can be said of a shader that is text, without a GPU; see `load_text`."""
    try:
        return lint_source(load_text(text, name, beside), kernel)
    except ShaderError as error:
        return [placed_finding(error, kernel) or Finding("syntax", str(error), kernel, name)]


def lint_kernel(name: str) -> list[Finding]:
    """Return what can be said of a registered kernel's own text without a GPU.

    That of a function with full control is not known before it runs.
    """
    kernel = get_kernel(name, "webgpu")
    func = None if kernel is None else kernel.func
    try:
        if isinstance(func, ShaderKernel):
            return lint_source(func.source, name)
        return lint_text(func.file().text, name) if isinstance(func, ProductForm) else []
    except ShaderError as error:
        found = placed_finding(error, name)
        return [found or Finding("syntax", str(error), name)]


def lint_source(source: Source, kernel: str = "") -> list[Finding]:
    """Return what can be said of a shader's own file with what it imports."""
    others = [one for file in source.imported for one in file.module.declarations]
    names = {*prelude_names(source.own), *source.declared}
    if "Attrs" not in source.structs:
        names -= {"attrs"} - source.declared
    elif "attrs" not in source.declared:
        others += parse(Text("", "var<private> attrs: Attrs;")).declarations
    is_product = not _PRODUCT.isdisjoint(source.own.module.functions)
    return lint_text(source.own.text, kernel, None if is_product else _KnownNames(names), others)


def lint_text(
    text: Text,
    kernel: str = "",
    known: frozenset[str] | None = None,
    others: Sequence[Declaration] = (),
) -> list[Finding]:
    """Return what can be said of one file of a shader, or of text in a Python file.

    Args:
        text: The file.
        kernel: The kernel that it is of.
        known: The names that something else declares; by default any may be.
        others: What it imports.
    """
    return errors_in(text, kernel, known, others) or _placed(lint(text), text, kernel)


def errors_in(
    text: Text,
    kernel: str,
    known: frozenset[str] | None = None,
    others: Sequence[Declaration] = (),
) -> list[Finding]:
    """Return what is wrong with one file of a shader; see `lint_text`."""
    found = diagnose(text, _AnyName() if known is None else known, others)
    return _placed(found, text, kernel)


def _placed(remarks: Iterable[Remark], text: Text, kernel: str) -> list[Finding]:
    found: list[Finding] = []
    for one in remarks:
        place = text.place(one.span.begin)
        width = one.span.end - one.span.begin
        where = (place.file, place.line, place.column, width, text.line(place.line))
        found.append(Finding(one.code, one.words, kernel, *where))
    return found


def _is_template(path: Path) -> bool:
    """Say whether a file is right as a template, which has conditions and is linked with them."""
    try:
        find_template(str(path.resolve()), None, path.resolve().parent, path.name).module({})
    except ShaderError:
        return False
    return True


class _KnownNames(frozenset[str]):
    """Names, and all that the composer may declare for whatever tensors there are."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (name != "attrs" and is_prelude_name(name))


class _AnyName(frozenset[str]):
    """All names: a part of a template does not tell which ones the others have."""

    def __contains__(self, name: object) -> bool:
        return True
