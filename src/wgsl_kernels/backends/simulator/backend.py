"""The backend ``simulator``: that of WebGPU, opened on a device of NumPy words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.simulator.gpu import CALLS, NumpyAdapter
from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS, AdapterInfo
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice, choose_adapter
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "WGSL_KERNELS_SIMULATE"


class SimulatorBackend(WebGpuBackend):
    """Runs the programs of the WebGPU backend without a GPU."""

    name = "simulator"
    counts_host_values = False
    choices = None  # type: ignore[assignment]  # what it measures is nobody's to keep

    def new_device(self, memory_limit: Callable[[], int | None]) -> Device:
        """Return a device of the simulated adapter."""
        return Device(simulated_choice(), memory_limit, CALLS)


def simulated_choice() -> AdapterChoice:
    """Return what is simulated: this machine's adapter, or what all conforming ones have.

    The environment variable WGSL_KERNELS_SIMULATE changes it: ``default`` for WebGPU's default
    limits and subgroups of 32, ``subgroup-size=8`` for subgroups of 8, and limits as WebGPU names
    them, ``max-compute-workgroup-storage-size=16384``, separated by commas.

    Raises:
        ArgumentError: The variable says anything else.
    """
    wanted = _wanted()
    choice = None if "default" in wanted else _own_choice()
    info, why = _DEFAULT, "no adapter is asked"
    if choice is not None:
        info, why = choice.info, f"simulates {choice.info.name}"
    limits = {name: int(value) for name, value in wanted.items() if name in info.limits}
    lanes = int(wanted.get("subgroup-size", info.lanes))
    described: dict[str, Any] = {**vars(info), "limits": {**info.limits, **limits}, "lanes": lanes}
    adapter = NumpyAdapter(AdapterInfo(**described))
    return AdapterChoice(adapter.info, why, adapter)


def _wanted() -> dict[str, str]:
    """Return what the variable says.

    Raises:
        ArgumentError: It is not understood.
    """
    found: dict[str, str] = {}
    for one in filter(None, os.environ.get(VARIABLE, "").replace(" ", "").split(",")):
        name, equals, value = one.partition("=")
        is_known = name == "subgroup-size" or name in DEFAULT_LIMITS
        if (name, equals) != ("default", "") and not (is_known and value.isdigit() and int(value)):
            raise ArgumentError(
                f"{VARIABLE}: {one!r} is not understood; want 'default', 'subgroup-size=32', or a "
                "limit as 'max-buffer-size=268435456', separated by commas."
            )
        found[name] = value
    return found


def _own_choice() -> AdapterChoice | None:
    try:
        return choose_adapter()
    except (ImportError, OSError, RuntimeError):  # no GPU library can load here
        return None


_DEFAULT = AdapterInfo(
    index=0,
    name="simulated adapter",
    vendor="",
    driver="",
    backend="NumPy",
    type="CPU",
    limits=DEFAULT_LIMITS,
    features=frozenset({"shader-f16", "subgroup"}),
    is_software=True,
    lanes=32,
)
