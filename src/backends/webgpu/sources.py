"""The shaders of one registration: each is read once, and again when that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.source import find_source
from wgsl_kernels.engine.errors import WgslKernelsError
from wgsl_kernels.engine.recent import Recent

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.source import Source
    from wgsl_kernels.engine.origin import Origin
    from wgsl_kernels.engine.registry import Kernel

SOURCES_MAX = 128
"""Shaders of one kernel that are kept at least; a function may write texts without end."""


class Sources:
    """What a kernel's author named as shaders, with what they import."""

    def __init__(self, origin: Origin) -> None:
        self._folder = Path(origin.file).parent
        self._inline = f"<inline in {Path(origin.file).name}:{origin.line}>"
        self._found: Recent[str, Source] = Recent(SOURCES_MAX)

    def find(self, given: str) -> Source:
        """Return the source for a path or WGSL text, as it was when it was first asked for.

        Raises:
            ShaderError: There is no such file, a module is missing, or a text cannot be read.
        """
        found = self._found[given]
        return self._found.keep(given, self._read(given)) if found is None else found

    def look_again(self) -> bool:
        """Read all of them again; return whether any of the texts differs."""
        before = self._found.held
        self._found.drop(self._differs)
        return self._found.held < before

    def _differs(self, given: str, found: Source) -> bool:
        try:
            return self._read(given).digest != found.digest
        except WgslKernelsError:
            return True  # it raises where the kernel runs next

    def _read(self, given: str) -> Source:
        return find_source(given, self._folder, self._inline)


def sources_of(kernel: Kernel) -> Sources:
    """Return the shaders that a kernel with full control names while it runs."""
    for one in kernel.files:
        if isinstance(one, Sources):
            return one
    kernel.files.append(made := Sources(kernel.origin))
    return made
