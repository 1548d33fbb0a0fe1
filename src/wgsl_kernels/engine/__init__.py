"""Tensors, registries, signatures, the tape: everything that knows no backend.

The package can be called: ``wk.engine()`` is the engine of this process, see
`engine.observe.facade.Engine`.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wgsl_kernels.engine.observe.facade import Engine


class CalledModule(ModuleType):
    """A module that is a function too; that pickles by its name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


class _EnginePackage(CalledModule):
    def __call__(self) -> "Engine":
        """Return the engine of this process."""
        from wgsl_kernels.engine.observe.facade import engine

        return engine()


sys.modules[__name__].__class__ = _EnginePackage
