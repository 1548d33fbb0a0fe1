"""Direct calls into wgpu-native for the hot path, or wgpu-py's own methods where they are missing.

Measured on wgpu-py 0.32: its three methods for one dispatch take 2.6 microseconds, the C functions
0.7. Errors inside a pass show when the encoder is finished, so nothing is lost by going past the
checks around each call.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from operator import call
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes


UNMAPPABLE = "Could not map buffer"

Copy = tuple[Any, int, Any, int, int]
"""Buffer, offset, buffer that gets the bytes, offset there, how many."""
Sent: TypeAlias = "Callable[[], Any]"
"""Notes that something was submitted. It is written in C, so that no interrupt comes between."""
Submit: TypeAlias = "Callable[[Any, Callable[[Any], None] | None, Sequence[Copy], Sent], int]"
"""Takes a device, what fills a compute pass given its handle (None: there is no pass), copies
that follow the pass, and what notes that it was submitted; has all done in one command buffer.
Returns the submission's number."""
Poll: TypeAlias = "Callable[[int | None], None]"
"""Waits until a device is done with a submission, by its number, or with all of them."""
Wait: TypeAlias = "Callable[[Poll], None]"
"""Waits until a device is done with all, given how to wait in a call that nothing can end."""
MapBuffer: TypeAlias = "Callable[[Any, Any, int, Wait], memoryview]"
"""Takes a device, one of its buffers, how many bytes of it, and how to wait; returns the bytes."""

SPINS = 40
"""How often a device is asked before it is waited for in a thread: 0.1 ms, as the thread costs."""


@dataclass(frozen=True)
class NativeCalls:
    """The calls of the hot path; ``handle`` gives what they take in place of a wgpu-py object.

    ``gpu_error`` is what wgpu raises; ``writer`` takes a queue and a buffer, and returns what
    writes at its start, given what ``pinned`` gave for the bytes, and how many of them; ``send``
    takes a queue, a finished command buffer, and what notes that it was submitted; ``unmap`` takes
    a buffer that is mapped, or about to be, or neither.
    """

    direct: bool
    gpu_error: type[Exception]
    handle: Callable[[Any], Any]
    offsets: Callable[[int], Any]
    no_offset: Any
    set_pipeline: Callable[[Any, Any], None]
    set_group: Callable[[Any, int, Any, int, Any], None]
    set_immediates: Callable[[Any, int, bytes, int], None]
    dispatch: Callable[[Any, int, int, int], None]
    submit: Submit
    send: Callable[[Any, Any, Sent], int]
    pinned: Callable[[bytearray], Any]
    writer: Callable[[Any, Any], Callable[[Any, int], None]]
    poll: Callable[[Any, int | None], None]
    map_for_reading: MapBuffer
    map_for_writing: MapBuffer
    unmap: Callable[[Any], None]
    timestamp_period: Callable[[Any], float]


def load_calls() -> NativeCalls:
    """Return the direct calls, or wgpu-py's own methods where its internals have changed."""
    try:
        return _direct_calls()
    except (ImportError, AttributeError):
        return method_calls()


def is_loss(error: Exception) -> bool:
    """Return whether an error of wgpu means that the device is lost; there is no other sign."""
    text = str(error).rstrip()
    return text.endswith("Parent device is lost") or text.startswith(UNMAPPABLE)


def method_calls() -> NativeCalls:
    return NativeCalls(
        direct=False,
        gpu_error=_gpu_error(),
        handle=lambda resource: resource,
        offsets=lambda offset: [offset],
        no_offset=None,
        set_pipeline=lambda target, pipeline: target.set_pipeline(pipeline),
        set_group=lambda target, index, group, count, offsets: target.set_bind_group(
            index, group, offsets[:count] if count else ()
        ),
        set_immediates=lambda target, at, data, nbytes: target.set_immediates(
            at, data, data_size=nbytes
        ),
        dispatch=lambda target, x, y, z: target.dispatch_workgroups(x, y, z),
        submit=_submit_by_methods,
        send=_send_by_method,
        pinned=memoryview,
        writer=lambda queue, buffer: (
            lambda data, nbytes: queue.write_buffer(buffer, 0, data[:nbytes])
        ),
        poll=_poll_by_method,
        map_for_reading=partial(_map_by_method, "READ"),
        map_for_writing=partial(_map_by_method, "WRITE"),
        unmap=lambda buffer: buffer.unmap() if buffer.map_state == "mapped" else None,
        timestamp_period=lambda queue: 1.0,
    )


def _direct_calls() -> NativeCalls:
    native: Any = importlib.import_module("wgpu.backends.wgpu_native")
    ffi, lib = native.ffi, native.lib
    checked: Any = importlib.import_module("wgpu.backends.wgpu_native._api").libf
    encoder_form = ffi.new(_type(ffi, lib.wgpuDeviceCreateCommandEncoder, 1))
    pass_form = ffi.new(_type(ffi, lib.wgpuCommandEncoderBeginComputePass, 1))
    form = ffi.new(_type(ffi, lib.wgpuCommandEncoderFinish, 1))
    commands = ffi.new(_type(ffi, lib.wgpuQueueSubmit, 2))  # for all: submits have a lock

    def submit(
        device: Any, fill: Callable[[Any], None] | None, copies: Sequence[Copy], sent: Sent
    ) -> int:
        encoder = checked.wgpuDeviceCreateCommandEncoder(device._internal, encoder_form)
        try:
            if fill is not None:
                target = checked.wgpuCommandEncoderBeginComputePass(encoder, pass_form)
                try:
                    fill(target)
                    checked.wgpuComputePassEncoderEnd(target)
                finally:
                    lib.wgpuComputePassEncoderRelease(target)
            for source, at, reader, start, nbytes in copies:
                checked.wgpuCommandEncoderCopyBufferToBuffer(
                    encoder, source._internal, at, reader._internal, start, nbytes
                )
            finished = checked.wgpuCommandEncoderFinish(encoder, form)
        finally:
            lib.wgpuCommandEncoderRelease(encoder)
        try:
            return send_handle(device.queue, finished, sent)
        finally:
            lib.wgpuCommandBufferRelease(finished)

    def send_handle(queue: Any, finished: Any, sent: Sent) -> int:
        commands[0] = finished  # what goes wrong inside of the call ends the process: no check
        call = partial(lib.wgpuQueueSubmitForIndex, queue._internal, 1, commands)
        return int(in_one(call, sent))

    put = checked.wgpuQueueWriteBuffer
    offset_type = _type(ffi, lib.wgpuComputePassEncoderSetBindGroup, 4)
    return NativeCalls(
        direct=True,
        gpu_error=_gpu_error(),
        handle=lambda resource: resource._internal,
        offsets=lambda offset: ffi.new(offset_type, offset),
        no_offset=ffi.NULL,
        set_pipeline=lib.wgpuComputePassEncoderSetPipeline,
        set_group=lib.wgpuComputePassEncoderSetBindGroup,
        set_immediates=lib.wgpuComputePassEncoderSetImmediates,
        dispatch=lib.wgpuComputePassEncoderDispatchWorkgroups,
        submit=submit,
        send=lambda queue, finished, sent: send_handle(queue, finished._internal, sent),
        pinned=ffi.from_buffer,
        writer=lambda queue, buffer: partial(put, queue._internal, buffer._internal, 0),
        poll=partial(_poll, ffi, lib),
        map_for_reading=_direct_mapping(ffi, lib, lib.WGPUMapMode_Read),
        map_for_writing=_direct_mapping(ffi, lib, lib.WGPUMapMode_Write),
        unmap=partial(_unmap, checked, _gpu_error()),
        timestamp_period=lambda queue: float(lib.wgpuQueueGetTimestampPeriod(queue._internal)),
    )


def _gpu_error() -> type[Exception]:
    import wgpu

    found: type[Exception] = wgpu.GPUError
    return found


def at_once(poll: Poll) -> None:
    """Wait in a thread that nobody interrupts."""
    poll(None)


def _type(ffi: Any, function: Any, number: int) -> Any:
    """Return the type of a parameter; to parse its name would take 20 ms."""
    return ffi.typeof(function).args[number]


def _poll(ffi: Any, lib: Any, device: Any, number: int | None) -> None:
    at = ffi.NULL if number is None else ffi.new("WGPUSubmissionIndex *", number)
    lib.wgpuDevicePoll(device._internal, True, at)


def _unmap(checked: Any, gpu_error: type[Exception], buffer: Any) -> None:
    with suppress(gpu_error):  # it is not mapped
        checked.wgpuBufferUnmap(buffer._internal)
    buffer._map_state = "unmapped"


def _direct_mapping(ffi: Any, lib: Any, mode: int) -> MapBuffer:
    made: list[_Answer] = []  # for ever: after an interrupt wgpu may still call one
    free: list[_Answer] = []

    def new_answer() -> _Answer:
        words = bytearray(_ANSWER.size)
        info = ffi.new("WGPUBufferMapCallbackInfo *")
        info.mode = lib.WGPUCallbackMode_AllowProcessEvents
        noting = ffi.callback(ffi.typeof(info.callback), partial(_ANSWER.pack_into, words, 0))
        info.callback = noting  # the struct alone does not keep it alive
        made.append(_Answer(info, words, noting))
        return made[-1]

    def map_buffer(device: Any, buffer: Any, nbytes: int, wait: Wait) -> memoryview:
        answer = free.pop() if free else new_answer()
        _ANSWER.pack_into(answer.words, 0, 0, False, False, False)
        lib.wgpuBufferMapAsync(buffer._internal, mode, 0, nbytes, answer.info[0])
        status = 0
        for _ in range(SPINS):
            lib.wgpuDevicePoll(device._internal, False, ffi.NULL)
            status = _ANSWER.unpack_from(answer.words)[0]
            if status:
                break
        while not status:  # a poll waits for all that was submitted: the first one answers
            wait(partial(_poll, ffi, lib, device))
            status = _ANSWER.unpack_from(answer.words)[0]
        free.append(answer)
        if status != lib.WGPUMapAsyncStatus_Success:
            raise RuntimeError(UNMAPPABLE)
        pointer = lib.wgpuBufferGetMappedRange(buffer._internal, 0, nbytes)
        buffer._map_state = "mapped"
        return memoryview(ffi.buffer(pointer, nbytes))

    return map_buffer


class _Answer(NamedTuple):
    """What wgpu is given to say that a buffer is mapped, and where it says so."""

    info: Any
    words: bytearray
    noting: Any


_ANSWER = Struct("=i???")
"""A status, and whether there are a message and two words for the caller, which nobody asks.

`Struct.pack_into` takes what wgpu's callback is given, so that C alone notes the answer: a Python
function would be where Python raises an interrupt that came during the wait.
"""


def _submit_by_methods(
    device: Any, fill: Callable[[Any], None] | None, copies: Sequence[Copy], sent: Sent
) -> int:
    encoder = device.create_command_encoder()
    if fill is not None:
        target = encoder.begin_compute_pass()
        fill(target)
        target.end()
    for source, at, reader, start, nbytes in copies:
        encoder.copy_buffer_to_buffer(source, at, reader, start, nbytes)
    return _send_by_method(device.queue, encoder.finish(), sent)


def _send_by_method(queue: Any, finished: Any, sent: Sent) -> int:
    queue.submit([finished])
    sent()
    return 0  # wgpu-py's methods give no numbers


def _poll_by_method(device: Any, number: int | None) -> None:
    device.queue.on_submitted_work_done_sync()


def _map_by_method(mode: str, device: Any, buffer: Any, nbytes: int, wait: Wait) -> memoryview:
    wait(lambda number: None if number == 0 else buffer.map_sync(mode, 0, nbytes))
    return memoryview(buffer.read_mapped(0, nbytes, copy=False))


def in_one(*calls: Callable[[], Any]) -> Any:
    """Make the calls one after the other; no interrupt comes between functions written in C.

    Python raises `KeyboardInterrupt` in the main thread, wherever its next line happens to be: also
    in a Python function that C calls back, where nobody can take it, so that it is printed and
    forgotten, and with it what the callback was to tell. It raises none in other threads, and none
    while C code runs that does not call Python functions. See decisions/0025.

    It gives what the first of them gives.
    """
    first, *_ = list(map(call, calls))
    return first


FEATURE = "mappable-primary-buffers"
USAGE = 1 | 2  # wgpu.BufferUsage: MAP_READ, MAP_WRITE

WRITTEN_BYTES, READ_BYTES = 16 << 10, 1 << 20
"""Bytes from which on a write and a read take less time so: to map a buffer takes 11 us, and before
one is read a copy of four bytes is waited for, with all else that was submitted."""


class HostAccess:
    """Maps the buffers of one device for a moment. The caller holds the device's lock.

    Attributes:
        left: A buffer that may be mapped, since an interrupt came; None otherwise.
    """

    def __init__(self, device: Any, calls: NativeCalls, wait: Wait) -> None:
        self._device = device
        self._calls = calls
        self._wait = wait
        self.left: Any = None

    def read(self, buffer: Any, offset: int, nbytes: int) -> Bytes:
        """Return bytes of a buffer as a new array, waiting for what was submitted with it."""
        with self._mapped(self._calls.map_for_reading, buffer, offset + nbytes) as found:
            return found[offset:].copy()

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Write bytes into a buffer, waiting for what was submitted with it."""
        with self._mapped(self._calls.map_for_writing, buffer, offset + data.nbytes) as found:
            found[offset:] = data

    def settle(self) -> None:
        """Unmap what an interrupt left mapped."""
        if self.left is not None:
            self._calls.unmap(self.left)
            self.left = None

    @contextmanager
    def _mapped(self, map_buffer: MapBuffer, buffer: Any, nbytes: int) -> Iterator[Bytes]:
        self.settle()
        self.left = buffer
        mapped = map_buffer(self._device, buffer, nbytes, self._wait)
        yield np.frombuffer(mapped, np.uint8)
        self.settle()
