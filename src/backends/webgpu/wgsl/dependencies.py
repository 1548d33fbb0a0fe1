"""Which declarations need which: none may need itself, nor too many others in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.backends.webgpu.wgsl.facts import Alias, Struct
from wgsl_kernels.backends.webgpu.wgsl.limits import DECLARATIONS, TYPES
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.wgsl.facts import Declaration, Facts
    from wgsl_kernels.backends.webgpu.wgsl.places import Text


def check_dependencies(files: Sequence[Facts]) -> None:
    """Refuse files in which a declaration needs itself, or a chain of them is too long.

    Files that are not understood are left to the compiler, which stops there.

    Args:
        files: A kernel's files; where two declare a name, the first counts.

    Raises:
        ShaderError: The message shows the declaration and the circle.
    """
    declared: dict[str, tuple[Declaration, Text]] = {}
    for facts in reversed(files):
        if not facts.module.is_whole:
            return
        declared |= {one.name: (one, facts.text) for one in facts.declarations if one.name}
    _Walk(declared).check()


class _Walk:
    """A walk to all declarations, each behind those that it needs."""

    def __init__(self, declared: Mapping[str, tuple[Declaration, Text]]) -> None:
        self.declared = declared
        self.lengths: dict[str, int] = {}  # of the longest chain that begins with a declaration
        self.types: dict[str, int] = {}  # the same of structs and aliases only

    def check(self) -> None:
        for name in self.declared:
            if name not in self.lengths:
                self._visit(name)

    def _visit(self, first: str) -> None:
        """Visit what ``first`` needs without recursing, as far as that may be."""
        open_ = {first: self._needs(first)}
        while open_:
            name = next(reversed(open_))
            needed = next(open_[name], None)
            if needed is None:
                del open_[name]
                self._leave(name)
            elif needed in open_:
                names = list(open_)
                self._refuse_circle([*names[names.index(needed) :], needed])
            elif needed not in self.lengths:
                open_[needed] = self._needs(needed)

    def _needs(self, name: str) -> Iterator[str]:
        return iter(sorted(self.declared[name][0].needs & self.declared.keys()))

    def _leave(self, name: str) -> None:
        needs = list(self._needs(name))
        self.lengths[name] = 1 + max((self.lengths[one] for one in needs), default=0)
        is_type = isinstance(self.declared[name][0], (Struct, Alias))
        self.types[name] = is_type + max((self.types[one] for one in needs), default=0)
        if self.lengths[name] > DECLARATIONS:
            message = f"this needs more than {DECLARATIONS} declarations that each need the next"
            self._refuse(name, f"{message}, which compilers do not survive.")
        if is_type and self.types[name] > TYPES:
            self._refuse(name, f"this type is nested more than {TYPES} types deep.")

    def _refuse_circle(self, names: list[str]) -> NoReturn:
        circle = " -> ".join(names if len(names) <= 10 else [*names[:5], "...", *names[-4:]])
        self._refuse(names[0], f"'{names[0]}' needs itself, which WGSL does not allow: {circle}.")

    def _refuse(self, name: str, message: str) -> NoReturn:
        declaration, text = self.declared[name]
        raise ShaderError(text.point(message, declaration.name_span.begin))
