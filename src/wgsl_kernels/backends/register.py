"""Registers the backends that ship with the package, and says which is chosen when."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.declare.kernel import add_deriver, add_form
from wgsl_kernels.engine.drivers.backends import register_backend
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.cpu.backend import CpuBackend
    from wgsl_kernels.backends.simulator.backend import SimulatorBackend
    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.engine.registry.registry import Kernel

REAL_GPU, CPU, SOFTWARE = 20, 10, 0
"""Priorities: a real GPU, then the CPU, then a software adapter."""


def _cpu() -> CpuBackend:
    from wgsl_kernels.backends.cpu.backend import CpuBackend

    return CpuBackend()


def _webgpu() -> WebGpuBackend:
    from wgsl_kernels.backends.webgpu.devices.adapters import begin_listing

    begin_listing()  # drivers load while the backend is imported
    from wgsl_kernels.backends.cpu.backend import keep_freed_memory
    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend

    keep_freed_memory()  # what is read from the device, and written to it, is on the host too
    return WebGpuBackend()


def _simulator() -> SimulatorBackend:
    from wgsl_kernels.backends.simulator.backend import SimulatorBackend

    return SimulatorBackend()


def _never() -> None:
    """Never choose it automatically."""


def _webgpu_priority() -> int | None:
    try:
        from wgsl_kernels.backends.webgpu.adapter.policy import policy_of
        from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

        choice = choose_adapter()
    except ArgumentError as error:  # WGSL_KERNELS_ADAPTER names none: who asks for webgpu is told
        warnings.warn(f"{error}\nwebgpu is left out of the choice.", RuntimeWarning, stacklevel=2)
        return None
    except (ImportError, OSError, RuntimeError):  # no GPU library can load here
        return None
    if choice is None:
        return None
    return REAL_GPU if policy_of(choice.info).is_preferred_to_cpu else SOFTWARE


def _product(*given: Any) -> Kernel:
    from wgsl_kernels.backends.webgpu.products.form import product_kernel

    return product_kernel(*given)


def _derive_gradient(kernel: Kernel) -> Callable[[bool], None]:
    from wgsl_kernels.backends.derived.gradients import derive_gradient

    return derive_gradient(kernel.func)


def _derive_cpu(kernel: Kernel) -> Callable[[bool], None]:
    from wgsl_kernels.backends.derived.twins import derive_cpu

    return derive_cpu(kernel.func, kernel.dtypes)


def _derive_product_gradient(kernel: Kernel) -> Callable[[bool], None]:
    from wgsl_kernels.backends.derived.products import derive_product_gradient

    return derive_product_gradient(kernel.func)


def _derive_product_cpu(kernel: Kernel) -> Callable[[bool], None]:
    from wgsl_kernels.backends.derived.products import derive_product_cpu

    return derive_product_cpu(kernel.func)


def register_own() -> None:
    """Register ``cpu``, ``webgpu`` and ``simulator``; nothing is started."""
    add_form("product", _product)
    add_deriver("gradient", _derive_gradient)
    add_deriver("cpu", _derive_cpu)
    add_deriver("product gradient", _derive_product_gradient)
    add_deriver("product cpu", _derive_product_cpu)
    register_backend("cpu", _cpu, CPU)
    register_backend("webgpu", _webgpu, _webgpu_priority)
    register_backend("simulator", _simulator, _never, kernels_of="webgpu")
