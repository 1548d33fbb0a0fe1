"""Memory as words, seen as the types of WGSL's scalars, and what watches it.

An address counts elements of the scalar's size. Loads beyond a buffer give its last element, stores
beyond it do nothing, as robust buffer access has it.
Source: WebGPU Shading Language, section 14.3, out-of-bounds access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.simulator.subgroups import Subgroups

Words = np.ndarray[tuple[int], np.dtype[np.uint32]]


class Watch(Protocol):
    """What is told of every access: of which memory, where, and for whom."""

    def read(self, memory: Memory, at: Any, lanes: Any) -> None: ...

    def wrote(self, memory: Memory, at: Any, lanes: Any, values: Any) -> None: ...

    def changed(self, memory: Memory, at: Any, lanes: Any) -> None:
        """Note an atomic function."""

    def passed_barrier(self) -> None: ...


class Memory:
    """The words of a buffer or of a variable, as the invocations of a dispatch see them.

    Attributes:
        name: The variable.
        words: The words.
        first: The first word that is seen: one number, or one for each invocation, as each
            workgroup has memory of its own.
        count: How many words each sees.
    """

    __slots__ = ("count", "first", "name", "views", "words")

    def __init__(self, name: str, words: Words, count: int, first: Any = 0) -> None:
        self.name, self.words, self.count, self.first = name, words, count, first
        self.views: dict[str, Any] = {
            "u32": words,
            "i32": words.view(np.int32),
            "f32": words.view(np.float32),
            "f16": words.view(np.float16),
        }

    def length(self, stride: int, offset: int) -> np.uint32:
        """Return how many elements of so many bytes there are from an offset on."""
        return np.uint32(max(0, 4 * self.count - offset) // stride)

    def place(self, at: Any, size: int) -> Any:
        """Return places in a view whose elements have ``size`` bytes, clamped to what is seen."""
        seen = np.minimum(np.maximum(at, 0), self.count * 4 // size - 1)
        return seen if isinstance(self.first, int) else seen + self.first * (4 // size)


_SIZES = {"u32": 4, "i32": 4, "f32": 4, "f16": 2}


class Run:
    """What all invocations of a part of a dispatch share while it runs.

    Attributes:
        count: The invocations.
        lanes: Their numbers, from 0.
        watch: What is told of accesses, None where nothing watches.
        subgroups: How they are divided.
    """

    def __init__(self, count: int, watch: Watch | None = None) -> None:
        self.count = count
        self.lanes = np.arange(count)
        self.watch = watch
        self.subgroups: Subgroups | None = None

    def load(self, memory: Memory, at: Any, scalar: str, mask: Any) -> Any:
        """Return elements of memory."""
        if self.watch is not None:
            self.watch.read(memory, *self._active(at, mask))
        return memory.views[scalar][memory.place(at, _SIZES[scalar])]

    def store(self, memory: Memory, at: Any, scalar: str, value: Any, mask: Any) -> None:
        """Write elements of memory; of several to one place the last counts."""
        size = _SIZES[scalar]
        inside = (at >= 0) & (at < memory.count * 4 // size)
        if mask is not True:
            inside = inside & mask
        if self.watch is not None:
            self.watch.wrote(memory, *self._active(at, mask), value)
        view, places = memory.views[scalar], memory.place(at, size)
        if np.ndim(inside) == 0:
            if inside and np.ndim(places) == 0:
                view[places] = value if np.ndim(value) == 0 else value[-1]
            elif inside:
                view[places] = value
            return
        if inside.all():
            view[np.broadcast_to(places, inside.shape)] = value
            return
        chosen = np.broadcast_to(places, inside.shape)[inside]
        view[chosen] = np.broadcast_to(value, inside.shape)[inside]

    def barrier(self) -> None:
        """Note that all invocations have come to a barrier."""
        if self.watch is not None:
            self.watch.passed_barrier()

    def atomic(
        self, name: str, memory: Memory, at: Any, scalar: str, mask: Any, *given: Any
    ) -> Any:
        """Run an atomic function for one invocation after the other."""
        lanes, places = self._active(at, mask)
        inside = (places >= 0) & (places < memory.count)
        lanes, places = lanes[inside], places[inside]
        if self.watch is not None:
            self.watch.changed(memory, places, lanes)
        view = memory.views[scalar]
        first = memory.first
        real = places + (first if np.ndim(first) == 0 else first[lanes])
        values = [np.broadcast_to(np.asarray(one, view.dtype), self.count)[lanes] for one in given]
        found = np.zeros(self.count, view.dtype)
        if name == "atomicLoad":
            found[lanes] = view[real]
        elif name == "atomicStore":
            view[real] = values[0]
        elif name in _ADDING:
            found[lanes] = _added(view, real, values[0], _ADDING[name])
        elif name == "atomicCompareExchangeWeak":
            return self._exchange(view, real, lanes, values)
        else:
            combine = _COMBINED[name]
            for lane, place, value in zip(lanes, real, values[0], strict=True):
                found[lane] = view[place]
                view[place] = combine(view[place], value)
        return found

    def _exchange(self, view: Any, places: Any, lanes: Any, values: Any) -> list[Any]:
        old, done = np.zeros(self.count, view.dtype), np.zeros(self.count, np.bool_)
        for lane, place, expected, new in zip(lanes, places, *values, strict=True):
            old[lane] = view[place]
            if view[place] == expected:
                view[place] = new
                done[lane] = True
        return [old, done]

    def _active(self, at: Any, mask: Any) -> tuple[Any, Any]:
        """Return the active invocations and their addresses."""
        lanes = self.lanes if mask is True else self.lanes[np.broadcast_to(mask, self.count)]
        places = np.broadcast_to(np.asarray(at), self.count)[lanes]
        return lanes, places.astype(np.int64)


def _added(view: Any, places: Any, values: Any, sign: Any) -> Any:
    """Add to places in the order of the invocations; return what each found."""
    order = np.argsort(places, kind="stable")
    where, what = places[order], sign(values[order])
    before = np.cumsum(what, dtype=view.dtype) - what
    starts = np.r_[True, where[1:] != where[:-1]][: len(where)]
    begin = np.maximum.accumulate(np.where(starts, np.arange(len(where)), 0))
    found = np.empty(len(where), view.dtype)
    found[order] = view[where] + (before - before[begin])
    np.add.at(view, where, what)
    return found


_ADDING: dict[str, Callable[[Any], Any]] = {"atomicAdd": lambda x: x, "atomicSub": np.negative}
_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "atomicMax": max,
    "atomicMin": min,
    "atomicAnd": lambda a, b: a & b,
    "atomicOr": lambda a, b: a | b,
    "atomicXor": lambda a, b: a ^ b,
    "atomicExchange": lambda a, b: b,
}
