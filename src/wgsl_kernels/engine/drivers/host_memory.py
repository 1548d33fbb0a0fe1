"""Whether there is room for values, asked before the host makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import active_driver
from wgsl_kernels.engine.drivers.memory import memory
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import OutOfMemoryError
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape


def check_room(shape: Shape, dtype: DType) -> None:
    """Ask the active backend for its limit, before the host makes values for it.

    Raises:
        OutOfMemoryError: It may not hold so much.
    """
    driver = active_driver()
    limited = abilities_of(driver).limited
    if limited is not None and limited.supports(dtype):
        limited.check_size(Spec(shape, dtype))


def too_large(*specs: Spec) -> OutOfMemoryError:
    """Return the error for values that the host cannot hold; for none where they are not known."""
    asked = ", ".join(f"{one.nbytes} bytes ({show(one.shape)} {one.dtype})" for one in specs)
    return OutOfMemoryError(
        f"asked for {asked or 'more memory than there is'}.\n"
        f"The backends hold {memory().num_bytes} bytes, and the host has no room for these; "
        f"config.memory_limit is {config.memory_limit!r}."
    )
