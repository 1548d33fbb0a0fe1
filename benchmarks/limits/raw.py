"""The thinnest use of wgpu: pipelines and bind groups made once, dispatches put into one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.items.item import Array

EIGHT_WIDE, FOUR_WIDE = "256 bits", "128 bits"
"""What llvmpipe's name says where its subgroups have eight invocations, or four."""

FEATURES = ("subgroup", "timestamp-query")
LIMITS = (
    "max-storage-buffer-binding-size",
    "max-buffer-size",
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
)


class UnfitError(Exception):
    """The variant is not made for these sizes or this adapter."""


@dataclass(frozen=True)
class Dispatch:
    """A pipeline with its bind group and grid."""

    pipeline: Any
    bind_group: Any
    groups: tuple[int, int, int]


@dataclass(frozen=True)
class Output:
    """A buffer that holds a result."""

    buffer: Any
    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class Limit:
    """An item in raw WGSL, ready to run."""

    dispatches: list[Dispatch]
    outputs: list[Output]


Builder = Callable[["Raw", "Mapping[str, Array]"], Limit]
"""Makes a variant for the item's arrays."""


class Raw:
    """A device, and what was made on it for one item."""

    def __init__(self) -> None:
        import wgpu

        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        self.features = [one for one in FEATURES if one in adapter.features]
        self.device = adapter.request_device_sync(
            required_features=self.features,
            required_limits={name: adapter.limits[name] for name in LIMITS},
        )
        self.info = dict(adapter.info)
        usage = wgpu.BufferUsage
        self.usage = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        self._placed: dict[int, Any] = {}
        self._pipelines: dict[str, Any] = {}
        self._recorded: list[Dispatch] = []
        self._token = self.empty(16)

    def empty(self, nbytes: int) -> Any:
        """Return a buffer of at least 16 bytes."""
        return self.device.create_buffer(size=max(nbytes, 16), usage=self.usage)

    def place(self, values: Array) -> Any:
        """Return a buffer with ``values``; the same array gets the same buffer."""
        if id(values) not in self._placed:
            buffer = self.empty(values.nbytes)
            self.device.queue.write_buffer(buffer, 0, np.ascontiguousarray(values))
            self._placed[id(values)] = (buffer, values)
        return self._placed[id(values)][0]

    def drop(self) -> None:
        """Forget the buffers of the last item."""
        self._placed.clear()
        self._pipelines.clear()

    def dispatch(self, source: str, buffers: list[Any], *groups: int) -> Dispatch:
        """Return a dispatch of ``main`` in ``source``, its bindings 0, 1, … being ``buffers``."""
        if any(count < 1 or count > 65_535 for count in groups):
            raise UnfitError(f"a grid of {groups}")
        if source not in self._pipelines:
            module = self.device.create_shader_module(code=source)
            self._pipelines[source] = self.device.create_compute_pipeline(
                layout="auto", compute={"module": module, "entry_point": "main"}
            )
        pipeline = self._pipelines[source]
        entries = [
            {"binding": i, "resource": {"buffer": one, "offset": 0, "size": one.size}}
            for i, one in enumerate(buffers)
        ]
        layout = pipeline.get_bind_group_layout(0)
        bind_group = self.device.create_bind_group(layout=layout, entries=entries)
        x, y, z = (*groups, 1, 1)[:3]
        return Dispatch(pipeline, bind_group, (x, y, z))

    def record(self, dispatches: list[Dispatch]) -> None:
        """Put dispatches behind those recorded already."""
        self._recorded += dispatches

    def submit(self) -> None:
        """Hand over what is recorded, in one pass."""
        if not self._recorded:
            return
        encoder = self.device.create_command_encoder()
        scope = encoder.begin_compute_pass()
        last = None
        for one in self._recorded:
            if one.pipeline is not last:
                scope.set_pipeline(one.pipeline)
                last = one.pipeline
            scope.set_bind_group(0, one.bind_group)
            scope.dispatch_workgroups(*one.groups)
        scope.end()
        self.device.queue.submit([encoder.finish()])
        self._recorded = []

    def wait(self) -> None:
        """Submit, and wait until all is done."""
        self.submit()
        self.device.queue.read_buffer(self._token, 0, 4)

    def read(self, output: Output) -> Array:
        """Return a result on the host."""
        self.submit()
        read: Any = self.device.queue.read_buffer(output.buffer)
        values = np.frombuffer(read, output.dtype)
        return values[: int(np.prod(output.shape))].reshape(output.shape)


def head(sizes: Mapping[str, int], reads: Mapping[str, str], writes: Mapping[str, str]) -> str:
    """Return constants and storage bindings, numbered in this order."""
    lines = [f"const {name} = {value}u;" for name, value in sizes.items()]
    kinds = [(name, kind, "read") for name, kind in reads.items()]
    kinds += [(name, kind, "read_write") for name, kind in writes.items()]
    for i, (name, kind, access) in enumerate(kinds):
        lines.append(f"@group(0) @binding({i}) var<storage, {access}> {name}: array<{kind}>;")
    return "\n".join(lines) + "\n"


def each(text: str, **ranges: int) -> str:
    """Return ``text`` once for each combination of the numbers below each range, ``{name}`` put in.

    Only these names are replaced, so WGSL's own braces stay.
    """
    lines = [text]
    for name, count in ranges.items():
        lines = [one.replace(f"{{{name}}}", str(i)) for one in lines for i in range(count)]
    return "\n".join(lines)


def divide(size: int, by: int) -> int:
    """Return ``size / by``, refusing a remainder."""
    if size % by or not size:
        raise UnfitError(f"{size} is no multiple of {by}")
    return size // by


GLOBAL = "@builtin(global_invocation_id) id: vec3u"
GROUP = "@builtin(workgroup_id) group: vec3u"
LANE = "@builtin(local_invocation_index) lane: u32"
COUNT = "@builtin(num_workgroups) groups: vec3u"


def main(size: str, arguments: list[str], body: str) -> str:
    """Return the entry point with a workgroup of ``size``."""
    return f"@compute @workgroup_size({size})\nfn main({', '.join(arguments)}) {{\n{body}\n}}\n"
