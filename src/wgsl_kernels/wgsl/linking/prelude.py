"""Names that somebody else declares: modules may use them, and the link leaves them alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.linking.project import ModulePath


@dataclass(frozen=True, slots=True)
class Prelude:
    """What is in scope without an import, behind all that a module declares or imports itself.

    Attributes:
        names: The names.
        modules: The modules that may use them, None for all.
        aliases: The types that some of the names stand for, as far as they are known.
    """

    names: frozenset[str] = frozenset()
    modules: frozenset[ModulePath] | None = None
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def names_in(self, module: ModulePath) -> frozenset[str]:
        """Return the names that ``module`` may use."""
        return self.names if self.modules is None or module in self.modules else frozenset()

    def has(self, name: str, module: ModulePath) -> bool:
        """Say whether ``module`` may use ``name``."""
        return name in self.names_in(module)

    def keeps(self, name: str) -> bool:
        """Say whether nothing that is linked beside the root may be called ``name``."""
        return name in self.names


NO_PRELUDE = Prelude()
