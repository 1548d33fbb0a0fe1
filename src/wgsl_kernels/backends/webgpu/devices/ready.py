"""A dispatch with all that was checked and looked up beforehand: only its buffers are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline, Ranges
    from wgsl_kernels.backends.webgpu.devices.recorder import Dispatch, Label


Kind = Literal["read", "read_write", "uniform"]

COMPUTE_STAGE = 4  # wgpu.ShaderStage.COMPUTE


class BindGroupLayoutEntry(NamedTuple):
    """One ``@binding`` of group 0: its number and what is bound there."""

    number: int
    kind: Kind


class PipelineLayout:
    """A bind group layout, made once per list of bindings."""

    __slots__ = ("group_layout", "pipeline_layout", "storages", "uniform")

    def __init__(
        self, device: Any, bindings: tuple[BindGroupLayoutEntry, ...], immediates: int
    ) -> None:
        self.storages = tuple(one for one in bindings if one.kind != "uniform")
        uniforms = [one.number for one in bindings if one.kind == "uniform"]
        self.uniform = uniforms[0] if uniforms else None
        self.group_layout = device.create_bind_group_layout(
            entries=[_layout_entry(one) for one in bindings]
        )
        self.pipeline_layout = device.create_pipeline_layout(
            bind_group_layouts=[self.group_layout], immediate_size=immediates
        )


def _layout_entry(binding: BindGroupLayoutEntry) -> dict[str, object]:
    buffer: dict[str, object]
    if binding.kind == "uniform":
        buffer = {"type": "uniform", "has_dynamic_offset": True}
    elif binding.kind == "read":
        buffer = {"type": "read-only-storage"}
    else:
        buffer = {"type": "storage"}
    return {
        "binding": binding.number,
        "visibility": COMPUTE_STAGE,
        "buffer": {**buffer, "min_binding_size": 0},
    }


Origin = tuple[Any, Any] | None
"""The program that a dispatch belongs to, and the dispatch there."""


class Fitting:
    """What bind groups of the same buffers have in common: a device makes one object of each.

    So it is looked up by identity, where the ranges would be hashed each time.
    """

    __slots__ = ("layout", "ranges", "window")

    def __init__(self, layout: PipelineLayout, window: int, ranges: Ranges) -> None:
        self.layout = layout
        self.window = window
        self.ranges = ranges


class Ready(NamedTuple):
    """One dispatch of a device, but for its buffers.

    Attributes:
        fitting: What is bound of the buffers, and how much of the parameters is seen.
        groups: The grid, which the device can run.
        work: How many workgroups it has; 0: there is nothing to do.
        origin: The program that it belongs to, and its dispatch there, for who explains it.
    """

    pipeline: Pipeline
    fitting: Fitting
    params: bytes
    groups: tuple[int, int, int]
    work: int
    label: Label
    origin: Origin = None


def label_of(record: Dispatch) -> str:
    """Return what a dispatch is called: its own label, or its pipeline's."""
    return shown(record[4] or record[0].label)


def shown(label: Label) -> str:
    """Return a label as errors and tables have it."""
    return label if isinstance(label, str) else " + ".join(label)
