"""Coverage: what is registered for each kernel name, and what runs elsewhere than asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.errors import ShaderError
from wgsl_kernels.engine.gradients import find_rule
from wgsl_kernels.engine.plans import fallbacks
from wgsl_kernels.engine.registry import backends_of, get_kernel, kernel_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.origin import Origin
    from wgsl_kernels.engine.registry import Kernel


@dataclass(frozen=True)
class CoverageRow:
    """What is registered under one kernel name.

    Attributes:
        name: The kernel's name.
        backends: The backends that have it, in alphabetical order.
        dtypes: By backend, the dtypes that it takes, in alphabetical order; None for any, none
            where its shader cannot be read.
        has_gradient: Whether a gradient rule is registered.
        origin: The module and line that registered the first of its kernels.
        fallbacks: By backend, how often the kernel ran on the CPU instead.
    """

    name: str
    backends: tuple[str, ...]
    dtypes: Mapping[str, tuple[DType, ...] | None]
    has_gradient: bool
    origin: Origin
    fallbacks: Mapping[str, int]


def coverage() -> list[CoverageRow]:
    """Return a row per kernel name, in alphabetical order; starts no backend."""
    return [_row(name) for name in kernel_names()]


def _row(name: str) -> CoverageRow:
    found = [get_kernel(name, backend) for backend in backends_of(name)]
    kernels = [kernel for kernel in found if kernel is not None]
    rule = find_rule(name)
    return CoverageRow(
        name=name,
        backends=tuple(kernel.backend for kernel in kernels),
        dtypes={kernel.backend: _dtypes_of(kernel) for kernel in kernels},
        has_gradient=rule is not None and rule.func is not None,
        origin=kernels[0].origin,
        fallbacks={
            backend: count for (kernel, backend), count in fallbacks.items() if kernel == name
        },
    )


def _dtypes_of(kernel: Kernel) -> tuple[DType, ...] | None:
    try:
        served = kernel.served
    except ShaderError:  # a file is missing or cannot be read: the first run says so
        return ()
    return None if served is None else tuple(sorted(served))
