"""Which declarations there are and which they need.

No file may declare a name twice; no declaration may need itself, too many in a row, or too many
calls.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.syntax.limits import CALLS, DECLARATIONS, TYPES
from wgsl_kernels.wgsl.syntax.tree import Alias, Function, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Declaration


def check_dependencies(files: Sequence[Names]) -> None:
    """Refuse files in which a name is declared twice, or a declaration needs itself or too much.

    Files that are not understood are left to the compiler, which stops there.

    Args:
        files: A kernel's files; where two declare a name, the first counts.

    Raises:
        ShaderError: The message shows the declaration, and the circle or the first of the two.
    """
    declared: dict[str, tuple[Declaration, Names]] = {}
    for names in reversed(files):
        if not names.module.is_whole:
            return
        own: dict[str, tuple[Declaration, Names]] = {}
        for one in names.module.declarations:
            if one.name in own:
                first = own[one.name][0].name_span.begin
                refuse_second(names.text, one.name, first, one.name_span.begin)
            if one.name:
                own[one.name] = one, names
        declared |= own
    _DependencyWalk(declared).check()


def refuse_second(text: Text, name: str, first: int, second: int) -> NoReturn:
    """Refuse a name that is declared or imported again."""
    message = f"{name!r} is given twice; first at {text.origin(first)[1].label}."
    raise ShaderError(text.point(message, second))


_CALLED = re.compile(r"//[^\n]*|/\*.*?\*/|(\w+)\s*\(", re.DOTALL)
"""What is called, comments left out."""


class _DependencyWalk:
    """A walk to all declarations, each behind those that it needs."""

    def __init__(self, declared: Mapping[str, tuple[Declaration, Names]]) -> None:
        self.declared = declared
        self.lengths: dict[str, int] = {}  # of the longest chain that begins with a declaration
        self.types: dict[str, int] = {}  # the same of structs and aliases only
        self.calls: dict[str, int] = {}  # what one call of a function comes to

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
        declaration, names = self.declared[name]
        return iter(sorted(names.needs_of(declaration) & self.declared.keys()))

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
        self.calls[name] = 1 + self._calls_within(name, needs)
        if self.calls[name] > CALLS:
            message = f"a call of this comes to more than {CALLS} calls, each of which compilers"
            self._refuse(name, f"{message} write out. Keep what is computed twice with let.")

    def _calls_within(self, name: str, needs: Sequence[str]) -> int:
        """Return how many calls those in a function's body come to."""
        functions = [one for one in needs if isinstance(self.declared[one][0], Function)]
        if not functions:
            return 0
        declaration, names = self.declared[name]
        body = names.text.text[declaration.span.begin : declaration.span.end]
        times = Counter(_CALLED.findall(body))
        return sum(self.calls[one] * times[one] for one in functions)

    def _refuse_circle(self, names: list[str]) -> NoReturn:
        circle = " -> ".join(names if len(names) <= 10 else [*names[:5], "...", *names[-4:]])
        self._refuse(names[0], f"'{names[0]}' needs itself, which WGSL does not allow: {circle}.")

    def _refuse(self, name: str, message: str) -> NoReturn:
        declaration, names = self.declared[name]
        raise ShaderError(names.text.point(message, declaration.name_span.begin))
