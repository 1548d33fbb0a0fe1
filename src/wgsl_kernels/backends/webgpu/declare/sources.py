"""The shaders of one registration: each is read once, and again when that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.backends.webgpu.modules.source import find_source
from wgsl_kernels.backends.webgpu.modules.template_files import find_template, source_of
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.wgsl.facts.inline import note_python_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.backends.webgpu.templates.template import Template
    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.wgsl.syntax.places import Text

SourceKey: TypeAlias = "tuple[str, str | Text | None, tuple[tuple[str, bool | int], ...] | None]"
"""A shader, what fills its slots, and its configuration."""

SOURCE_BYTES = 40_000
"""What a shader takes as it was read, about; a function may write texts without end."""


class Sources:
    """What a kernel's author named as shaders, with what they import."""

    def __init__(self, origin: Origin) -> None:
        self._folder = origin.folder
        self._inline = origin.inline
        note_python_file(self._inline, origin.file)
        self._found: Recent[SourceKey, Source] = Recent(SOURCE_BYTES)
        self._is_broken = False

    def find(
        self,
        given: str,
        slots: str | Text | None = None,
        configuration: Mapping[str, bool | int] | None = None,
    ) -> Source:
        """Return the source for a path or WGSL text, as it was when it was first asked for.

        Args:
            given: The path or text; of a template with slots or a configuration, a path.
            slots: The module that fills a template's slots: a path or text.
            configuration: Values of a template's constants.

        Raises:
            ShaderError: There is no such file, a module is missing, or a text cannot be read.
            ArgumentError: The configuration is not as the template declares it.
        """
        asked = (given, slots, None if configuration is None else tuple(configuration.items()))
        found = self._found[asked]
        return self._found.keep(asked, self._read(asked)) if found is None else found

    def template(self, given: str, slots: str | Text | None = None) -> Template:
        """Return a template with its slots filled, as its files are now.

        Raises:
            ShaderError: A file is missing or cannot be read.
        """
        return find_template(given, slots, self._folder, self._inline)

    def look_again(self) -> bool:
        """Read all of them again; return whether any of the texts differs.

        Files that could not be read the last time differ, too.
        """
        seen = [self._is_broken]
        self._is_broken = False

        def is_gone(asked: SourceKey, found: Source) -> bool:
            seen.append(self._differs(asked, found))
            return seen[-1]

        self._found.drop(is_gone)
        return any(seen)

    def differs(self) -> bool:
        """Say whether any of the texts differs now, or cannot be read; nothing changes by that."""
        was_broken, seen = self._is_broken, [False]

        def look(asked: SourceKey, found: Source) -> bool:
            seen.append(self._differs(asked, found))
            return False  # nothing goes

        self._found.drop(look)
        self._is_broken = was_broken
        return any(seen)

    def _differs(self, asked: SourceKey, found: Source) -> bool:
        try:
            return self._read(asked).digest != found.digest
        except WgslKernelsError:
            self._is_broken = True
            return True  # it raises where the kernel runs next

    def _read(self, asked: SourceKey) -> Source:
        given, slots, configuration = asked
        if slots is None and configuration is None:
            return find_source(given, self._folder, self._inline)
        return source_of(self.template(given, slots).module(dict(configuration or ())))


def sources_of(kernel: Kernel) -> Sources:
    """Return the shaders that a kernel with full control names while it runs."""
    for one in kernel.files:
        if isinstance(one, Sources):
            return one
    kernel.files.append(made := Sources(kernel.origin))
    return made
