"""What a pipeline binds, and the layouts that wgpu makes of it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

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
