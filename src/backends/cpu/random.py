"""Random numbers by counter, bit for bit those of ``shaders/include/random.wgsl``.

Philox4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011.
A ``key`` is int32[4]: the bits of (seed low, seed high, counter low, counter high). Element i is
lane i % 4 of the block at counter + i // 4.
"""

from __future__ import annotations

import math

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.precision import silent

Array = np.ndarray
Shape = tuple[int, ...]

LOW_WORD = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: Array, key: Array) -> Array:
    """Return ten rounds of Philox4x32 on uint32[4, n] counters with one uint32[2] key."""
    a, b, c, d = (word.astype(np.uint64) for word in counter)
    first, second = (np.uint64(word) for word in key)
    for _ in range(10):
        left = np.uint64(0xD2511F53) * a
        right = np.uint64(0xCD9E8D57) * c
        a, b = (right >> HALF) ^ b ^ first, right & LOW_WORD
        c, d = (left >> HALF) ^ d ^ second, left & LOW_WORD
        first = (first + np.uint64(0x9E3779B9)) & LOW_WORD
        second = (second + np.uint64(0xBB67AE85)) & LOW_WORD
    return np.stack([a, b, c, d]).astype(np.uint32)


def random_bits(key: Array, size: int) -> Array:
    """Return ``size`` random uint32 of the stream at ``key``."""
    words = np.asarray(key, np.int32).view(np.uint32).astype(np.uint64)
    start = (int(words[3]) << 32) | int(words[2])
    blocks = -(-size // 4)
    at = np.uint64(start) + np.arange(blocks, dtype=np.uint64)  # wraps at 2^64, as the kernel does
    nothing = np.zeros_like(at)
    counter = np.stack([at & LOW_WORD, at >> HALF, nothing, nothing])
    return philox(counter, words[:2]).T.reshape(-1)[:size]


def unit_floats(bits: Array) -> Array:
    """Return float32 in [0, 1), in steps of 2^-24."""
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


@silent
def uniform(key: Array, shape: Shape, low: float, high: float) -> Array:
    """Return float32 in [low, high): u * (high - low) + low, each step rounded to float32."""
    bottom, top = np.float32(low), np.float32(high)
    y = unit_floats(random_bits(key, math.prod(shape))) * (top - bottom) + bottom
    if bottom < top:
        y = np.where(y < top, y, _next_below(top))
    return y.reshape(shape).astype(np.float32)


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
    u = ((bits[:, 0] >> np.uint32(8)).astype(np.float32) + 1) * np.float32(2.0**-24)
    angle = unit_floats(bits[:, 1]) * np.float32(2 * np.pi)
    radius = np.sqrt(np.float32(-2) * numerics.log(u))
    pairs = np.stack([radius * numerics.cos(angle), radius * numerics.sin(angle)], axis=1)
    return pairs.reshape(-1)[:size].reshape(shape)
