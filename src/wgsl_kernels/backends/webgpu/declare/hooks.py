"""What an author's slips at registration look like: misspelt hooks, and text taken for a path."""

from __future__ import annotations

import difflib
import warnings
from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.backends.webgpu.modules.files import is_wgsl
from wgsl_kernels.engine.environment.errors import WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.syntax.places import Place

HOOKS = (
    "op", "init", "combine", "lift", "append", "finish", "apply", "settle", "main",
    "a_at", "b_at", "b_vec4", "term",
)  # fmt: skip
"""The functions by which a form is known, or that it may have."""
_OF_TEXT = ("fn ", ";", "->")
"""What a path has not."""


class MisspeltHook(NamedTuple):
    """A function that nothing calls and whose name is nearly that of a hook."""

    name: str
    near: str
    place: Place
    line: str

    @property
    def words(self) -> str:
        return f"nothing calls {self.name}. Did you mean {self.near!r}?"


def misspelt_hooks(source: Source) -> Iterator[MisspeltHook]:
    """Yield functions that nothing calls and whose names are nearly those of hooks."""
    file = source.own
    have = set(file.module.functions)
    for name, function in file.module.functions.items():
        if name in HOOKS or name in file.needs or function.is_entry or name.startswith("op_"):
            continue
        near = difflib.get_close_matches(name, [one for one in HOOKS if one not in have], 1, 0.7)
        if near:
            place = file.text.place(function.name_span.begin)
            yield MisspeltHook(name, near[0], place, file.text.line(place.line))


def warn_of_slips(shader: ShaderKernel) -> None:
    """Warn at a shader's registration of hooks that are misspelt, and of text taken for a path."""
    words: list[str] = []
    try:
        found = list(misspelt_hooks(shader.source))
        words += [f"{one.place.label}: {one.words}" for one in found]
    except (WgslKernelsError, OSError, ValueError):  # its first run says why
        if not is_wgsl(shader.given) and any(one in shader.given for one in _OF_TEXT):
            words.append(
                f"{shader.given!r} is taken for a path, and there is no such file. WGSL text has "
                "a newline or a brace."
            )
    for one in words:
        message = f"{shader.name}: {one}"
        warnings.warn_explicit(message, RuntimeWarning, shader.origin.file, shader.origin.line)
