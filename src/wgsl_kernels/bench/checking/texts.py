"""What can be said of a shader's text by itself: no device is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.modules.source import load_file
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
from wgsl_kernels.backends.webgpu.products.form import ProductForm
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.errors.placed import placed_finding
from wgsl_kernels.wgsl.lint.diagnose import diagnose
from wgsl_kernels.wgsl.lint.lint import lint

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.wgsl.syntax.places import Text


def lint_file(path: Path) -> list[Finding]:
    """Return what can be said of a shader file by itself, without a GPU."""
    try:
        text = load_file(path.resolve()).own.text
    except ShaderError as error:
        found = placed_finding(error)
        return [] if _is_template(path) else [found or Finding("syntax", str(error), "", str(path))]
    return [replace(one, file=str(path)) for one in lint_text(text)]


def lint_kernel(name: str) -> list[Finding]:
    """Return what can be said of a registered kernel's own text without a GPU.

    That of a function with full control is not known before it runs.
    """
    kernel = get_kernel(name, "webgpu")
    func = None if kernel is None else kernel.func
    try:
        if isinstance(func, ShaderKernel):
            return lint_text(func.source.own.text, name)
        return lint_text(func.file().text, name) if isinstance(func, ProductForm) else []
    except ShaderError as error:
        found = placed_finding(error, name)
        return [found or Finding("syntax", str(error), name)]


def lint_text(text: Text, kernel: str = "") -> list[Finding]:
    """Return what can be said of one file of a shader, or of text in a Python file, by itself."""
    found: list[Finding] = []
    for one in diagnose(text, _AnyName()) or lint(text):
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


class _AnyName(frozenset[str]):
    """All names: a file by itself does not tell which ones the composer has."""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True
