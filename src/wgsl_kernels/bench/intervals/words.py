"""Buffers as words of 32 bits, each with what it may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wgsl_kernels.bench.intervals.numbers import Array, OutOfReachError


class Words:
    """A buffer's words, each a number with what it may be.

    Attributes:
        pattern: The scalar types of its words, repeated.
        v: Values, as float64, which holds whole numbers of 32 bits, too.
        low: The least that they may be.
        high: The largest.
    """

    def __init__(self, pattern: tuple[str, ...], v: Array) -> None:
        """Begin with exact values."""
        self.pattern = pattern
        self.v = v
        self.low = self.high = v

    @property
    def is_exact(self) -> bool:
        return self.low is self.v

    def own(self) -> None:
        """Keep bounds apart from the values."""
        if self.is_exact:
            self.low, self.high = self.v.copy(), self.v.copy()

    def see_as(self, pattern: tuple[str, ...]) -> None:
        """Have the same memory read as other types; that of exact values alone can be.

        Raises:
            OutOfReachError: Its values are in doubt, so that their bits are.
        """
        if pattern == self.pattern:
            return
        if not self.is_exact:
            raise OutOfReachError("memory that is read as another type than it was written as")
        self.v = decode(encode(self.v, self.pattern), pattern)
        self.low = self.high = self.v
        self.pattern = pattern


@dataclass(frozen=True, slots=True, eq=False)
class BufferRange:
    """What invocations see of a buffer.

    Attributes:
        data: The buffer.
        words: How many words they see.
        base: The first of them, per invocation.
    """

    data: Words
    words: int
    base: Array


def encode(v: Array, pattern: tuple[str, ...]) -> Array:
    """Return values as words."""
    words = np.zeros(v.shape, np.uint32)
    for number, kind in enumerate(pattern):
        part = v[number :: len(pattern)]
        with np.errstate(all="ignore"):
            if kind == "f32":
                words[number :: len(pattern)] = part.astype(np.float32).view(np.uint32)
            else:
                words[number :: len(pattern)] = part.astype(np.int64).astype(np.uint32)
    return words


def decode(words: Array, pattern: tuple[str, ...]) -> Array:
    v = np.zeros(words.shape, np.float64)
    types = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}
    for number, kind in enumerate(pattern):
        part = np.ascontiguousarray(words[number :: len(pattern)])
        with np.errstate(invalid="ignore"):  # words of any kind may be a signaling NaN's
            v[number :: len(pattern)] = part.view(types[kind])
    return v
