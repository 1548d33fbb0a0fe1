"""What `config.debug` does on a device: every dispatch watches itself.

What was found is told at the next read, or where the switch goes off.

It stands on a device only while the switch is on for the process or for a block of some thread;
blocks of others are left alone.
"""

from __future__ import annotations

import struct
import threading
import weakref
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.runtime.runner import binding_range
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import KernelFault, WgslKernelsError
from wgsl_kernels.engine.environment.origin import line_of, user_line
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Program
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Evaluator
    from wgsl_kernels.backends.webgpu.runtime.watching import Event
    from wgsl_kernels.wgsl.syntax import tree

_FORMATS = {"f32": "<f", "f16": "<f", "i32": "<i", "u32": "<I"}


class Debugging:
    """The switch on a backend's device.

    Attributes:
        faults: What was found and nobody has read yet, each once.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.device: Device | None = None
        self.faults: dict[Finding, None] = {}
        self._evaluator = evaluator
        self._plain: Any = None
        self._called: str | None = None
        self._writers: dict[int, Dispatch] = {}
        self._noted = threading.local()
        config.follow("debug", self.follow, self.settle)

    def attach(self, device: Device) -> None:
        self.device, self._plain = device, None
        self._writers.clear()
        self.follow()

    def follow(self) -> None:
        on, device = config.is_anywhere("debug"), self.device
        if device is None:
            return
        own = vars(device)
        with device.lock:
            if on and self._plain is None:
                from wgsl_kernels.backends.webgpu.runtime.watching import allocate_poisoned

                self._plain = device.run
                own["run"], own["read"], own["wait"] = self._run, self._read, self._wait
                vars(device.pool)["allocate"] = partial(allocate_poisoned, device, POISON)
                vars(self._evaluator)["make"] = self._make
            elif not on and self._plain is not None:
                self._plain = None
                for name in ("run", "read", "wait"):
                    own.pop(name, None)
                vars(device.pool).pop("allocate", None)
                vars(self._evaluator).pop("make", None)
                self.faults.clear()
                self._writers.clear()

    def settle(self) -> None:
        """Run what this thread has deferred, and tell what nobody has read: the block ends."""
        if self._plain is not None and config.is_on("debug", context.current()):
            noted, self._noted.arrays = getattr(self._noted, "arrays", []), []
            for one in reversed(noted):  # the last first: what it needs is fused with it
                array = one()
                if array is not None and array.op is not None:
                    with suppress(WgslKernelsError):  # left to whoever needs it
                        self._evaluator.make(array, "config.debug goes off")
            self._tell()

    def note(self, arrays: Sequence[GpuArray]) -> None:
        """Note results of kernels that this thread runs while the switch is on."""
        kept = getattr(self._noted, "arrays", [])
        self._noted.arrays = [one for one in kept if one() is not None]
        self._noted.arrays += [weakref.ref(one) for one in arrays if one.op is not None]

    def _run(self, ready: Ready, storages: Sequence[Storage]) -> None:
        if ready.origin is None or not config.is_on("debug", context.current()):
            self._plain(ready, storages)
            return
        assert self.device is not None
        from wgsl_kernels.backends.webgpu.runtime.watching import watch_run

        _, dispatch = ready.origin
        events = watch_run(self.device, self._plain, ready, storages)
        for line in said([one for one in events if one.record.event in SAYING]):
            print(line)  # what wk_print is for
        self.faults |= {fault(one): None for one in events if one.record.event not in SAYING}
        self._writers |= {
            storage.id: dispatch
            for storage, one in zip(storages, dispatch.bindings, strict=True)
            if one.access != "read"
        }
        called = self._called or user_line()
        if (seen := nan_finding(self.device, ready.origin, storages, called)) is not None:
            self.faults[seen] = None

    def _make(self, root: GpuArray, why: str) -> None:
        before, self._called = self._called, None if root.place is None else line_of(root.place)
        try:
            type(self._evaluator).make(self._evaluator, root, why)
        finally:
            self._called = before

    def _read(self, storage: Storage, offset: int, nbytes: int) -> Bytes:
        assert self.device is not None
        found = type(self.device).read(self.device, storage, offset, nbytes)
        if config.is_on("debug", context.current()):
            seen = unwritten_finding(found, self._writers.get(storage.id))
            self.faults |= {} if seen is None else {seen: None}
        self._tell()
        return found

    def _wait(self) -> None:
        assert self.device is not None
        type(self.device).wait(self.device)
        self._tell()

    def _tell(self) -> None:
        if self.faults:
            faults, self.faults = tuple(self.faults), {}
            more = f"\n(At least {len(faults) - 1} more like it.)" if len(faults) > 1 else ""
            raise KernelFault(f"{faults[0].message}{more}", findings=faults)


ACCESS_WORDS = {
    "write-race": ("write-race", "{at} is written by invocations {other} and {who}."),
    "read-race": (
        "read-race",
        "{at} is read by one of invocations {other} and {who} and written by the other, {cure}",
    ),
    "unset": (
        "unset-workgroup-read",
        "{at} is read by invocation {who} before anything is written there. Some drivers leave "
        "there what the workgroup before wrote.",
    ),
}
"""The code and the words of an access that is wrong, by what is wrong with it."""


SAYING = ("said", "unsaid")
"""What notes of `wk_print` are called, and of what it printed that no log kept."""


def fault(event: Event) -> Finding:
    """Return what a dispatch did wrong as a finding, at the author's place."""
    record, module = event.record, event.dispatch.module
    site, name = record.site, record.site.variable
    index = record.at if record.at < 1 << 31 else record.at - (1 << 32)
    at = f"{name}[{index}]"
    if record.event == "outside":
        code = "out-of-bounds-write" if site.access == "write" else "out-of-bounds-read"
        words = f"{at} of {record.length}, invocation {record.invocation}."
    elif record.event in ACCESS_WORDS:
        code, words = ACCESS_WORDS[record.event]
        cure = "with nothing between. Put a barrier there."
        words = words.format(at=at, who=record.invocation, other=record.other, cure=cure)
    elif record.event == "failed":
        code, words = "failed-assertion", f"wk_assert fails in invocation {record.invocation}."
    else:
        code = "runaway-loop"
        words = (
            f"invocation {record.invocation} runs more than {record.length} rounds; software "
            "adapters stop it and go on with wrong values."
        )
    composed = module.composed
    return Finding(code, words, composed.kernel, *composed.authors_place(site.span))


def said(events: Sequence[Event]) -> Iterator[str]:
    """Yield what ``wk_print`` wrote, with its place, its label and its invocation."""
    from wgsl_kernels.wgsl.instrument.rewrite import LABEL

    parts: dict[tuple[int, int], list[str]] = {}
    for event in events:
        record = event.record
        if record.event == "unsaid":
            composed = event.dispatch.module.composed
            yield (
                f"{composed.kernel}: {record.at} numbers more were printed; of a dispatch the "
                f"first {record.length} are kept."
            )
            continue
        several = parts.setdefault((record.invocation, record.site.number), [])
        several.append(_number(record.site.type, record.at))
        if len(several) < record.site.components:
            continue
        one = fault(event)
        label = LABEL.search(one.source)
        lead = [one.kernel, one.place, *([label[1]] if label else [])]
        value = several[0] if len(several) == 1 else f"({', '.join(several)})"
        yield f"{': '.join(lead)}: invocation {record.invocation}: {value}"
        several.clear()


def _number(type_: str, word: int) -> str:
    if type_ == "bool":
        return "true" if word else "false"
    (value,) = struct.unpack(_FORMATS[type_], struct.pack("<I", word))
    return f"{value:.9g}" if isinstance(value, float) else str(value)


POISON = 0x7FC0DEAD
"""What new memory is filled with: as an ``f32`` a NaN that no operation makes."""
_FLOATS: Mapping[str, type[np.floating[Any]]] = {"f32": np.float32, "f16": np.float16}


def nan_finding(
    device: Device, origin: tuple[Program, Dispatch], storages: Sequence[Storage], called: str
) -> Finding | None:
    """Return where a dispatch has written NaN though all that it read is finite."""
    program, dispatch = origin
    given: list[np.ndarray[Any, Any]] = []
    made: list[tuple[str, np.ndarray[Any, Any]]] = []
    for binding, storage, dtype in zip(
        dispatch.bindings, storages, _float_types(dispatch), strict=True
    ):
        if dtype is not None and binding.place.kind not in ("status", "zeros"):
            first, nbytes = binding_range(device, binding)
            nbytes = min(nbytes, storage.nbytes - first)  # no padding, with which vec4s end
            values = np.frombuffer(type(device).read(device, storage, first, nbytes), dtype)
            if binding.is_buffer:
                values = values[: program.buffers[binding.place.number].size]
            if binding.access == "read":
                given.append(values)
            else:
                made.append((binding.name, values))
    for name, values in made:
        bad = np.isnan(values)
        word = f"u{values.itemsize}"  # a half of the word is a NaN, too
        bad &= values.view(word) != POISON >> 32 - 8 * values.itemsize
        if bad.any() and all(np.isfinite(one).all() for one in given):
            what = f"{name}[{int(np.argmax(bad))}] is NaN, and all that the kernel reads is finite"
            kernel = " + ".join(dispatch.kernels)
            return _placed(dispatch, Finding("nan-result", f"{what}. Called at {called}.", kernel))
    return None


def unwritten_finding(words: Bytes, writer: Dispatch | None) -> Finding | None:
    """Return the first element that nobody has written in what the host reads."""
    view = np.frombuffer(words, np.uint8)
    found = np.flatnonzero(view[: view.size // 4 * 4].view(np.uint32) == POISON)
    if not len(found):
        return None
    more = f", nor were {len(found) - 1} others" if len(found) > 1 else ""
    what = (
        f"32-bit word {found[0]} of the result was never written{more}. Write every element, or "
        "pass init=."
    )
    kernel = "" if writer is None else " + ".join(writer.kernels)
    return _placed(writer, Finding("never-written", what, kernel))


def _float_types(dispatch: Dispatch) -> list[type[np.floating[Any]] | None]:
    """Return the type of each binding's elements where it is one of floats."""
    composed = dispatch.module.composed
    from wgsl_kernels.wgsl.syntax.parser import parse  # only where it is asked

    module = parse(composed.source_map.composed)
    slots = [one for one in composed.bindings if one.role != "params"]
    variables = [module.variables.get(one.name) for one in slots]
    return [None if one is None else _FLOATS.get(_innermost(module, one.type)) for one in variables]


def _innermost(module: tree.Module, type_: tree.Expression | None) -> str:
    """Return the name of what a type is made of: of ``array<vec4<T>>`` what T stands for."""
    from wgsl_kernels.wgsl.syntax import tree

    while isinstance(type_, tree.Name):
        if type_.templates:
            type_ = type_.templates[0]
        elif type_.name in module.aliases:
            type_ = module.aliases[type_.name].type
        else:
            return type_.name
    return ""


def _placed(dispatch: Dispatch | None, finding: Finding) -> Finding:
    """Return a finding at the first line of a dispatch's kernel."""
    start = None if dispatch is None else dispatch.module.composed.start
    if start is None:
        return finding
    text, place = start
    line = text.line(place.line)
    return replace(finding, file=place.file, line=place.line, column=place.column, source=line)
