"""What is known of an adapter, as its driver describes it. No rule is here: see `policy`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# WebGPU's defaults: what every conforming device has. https://gpuweb.github.io/gpuweb/#limits
DEFAULT_LIMITS = {
    "max-bind-groups": 4,
    "max-bindings-per-bind-group": 1000,
    "max-buffer-size": 256 << 20,
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
    "max-compute-workgroup-size-y": 256,
    "max-compute-workgroup-size-z": 64,
    "max-compute-workgroup-storage-size": 16384,
    "max-compute-workgroups-per-dimension": 65535,
    "max-dynamic-storage-buffers-per-pipeline-layout": 4,
    "max-dynamic-uniform-buffers-per-pipeline-layout": 8,
    "max-immediate-size": 64,
    "max-storage-buffer-binding-size": 128 << 20,
    "max-storage-buffers-per-shader-stage": 8,
    "max-uniform-buffer-binding-size": 64 << 10,
    "max-uniform-buffers-per-shader-stage": 12,
    "min-storage-buffer-offset-alignment": 256,
    "min-uniform-buffer-offset-alignment": 256,
}

_SOFTWARE_NAMES = ("llvmpipe", "lavapipe", "swiftshader", "softpipe", "basic render")


@dataclass(frozen=True)
class AdapterInfo:
    """One adapter as the driver describes it.

    ``lanes`` are the invocations of a subgroup, 0 where that is unknown.
    """

    index: int
    name: str
    vendor: str
    driver: str
    backend: str
    type: str
    limits: Mapping[str, int]
    features: frozenset[str]
    is_software: bool
    lanes: int = 0

    @property
    def summary(self) -> str:
        """Index, name, type and backend on one line."""
        return f"{self.index}: {self.name} ({self.type}, {self.backend})"

    @property
    def mesa_version(self) -> int | None:
        """The major version of a driver of Mesa; None for others."""
        found = re.search(r"\bMesa (\d+)\.", self.driver)
        return None if found is None else int(found[1])


def described(index: int, adapter: Any) -> AdapterInfo:
    """Return what wgpu-py's ``adapter``, number ``index`` of this machine, tells of itself."""
    info = adapter.info
    name = info["device"] or info["description"] or "unnamed"
    kind = info["adapter_type"]
    software = kind == "CPU" or any(word in name.lower() for word in _SOFTWARE_NAMES)
    return AdapterInfo(
        index=index,
        name=name,
        vendor=info["vendor"],
        driver=info["description"],
        backend=info["backend_type"],
        type=kind,
        limits=dict(adapter.limits),
        features=frozenset(adapter.features),
        is_software=software,
        lanes=_lanes(name),
    )


def _lanes(name: str) -> int:
    """Return a subgroup's size on Mesa's llvmpipe, whose name tells its vector registers' bits."""
    bits = re.fullmatch(r"llvmpipe \(.*\b(\d+) bits\)", name)
    return int(bits[1]) // 32 if bits else 0
