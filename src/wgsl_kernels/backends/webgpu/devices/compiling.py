"""Compiling in threads: pipelines while Python goes on, and what drivers compile when run first.

llvmpipe makes machine code of a shader when a dispatch needs it, one shader after another in the
one thread of a device's queue. It keeps that code in a cache on disk, which all devices share. So
each thread here has a device of its own and records dispatches without workgroups, which is enough
for the driver to compile; when the device in use needs the same shaders, the driver has their code.
See docs/decisions/0047-compiled-ahead-on-devices-of-their-own.md.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from wgsl_kernels.backends.webgpu.adapter.policy import policy_of
from wgsl_kernels.backends.webgpu.devices.adapters import request_device
from wgsl_kernels.backends.webgpu.devices.deadlines import compile_seconds, not_compiled
from wgsl_kernels.backends.webgpu.devices.native import at_once, is_loss, load_calls
from wgsl_kernels.backends.webgpu.devices.ready import PipelineLayout
from wgsl_kernels.backends.webgpu.devices.threads import Crew, TooLong
from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.environment.machine import cores
from wgsl_kernels.engine.environment.progress import busy, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.ready import BindGroupLayoutEntry
    from wgsl_kernels.backends.webgpu.devices.threads import ThreadCall


DIGEST = 16  # bytes of a hash
MOST_HASHES = 8192
"""Hashes in a file; beyond, the older half is dropped."""

_NO = ("0", "n", "no", "f", "false", "")
_logger = logging.getLogger("wgsl_kernels")


def mesa_cache() -> Path | None:
    """Return the folder in which Mesa's drivers keep code, or None where they keep none.

    Source: https://docs.mesa3d.org/envvars.html, MESA_SHADER_CACHE_DISABLE and the next ones.
    """
    environment = os.environ
    for name in ("MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"):
        if environment.get(name, "").lower() not in _NO:
            return None
    given = environment.get("MESA_SHADER_CACHE_DIR") or environment.get("MESA_GLSL_CACHE_DIR")
    given = given or environment.get("XDG_CACHE_HOME")
    try:
        base = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        return None
    there = next(one for one in (base, *base.parents) if one.exists())
    return base if os.access(there, os.W_OK) else None


class Compiled:
    """The hashes of one adapter's shaders.

    Several processes may add to the file at once; each sees what was there when it first asked.
    """

    def __init__(self, info: AdapterInfo, cache: Path) -> None:
        """Take the adapter and the folder of its driver's code; read nothing yet."""
        self._facts = (info.name, info.driver, info.backend)
        self._cache = cache
        self._found: set[bytes] | None = None

    def __contains__(self, digest: bytes) -> bool:
        """Say whether the driver is known to have compiled a shader."""
        if self._found is None:
            self._found = set(_read(self._file()))
        return digest in self._found

    def note(self, digests: Iterable[bytes]) -> None:
        """Add the hashes of shaders that the driver has compiled."""
        new = [one for one in dict.fromkeys(digests) if one not in self]
        if not new or self._found is None:
            return
        self._found.update(new)
        file = self._file()
        try:
            if file.add(b"".join(new)) > MOST_HASHES * DIGEST:
                file.write(b"".join(_read(file)[-MOST_HASHES // 2 :]))
        except (OSError, ArgumentError) as error:
            _logger.info("What the driver has compiled is not kept: %s", error)

    def _file(self) -> KeptFile:
        """Return the file for this adapter and for the folder as it is there now.

        A folder that was removed and made again has another number, and nothing in it.
        """
        folders = (self._cache / name for name in ("mesa_shader_cache", "mesa_shader_cache_db"))
        numbers = [one.stat().st_ino for one in folders if one.is_dir()]
        words = "\n".join((*self._facts, str(self._cache), *map(str, numbers)))
        name = hashlib.sha256(words.encode()).hexdigest()[:24]
        return KeptFile(cache_folder(), "compiled", f"{name}.bin")


def _read(file: KeptFile) -> list[bytes]:
    content = file.read() or b""
    return [content[at : at + DIGEST] for at in range(0, len(content) - DIGEST + 1, DIGEST)]


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


class Background:
    """Pipelines that are being compiled; whoever submits waits for them.

    wgpu-py lets other threads run while the driver compiles, and keeps errors apart by thread.

    Attributes:
        asked: How many there were.
        compiling: Those that nobody has waited for.
    """

    def __init__(self, threads: int, notify: Callable[[int, int], None] | None = None) -> None:
        """Start no thread yet; any thread calls ``notify(done, asked)`` with each pipeline."""
        self.asked = 0
        self._done = 0
        self._notify = notify
        self._lock = threading.Lock()
        self._crew = Crew(threads)
        self.compiling: list[tuple[Pipeline, ThreadCall[Any]]] = []

    def add(self, pipeline: Pipeline, make: Callable[[], Any]) -> None:
        """Have ``make`` called in a thread; it returns wgpu's pipeline."""
        self._count(asked=1)
        self.compiling.append((pipeline, self._crew.add(partial(self._made, make))))

    def note(self) -> None:
        """Count a pipeline that was compiled at once, not in a thread."""
        self._count(asked=1, done=1)

    def finish(self, handle_of: Callable[[Any], Any]) -> Exception | None:
        """Wait for all pipelines and complete them; return why the first was refused, if one was.

        A refused one stays without handle, so that a batch with it is taken apart.
        """
        first: Exception | None = None
        while self.compiling:
            pipeline, call = self.compiling[0]
            seconds = compile_seconds()
            try:
                call.wait_once_begun(seconds)
                pipeline.owner = call.take_result()
            except TooLong:
                self._crew.go_on()
                late = not_compiled(pipeline.label, seconds)
                pipeline.refuse(late, call)
                first = first or late
            except Exception as error:
                if is_loss(error):
                    self.compiling.clear()
                    raise
                wrong = ShaderError(f"{pipeline.label}: refused by wgpu: {error}")
                pipeline.refuse(wrong)
                first = first or wrong
            else:
                pipeline.handle = handle_of(pipeline.owner)
            del self.compiling[0]  # not sooner: an interrupt leaves it waited for
        return first

    def _made(self, make: Callable[[], Any]) -> Any:
        made = make()
        self._count(done=1)
        return made

    def _count(self, *, asked: int = 0, done: int = 0) -> None:
        with self._lock:
            self.asked += asked
            self._done += done
            counts = self._done, self.asked
        if self._notify is not None:
            self._notify(*counts)
