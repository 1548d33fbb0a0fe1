"""Kernels of which the CPU's version gives the same bits as the device's, for regular numbers.

A backend whose arrays may still be on the host runs these there, where they are tiny. What makes
the results equal on every adapter: integers and bools are computed as WGSL defines them, float32
sums, differences and products are rounded once (to nearest, as on all hardware known to us), and
all else only compares, chooses or moves numbers. Kernels that WGSL's accuracy table leaves some
room are not among them: quotients, roots, powers and all that is made of these; nor are sums of
floats, whose order differs, and float16, which NumPy rounds twice. What else WGSL leaves open is
kept away: NaN and infinity, subnormals, which may be flushed, and -0, whose sign may be ignored;
see `is_regular`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.registry.registry import Kernel, get_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array

_SMALLEST = 2.0**-126
_LARGEST = (2.0 - 2.0**-23) * 2.0**127


@dataclass(frozen=True, slots=True)
class Exact:
    """What was declared of one kernel.

    Attributes:
        device: The kernel on ``webgpu`` for which it holds.
        host: The one on ``cpu`` that gives the same bits.
        dtypes: What its inputs and outputs may be.
        reads: Whether the values of its inputs matter, not their shapes alone.
        moves: Whether it is free on the device, so that what is there already stays there.
    """

    device: Kernel
    host: Kernel
    dtypes: frozenset[DType]
    reads: bool
    moves: bool


_declared: dict[str, Exact] = {}


def declare_exact(
    names: Iterable[str], dtypes: Iterable[DType], *, reads: bool = True, moves: bool = False
) -> None:
    """Declare it of kernels as they are registered now; a replaced one has to do it anew."""
    for name in names:
        device, host = get_kernel(name, "webgpu"), get_kernel(name, "cpu")
        assert device is not None, f"{name} has no kernel on webgpu"
        assert host is not None, f"{name} has no kernel on cpu"
        _declared[name] = Exact(device, host, frozenset(dtypes), reads, moves)


def exact_for(device: Kernel) -> Exact | None:
    """Return what holds of this kernel, if both it and its CPU version are still the declared."""
    found = _declared.get(device.name)
    if found is None or found.device is not device:
        return None
    return found if get_kernel(device.name, "cpu") is found.host else None


def is_regular(values: Array) -> bool:
    """Say whether every device sees these numbers alike: whole, or +0 or normal in float32.

    The smallest normal number is left out: a product may be flushed before it is rounded to it.
    """
    if values.dtype.kind in "iub":
        return True
    for one in values.ravel().tolist():
        if not _SMALLEST < abs(one) <= _LARGEST and (one != 0 or math.copysign(1.0, one) < 0):
            return False
    return True
