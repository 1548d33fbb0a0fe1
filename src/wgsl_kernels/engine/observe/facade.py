"""The engine as an object: ``wk.engine()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.memory import Memory, memory
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.execution.run import run_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.execution.execute import Interceptor
    from wgsl_kernels.engine.tensors.tensor import Tensor


class Engine:
    """Runs kernels, and lets others watch them run. There is one: `engine`."""

    def run_kernel(
        self, name: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any] | None = None
    ) -> Tensor | Any:
        """Run a kernel by name; see `wgsl_kernels.engine.execution.run.run_kernel`.

        A checker takes the result for whatever the caller says it is: only the kernel's name tells
        a tensor from a tuple of them.
        """
        return run_kernel(name, inputs, attrs)

    def memory(self) -> Memory:
        """Return what is alive now."""
        return memory()

    def intercept(self, interceptor: Interceptor) -> context.ContextBlock:
        """Let ``interceptor(call, proceed)`` see every kernel run of the block in this thread.

        ``call`` has the kernel's ``name``, ``inputs`` and ``attrs``; ``proceed(call)`` runs it and
        returns what the kernel gives. What the interceptor returns is the result.
        """
        return context.intercepted(interceptor)


_engine = Engine()


def engine() -> Engine:
    """Return the engine of this process."""
    return _engine
