"""What one file of a WESL project holds: WGSL, imports, conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.syntax import tree
    from wgsl_kernels.wgsl.syntax.places import Span

SEPARATOR = "::"
WILDCARD = "*"
WESL_KEYWORDS = frozenset({"as", "import", "package", "public", "self", "super"})
"""Words that no segment of a path may be, but for what they are there for."""


UNSUPPORTED_WILDCARD = "unsupported_wildcard"
CROSS_PACKAGE_WILDCARD = "cross_package_wildcard"
DIAGNOSTICS = frozenset(
    {UNSUPPORTED_WILDCARD, CROSS_PACKAGE_WILDCARD, "wildcard_shadow", "builtin_shadow"}
)
"""What a linker reports and no compiler knows; the last two are warnings, which we do not give."""


@dataclass(frozen=True, slots=True)
class Import:
    """One name that an import statement binds, with collections written out.

    Attributes:
        path: The segments as written, ``super`` and ``package`` included; the last one is
            ``WILDCARD`` where all names of a module are imported.
        name: What the last segment is called here.
        begin: Where the last segment stands.
        statement: Where the statement begins, which a condition may decorate.
        is_public: Whether others may import the name from here.
        off: The diagnostics that an attribute of the statement turns off.
    """

    path: tuple[str, ...]
    name: str
    begin: int
    statement: int
    is_public: bool
    off: frozenset[str]


@dataclass(frozen=True, slots=True)
class Guard:
    """When an element stays: ``condition`` is true and none before it in its chain is.

    ``condition`` is None for ``@else``; ``before`` is the ``@if`` or ``@elif`` before, of an
    ``@if`` None.
    """

    condition: tree.Expression | None
    before: Guard | None = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file as it is written, all branches of its conditions included.

    Attributes:
        module: What is WGSL in it. A name may be a path, ``a::b``.
        imports: What it imports, in the order of the text.
        guards: The conditions, by where the element behind the attribute begins.
        private: Where the declarations begin that no other module may use.
        conditions: The names that the conditions mention.
        is_wildcardable: Whether other packages may import all of its names at once.
        extra: What is not WGSL, conditions and paths aside: imports, visibility, attributes of
            the module.
    """

    module: tree.Module
    imports: tuple[Import, ...]
    guards: Mapping[int, Guard] = field(hash=False)
    private: frozenset[int]
    conditions: frozenset[str]
    is_wildcardable: bool
    extra: tuple[Span, ...]
