"""Which adapters this machine has, and which one is used and why."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.devices.declarations import import_wgpu
from wgsl_kernels.backends.webgpu.devices.uninterrupted import in_thread
from wgsl_kernels.engine.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

MOST_IMMEDIATES = 256
"""Bytes of parameters that travel with a dispatch; Vulkan promises 128, many devices have 256."""
SHARING = 8
"""Invocations of the workgroups whose lanes share what they load."""

ADAPTER_VARIABLE = "WGSL_KERNELS_ADAPTER"
LIMITS_VARIABLE = "WGSL_KERNELS_LIMITS"

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
_TYPE_ORDER = ("DiscreteGPU", "IntegratedGPU", "VirtualGPU", "Unknown", "CPU")
_BACKEND_ORDER = ("Vulkan", "Metal", "D3D12", "D3D11", "OpenGLES", "OpenGL")


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
    def shares_lanes(self) -> bool:
        """Whether eight invocations are lanes of one vector register and can broadcast."""
        return self.lanes >= SHARING and "subgroup" in self.features

    @property
    def has_small_pages(self) -> bool:
        """Whether memory is the host's, in pages of 4 KiB: Mesa's software adapters before 25."""
        mesa = re.search(r"\bMesa (\d+)\.", self.driver)
        return self.is_software and mesa is not None and int(mesa[1]) < 25


@dataclass(frozen=True)
class Choice:
    """The adapter in use, and in words why it was taken."""

    info: AdapterInfo
    why: str
    adapter: Any


def list_adapters() -> list[AdapterInfo]:
    """Return every adapter of this machine, in the driver's order."""
    return [info for info, _ in _enumerate()]


def choose_adapter() -> Choice | None:
    """Return the adapter to use, or ``None`` where the machine has none.

    The environment variable WGSL_KERNELS_ADAPTER names it by index or by a part of its name,
    backend, type, vendor or driver. Without it: a real GPU before a software one, discrete before
    integrated, and Vulkan, Metal or Direct3D before OpenGL.

    Raises:
        ArgumentError: The variable matches no adapter.
    """
    found = _enumerate()
    if not found:
        return None
    wanted = os.environ.get(ADAPTER_VARIABLE, "").strip()
    matching = [pair for pair in found if _matches(pair[0], wanted)]
    if not matching:
        known = "\n".join(f"  {info.summary}" for info, _ in found)
        raise ArgumentError(
            f"{ADAPTER_VARIABLE}: {wanted!r} is no index and no part of a name among the adapters "
            f"of this machine:\n{known}"
        )
    info, adapter = min(matching, key=lambda pair: _rank(pair[0]))
    if wanted:
        why = f"{ADAPTER_VARIABLE}={wanted} asks for it"
    elif len(found) == 1:
        why = "the only adapter"
    else:
        why = f"the best of {len(found)} adapters"
    return Choice(info, why, adapter)


def limits_to_request(info: AdapterInfo) -> dict[str, int]:
    """Return the limits to ask a device for: the adapter's, or WebGPU's defaults if so configured.

    wgpu fills every limit that is not named from the adapter, so the defaults are asked by name.
    """
    wanted = os.environ.get(LIMITS_VARIABLE, "adapter")
    if wanted == "adapter":
        return {}
    if wanted != "default":
        raise ArgumentError(
            f"{LIMITS_VARIABLE}: {wanted!r} is unknown; want 'adapter' or 'default'."
        )
    limits: dict[str, int] = {}
    for name, value in DEFAULT_LIMITS.items():
        own = info.limits.get(name, value)
        limits[name] = max(value, own) if name.startswith("min-") else min(value, own)
    return limits


def immediate_bytes(info: AdapterInfo, limits: Mapping[str, int], features: Collection[str]) -> int:
    """Return how many bytes of parameters a dispatch can bring along to a device.

    None on OpenGL, which has no such thing: what wgpu does there instead gave kernels wrong values
    and ended processes (wgpu-native 29.0.1 on Mesa's llvmpipe).
    """
    if "immediates" not in features or info.backend.startswith("OpenGL"):
        return 0
    return min(limits.get("max-immediate-size", 0), MOST_IMMEDIATES)


def default_memory_limit(info: AdapterInfo) -> int | None:
    """Return half of the machine's memory, in bytes, for a software adapter; None for a GPU.

    WebGPU has no query for free memory.
    """
    if not info.is_software or not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def request_device(choice: Choice, features: Sequence[str]) -> Any:
    """Return a device of the adapter with those of the features that it has."""
    present = [name for name in features if name in choice.info.features]
    limits = limits_to_request(choice.info)

    def request() -> Any:
        return choice.adapter.request_device_sync(required_features=present, required_limits=limits)

    return in_thread(request)


def _enumerate() -> list[tuple[AdapterInfo, Any]]:
    with _runtime_folder():
        adapters = in_thread(import_wgpu().gpu.enumerate_adapters_sync)
    return [(_describe(index, adapter), adapter) for index, adapter in enumerate(adapters)]


def _describe(index: int, adapter: Any) -> AdapterInfo:
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


def _matches(info: AdapterInfo, wanted: str) -> bool:
    if wanted.isdigit():
        return info.index == int(wanted)
    known = (info.name, info.backend, info.type, info.vendor, info.driver)
    return any(wanted.lower() in text.lower() for text in known)


def _rank(info: AdapterInfo) -> tuple[bool, int, int, int]:
    kind = (
        _TYPE_ORDER.index(info.type) if info.type in _TYPE_ORDER else _TYPE_ORDER.index("Unknown")
    )
    known = info.backend in _BACKEND_ORDER
    backend = _BACKEND_ORDER.index(info.backend) if known else len(_BACKEND_ORDER)
    return info.is_software, kind, backend, info.index


@contextmanager
def _runtime_folder() -> Generator[None]:
    # Mesa's EGL prints an error per adapter where this variable is missing, as in containers.
    if not sys.platform.startswith("linux") or "XDG_RUNTIME_DIR" in os.environ:
        yield
        return
    os.environ["XDG_RUNTIME_DIR"] = tempfile.gettempdir()
    try:
        yield
    finally:
        del os.environ["XDG_RUNTIME_DIR"]
