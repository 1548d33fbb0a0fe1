"""Which of a machine's adapters is taken where the user names none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo

TYPE_ORDER = ("DiscreteGPU", "IntegratedGPU", "VirtualGPU", "Unknown", "CPU")
BACKEND_ORDER = ("Vulkan", "Metal", "D3D12", "D3D11", "OpenGLES", "OpenGL")


def preference(info: AdapterInfo) -> tuple[bool, int, int, int]:
    """Return by what the adapters of a machine are ordered; the least one is taken.

    A real GPU comes before a software one, discrete before integrated, and Vulkan, Metal or
    Direct3D before OpenGL, where parameters cannot travel with a dispatch.
    """
    kind = info.type if info.type in TYPE_ORDER else "Unknown"
    known = info.backend in BACKEND_ORDER
    backend = BACKEND_ORDER.index(info.backend) if known else len(BACKEND_ORDER)
    return info.is_software, TYPE_ORDER.index(kind), backend, info.index
