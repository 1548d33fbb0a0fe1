"""What the CPU backend may hold, and the words for an allocation that is beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import OutOfMemoryError
from wgsl_kernels.engine.environment.machine import HALF_OF_MEMORY
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.spec import Spec

NEGLIGIBLE = 1 << 20
"""Bytes below which nothing is checked, so that small ops stay quick."""

ADDRESSABLE = 1 << 62
"""Bytes beyond which no machine has memory, whatever the limit."""


def check_allocation(spec: Spec, held: int) -> None:
    """Refuse an array that would take the backend over ``config.memory_limit``.

    Raises:
        OutOfMemoryError: It would.
    """
    if spec.nbytes < NEGLIGIBLE and held < NEGLIGIBLE:
        return
    limit = config.memory_limit
    allowed = HALF_OF_MEMORY if limit == "auto" else limit
    if isinstance(allowed, int) and held + spec.nbytes > allowed:
        raise memory_error([spec], held, allowed)
    if spec.nbytes > ADDRESSABLE:  # of which NumPy says that it is a wrong value
        raise memory_error([spec], held)


def memory_error(
    specs: Sequence[Spec] | None, held: int, allowed: int | None = None
) -> OutOfMemoryError:
    """Return the error for arrays that cannot be had."""
    asked = ", ".join(
        f"{spec.nbytes} bytes ({show(spec.shape)} {spec.dtype})" for spec in specs or ()
    )
    limit = "no limit is set" if allowed is None else f"{allowed} bytes are allowed"
    return OutOfMemoryError(
        f"asked for {asked or 'more memory than there is'}.\n"
        f"Backend 'cpu' holds {held} bytes; {limit} (config.memory_limit)."
    )
