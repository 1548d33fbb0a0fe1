"""Memory as numbers with what they may be, a number for each word of 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    OutOfReachError,
    anything,
    exact,
    is_integer,
)

_TYPES: dict[str, Any] = {"u32": np.uint32, "i32": np.int32, "f32": np.float32}
_KINDS = tuple(_TYPES)


class IntervalWords:
    """Words of memory, each a number with what it may be.

    Attributes:
        v: Values, as float64, which holds whole numbers of 32 bits, too.
        low: The least that they may be.
        high: The largest.
        kinds: Which type each was written as: u32, i32 or f32, by its number.
    """

    __slots__ = ("high", "kinds", "low", "v")

    def __init__(self, words: Any) -> None:
        """Begin with what the words are, as u32."""
        self.v = words.astype(np.float64)
        self.low, self.high = self.v.copy(), self.v.copy()
        self.kinds = np.zeros(len(words), np.uint8)

    def __len__(self) -> int:
        return len(self.v)

    def part(self, begin: int, end: int) -> IntervalWords:
        """Return those from one word to another, which are the same memory."""
        found = IntervalWords.__new__(IntervalWords)
        for name in self.__slots__:
            setattr(found, name, getattr(self, name)[begin:end])
        return found

    def floats(self) -> IntervalWords | None:
        """Return a copy of words of which some are f32, all as that; None of others."""
        found = IntervalWords.__new__(IntervalWords)
        for name in self.__slots__:
            setattr(found, name, getattr(self, name).copy())
        if not (found.kinds == _KINDS.index("f32")).any():
            return None
        try:
            found.see_as("f32", np.arange(len(found)))
        except OutOfReachError:
            return None
        return found

    def see_as(self, kind: str, places: Any) -> None:
        """Have words read as another type than they were written as; of exact ones alone.

        Raises:
            OutOfReachError: Values are in doubt, so that their bits are.
        """
        wanted = _KINDS.index(kind)
        others = np.unique(places[self.kinds[places] != wanted])
        if not len(others):
            return
        v = self.v[others]
        if not (((self.low[others] == v) & (self.high[others] == v)) | np.isnan(v)).all():
            raise OutOfReachError("memory that is read as another type than it was written as")
        for number, name in enumerate(_KINDS):
            some = others[self.kinds[others] == number]
            if len(some) and number != wanted:
                self.set(kind, some, _decoded(_encoded(self.v[some], name), kind))

    def set(self, kind: str, places: Any, v: Any, low: Any = None, high: Any = None) -> None:
        self.v[places] = v
        self.low[places] = v if low is None else low
        self.high[places] = v if high is None else high
        self.kinds[places] = _KINDS.index(kind)

    def load(self, scalar: str, places: Any, there: Any) -> Number:
        """Return numbers; 0 where they are not there."""
        kind = "u32" if scalar == "bool" else scalar
        if kind not in _TYPES:
            raise OutOfReachError(f"memory of {scalar}")
        dtype = np.bool_ if scalar == "bool" else np.int64 if is_integer(kind) else np.float64
        if not len(self):
            return exact(scalar, np.zeros(np.shape(places)))
        if (self.kinds[places] != _KINDS.index(kind)).any():
            real, here = np.broadcast_arrays(places, there)
            self.see_as(kind, real[here].reshape(-1))
        v, low, high = self.v[places], self.low[places], self.high[places]
        if not there.all():
            v, low, high = (np.where(there, one, 0) for one in (v, low, high))
        same = ((low == v) & (high == v)) | (np.isnan(v) & np.isnan(low) & np.isnan(high))
        v = np.asarray(v, dtype)
        if same.all():
            return Number(scalar, v, v, v)
        return Number(scalar, v, np.asarray(low, dtype), np.asarray(high, dtype))

    def store(self, number: Number, places: Any, here: Any, lost: Any) -> None:
        """Write a number for those who are here; of those who are ``lost`` it may be anything."""
        kind = "u32" if number.kind == "bool" else number.kind
        if kind not in _TYPES:
            raise OutOfReachError(f"memory of {number.kind}")
        parts = (number.v, number.low, number.high)
        v, low, high = (np.broadcast_to(one, here.shape)[here] for one in parts)
        if lost.any():
            least, most = -np.inf, np.inf
            if is_integer(kind):
                wide = anything(kind, np.zeros((), np.int64))
                least, most = float(wide.low), float(wide.high)
            gone = np.broadcast_to(lost, here.shape)[here]
            low, high = np.where(gone, least, low), np.where(gone, most, high)
        self.set(kind, places, v, low, high)


def _encoded(v: Array, kind: str) -> Array:
    with np.errstate(all="ignore"):
        if kind == "f32":
            return v.astype(np.float32).view(np.uint32)
        return v.astype(np.int64).astype(np.uint32)


def _decoded(words: Array, kind: str) -> Array:
    with np.errstate(invalid="ignore"):  # words of any kind may be a signaling NaN's
        return np.asarray(words.view(_TYPES[kind]), np.float64)
