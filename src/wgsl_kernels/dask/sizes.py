"""How large a tensor is to Dask, which is asked as soon as a task has given one."""

from __future__ import annotations

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.dask.tables import register_tables


def register_tensors(sizeof: Any) -> None:
    """Make tensors chunks whose size Dask knows, and which are computed when it asks."""
    sizeof.register(wk.Tensor, _evaluated_bytes)
    register_tables()


def _evaluated_bytes(tensor: wk.Tensor) -> int:
    """Return the bytes of a tensor, having waited for its values.

    Dask asks in the task's own thread: the work of a task is done in it, its errors come from it,
    and no other thread waits for it later.
    """
    wk.evaluate(tensor)
    wk.synchronize()
    return tensor.nbytes
