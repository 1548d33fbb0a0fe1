"""One WebGPU device: its memory, pipelines, dispatches, reads and clocks behind one lock.

Every call checks what it can before wgpu sees it, since much of what wgpu refuses ends the process.
"""

from __future__ import annotations

import threading
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from wgsl_kernels.backends.webgpu.adapter.policy import immediate_bytes, policy_of
from wgsl_kernels.backends.webgpu.devices import lifetime
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter, request_device
from wgsl_kernels.backends.webgpu.devices.compiling import Background, ahead_for
from wgsl_kernels.backends.webgpu.devices.native import load_calls
from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure, GroupCache, PipelineCache
from wgsl_kernels.backends.webgpu.devices.pool import Pool
from wgsl_kernels.backends.webgpu.devices.recorder import UPLOADED_BYTES, Piece, Recorder, bytes_of
from wgsl_kernels.backends.webgpu.devices.status import Reports
from wgsl_kernels.backends.webgpu.devices.timing import DispatchTimer
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DeviceLostError,
    OutOfMemoryError,
    WgslKernelsError,
)
from wgsl_kernels.engine.environment.machine import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice
    from wgsl_kernels.backends.webgpu.devices.lifetime import NoteTaker, Retained
    from wgsl_kernels.backends.webgpu.devices.native import NativeCalls
    from wgsl_kernels.backends.webgpu.devices.pipeline import BindGroup, Pipeline, Ranges
    from wgsl_kernels.backends.webgpu.devices.pool import Block, MemoryUse, Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Kind, Origin, Ready
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes, Dispatch
    from wgsl_kernels.backends.webgpu.devices.timing import Noted

STORAGE_USAGE = 128 | 8 | 4  # wgpu.BufferUsage: STORAGE, COPY_DST, COPY_SRC

_block = attrgetter("block")
_NO_BYTES: Bytes = np.empty(0, np.uint8)


class Device:
    """A device of the chosen adapter, with everything made on it.

    All methods may be called from any thread. A lost device raises ``DeviceLostError`` from every
    call; the caller makes a new one.
    """

    def __init__(
        self,
        choice: AdapterChoice | None = None,
        memory_limit: Callable[[], int | None] | None = None,
        calls: NativeCalls | None = None,
    ) -> None:
        """Open a device.

        Args:
            choice: The adapter; by default the one that ``choose_adapter`` takes.
            memory_limit: Asked for the bytes that all buffers may take together, or None, whenever
                memory grows; by default what the adapter's rules say.
            calls: The calls of the hot path, by default those of wgpu.
        """
        lifetime.check()
        choice = choice or choose_adapter()
        if choice is None:
            raise ArgumentError("This machine has no WebGPU adapter. Use the cpu backend.")
        self.info, self.why = choice.info, choice.why
        self._device = request_device(choice)
        self.limits: Mapping[str, int] = dict(self._device.limits)
        self.features = frozenset(self._device.features)
        self.policy = policy_of(choice.info)
        self.recorded, self.is_profiling, self.cause = 0, False, ""
        self.lock = threading.RLock()
        self.largest_binding = self.limits["max-storage-buffer-binding-size"]
        self._calls = calls or load_calls()
        self.recorder = Recorder(self._device, self._calls, self.limits, self.policy)
        self.pool = Pool(
            self._create_buffer,
            largest=self.limits["max-buffer-size"],
            limit=memory_limit or (lambda: self.policy.memory_limit),
            forget=self._forget,
            settle=self._settle,
        )
        self.immediates = immediate_bytes(self.info, self.limits, self.features)
        self.pipelines = PipelineCache(
            self._device, self._calls, self.limits, self.immediates, self.recorder.deadlines
        )
        self.recorder.deadlines.give_up = self.give_up
        self.recorder.ahead = self.pipelines.ahead = None if calls else ahead_for(choice)
        if self.pipelines.ahead is not None:
            own = Background(self.policy.compiling_threads(cores()))
            self.recorder.pipelines = self.pipelines.own = own
        self.retained: WeakSet[Retained] = WeakSet()
        self._groups = GroupCache(
            self._device, self._calls, self.limits, self.pool, self.recorder.window
        )
        dependents = self._groups, self.pipelines
        self.dependents: WeakSet[lifetime.Dependent] = WeakSet(dependents)
        self._found = self._groups.found
        self._find = self._found.get
        self.ready = self._groups.ready
        self.reports = Reports(self.put)
        self.notes: NoteTaker | None = None
        self._watch = DispatchTimer(self._device, self._calls, self.has_timestamps)
        self._token = self.pool.allocate(4, "token")
        self.spare = self.pool.allocate(16, "spare")
        lifetime.watch(self)

    def storage(self, nbytes: int, label: str = "", what: str = "") -> Storage:
        """Return a storage of undefined contents, freed when dropped; errors say ``what`` for."""
        with self.lock:
            if self.recorder.refusal is not None:
                self.recorder.check()
            return self.pool.allocate(nbytes, label, what)

    def put(self, data: Any, label: str = "", what: str = "") -> Storage:
        """Return a new storage that holds ``data``, an array or a buffer of bytes.

        It prefers a buffer that no recorded dispatch uses, so that nothing need be submitted.
        """
        values = bytes_of(data)
        with self.lock:
            self.recorder.check()
            epoch = self.recorder.epoch if self.recorder.records else -1
            storage = self.pool.allocate_idle(values.nbytes, epoch, label, what)
            self.upload(storage, 0, values)
            return storage

    def upload(self, storage: Storage, offset: int, data: Any) -> None:
        """Write ``data`` at byte ``offset`` (a multiple of 4), after all that is recorded.

        A length that is no multiple of 4 is padded with zeros.
        """
        values = bytes_of(data)
        if not values.nbytes:
            return
        if offset < 0 or offset % 4 or offset + values.nbytes > storage.capacity:
            raise ArgumentError(
                f"upload: {values.nbytes} bytes at offset {offset} do not fit a buffer of "
                f"{storage.capacity}; want an offset that is a multiple of 4."
            )
        with self.lock:
            self.recorder.check()
            for start in range(0, values.nbytes, UPLOADED_BYTES):
                part = values[start : start + UPLOADED_BYTES]
                self.recorder.write(storage.block, offset + start, part)

    def read(self, storage: Storage, offset: int, nbytes: int) -> Bytes:
        """Return ``nbytes`` bytes from byte ``offset`` as a new array, after all that is recorded.

        Raises what a kernel reported through the status buffer since the last read.
        """
        if offset < 0 or nbytes < 0 or offset + nbytes > storage.capacity:
            raise ArgumentError(
                f"read: bytes {offset} to {offset + nbytes} are past the buffer's "
                f"{storage.capacity}."
            )
        start, end = offset & ~3, (offset + nbytes + 3) & ~3
        with self.lock:
            if self._noting is not None:
                self._noting.has_read()
            pieces = [Piece(storage.block, start, end - start)] if nbytes else []
            results = self._read(pieces)
        return results[0][offset - start : offset - start + nbytes] if nbytes else _NO_BYTES

    def peek(self, several: Sequence[tuple[Storage, int]]) -> list[Bytes]:
        """Return the first bytes of buffers, and leave what kernels report to the next `read`."""
        with self.lock:
            self.recorder.check()
            return self.recorder.read([Piece(one.block, 0, nbytes) for one, nbytes in several])

    def pipeline(
        self,
        text: str,
        bindings: Sequence[tuple[int, Kind]],
        label: str,
        workgroup_bytes: int = 0,
        *,
        workgroup_size: tuple[int, ...] | None = None,
        constants: Mapping[str, float] | None = None,
        entry: str = "main",
        immediates: int = 0,
        is_ours: bool = False,
    ) -> Pipeline:
        """Return the pipeline for a shader text, compiled at the first call.

        Args:
            text: Complete WGSL.
            bindings: (binding number, "read" or "read_write" or "uniform") of group 0; at most one
                uniform, which receives the parameters of a dispatch.
            label: The kernel's name.
            workgroup_bytes: Sum of the workgroup variables' sizes; wgpu does not check it.
            workgroup_size: Invocations along x, y and z, where known.
            constants: Values for ``override`` constants.
            entry: The entry point.
            immediates: The bytes of its ``var<immediate>``, at most the device's ``immediates``.
            is_ours: Whether it is of the package's files alone, so that no compiler refuses it: it
                may be compiled in a thread until it runs.

        Raises:
            CompileFailure: The compiler refuses the text; holds the compiler's own message.
            ShaderError: It needs more than this device's limits.
        """
        with self.lock:
            self.recorder.check()
            try:
                needs = (workgroup_bytes, workgroup_size)
                return self.pipelines.find(
                    text, bindings, label, needs, constants or {}, entry, immediates,
                    is_ours=is_ours,
                )  # fmt: skip
            except (CompileFailure, WgslKernelsError):
                raise
            except Exception as error:
                self.recorder.fail(error)

    def run(self, ready: Ready, storages: Sequence[Storage]) -> None:
        """Record one dispatch on these buffers, in the order of its pipeline's bindings."""
        recorder = self.recorder
        with self.lock:
            if recorder.refusal is not None:
                recorder.check()
            blocks = tuple(map(_block, storages))
            fitting = ready.fitting
            key = (fitting, blocks)
            group = self._find(key) or self._found[key]
            if group is None:
                uniform = recorder.params_buffer, fitting.window
                made = self.make_group(ready.pipeline, blocks, fitting.ranges, uniform)
                group = self._groups.remember(key, made)
            if not ready.work:
                return
            self.recorded += 1
            if self._watch.log is not None:
                self._watch.log.append((ready.label, self.cause, ready.origin))
            if self.notes is not None and self.notes.listens():
                self.notes.dispatched(ready, storages)
            recorder.record(ready, group, blocks)

    def replay(
        self, records: list[Dispatch], blocks: Sequence[Block], work: int, origins: Sequence[Origin]
    ) -> None:
        """Record dispatches that were checked before, on ``blocks``; ``work`` workgroups in all."""
        with self.lock:
            self.recorder.check()
            self.recorded += len(records)
            if self._watch.log is not None:
                labels = [one[4] or one[0].label for one in records]
                self._watch.log += [(one, "", at) for one, at in zip(labels, origins, strict=True)]
            self.recorder.replay(records, blocks, work)

    def flush(self) -> None:
        """Submit what is recorded, without waiting."""
        with self.lock:
            if self.recorder.refusal is not None:
                self.recorder.check()
            self.recorder.submit()

    def wait(self) -> None:
        """Submit what is recorded and wait until the device is done with it."""
        with self.lock:
            self._read([Piece(self._token.block, 0, 4)])

    def report_slot(self, describe: Callable[[int, int], Exception]) -> int:
        """Give the next dispatch a slot of the status buffer: words 2 * slot (code) and the next.

        ``describe(code, value)`` makes the error that the next read raises if the kernel set the
        code. Hold ``lock`` until that dispatch is recorded, so that no read comes between.
        """
        with self.lock:
            taker = self._noting or self.reports
            if taker.current.is_full:
                self.wait()
            return taker.current.add(describe)

    @property
    def status_storage(self) -> Storage:
        """The status buffer, to be bound read_write by the next dispatch that reports."""
        return (self._noting or self.reports).status_storage()

    @property
    def has_timestamps(self) -> bool:
        return "timestamp-query" in self.features

    def profile(self, on: bool) -> None:
        """Begin or end noting dispatches, and timing them if the device can: each submit waits."""
        with self.lock:
            self.flush()
            self.recorder.timer = self._watch.turn(on)
            self.is_profiling = on

    def take_timings(self) -> list[Noted]:
        """Submit what is recorded; return what was noted of each dispatch since then."""
        with self.lock:
            self.flush()
            return self._watch.take()

    def memory(self) -> MemoryUse:
        """Return the buffers and bytes in use, but for the device's own, and those in the pool."""
        with self.lock:
            own = [self._token, self.spare, *self.reports.own]
            use = self.pool.use()
            for one in self.retained:
                use = one.counted(use)
            return use.without(len(own), sum(one.nbytes for one in own))

    def reset_peak(self) -> None:
        """Let ``memory().peak_bytes`` begin again from what is in use now."""
        with self.lock:
            self.pool.collect()
            self.pool.peak_bytes = self.pool.live_bytes

    def trim(self) -> int:
        """Give the pool's free buffers back to the driver; return how many bytes that was."""
        with self.lock:
            return self.pool.trim()

    def compile_in(self, background: Background | None) -> None:
        """Have pipelines compiled in threads, or again as they are asked for."""
        with self.lock:
            try:
                if self.recorder.refusal is None:
                    self.recorder.complete()
            finally:
                self.pipelines.background = background
                self.recorder.pipelines = background or self.pipelines.own

    @property
    def refusal(self) -> Exception | None:
        """Why the device can no longer be used; ``None`` while it can."""
        return self.recorder.refusal

    @property
    def submits(self) -> int:
        return self.recorder.submits

    def close(self) -> None:
        """Drop all buffers and the device; every later call raises."""
        with self.lock:
            if self.recorder.refusal is None:
                self.recorder.close(DeviceLostError("The device was closed."))
                self.pool.trim()
                self._device.destroy()

    def give_up(self, reason: DeviceLostError) -> None:
        """Lose the device, which a call of the driver may hold for ever."""
        lifetime.leave_behind(self._device)  # before anything of it is let go
        self.recorder.close(reason)

    def refuse(self, reason: Exception) -> None:
        """Drop what is recorded and raise ``reason`` from every later call; touches no GPU."""
        self.lock = threading.RLock()  # in a forked process the parent's may be held for ever
        self.recorder.close(reason)

    @property
    def _noting(self) -> NoteTaker | None:
        return self.notes if self.notes is not None and self.notes.listens() else None

    def _read(self, pieces: list[Piece]) -> list[Bytes]:
        self.recorder.check()
        return self.reports.read(pieces, self.recorder.read, self.upload)

    def _create_buffer(self, nbytes: int, label: str) -> Any:
        try:
            usage = STORAGE_USAGE | self.recorder.mapped_usage
            return self._device.create_buffer(label=label, size=nbytes, usage=usage)
        except self._calls.gpu_error as error:
            if type(error).__name__ == "GPUOutOfMemoryError":
                raise OutOfMemoryError(str(error)) from None
            self.recorder.fail(error)

    def _forget(self, block: Block) -> None:
        self._groups.forget(block)
        for one in self.retained:
            one.forget(block)

    def _settle(self) -> None:
        if self.recorder.refusal is None:
            self.recorder.read([Piece(self._token.block, 0, 4)])

    def make_group(
        self, pipeline: Pipeline, blocks: Sequence[Block], ranges: Ranges, uniform: tuple[Any, int]
    ) -> BindGroup:
        try:
            return self._groups.create(pipeline, blocks, ranges, uniform)
        except WgslKernelsError:
            raise
        except Exception as error:
            self.recorder.fail(error)
