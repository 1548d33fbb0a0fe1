"""Which adapters this machine has, and which one is used and why."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS, described
from wgsl_kernels.backends.webgpu.adapter.policy import policy_of
from wgsl_kernels.backends.webgpu.adapter.preference import preference
from wgsl_kernels.backends.webgpu.devices import native, pairs
from wgsl_kernels.backends.webgpu.devices.threads import begin, in_thread
from wgsl_kernels.backends.webgpu.kept.declarations import import_wgpu
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Generator

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.backends.webgpu.devices.threads import ThreadCall

ADAPTER_VARIABLE = "WGSL_KERNELS_ADAPTER"
LIMITS_VARIABLE = "WGSL_KERNELS_LIMITS"
WANTED_FEATURES = ("immediates", "shader-f16", "subgroup", "timestamp-query")

_looking = threading.Lock()
_begun: list[ThreadCall[list[Any]]] = []
_found: list[tuple[AdapterInfo, Any]] = []
"""What this machine has, looked for once. To look takes the context of OpenGL, which its adapters
share, while each locks it for itself: where another thread computes, that ends the process
(wgpu-native 29.0.1, 2026-11-27)."""


@dataclass(frozen=True)
class AdapterChoice:
    """The adapter in use, and in words why it was taken."""

    info: AdapterInfo
    why: str
    adapter: Any


def list_adapters() -> list[AdapterInfo]:
    """Return every adapter of this machine, in the driver's order."""
    return [info for info, _ in _enumerate()]


def choose_adapter() -> AdapterChoice | None:
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
    info, adapter = min(matching, key=lambda pair: preference(pair[0]))
    if wanted:
        why = f"{ADAPTER_VARIABLE}={wanted} asks for it"
    elif len(found) == 1:
        why = "the only adapter"
    else:
        why = f"the best of {len(found)} adapters"
    return AdapterChoice(info, why, adapter)


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


def request_device(choice: AdapterChoice) -> Any:
    """Return a device of the adapter, with those of the features we want that it has."""
    policy, wanted = policy_of(choice.info), list(WANTED_FEATURES)
    wanted += [native.FEATURE] if policy.maps_memory else []
    wanted += [pairs.FEATURE] if policy.moves_pairs else []
    present = [name for name in wanted if name in choice.info.features]
    limits = limits_to_request(choice.info)

    def request() -> Any:
        return choice.adapter.request_device_sync(required_features=present, required_limits=limits)

    return in_thread(request)


def begin_listing() -> None:
    """Have a thread ask the drivers for adapters, which loads them, while Python goes on.

    Whoever wants the adapters next waits for it.
    """
    import_wgpu()
    with _looking:
        if not (_begun or _found):
            _begun.append(begin(_listed))


def forget_adapters() -> None:
    """Look for adapters again when they are next asked for: wgpu has another instance."""
    with _looking:
        _begun.clear()
        _found.clear()


def _enumerate() -> list[tuple[AdapterInfo, Any]]:
    with _looking:
        if not _found:
            import_wgpu()
            call = _begun[0] if _begun else begin(_listed)
            call.wait()
            _begun.clear()  # not sooner: an interrupt leaves it waited for
            _found.extend((described(n, one), one) for n, one in enumerate(call.take_result()))
        return [*_found]


def _listed() -> list[Any]:
    with _runtime_folder():
        found: list[Any] = import_wgpu().gpu.enumerate_adapters_sync()
    return found


def _matches(info: AdapterInfo, wanted: str) -> bool:
    if wanted.isdigit():
        return info.index == int(wanted)
    known = (info.name, info.backend, info.type, info.vendor, info.driver)
    return any(wanted.lower() in text.lower() for text in known)


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
