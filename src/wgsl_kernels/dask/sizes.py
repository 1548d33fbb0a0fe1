"""How large a tensor is to Dask, which is asked as soon as a task has given one."""

from __future__ import annotations

import sys
from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.dask.tables import register_tables


def register_tensors(sizeof: Any) -> None:
    """Make tensors chunks whose size Dask knows, and which are computed when it asks."""
    sizeof.register(wk.Tensor, _evaluated_bytes)
    register_tables()
    worker: Any = sys.modules.get("distributed.worker")
    if worker is not None and worker.sizeof.__module__ != __name__:
        worker.sizeof = _raising(sizeof, worker.sizeof)


def _evaluated_bytes(tensor: wk.Tensor) -> int:
    """Return the bytes of a tensor, having waited for its values.

    Dask asks in the task's own thread: the work of a task is done in it, and no other thread waits
    for it later. A tensor whose work has failed is disposed, so that nobody reads it.
    """
    try:
        wk.evaluate(tensor)
        wk.synchronize()
    except BaseException:
        tensor.dispose()
        raise
    return tensor.nbytes


def _raising(sizeof: Any, safe_sizeof: Any) -> Any:
    """Return what a worker calls for the size of a result: errors of ours are the task's.

    Its own function logs them and goes on, after which the next task would have no error to meet.
    """

    def size_of_result(result: Any) -> Any:
        try:
            return sizeof(result)
        except wk.WgslKernelsError:
            raise
        except Exception:  # of other classes, as before
            return safe_sizeof(result)

    return size_of_result
