"""Templates in files, and the sources that kernels are composed of from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.files import find_file, is_wgsl, read_text, text_of
from wgsl_kernels.backends.webgpu.modules.linked import file_of
from wgsl_kernels.backends.webgpu.modules.shader_packages import package_of
from wgsl_kernels.backends.webgpu.modules.source import read_alone
from wgsl_kernels.backends.webgpu.templates.template import Template
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.project import OWN, ModulePath, absolute
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.modules.shader_packages import ShaderPackage
    from wgsl_kernels.backends.webgpu.templates.template import TemplateModule

_INLINE_PATH = re.compile(r"\b[A-Za-z_]\w*(?:::\w+)+")


def find_template(given: str, slots: str | Text | None, beside: Path, inline_name: str) -> Template:
    """Return a template with the module that fills its slots.

    Paths are looked for as by `find_source`; ``slots`` is the path of the kernel's module, or its
    text.
    """
    files = _TemplateFiles()
    root = files.add(find_file(given, beside))
    if slots is None:
        return Template(tuple(files.texts.items()), root)
    if isinstance(slots, Text) or is_wgsl(slots):
        text = slots if isinstance(slots, Text) else text_of(inline_name, slots)
        own = ModulePath(files.package(beside)[0], (text.file,))
        files.take(own, text)
    else:
        own = files.add(find_file(slots, beside))
    return Template(tuple(files.texts.items()), root, own)


def source_of(module: TemplateModule) -> Source:
    """Return what the composer takes for the one file of a kernel."""
    return read_alone(module.text)


class _TemplateFiles:
    """A walk along imports, all branches of conditions included."""

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        self.texts: dict[ModulePath, Text] = {}

    def package(self, folder: Path) -> tuple[str, ShaderPackage]:
        """Return what the package of a folder is called here, and the package."""
        package = package_of(folder)
        name = package.name
        for other, root in package.packages.items():
            if other != package.name:
                self.folders.setdefault(other, root)
        if self.folders.setdefault(name, package.folder) != package.folder:
            name = f"{OWN}{len(self.folders)}"
            self.folders[name] = package.folder
        return name, package

    def add(self, file: Path) -> ModulePath:
        name, package = self.package(file.parent)
        path = ModulePath(name, package.segments(file))
        self.take(path, read_text(file))
        return path

    def take(self, path: ModulePath, text: Text) -> None:
        if path in self.texts:
            return
        self.texts[path] = text
        named = {one.path[:-1] for one in parse_source(text).imports}
        inline = _INLINE_PATH.finditer(text.text)
        named |= {tuple(one.group().split(SEPARATOR)[:-1]) for one in inline}
        for segments in sorted(named):
            other = absolute(path, segments, self.folders)
            if other is not None and other not in self.texts:
                file = file_of(self.folders, other)
                if file is not None:
                    self.take(other, read_text(file))
