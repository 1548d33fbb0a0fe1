"""Dispatches waiting to be submitted, and the only place that submits.

wgpu aborts the process on any error inside ``submit``. So dispatches are kept as a list; an encoder
is opened, filled, finished and submitted in one go, and a device that was lost meanwhile shows at
``finish``, as an exception. Nothing is submitted on a device that was found lost.

What is submitted leaves the list in the same call of C. So a dispatch is on the list or on the
device, also where an interrupt ends a submit half way: the next one begins again.
"""

from __future__ import annotations

from functools import partial
from operator import delitem
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias
from weakref import ref

import numpy as np

from wgsl_kernels.backends.webgpu.devices.deadlines import GONE, Deadlines
from wgsl_kernels.backends.webgpu.devices.native import (
    FEATURE,
    READ_BYTES,
    USAGE,
    WRITTEN_BYTES,
    HostAccess,
    is_loss,
)
from wgsl_kernels.backends.webgpu.devices.ready import label_of
from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DeviceLostError,
    ShaderError,
    WgslKernelsError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.devices.compiling import Ahead, Background
    from wgsl_kernels.backends.webgpu.devices.native import Copy, NativeCalls
    from wgsl_kernels.backends.webgpu.devices.pipeline import BindGroup, Pipeline
    from wgsl_kernels.backends.webgpu.devices.pool import Block
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.timing import DispatchTimer

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]

FULL_BATCH = 64  # dispatches; a submit costs the host as much as 20 of them
FIRST_BATCH = 16  # after a wait the device is idle: let it begin sooner, then double
BATCH_WORKGROUPS = 1 << 15  # so much work keeps a device busy while the next batch is recorded
HELD_BATCH = 128  # while pipelines are compiled in the background
PARAMS_BYTES = 64 << 10  # parameters of one batch
PARAMS_WINDOW = 512  # bytes of them that a dispatch sees, so that most share their bind groups
UPLOADED_BYTES = 16 << 20  # wgpu frees the staging copies of uploads only after a submit
READ_CHUNK = 32 << 20  # bytes read in one go
SMALL_READ = 64 << 10

COPY_SRC, COPY_DST, MAP_READ, UNIFORM = 4, 8, 1, 64  # wgpu.BufferUsage

LOST = f"The GPU device was lost; {GONE}"

# Pipeline, bind group, the parameters or where they begin in a buffer (as the C call takes it),
# workgroups, label.
# A plain tuple: a named one costs 0.3 microseconds more on the hot path.
Dispatch: TypeAlias = "tuple[Pipeline, BindGroup, Any, tuple[int, int, int], Label]"
Label: TypeAlias = "str | tuple[str, ...]"  # a kernel's name, or all of a fused dispatch


class Piece(NamedTuple):
    """Bytes to read from a block: multiples of 4."""

    block: Block
    offset: int
    nbytes: int


class Recorder:
    """The dispatches of one device. The caller holds the device's lock."""

    def __init__(
        self, device: Any, calls: NativeCalls, limits: Mapping[str, int], policy: Policy
    ) -> None:
        self.records: list[Dispatch] = []
        self.epoch = 0
        self.submits = 0
        self.refusal: Exception | None = None
        self.timer: DispatchTimer | None = None
        self.deadlines = Deadlines(policy)
        self.pipelines: Background | None = None  # being compiled: batches wait for them
        self.ahead: Ahead | None = None  # likewise what the driver compiles
        self.batch = FIRST_BATCH
        self._replayed = policy.replayed_batch(FULL_BATCH)
        self.work = 0
        self.params = bytearray(PARAMS_BYTES)
        self._pinned = calls.pinned(self.params)
        self.used = 0
        self._placed: dict[bytes, Any] = {}  # parameters of this batch, and where each begins
        self.step = max(32, limits["min-uniform-buffer-offset-alignment"])
        self._largest_params = min(PARAMS_BYTES, limits["max-uniform-buffer-binding-size"])
        self.offsets = [calls.offsets(at) for at in range(0, PARAMS_BYTES + 1, self.step)]
        self._device = device
        self._queue = device.queue
        self._calls = calls
        self._uploaded = 0
        self._done = 0  # the device is done with the batches before this one
        self._readers: dict[int, Any] = {}
        self._mapping: HostAccess | None = None
        if calls.direct and policy.maps_memory and FEATURE in device.features:
            self._mapping = HostAccess(device, calls, self.deadlines.until_done)
        self.params_buffer = device.create_buffer(
            label="params", size=2 * PARAMS_BYTES, usage=UNIFORM | COPY_DST
        )
        self._write_params = calls.writer(device.queue, self.params_buffer)

    @property
    def mapped_usage(self) -> int:
        """What the usage of a buffer for shaders has besides, so that it can be mapped."""
        return USAGE if self._mapping is not None else 0

    def window(self, nbytes: int) -> int:
        """Return how many bytes of the parameter buffer a dispatch with ``nbytes`` sees."""
        if nbytes > self._largest_params:
            raise ArgumentError(
                f"{nbytes} bytes of parameters; this device takes at most "
                f"{self._largest_params} (max-uniform-buffer-binding-size)."
            )
        return max(PARAMS_WINDOW, 1 << (nbytes - 1).bit_length()) if nbytes else PARAMS_WINDOW

    def record(self, ready: Ready, group: BindGroup, blocks: tuple[Block, ...]) -> None:
        """Keep one dispatch, and submit when the batch is full; everything in it was checked."""
        params = ready.params
        given: Any = params
        if not ready.pipeline.immediates:
            given = self._placed.get(params) or self._place(params)
        epoch = self.epoch
        for block in blocks:
            block.epoch = epoch
        records = self.records
        records.append((ready.pipeline, group, given, ready.groups, ready.label))
        self.work += ready.work
        if len(records) >= self.batch or self.work > BATCH_WORKGROUPS:
            self._submit_full()

    def _place(self, params: bytes) -> Any:
        """Return where parameters begin that this batch has not seen yet."""
        start = self.used
        end = start + len(params)
        if end > PARAMS_BYTES:
            self.submit()
            self._placed.clear()  # there may have been nothing to submit, after an interrupt
            start, end = 0, len(params)
        self.params[start:end] = params
        self.used = end + -end % self.step
        offset = self._placed[params] = self.offsets[start // self.step]
        return offset

    def replay(self, records: list[Dispatch], blocks: Sequence[Block], work: int) -> None:
        """Keep the dispatches of a captured run, and submit when the batch is full.

        Their parameters are on the device. ``blocks`` are those whose tensors others may write.
        """
        for start in range(0, len(records), self._replayed):
            epoch = self.epoch
            for block in blocks:
                block.epoch = epoch
            self.records += records[start : start + self._replayed]
            if start == 0:
                self.work += work
            if len(self.records) >= self.batch or self.work > BATCH_WORKGROUPS:
                self._submit_full()

    def fixed_params(self, steps: Sequence[tuple[bytes, int, Pipeline]]) -> tuple[list[Any], Any]:
        """Return what dispatches are given as parameters, and a new buffer of those that need one.

        Args:
            steps: The bytes of each dispatch, how many bytes of the buffer it sees, its pipeline.
        """
        data = bytearray()
        known: dict[bytes, tuple[int, Any]] = {}
        same: dict[bytes, bytes] = {}
        offsets: list[Any] = []
        size = 0
        for params, window, pipeline in steps:
            if pipeline.immediates:
                offsets.append(same.setdefault(params, params))
                continue
            if params not in known:
                known[params] = len(data), self._calls.offsets(len(data))
                data += params
                data += bytes(-len(data) % self.step)
            begin, offset = known[params]
            offsets.append(offset)
            size = max(size, begin + window)
        if not size:
            return offsets, None
        try:
            buffer = self._device.create_buffer(
                label="capture", size=max(size, len(data)), usage=UNIFORM | COPY_DST
            )
            if data:
                self._queue.write_buffer(buffer, 0, data)
        except Exception as error:
            self.fail(error)
        return offsets, buffer

    def write(self, block: Block, offset: int, data: Bytes) -> None:
        """Write bytes (a multiple of 4) into a block, after all that was recorded before."""
        if block.epoch == self.epoch and self.records:
            self.submit()  # the queue runs writes before everything not yet submitted
        mapping = self._mapping if data.nbytes >= WRITTEN_BYTES else None
        try:
            if mapping is not None and max(block.epoch, block.written) < self._done:
                mapping.write(block.buffer, offset, data)
                return
            self._queue.write_buffer(block.buffer, offset, data)
        except Exception as error:
            self.fail(error)
        block.written = self.epoch
        self._uploaded += data.nbytes
        if self._uploaded > UPLOADED_BYTES:
            self.submit()

    def complete(self) -> None:
        """Submit what is recorded, and finish pipelines that no dispatch has waited for."""
        self.submit()
        if self.pipelines is not None:
            self._late()

    def read(self, pieces: Sequence[Piece]) -> list[Bytes]:
        """Submit what is recorded, wait for it, and return the bytes of each piece."""
        mapping = self._mapping
        if mapping is not None and any(one.nbytes >= READ_BYTES for one in pieces):
            short = [one if one.nbytes < READ_BYTES else one._replace(nbytes=4) for one in pieces]
            found = self.read(short)  # which waits for all
            for at, one in enumerate(pieces):
                if one.nbytes >= READ_BYTES:
                    found[at] = self._read_mapped(mapping, one)
            return found
        total = sum(piece.nbytes for piece in pieces)
        if total > READ_CHUNK:
            return [self._read_long(piece) for piece in pieces]
        reader = self._take_reader(total)  # one that is left mapped must never be used again
        self.submit(pieces, reader)
        try:
            mapped = self._calls.map_for_reading(
                self._device, reader, total, self.deadlines.until_done
            )
        except Exception as error:
            self.fail(error)
        self.deadlines.are_done()
        self._done = self.epoch
        source = np.frombuffer(mapped, np.uint8)
        results: list[Bytes] = []
        start = 0
        for piece in pieces:
            results.append(source[start : start + piece.nbytes].copy())
            start += piece.nbytes
        del source
        mapped.release()
        reader.unmap()
        self._keep_reader(reader)
        return results

    def _read_mapped(self, mapping: HostAccess, piece: Piece) -> Bytes:
        try:
            return mapping.read(piece.block.buffer, piece.offset, piece.nbytes)
        except Exception as error:
            self.fail(error)

    def close(self, refusal: Exception) -> None:
        """Drop what is recorded and answer every later call with ``refusal``."""
        self.refusal = refusal
        self.records = []
        self._readers.clear()

    def check(self) -> None:
        if self.refusal is not None:
            raise type(self.refusal)(*self.refusal.args)

    def _submit_full(self) -> None:
        compiles = (self.pipelines is not None and bool(self.pipelines.compiling)) or (
            self.ahead is not None and self.ahead.pending > 1
        )
        if not compiles or len(self.records) >= HELD_BATCH:
            self.submit()

    def submit(self, pieces: Sequence[Piece] = (), reader: Any = None) -> None:
        """Submit what is recorded, and reads of pieces; also the uploads, if they hold much."""
        if not (self.records or pieces or self._uploaded > UPLOADED_BYTES):
            return
        if self.refusal is not None:
            self.check()
        if self._mapping is not None and self._mapping.left is not None:
            self._mapping.settle()
        late = self._late() if self.pipelines is not None and self.pipelines.compiling else None
        if self.ahead is not None and self.ahead.pending and self.records:
            self.deadlines.are_compiled(self.ahead.wait())
        refused: Exception | None = None
        try:
            if self.used:
                self._write_params(self._pinned, self.used)
            try:
                if self.deadlines.fresh and self.deadlines.compiles_separately:
                    self._compile_fresh()
                self._encode(len(self.records), pieces, reader)
            except Exception as error:
                if not self.records or is_loss(error):
                    raise
                refused = self._submit_separately()
                if pieces:
                    self._encode(0, pieces, reader)
        except Exception as error:
            self.fail(error)
        self._placed.clear()  # before their places are given out again
        self.used = self._uploaded = self.work = 0
        self.epoch += 1
        self.batch = FIRST_BATCH if pieces else min(2 * self.batch, FULL_BATCH)
        if refused is not None:
            raise late or refused

    def _late(self) -> Exception | None:
        """Wait for pipelines that are compiled in threads; return why the first was refused."""
        assert self.pipelines is not None
        try:
            return self.pipelines.finish(self._calls.handle)
        except Exception as error:
            self.fail(error)

    def _encode(self, count: int, pieces: Sequence[Piece], reader: Any) -> None:
        """Submit the first dispatches of the list, and copies behind them."""
        records = self.records[:count]
        timer = self.timer if records else None
        if timer is not None:
            timer.run(records, self._fill, self._sent)
            count = 0
        copies: list[Copy] = []
        start = 0
        for block, offset, nbytes in pieces:
            copies.append((block.buffer, offset, reader, start, nbytes))
            start += nbytes
        if timer is None or copies:
            fill = partial(self._fill, records) if records and timer is None else None
            sent = partial(delitem, self.records, slice(count))  # takes them off the list, in C
            deadlines = self.deadlines
            if deadlines.watches_submits:
                submit = partial(self._calls.submit, self._device, fill, copies, sent)
                deadlines.submit(submit, records)
            else:
                number = self._calls.submit(self._device, fill, copies, sent)
                if records:
                    deadlines.under_way.append((number, records))
        self.submits += 1

    def _compile_fresh(self) -> None:
        """Have the driver compile what did not run yet, by dispatches of no workgroups."""
        fresh = {one[0]: one for one in self.records if ref(one[0]) in self.deadlines.fresh}
        records = [(*one[:3], (0, 0, 0), one[4]) for one in fresh.values()]
        if records:
            fill = partial(self._fill, records)
            submit = partial(self._calls.submit, self._device, fill, (), bool)
            if self.deadlines.watches_submits:
                self.deadlines.submit(submit, records)
            else:
                self.deadlines.under_way.append((submit(), records))
            self.deadlines.until_done(partial(self._calls.poll, self._device))
            self.deadlines.are_done()

    def _sent(self, count: int) -> Callable[[], None]:
        """Return what takes the first dispatches off the list; it is written in C."""
        return partial(delitem, self.records, slice(count))

    def _fill(self, records: Sequence[Dispatch], target: Any) -> None:
        """Encode dispatches into a compute pass, given its handle."""
        calls = self._calls
        set_pipeline, set_group, dispatch = calls.set_pipeline, calls.set_group, calls.dispatch
        set_immediates, no_offset = calls.set_immediates, calls.no_offset
        last = known = None
        for pipeline, group, given, (x, y, z), _ in records:
            if pipeline is not last:
                set_pipeline(target, pipeline.handle)
                last, known = pipeline, None  # what one pipeline was given is gone with it
            if pipeline.immediates:
                if given is not known:
                    set_immediates(target, 0, given, pipeline.immediates)
                    known = given
                set_group(target, 0, group.handle, 0, no_offset)
            else:
                set_group(target, 0, group.handle, pipeline.offsets, given)
            dispatch(target, x, y, z)

    def _submit_separately(self) -> Exception | None:
        # One bad dispatch spoils its whole batch: run the others, and name the one that it was.
        reasons: list[str] = []
        is_late = False
        while self.records:
            record = self.records[0]
            is_late |= record[0].look_again(self._calls.handle)
            try:
                self._encode(1, (), None)
            except Exception as error:
                if is_loss(error):
                    raise
                known = record[0].refused
                reasons.append(str(known or f"{label_of(record)}: refused by wgpu: {error}"))
                del self.records[0]
        if is_late and not reasons:
            return None
        return ShaderError("\n".join(reasons) or "wgpu refused a batch, then took each dispatch.")

    def _read_long(self, piece: Piece) -> Bytes:
        result = np.empty(piece.nbytes, np.uint8)
        for start in range(0, piece.nbytes, READ_CHUNK):
            nbytes = min(READ_CHUNK, piece.nbytes - start)
            part = Piece(piece.block, piece.offset + start, nbytes)
            result[start : start + nbytes] = self.read([part])[0]
        return result

    def _take_reader(self, nbytes: int) -> Any:
        fitting = [size for size in self._readers if size >= nbytes]
        if fitting:
            return self._readers.pop(min(fitting))
        size = max(SMALL_READ, 1 << (nbytes - 1).bit_length())
        try:
            return self._device.create_buffer(label="reader", size=size, usage=MAP_READ | COPY_DST)
        except Exception as error:
            self.fail(error)

    def _keep_reader(self, reader: Any) -> None:
        self._readers[reader.size] = reader
        for size in sorted(self._readers)[1:-1]:  # one small and one large are enough
            del self._readers[size]

    def fail(self, error: Exception) -> NoReturn:
        """Raise ``error``, or DeviceLostError from now on if it says that the device is lost."""
        if isinstance(error, WgslKernelsError):
            raise error
        if self.refusal is None and is_loss(error):
            self.close(DeviceLostError(LOST))
        self.check()
        raise error


def is_empty(groups: tuple[int, int, int], most: int, label: str) -> bool:
    """Return whether a grid has nothing to do; raise if the device cannot run it."""
    if min(groups) >= 0 and max(groups) <= most:
        return 0 in groups
    raise ArgumentError(
        f"{label}: a grid of {list(groups)} workgroups; this device allows {most} in each "
        f"dimension (max-compute-workgroups-per-dimension). Fold it into two."
    )


def bytes_of(data: Any) -> Bytes:
    """Return an array's bytes in row-major order, padded with zeros to a multiple of 4."""
    values = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    spare = -values.nbytes % 4
    return np.concatenate([values, np.zeros(spare, np.uint8)]) if spare else values
