"""The names that a template's modules leave to the composer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.linking.prelude import Prelude

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.wgsl.linking.project import ModulePath

_NAME = re.compile(
    r"T|T_\w+|attrs|\w+_rank|has_\w+|load4?_\w+|store4?_\w+|[Cc]oords_\w+|report_index\w*|hold|wk_\w+"
)


class _ComposersNames(frozenset[str]):
    """All names that the composer may declare; which tensors there are is not known yet."""

    def __contains__(self, name: object) -> bool:
        """Say whether ``name`` may be one of them."""
        return isinstance(name, str) and _NAME.fullmatch(name) is not None


class _ComposersPrelude(Prelude):
    """What the composer declares for the tensors of a kernel."""

    def names_in(self, module: ModulePath) -> frozenset[str]:
        """Return the names that ``module`` may use: all of them."""
        return _ComposersNames()


PRELUDE = _ComposersPrelude()
