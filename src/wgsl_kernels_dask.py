"""What Dask finds in every process: it imports the library where the first tensor is a result."""

from __future__ import annotations

from typing import Any


def register_sizeof(sizeof: Any) -> None:
    """Have Dask ask us for the size of the first tensor that it meets, and not import us before."""

    def register() -> None:
        from wgsl_kernels.dask.sizes import register_tensors

        register_tensors(sizeof)

    sizeof.register_lazy("wgsl_kernels", register)
