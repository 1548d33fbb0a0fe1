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
from typing import TYPE_CHECKING

from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.engine.registry.signature import find_signature

if TYPE_CHECKING:
    from wgsl_kernels.engine.registry.facts import Exact
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.values.host import Array

_SMALLEST = 2.0**-126
_LARGEST = (2.0 - 2.0**-23) * 2.0**127


def exact_for(device: Kernel) -> tuple[Kernel, Exact] | None:
    """Return the kernel on ``cpu`` that gives the same bits as this one, and for what.

    None where there is none, and where one of the two is not the library's.
    """
    declared = find_signature(device.name)
    if declared is None or declared.exact is None or not device.origin.is_ours:
        return None
    host = get_kernel(device.name, "cpu")
    return (host, declared.exact) if host is not None and host.origin.is_ours else None


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
