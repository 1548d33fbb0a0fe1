"""Tensors as chunks of ``dask.array``, which stay on the device."""

from __future__ import annotations

from typing import Any


def register_sizeof(sizeof: Any) -> None:
    """Have Dask evaluate a tensor when it asks how large one is.

    Dask asks in the task's own thread as soon as a result is there, so the work of a task is done
    in it, its errors come from it, and no other thread waits for it later.
    """

    def register_tensor() -> None:
        import wgsl_kernels as wk

        def sizeof_tensor(tensor: wk.Tensor) -> int:
            wk.evaluate(tensor)
            wk.synchronize()
            return tensor.nbytes

        sizeof.register(wk.Tensor, sizeof_tensor)

    sizeof.register_lazy("wgsl_kernels", register_tensor)
