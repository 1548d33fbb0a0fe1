"""Memory as words, seen as the types of WGSL's scalars, and what watches it.

An address counts elements of the scalar's size. Loads beyond a buffer give its last element, stores
beyond it do nothing, as robust buffer access has it.
Source: WebGPU Shading Language, section 14.3, out-of-bounds access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.simulator.accesses import AccessLog
    from wgsl_kernels.simulator.subgroups import Subgroups

_SIZES = {"u32": 4, "i32": 4, "f32": 4, "f16": 2}


class VariableMemory:
    """The words of a buffer or of a variable, as the invocations of a dispatch see them.

    Attributes:
        name: The variable.
        words: The words.
        views: What they are as each type of number.
        count: How many of them each invocation sees.
        stride: The bytes of an element where it is an array, else 0.
        first: The first word that is seen: one number, or one for each invocation, as each
            workgroup has memory of its own.
        is_constant: Whether it is of parameters, which nobody writes.
    """

    __slots__ = ("count", "first", "is_constant", "name", "stride", "views", "words")

    def __init__(
        self,
        name: str,
        views: Mapping[str, Any],
        count: int,
        stride: int = 0,
        first: Any = None,
        *,
        is_constant: bool = False,
    ) -> None:
        self.name, self.words, self.views = name, views["u32"], views
        self.count, self.stride, self.first = count, stride, first
        self.is_constant = is_constant

    @property
    def is_workgroup(self) -> bool:
        """Whether each workgroup has its own."""
        return self.first is not None

    def length(self, stride: int, offset: int) -> np.uint32:
        """Return how many elements of so many bytes there are from an offset on."""
        return np.uint32(max(0, 4 * self.count - offset) // stride)

    def place(self, at: Any, size: int, lanes: Any = None) -> Any:
        """Return places in a view whose elements have ``size`` bytes, clamped to what is seen.

        ``lanes`` are the invocations, all of them where it is None.
        """
        inside = at if getattr(at, "dtype", None) == np.uint32 else np.maximum(at, 0)
        inside = np.minimum(inside, self.count * 4 // size - 1)
        if self.first is None:
            return inside
        first = self.first if lanes is None else self.first[lanes]
        return inside + first * (4 // size)


class Run:
    """What all invocations of a part of a dispatch share while it runs.

    Attributes:
        count: The invocations.
        lanes: Their numbers, from 0.
        subgroups: How they are divided.
        log: What notes accesses, None where nothing does.
    """

    def __init__(self, count: int, subgroups: Subgroups, log: AccessLog | None = None) -> None:
        self.count = count
        self.lanes = np.arange(count)
        self.subgroups = subgroups
        self.log = log

    @property
    def names(self) -> dict[str, Any]:
        """What compiled functions name of it."""
        return {"R": self}

    def index(self, memory: VariableMemory, at: Any, count: int, mask: Any, site: int) -> Any:
        """Return an index into an array of ``count`` elements, clamped."""
        if self.log is not None:
            lanes, places = self._active(at, mask)
            bad = (places < 0) | (places >= count)
            self.log.outside(memory, places[bad], lanes[bad], count, site, 1)
        return np.clip(at, 0, count - 1)

    def load(self, memory: VariableMemory, at: Any, scalar: str, mask: Any, site: int) -> Any:
        if self.log is not None and not memory.is_constant:
            lanes, places, real = self._inside(memory, at, scalar, mask, site)
            self.log.read(memory, places, real, lanes, _SIZES[scalar], site)
        return memory.views[scalar][memory.place(at, _SIZES[scalar])]

    def store(
        self, memory: VariableMemory, at: Any, scalar: str, value: Any, mask: Any, site: int
    ) -> None:
        """Write elements of memory; of several to one place the last counts."""
        size = _SIZES[scalar]
        if self.log is not None:
            lanes, seen, real = self._inside(memory, at, scalar, mask, site)
            same = self._compared(memory.views[scalar], real, value, lanes)
            self.log.wrote(memory, seen, real, lanes, size, site, same)
        inside = (at >= 0) & (at < memory.count * 4 // size)
        if mask is not True:
            inside = inside & mask
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

    def _compared(self, view: Any, real: Any, value: Any, lanes: Any) -> Callable[..., Any]:
        """Return what says which writes are of the same value as others, or as what was there."""

        def same(some: Any, others: Any) -> Any:
            value_of = np.broadcast_to(np.asarray(value, view.dtype), self.count)[lanes]
            one = value_of[some]
            two = view[real[some]] if others is None else value_of[others]
            return (one == two) | ((one != one) & (two != two))

        return same

    def barrier(self, of_workgroup: bool | None = None) -> None:
        """Note that all invocations have come to a barrier; see `AccessLog.passed_barrier`."""
        if self.log is not None:
            self.log.passed_barrier(of_workgroup)

    def atomic(
        self,
        name: str,
        memory: VariableMemory,
        at: Any,
        scalar: str,
        mask: Any,
        site: int,
        *given: Any,
    ) -> Any:
        """Run an atomic function for one invocation after the other."""
        lanes, places, real = self._inside(memory, at, scalar, mask, site)
        if self.log is not None:
            self.log.atomic(name, memory, places, real, lanes, site)
        view = memory.views[scalar]
        values = [np.broadcast_to(np.asarray(one, view.dtype), self.count)[lanes] for one in given]
        found = np.zeros(self.count, view.dtype)
        if name == "atomicLoad":
            found[lanes] = view[real]
        elif name == "atomicStore":
            view[real] = values[0]
        elif name in _ADDING:
            found[lanes] = _added(view, real, _ADDING[name](values[0]))
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

    def _inside(
        self, memory: VariableMemory, at: Any, scalar: str, mask: Any, site: int
    ) -> tuple[Any, Any, Any]:
        """Return the active invocations that are inside, their addresses, and where these are."""
        size = _SIZES[scalar]
        lanes, places = self._active(at, mask)
        good = (places >= 0) & (places < memory.count * 4 // size)
        if self.log is not None and not good.all():
            bad, stride = ~good, memory.stride or size
            length, numbers = memory.count * 4 // stride, stride // size
            self.log.outside(memory, places[bad], lanes[bad], length, site, numbers)
        lanes, places = lanes[good], places[good]
        return lanes, places, memory.place(places, size, lanes)


def _added(view: Any, places: Any, values: Any) -> Any:
    """Add to places in the order of the invocations; return what each found."""
    order = np.argsort(places, kind="stable")
    where, what = places[order], values[order]
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
