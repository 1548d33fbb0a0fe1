"""A device on which texts run that are lowered as for any browser: the mode ``portable``.

It is this machine's adapter with WebGPU's default limits, none of its features but those that an
export may ask for, and the rules for a GPU of which nothing is known, as `wgsl_kernels.web` lowers
programs. Only what the driver wants while shaders run, which changes no text, is the adapter's own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.adapter.facts import DEFAULT_LIMITS
from wgsl_kernels.backends.webgpu.adapter.policy import Policy
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.web.export import FEATURES

if TYPE_CHECKING:
    from collections.abc import Callable


class UnknownGpu(Policy):
    """The rules for a GPU of which nothing is known, on a driver that is software."""

    @property
    def dispatch_timeout(self) -> float | None:
        """None: a software adapter takes its time."""
        return None

    @property
    def finishes_before_exit(self) -> bool:
        """True: its driver runs shaders in threads of this process."""
        return True


_POLICY = UnknownGpu(False)


def _new_device(self: WebGpuBackend, memory_limit: Callable[[], int | None]) -> Device:
    choice = choose_adapter()
    if choice is None:
        return Device(memory_limit=memory_limit)  # which says so
    features = choice.info.features.intersection(FEATURES)
    info = replace(choice.info, limits=DEFAULT_LIMITS, features=features)
    device = Device(replace(choice, info=info), memory_limit)
    device.policy = _POLICY
    return device


def lower_for_any_browser() -> None:
    """Have the backend ``webgpu`` of this process open such devices."""
    WebGpuBackend.new_device = _new_device  # type: ignore[method-assign]  # in place of its own
