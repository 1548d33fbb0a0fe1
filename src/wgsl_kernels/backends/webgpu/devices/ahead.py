"""Compiling in threads what the driver would compile when it first runs.

llvmpipe makes machine code of a shader when a dispatch needs it, one shader after another in the
one thread of a device's queue. It keeps that code in a cache on disk, which all devices share. So
each thread here has a device of its own and records dispatches without workgroups, which is enough
for the driver to compile; when the device in use needs the same shaders, the driver has their code.
See docs/decisions/0047-compiled-ahead-on-devices-of-their-own.md.
"""

from __future__ import annotations

import hashlib
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from wgsl_kernels.backends.webgpu.adapter.policy import policy_of
from wgsl_kernels.backends.webgpu.devices.adapters import request_device
from wgsl_kernels.backends.webgpu.devices.bindings import PipelineLayout
from wgsl_kernels.backends.webgpu.devices.deadlines import compile_seconds, not_compiled
from wgsl_kernels.backends.webgpu.devices.native import at_once, load_calls
from wgsl_kernels.backends.webgpu.devices.threads import Crew, TooLong
from wgsl_kernels.backends.webgpu.kept.compiled import Compiled, mesa_cache
from wgsl_kernels.engine.environment.machine import cores
from wgsl_kernels.engine.environment.progress import busy, count

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice
    from wgsl_kernels.backends.webgpu.devices.bindings import BindGroupLayoutEntry
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.threads import ThreadCall

BOUND_BYTES = 64 << 10
"""Bytes of the buffers that stand in for a shader's; one that wants more is left to the device."""
COPY_SRC, COPY_DST, MAP_READ, STORAGE, UNIFORM = 4, 8, 1, 128, 64  # wgpu.BufferUsage

_logger = logging.getLogger("wgsl_kernels")


def ahead_for(choice: AdapterChoice) -> Ahead | None:
    """Return what compiles ahead for devices of an adapter; None where that gains nothing."""
    threads = policy_of(choice.info).compiling_threads(cores())
    cache = mesa_cache() if threads > 1 else None
    if cache is None:
        return None
    return Ahead(threads, partial(request_device, choice), Compiled(choice.info, cache))


class PipelineDescriptor(NamedTuple):
    """What a pipeline is made of."""

    text: str
    entry: str
    constants: tuple[tuple[str, float], ...]
    bindings: tuple[BindGroupLayoutEntry, ...]
    immediates: int

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(repr(tuple(self)).encode(), digest_size=16).digest()


class Ahead:
    """Shaders that are being compiled for one device.

    Threads and their devices are there from the second shader on until all that was asked for is
    compiled; one shader alone is left to the device in use. The caller holds that device's lock.

    Attributes:
        pending: How many shaders were asked for since the last wait; from 2 on threads compile.
    """

    def __init__(self, threads: int, open_device: Callable[[], Any], compiled: Compiled) -> None:
        """Open nothing yet; ``open_device`` returns a new device like the one in use."""
        self._open_device = open_device
        self._compiled = compiled
        self.pending = 0
        self._first: tuple[PipelineDescriptor, ref[Pipeline]] | None = None
        self._crew = Crew(threads)
        self._asked: list[tuple[PipelineDescriptor, ref[Pipeline], ThreadCall[None]]] = []
        self._helpers: list[_Helper] = []

    def add(self, shader: PipelineDescriptor, pipeline: Pipeline) -> None:
        """Have the shader of a pipeline compiled, unless the driver has its code."""
        if shader.digest in self._compiled:
            return
        self.pending += 1
        if self.pending == 1:
            self._first = shader, ref(pipeline)
            return
        for one in (self._first, (shader, ref(pipeline))):
            if one is not None:
                self._start(*one)
        self._first = None

    def wait(self) -> list[Pipeline]:
        """Wait until all that was asked for is compiled, and let the helpers go.

        What could not be compiled here is compiled by the device in use, as it would be anyway.
        What takes too long is refused.

        Returns:
            The pipelines whose code the driver has now.
        """
        done = [] if self._first is None else [self._first[0].digest]
        compiled: list[Pipeline] = []
        while self._asked:
            shader, asked_for, call = self._asked[0]  # those that began first
            pipeline = asked_for()
            label = "a shader" if pipeline is None else pipeline.label
            seconds = compile_seconds()
            try:
                with busy("compiling", label):
                    call.wait_once_begun(seconds)
                call.take_result()  # raises what it raised
            except TooLong:
                self._crew.go_on()
                if pipeline is not None:
                    pipeline.refuse(not_compiled(label, seconds), call)
            except Exception as error:
                _logger.info("A shader is not compiled ahead: %s", error)
            else:
                done.append(shader.digest)
                compiled += [] if pipeline is None else [pipeline]
            del self._asked[0]  # not sooner: an interrupt leaves it waited for
        self._helpers = []
        self._first, self.pending = None, 0
        self._compiled.note(done)
        return compiled

    def _start(self, shader: PipelineDescriptor, pipeline: ref[Pipeline]) -> None:
        count("compiling", expected=1)
        call = self._crew.add(partial(self._compile, shader, self._helpers))
        self._asked.append((shader, pipeline, call))

    def _compile(self, shader: PipelineDescriptor, helpers: list[_Helper]) -> None:
        try:
            try:
                helper = helpers.pop()
            except IndexError:
                helper = _Helper(self._open_device())
            helper.compile(shader)
            helpers.append(helper)
        finally:
            count("compiling", done=1)


class _Helper:
    """A device that only compiles, with buffers that stand in for all that shaders bind."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._calls = load_calls()  # its own, since one may submit from one thread only
        usages = {"read": STORAGE, "read_write": STORAGE, "uniform": UNIFORM}
        self._bound = {
            kind: device.create_buffer(size=BOUND_BYTES, usage=usage)
            for kind, usage in usages.items()
        }
        self._source = device.create_buffer(size=4, usage=COPY_SRC)
        self._reader = device.create_buffer(size=4, usage=COPY_DST | MAP_READ)

    def compile(self, shader: PipelineDescriptor) -> None:
        """Return when the driver has compiled a shader.

        Raises:
            wgpu.GPUError: It is not valid, with these buffers at least.
        """
        device, calls = self._device, self._calls
        layout = PipelineLayout(device, shader.bindings, shader.immediates)
        stage: dict[str, Any] = {"entry_point": shader.entry, "constants": dict(shader.constants)}
        stage["module"] = device.create_shader_module(code=shader.text)
        pipeline = device.create_compute_pipeline(layout=layout.pipeline_layout, compute=stage)
        entries = [
            {
                "binding": one.number,
                "resource": {"buffer": self._bound[one.kind], "offset": 0, "size": BOUND_BYTES},
            }
            for one in shader.bindings
        ]
        group = device.create_bind_group(layout=layout.group_layout, entries=entries)

        def fill(target: Any) -> None:
            calls.set_pipeline(target, calls.handle(pipeline))
            if shader.immediates:
                calls.set_immediates(target, 0, bytes(shader.immediates), shader.immediates)
            has_offset = layout.uniform is not None
            offset = calls.offsets(0) if has_offset else calls.no_offset
            calls.set_group(target, 0, calls.handle(group), int(has_offset), offset)
            calls.dispatch(target, 0, 0, 0)

        calls.submit(device, fill, [(self._source, 0, self._reader, 0, 4)], bool)
        calls.map_for_reading(device, self._reader, 4, at_once).release()
        self._reader.unmap()
