"""Coverage: what is registered for each kernel name, and what runs elsewhere than asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.drivers.fallbacks import fallbacks
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.environment.tables import html_table
from wgsl_kernels.engine.registry.gradients import find_rule
from wgsl_kernels.engine.registry.registry import backends_of, get_kernel, kernel_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.values.dtypes import DType


@dataclass(frozen=True)
class CoverageRow:
    """What is registered under one kernel name.

    Attributes:
        name: The kernel's name.
        backends: The backends that have it, in alphabetical order; none where it is missing.
        dtypes: By backend, the dtypes that it takes, in alphabetical order; None for any, none
            where its shader cannot be read.
        has_gradient: Whether a gradient rule is registered.
        origin: The module and line that registered the first of its kernels; None where it is
            missing.
        fallbacks: By backend, how often the kernel ran on the CPU instead.
    """

    name: str
    backends: tuple[str, ...]
    dtypes: Mapping[str, tuple[DType, ...] | None]
    has_gradient: bool
    origin: Origin | None
    fallbacks: Mapping[str, int]


class Coverage(list[CoverageRow]):
    """The rows that `coverage` returns; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        rows = [
            (
                one.name,
                *(_dtypes_shown(one, backend) for backend in ("cpu", "webgpu")),
                "yes" if one.has_gradient else "",
                one.origin or "missing",
                sum(one.fallbacks.values()) or "",
            )
            for one in self
        ]
        head = ("kernel", "cpu", "webgpu", "gradient", "registered by", "ran on cpu instead")
        return html_table(head, rows, f"{len(self)} kernels")


def _dtypes_shown(row: CoverageRow, backend: str) -> str:
    if backend not in row.backends:
        return ""
    found = row.dtypes.get(backend)
    return "any" if found is None else ", ".join(found) or "cannot be read"


_expected: set[str] = set()


def expect_kernels(names: Iterable[str]) -> None:
    """Have `coverage` show these kernels also where no backend has them."""
    _expected.update(names)


def coverage() -> Coverage:
    """Return a row per kernel name, in alphabetical order; starts no backend.

    A kernel of TensorFlow.js that is missing has a row, too, whose ``backends`` are empty.
    """
    return Coverage(_row(name) for name in sorted({*kernel_names(), *_expected}))


def _row(name: str) -> CoverageRow:
    found = [get_kernel(name, backend) for backend in backends_of(name)]
    kernels = [kernel for kernel in found if kernel is not None]
    rule = find_rule(name)
    return CoverageRow(
        name=name,
        backends=tuple(kernel.backend for kernel in kernels),
        dtypes={kernel.backend: _dtypes_of(kernel) for kernel in kernels},
        has_gradient=rule is not None and rule.func is not None,
        origin=kernels[0].origin if kernels else None,
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
