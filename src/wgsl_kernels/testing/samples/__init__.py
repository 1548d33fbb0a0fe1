"""Samples: facts about kernels from which suites are driven, a module per family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.execution.run import run_kernel

if TYPE_CHECKING:
    from collections.abc import Callable


def run_of(kernel: str, *names: str) -> Callable[..., Any]:
    """Return what runs a kernel that is called by no function, on inputs of these names."""

    def run(*inputs: Any, **attrs: Any) -> Any:
        return run_kernel(kernel, dict(zip(names, inputs, strict=True)), attrs)

    return run
