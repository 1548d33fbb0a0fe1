"""FarmHash's 64-bit fingerprint of bytes, which TensorFlow's buckets of strings go by.

Source: FarmHash, Fingerprint64 (Google, 2014), which is farmhashna::Hash64.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(s: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(s[at : at + size], "little")


def _turned(value: int, by: int) -> int:
    value &= _MASK
    return ((value >> by) | (value << (64 - by))) & _MASK


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _joined(u: int, v: int, mul: int) -> int:
    a = _mixed(((u ^ v) & _MASK) * mul)
    return _mixed(((v ^ a) & _MASK) * mul) * mul & _MASK


def _of_16(s: bytes) -> int:
    count = len(s)
    mul = _K2 + count * 2
    if count >= 8:
        a, b = _word(s, 0) + _K2, _word(s, count - 8)
        c = _turned(b, 37) * mul + a
        d = (_turned(a, 25) + b) * mul
        return _joined(c & _MASK, d & _MASK, mul)
    if count >= 4:
        a = _word(s, 0, 4)
        return _joined(count + (a << 3), _word(s, count - 4, 4), mul)
    if count:
        y = s[0] + (s[count >> 1] << 8)
        z = count + (s[count - 1] << 2)
        return _mixed((y * _K2 ^ z * _K0) & _MASK) * _K2 & _MASK
    return _K2


def _of_32(s: bytes) -> int:
    count = len(s)
    mul = _K2 + count * 2
    a, b = _word(s, 0) * _K1, _word(s, 8)
    c, d = _word(s, count - 8) * mul, _word(s, count - 16) * _K2
    u = _turned(a + b, 43) + _turned(c, 30) + d
    return _joined(u & _MASK, (a + _turned(b + _K2, 18) + c) & _MASK, mul)


def _of_64(s: bytes) -> int:
    count = len(s)
    mul = _K2 + count * 2
    a, b = _word(s, 0) * _K2, _word(s, 8)
    c, d = _word(s, count - 8) * mul, _word(s, count - 16) * _K2
    y = (_turned(a + b, 43) + _turned(c, 30) + d) & _MASK
    z = _joined(y, (a + _turned(b + _K2, 18) + c) & _MASK, mul)
    e, f = _word(s, 16) * mul, _word(s, 24)
    g, h = (y + _word(s, count - 32)) * mul, (z + _word(s, count - 24)) * mul
    u = _turned(e + f, 43) + _turned(g, 30) + h
    return _joined(u & _MASK, (e + _turned(f + a, 18) + g) & _MASK, mul)


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(s, at + 8 * place) for place in range(4))
    a += w
    b = _turned(b + a + z, 21)
    c = a
    a += x + y
    b += _turned(a, 44)
    return (a + z) & _MASK, (b + c) & _MASK


def fingerprint(s: bytes) -> int:
    """Return the fingerprint, in [0, 2^64)."""
    count = len(s)
    if count <= 64:
        return _of_16(s) if count <= 16 else _of_32(s) if count <= 32 else _of_64(s)
    x, y = 81, 81 * _K1 + 113
    z = _mixed(y * _K2 + 113) * _K2 & _MASK
    v = w = (0, 0)
    x = (x * _K2 + _word(s, 0)) & _MASK
    for at in range(0, (count - 1) // 64 * 64, 64):
        x, y, z, v, w = _round(s, at, (x, y, z), v, w)
    mul = _K1 + ((z & 0xFF) << 1)
    at = count - 64
    w0 = w[0] + ((count - 1) & 63)
    v0 = v[0] + w0
    w0 += v0
    x = _turned(x + y + v0 + _word(s, at + 8), 37) * mul
    y = _turned(y + v[1] + _word(s, at + 48), 42) * mul
    x = (x ^ (w[1] * 9)) & _MASK
    y += v0 * 9 + _word(s, at + 40)
    z = _turned(z + w0, 33) * mul
    v = _weak(s, at, v[1] * mul, x + w0)
    w = _weak(s, at + 32, z + w[1], y + _word(s, at + 16))
    first = _joined(v[0], w[0], mul) + _mixed(y) * _K0 + x
    return _joined(first & _MASK, (_joined(v[1], w[1], mul) + z) & _MASK, mul)


_Pair = tuple[int, int]


def _round(
    s: bytes, at: int, xyz: tuple[int, int, int], v: _Pair, w: _Pair
) -> tuple[int, int, int, _Pair, _Pair]:
    x, y, z = xyz
    x = _turned(x + y + v[0] + _word(s, at + 8), 37) * _K1
    y = _turned(y + v[1] + _word(s, at + 48), 42) * _K1
    x = (x ^ w[1]) & _MASK
    y = (y + v[0] + _word(s, at + 40)) & _MASK
    z = _turned(z + w[0], 33) * _K1 & _MASK
    v = _weak(s, at, v[1] * _K1, x + w[0])
    w = _weak(s, at + 32, z + w[1], y + _word(s, at + 16))
    return z, y, x, v, w
