"""Past one machine, on Dask: chunked arrays, the same program on every worker, training, parity.

It needs the extra ``dask``: ``pip install 'wgsl-kernels[dask]'``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wgsl_kernels.dask.farm import parity as parity
    from wgsl_kernels.dask.group import PeerLost as PeerLost
    from wgsl_kernels.dask.group import WorkerGroup as WorkerGroup
    from wgsl_kernels.dask.group import run_on_workers as run_on_workers
    from wgsl_kernels.dask.training import FitResult as FitResult
    from wgsl_kernels.dask.training import fit as fit
    from wgsl_kernels.dask.workers import WorkerSetup as WorkerSetup

__all__ = [
    "FitResult",
    "PeerLost",
    "WorkerGroup",
    "WorkerSetup",
    "fit",
    "parity",
    "run_on_workers",
]
_HOMES = {
    "FitResult": "training",
    "PeerLost": "group",
    "WorkerGroup": "group",
    "WorkerSetup": "workers",
    "fit": "training",
    "parity": "farm",
    "run_on_workers": "group",
}


def __getattr__(name: str) -> Any:
    """Load a name from its module: Dask's chunks need no scheduler."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
