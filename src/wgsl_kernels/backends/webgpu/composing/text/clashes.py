"""New names for declarations of a kernel's files that would take another's place in the text.

In its own file a declaration wins over WGSL's functions and over the composer's. What else is in
the text, a skeleton, generated functions, the maps that are fused, means the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.names.rename import rename
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED
from wgsl_kernels.wgsl.syntax.tree import Var

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Span
    from wgsl_kernels.wgsl.syntax.source_map import Edit
    from wgsl_kernels.wgsl.syntax.tree import Declaration

COMPOSERS = "wk_"
"""What the composer's own names begin with."""


def numbered(
    source: Source,
    declarations: Iterable[Declaration],
    asked: Collection[str],
    written: Collection[str],
    generated: str,
) -> dict[str, str]:
    """Return another name for each declaration whose name means something else in the text.

    Args:
        source: The kernel's files.
        declarations: Those of its declarations that the text keeps.
        asked: The names that skeleton and generated functions take from outside of themselves.
        written: The names of the generated functions.
        generated: The generated bindings and parameters.

    Raises:
        ShaderError: It is a binding, whose name is that of the tensor.
    """
    candidates = {
        one.name: one
        for one in declarations
        if one.name in written or one.name.startswith(COMPOSERS) or is_predeclared(one.name)
    }
    if not candidates:
        return {}
    names = resolve(Text(COMPOSED, generated))
    meant = {*written, *(one.name for one in names.module.declarations)}
    meant |= {name for name in {*asked, *names.needs} if is_predeclared(name)}
    taken = {*written, *asked, *_names(source)}
    new: dict[str, str] = {}
    for name in sorted(candidates.keys() & meant):
        one = candidates[name]
        if isinstance(one, Var) and one.space in ("storage", "uniform"):
            message = f"{name!r} is a name of WGSL's that the text needs. Rename it."
            raise ShaderError(source.point(message, one))
        new[name] = next(n for n in _numbers(name) if n not in taken and not is_predeclared(n))
        taken.add(new[name])
    return new


def renames(file: Names, new: dict[str, str], replaced: Iterable[Span]) -> list[Edit]:
    """Return the edits of a file that give its names, but for those in what is replaced."""
    if not new:
        return []
    spans = tuple(replaced)
    return [
        edit
        for edit in rename(file, new)
        if not any(one.begin <= edit.span.begin < one.end for one in spans)
    ]


def _names(source: Source) -> Iterator[str]:
    for file in source.files:
        yield from (symbol.name for symbol in file.symbols)
        yield from (use.ident.name for use in file.uses)


def _numbers(name: str) -> Iterator[str]:
    number = 0
    while True:
        yield f"{name}{number}"
        number += 1
