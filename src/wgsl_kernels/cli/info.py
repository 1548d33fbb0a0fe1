"""What ``wgsl-kernels info`` shows: versions, every adapter, and the choice with its reason."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
from wgsl_kernels.backends.webgpu.devices.adapters import (
    AdapterChoice,
    choose_adapter,
    list_adapters,
)
from wgsl_kernels.testing.quirks import quirks_at_hand

PACKAGES = ("wgsl-kernels", "wgpu", "numpy")
# The limits that decide whether a kernel or a tensor fits, with their unit.
KEY_LIMITS = {
    "max-storage-buffer-binding-size": "bytes in one tensor",
    "max-buffer-size": "bytes in one buffer",
    "max-storage-buffers-per-shader-stage": "storage buffers in one dispatch",
    "max-compute-workgroup-storage-size": "bytes of workgroup memory",
    "max-compute-invocations-per-workgroup": "invocations in one workgroup",
    "max-compute-workgroups-per-dimension": "workgroups along one axis",
}
NO_ADAPTER = (
    "No WebGPU adapter was found, so the cpu backend is used. On Debian and Ubuntu the package "
    "mesa-vulkan-drivers brings a software adapter."
)
SOFTWARE = (
    "It is a software adapter, so the cpu backend comes before it where nothing is set; "
    'wk.set_backend("webgpu") uses it.'
)


def adapter_report() -> Group:
    """Return everything the command prints, adapters in the order of their index."""
    adapters = list_adapters()
    return Group(_versions(), *_adapters(adapters), _verdict(choose_adapter()), *_quirks())


def adapter_facts() -> dict[str, Any]:
    """Return what the command prints, in plain Python."""
    choice = choose_adapter()
    quirks = [{"since": one.since, "what": one.what, "link": one.link} for one in quirks_at_hand()]
    return {
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "adapters": [
            {**asdict(one), "limits": dict(one.limits), "features": sorted(one.features)}
            for one in list_adapters()
        ],
        "chosen": None if choice is None else {"index": choice.info.index, "why": choice.why},
        "quirks": quirks,
    }


def _versions() -> Text:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return Text(f"{packages}, Python {platform.python_version()}\n")


def _adapters(adapters: Sequence[AdapterInfo]) -> Iterator[RenderableType]:
    for adapter in adapters:
        yield Text(f"[{adapter.index}] {adapter.name}", style="bold")
        yield _facts(adapter)


def _facts(adapter: AdapterInfo) -> Table:
    table = Table(box=None, show_header=False, pad_edge=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    kind = f"{adapter.type}, software" if adapter.is_software else adapter.type
    table.add_row("vendor", adapter.vendor or "not told")
    table.add_row("driver", adapter.driver or "not told")
    table.add_row("backend", adapter.backend)
    table.add_row("type", kind)
    for name, meaning in KEY_LIMITS.items():
        if name in adapter.limits:
            table.add_row(meaning, f"{adapter.limits[name]:,}")
    table.add_row("features", ", ".join(sorted(adapter.features)) or "none")
    table.add_row("")
    return table


def _quirks() -> Iterator[RenderableType]:
    """Yield what is known to be wrong with the chosen adapter."""
    for one in quirks_at_hand():
        yield Text(f"Known of it since {one.since}: {one.what}. {one.link}", style="dim")


def _verdict(choice: AdapterChoice | None) -> Text:
    if choice is None:
        return Text(NO_ADAPTER)
    chosen = choice.info
    return Text.assemble(
        ("Chosen: ", "bold"),
        f"[{chosen.index}] {chosen.name} through {chosen.backend}: {choice.why}.",
        f"\n{SOFTWARE}" if chosen.is_software else "",
    )
