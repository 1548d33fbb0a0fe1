"""The shaders of one registration: each is read once, and again when that is asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.backends.webgpu.kept.kept_values import kept_values, look_again
from wgsl_kernels.backends.webgpu.modules.files import are_as_saved, is_wgsl
from wgsl_kernels.backends.webgpu.modules.kernel_source import KeptSource
from wgsl_kernels.backends.webgpu.modules.packages import is_there
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.wgsl.syntax.inline import note_python_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
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
        self._is_ours = origin.is_ours
        self._inline, self._python_file = origin.inline, origin.file
        self._found: Recent[SourceKey, Source] = Recent(SOURCE_BYTES)
        self._digests: dict[SourceKey, bytes] = {}
        """What was read from files, also where the texts are forgotten: what runs came from it."""
        self._unread: set[SourceKey] = set()
        """Files that could not be read when they were last asked for."""

    def find(
        self,
        given: str,
        slots: str | Text | None = None,
        configuration: Mapping[str, bool | int] | None = None,
    ) -> Source:
        """Return the source for a path or WGSL text, as it was when it was first asked for.

        With slots or a configuration ``given`` is a template's path; ``slots`` is the module that
        fills its slots, a path or text.

        Raises:
            ShaderError: There is no such file, a module is missing, or a text cannot be read.
            ArgumentError: The configuration is not as the template declares it.
        """
        asked = (given, slots, None if configuration is None else tuple(configuration.items()))
        found = self._found[asked]
        if found is None:
            is_file = slots is not None or not is_wgsl(given)
            try:
                found = self._found.keep(asked, self._known(asked))
            except WgslKernelsError:
                if is_file:
                    self._unread.add(asked)
                raise
            if is_file or found.imported:
                self._digests.setdefault(asked, found.digest)
        return found

    def template(self, given: str, slots: str | Text | None = None) -> Template:
        """Return a template with its slots filled, as its files are now."""
        from wgsl_kernels.backends.webgpu.modules.template_files import find_template

        note_python_file(self._inline, self._python_file)
        return find_template(given, slots, self._folder, self._inline)

    def look_again(self) -> bool:
        """Read all of them again; return whether any of the texts differs.

        Files that could not be read the last time differ, too.
        """
        changed = self._changed()
        look_again()
        self._unread = {asked for asked, is_read in changed.items() if not is_read}
        for asked in changed:  # before the texts: a thread that reads one anew notes its digest
            self._digests.pop(asked, None)
        self._found.drop(lambda asked, _: asked in changed)
        return bool(changed)

    def differs(self) -> bool:
        """Say whether any of the texts differs now, or cannot be read; nothing changes by that."""
        return bool(self._changed())

    def _changed(self) -> dict[SourceKey, bool]:
        """Return which texts differ now, and whether they can be read."""
        found: dict[SourceKey, bool] = {}
        for asked in self._digests.copy().keys() | self._unread:
            try:
                if self._read(asked).digest != self._digests.get(asked):
                    found[asked] = True
            except WgslKernelsError:  # it raises where the kernel runs next
                found[asked] = False
        return found

    def _known(self, asked: SourceKey) -> Source:
        """Return a source; one of the package that was read by another process is not read here."""
        given, slots, configuration = asked
        values = kept_values() if self._is_ours and are_as_saved() else None
        paths = [one for one in (given, slots) if isinstance(one, str)]
        if values is None or any(is_there(self._folder / one) for one in paths):
            return self._read(asked)
        filled = slots if slots is None or isinstance(slots, str) else (slots.file, slots.text)
        what = ("source", str(self._folder), self._inline, given, filled, configuration)
        digest: bytes | None = values.find(*what)
        if digest is not None:
            return KeptSource(values, digest, partial(self._read, asked))
        source = self._read(asked)
        values.keep(source.digest, *what)
        return KeptSource(values, source.digest, lambda: source)

    def _read(self, asked: SourceKey) -> Source:
        given, slots, configuration = asked
        if slots is None and configuration is None:
            from wgsl_kernels.backends.webgpu.modules.source import find_source

            note_python_file(self._inline, self._python_file)
            return find_source(given, self._folder, self._inline)
        from wgsl_kernels.backends.webgpu.modules.template_files import source_of

        return source_of(self.template(given, slots).module(dict(configuration or ())))


def sources_of(kernel: Kernel) -> Sources:
    """Return the shaders that a kernel with full control names while it runs."""
    for one in kernel.files:
        if isinstance(one, Sources):
            return one
    kernel.files.append(made := Sources(kernel.origin))
    return made
