"""Functions over subgroups: invocations of a workgroup that run together, by their numbers.

Source: WebGPU Shading Language, section 17.12, subgroup built-in functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Subgroups:
    """How the invocations of a run are divided.

    Attributes:
        size: Invocations of a subgroup.
        workgroup: Invocations of a workgroup.
        count: All invocations of the run, whole workgroups.
    """

    size: int
    workgroup: int
    count: int

    @property
    def lane(self) -> Any:
        """The number of each invocation in its subgroup."""
        return np.arange(self.count) % self.workgroup % self.size

    @property
    def first(self) -> Any:
        """The invocation with which the subgroup of each begins."""
        return np.arange(self.count) - self.lane

    def call(self, name: str, mask: Any, *given: Any) -> Any:
        if given and isinstance(given[0], list):
            return [self.call(name, mask, one, *given[1:]) for one in given[0]]
        on = np.broadcast_to(mask, self.count)
        lane, first = self.lane, self.first
        if name == "subgroupElect":
            return lane == self._least(on)[self._number]
        x = np.broadcast_to(np.asarray(given[0]), self.count)
        if name in _SHUFFLES:
            wanted = np.asarray(given[1]).astype(np.int64)
            source = first + _SHUFFLES[name](lane, wanted)
            return x[np.clip(source, 0, self.count - 1)]
        if name in _QUADS:
            return x[np.minimum(first + (lane ^ _QUADS[name]), self.count - 1)]
        if name == "quadBroadcast":
            return x[np.minimum(first + (lane & ~3) + int(np.max(given[1])), self.count - 1)]
        if name == "subgroupBroadcastFirst":
            return x[(first + self._least(on)[self._number]).clip(0, self.count - 1)]
        if name == "subgroupBallot":
            return self._ballot(on & x)
        if name in ("subgroupAll", "subgroupAny"):
            rows = self._rows(x | ~on if name == "subgroupAll" else x & on, name == "subgroupAll")
            found = rows.all(1) if name == "subgroupAll" else rows.any(1)
            return found[self._number]
        kind = name.removeprefix("subgroup")
        operation = kind.removeprefix("Exclusive").removeprefix("Inclusive")
        return self._combined(operation, kind.removesuffix(operation), x, on)

    def _combined(self, operation: str, kind: str, x: Any, on: Any) -> Any:
        function, neutral = _OPERATIONS[operation]
        start = neutral(x.dtype)
        rows = self._rows(np.where(on, x, start), start)
        if not kind:
            return function.reduce(rows, axis=1)[self._number].astype(x.dtype)
        through = function.accumulate(rows, axis=1)
        if kind == "Exclusive":
            before = np.full((len(rows), 1), start, x.dtype)
            through = np.concatenate([before, through[:, :-1]], axis=1)
        return through[self._number, self.lane].astype(x.dtype)

    def _ballot(self, votes: Any) -> list[Any]:
        rows = self._rows(votes, False)
        found = []
        for begin in range(0, 128, 32):
            part = rows[:, begin : begin + 32].astype(np.uint64)
            word = (part << np.arange(part.shape[1], dtype=np.uint64)).sum(1).astype(np.uint32)
            found.append(word[self._number])
        return found

    @property
    def _per_workgroup(self) -> int:
        return -(-self.workgroup // self.size)

    @property
    def _number(self) -> Any:
        """The subgroup of each invocation."""
        at = np.arange(self.count)
        return at // self.workgroup * self._per_workgroup + at % self.workgroup // self.size

    def _rows(self, x: Any, padding: Any) -> Any:
        """Return a row of values for each subgroup."""
        groups = self.count // self.workgroup
        whole = np.full((groups, self._per_workgroup * self.size), padding, np.asarray(x).dtype)
        whole[:, : self.workgroup] = np.reshape(x, (groups, self.workgroup))
        return whole.reshape(-1, self.size)

    def _least(self, on: Any) -> Any:
        """Return the first active invocation of each subgroup."""
        return self._rows(on, False).argmax(1)


_SHUFFLES = {
    "subgroupBroadcast": lambda lane, at: at,
    "subgroupShuffle": lambda lane, at: at,
    "subgroupShuffleXor": lambda lane, at: lane ^ at,
    "subgroupShuffleUp": lambda lane, at: lane - at,
    "subgroupShuffleDown": lambda lane, at: lane + at,
}
_QUADS = {"quadSwapX": 1, "quadSwapY": 2, "quadSwapDiagonal": 3}

MOVING = frozenset({*_SHUFFLES, *_QUADS, "quadBroadcast", "subgroupBroadcastFirst"})
"""Functions that give the value of one other invocation."""


def _least_value(dtype: Any) -> Any:
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


def _largest_value(dtype: Any) -> Any:
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


_OPERATIONS: dict[str, tuple[np.ufunc, Any]] = {
    "Add": (np.add, lambda dtype: dtype.type(0)),
    "Mul": (np.multiply, lambda dtype: dtype.type(1)),
    "Max": (np.fmax, _least_value),
    "Min": (np.fmin, _largest_value),
    "And": (np.bitwise_and, lambda dtype: ~dtype.type(0)),
    "Or": (np.bitwise_or, lambda dtype: dtype.type(0)),
    "Xor": (np.bitwise_xor, lambda dtype: dtype.type(0)),
}
