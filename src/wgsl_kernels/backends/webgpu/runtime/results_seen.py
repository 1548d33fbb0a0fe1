"""What the numbers that a dispatch writes tell of it: NaN from nowhere, elements never written."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.runtime.runner import binding_range
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Program

POISON = 0x7FC0DEAD
"""What new memory is filled with: as an ``f32`` a NaN that no operation makes."""
_BOUND = re.compile(r"@binding\((\d+)\) var<storage[^>]*> \w+: array<(?:vec[234]<)?(\w+)")
_ALIAS = re.compile(r"\balias (\w+) = (?:vec[234]<)?(\w+)")
_FLOATS: Mapping[str, type[np.floating[Any]]] = {"f32": np.float32, "f16": np.float16}


def nan_finding(
    device: Device, origin: tuple[Program, Dispatch], storages: Sequence[Storage], called: str
) -> Finding | None:
    """Return where a dispatch that ran has written NaN though all that it read is finite.

    Args:
        device: The device.
        origin: The program and the dispatch.
        storages: Its buffers.
        called: The Python line that called the op.
    """
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
            return _described(dispatch, name, int(np.argmax(bad)), called)
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
    aliases = dict(_ALIAS.findall(composed.text))
    types = {int(number): aliases.get(name, name) for number, name in _BOUND.findall(composed.text)}
    slots = [one for one in composed.bindings if one.role != "params"]
    return [_FLOATS.get(types.get(one.number, "")) for one in slots]


def _described(dispatch: Dispatch, name: str, at: int, called: str) -> Finding:
    words = f"{name}[{at}] is NaN, and all that the kernel reads is finite. Called at {called}."
    return _placed(dispatch, Finding("nan-result", words, " + ".join(dispatch.kernels)))


def _placed(dispatch: Dispatch | None, finding: Finding) -> Finding:
    """Return a finding at the first line of a dispatch's kernel."""
    start = None if dispatch is None else dispatch.module.composed.start
    if start is None:
        return finding
    text, place = start
    line = text.line(place.line)
    return replace(finding, file=place.file, line=place.line, column=place.column, source=line)
