"""Raw uploads and downloads."""

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.items.item import Array, Work
from benchmarks.limits.raw import Output, Raw
from benchmarks.peers.peer import Running


def _upload(raw: Raw, work: Work) -> Running:
    """Write into a buffer that is there."""
    x = work.inputs["x"]
    buffer = raw.empty(x.nbytes)

    def call() -> Output:
        raw.device.queue.write_buffer(buffer, 0, x)
        return Output(buffer, x.shape)

    return Running(call, raw.wait, lambda y: [raw.read(y)])


def _upload_new(raw: Raw, work: Work) -> Running:
    """Make a buffer with the values."""
    x = work.inputs["x"]

    def call() -> Output:
        buffer = raw.device.create_buffer_with_data(data=x, usage=raw.usage)
        return Output(buffer, x.shape)

    return Running(call, raw.wait, lambda y: [raw.read(y)])


def _download(raw: Raw, work: Work) -> Running:
    """Let the queue read."""
    x = work.inputs["x"]
    placed = Output(raw.place(x), x.shape)
    return Running(lambda: raw.read(placed), raw.wait, lambda y: [y])


def _download_staged(raw: Raw, work: Work) -> Running:
    """Copy into one buffer that is kept for reading, and map it."""
    import wgpu

    x = work.inputs["x"]
    placed = raw.place(x)
    usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
    staging = raw.device.create_buffer(size=x.nbytes, usage=usage)

    def call() -> Array:
        encoder = raw.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(placed, 0, staging, 0, x.nbytes)
        raw.device.queue.submit([encoder.finish()])
        staging.map_sync("READ")
        read: Any = staging.read_mapped(copy=True)
        found: Array = np.frombuffer(read, x.dtype)
        staging.unmap()
        return found.reshape(x.shape)

    return Running(call, raw.wait, lambda y: [y])


VARIANTS: dict[str, dict[str, Callable[[Raw, Work], Running]]] = {
    "upload-16mb": {"into a buffer": _upload, "a new buffer": _upload_new},
    "download-16mb": {"read by the queue": _download, "staged": _download_staged},
}
