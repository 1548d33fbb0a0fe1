"""Random numbers by counter, bit for bit those of ``shaders/lib/random.wesl``.

Philox4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011.
A ``key`` is int32[4]: the bits of (seed low, seed high, counter low, counter high). Element i is
lane i % 4 of the block at counter + i // 4.
"""

from __future__ import annotations

import math

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.precision import select, silent

Array = np.ndarray
Shape = tuple[int, ...]

LOW_WORD = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
STEPS = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)

PART = 1 << 13
"""Blocks that are computed at a time, so that they stay in the cache."""


def philox(counter: Array, key: Array) -> Array:
    """Return ten rounds of Philox4x32 on uint32[4, n] counters with one uint32[2] key."""
    even, odd = counter[0::2].astype(np.uint64), counter[1::2].astype(np.uint64)
    round_key = np.asarray(key, np.uint64).reshape(2, 1)
    product = np.empty_like(even)
    crossed = product[::-1]
    for _ in range(10):
        np.multiply(even, MULTIPLIERS, out=product)
        np.right_shift(crossed, HALF, out=even)
        even ^= odd
        even ^= round_key
        np.bitwise_and(crossed, LOW_WORD, out=odd)
        round_key = (round_key + STEPS) & LOW_WORD
    words = np.empty(counter.shape, np.uint32)
    words[0::2], words[1::2] = even, odd
    return words


def random_bits(key: Array, size: int) -> Array:
    """Return ``size`` random uint32 of the stream at ``key``."""
    words = np.asarray(key, np.int32).view(np.uint32).astype(np.uint64)
    start = (int(words[3]) << 32) | int(words[2])
    blocks = -(-size // 4)
    bits = np.empty((blocks, 4), np.uint32)
    for first in range(0, blocks, PART):
        part = bits[first : first + PART]
        at = np.arange(first, first + len(part), dtype=np.uint64)
        at += np.uint64(start)  # wraps at 2^64, as the kernel does
        counter = np.zeros((4, len(part)), np.uint64)
        np.bitwise_and(at, LOW_WORD, out=counter[0])
        np.right_shift(at, HALF, out=counter[1])
        part[...] = philox(counter, words[:2]).T
    return bits.reshape(-1)[:size]


def unit_floats(bits: Array) -> Array:
    """Return float32 in [0, 1), in steps of 2^-24."""
    y = (bits >> np.uint32(8)).view(np.int32).astype(np.float32)  # faster than from uint32
    y *= np.float32(2.0**-24)
    return y


@silent
def uniform(key: Array, shape: Shape, low: float, high: float) -> Array:
    """Return float32 in [low, high): u * (high - low) + low, each step rounded to float32."""
    bottom, top = np.float32(low), np.float32(high)
    y = unit_floats(random_bits(key, math.prod(shape))).reshape(shape)
    if bottom == 0 and top == 1:
        return y
    y *= top - bottom
    y += bottom
    return select(y < top, y, np.asarray(_next_below(top))) if bottom < top else y


def _next_below(x: np.float32) -> np.float32:
    if x == 0:
        return np.float32(-(2.0**-126))  # a subnormal might be flushed
    return np.float32(np.nextafter(x, np.float32(-np.inf)))


def integers(key: Array, shape: Shape, low: int, high: int) -> Array:
    """Return int32 in [low, high), off uniform by at most (high - low) / 2^32."""
    span = np.uint64((high - low) % 2**32)
    offset = (random_bits(key, math.prod(shape)).astype(np.uint64) * span) >> HALF
    return (np.int64(low) + offset.astype(np.int64)).astype(np.int32).reshape(shape)


def normal(key: Array, shape: Shape) -> Array:
    """Return standard normal float32, within 4 ULP of Box and Muller on the rounded angle."""
    size = math.prod(shape)
    bits = random_bits(key, size + size % 2).reshape(-1, 2)
    below_one = unit_floats(bits[:, 0]) - np.float32(1 - 2.0**-24)  # of u in (0, 1], u - 1: exact
    angle = unit_floats(bits[:, 1]) * np.float32(2 * np.pi)
    radius = np.sqrt(-2 * numerics.log1p(below_one).astype(np.float64))
    pairs = np.empty(bits.shape, np.float32)
    np.multiply(radius, numerics.cos(angle), out=pairs[:, 0], casting="same_kind")
    np.multiply(radius, numerics.sin(angle), out=pairs[:, 1], casting="same_kind")
    return pairs.reshape(-1)[:size].reshape(shape)
