"""The backends that ship with the package.

The package can be called: ``wk.backends()`` is the list of the backends that are registered.
"""

import sys

from wgsl_kernels.engine import CalledModule


class _BackendsPackage(CalledModule):
    def __call__(self) -> list[str]:
        """Return the names of the registered backends, in order of registration."""
        from wgsl_kernels.engine.drivers.backends import backends

        return backends()


sys.modules[__name__].__class__ = _BackendsPackage
