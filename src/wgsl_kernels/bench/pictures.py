"""Arrays as pictures: heat maps of what is like an image, written as PNG."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, Any]

LEAST = 8
"""Rows and columns that an image has at least."""
SHOWN = 256
"""Smaller images are enlarged to about this height."""
_STOPS = np.array(
    [
        (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141),
        (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37),
    ],
    np.float64,
)  # fmt: skip
"""Colours from low to high. Source: viridis, by Smith and van der Walt, in the public domain."""
_SHAPES = """
A 010101111101101 B 110101110101110 C 011100100100011 D 110101101101110 E 111100110100111
F 111100110100100 G 011100101101011 H 101101111101101 I 111010010010111 J 001001001101010
K 101101110101101 L 100100100100111 M 101111111101101 N 110101101101101 O 010101101101010
P 110101110100100 Q 010101101110011 R 110101110101101 S 011100010001110 T 111010010010010
U 101101101101111 V 101101101101010 W 101101111111101 X 101101010101101 Y 101101010010010
Z 111001010100111 0 111101101101111 1 010110010010111 2 110001010100111 3 110001010001110
4 101101111001001 5 111100110001110 6 011100111101111 7 111001010010010 8 111101111101111
9 111101111001110 . 000000000000010 - 000000111000000 + 000010111010000 : 000010000010000
"""
_LETTERS = {
    one: int(two, 2) for one, two in zip(_SHAPES.split()[::2], _SHAPES.split()[1::2], strict=True)
}
"""Letters of 3 by 5 pixels, row by row."""
_NAN, _HIGH, _LOW = (255, 0, 255), (255, 255, 255), (0, 0, 0)
"""What NaN, infinity and -infinity look like."""


def plane_of(values: Array) -> Array | None:
    """Return rows and columns of an array that is like an image, None of any other.

    That is a matrix, or [height, width, channels], or a batch of which the first one is taken. With
    three or four channels it is a picture; of others the first channel is taken.
    """
    if values.ndim == 4 and values.shape[0]:
        values = values[0]
    if values.ndim == 3 and values.shape[2] not in (3, 4):
        values = values[..., 0] if values.shape[2] else values
    if values.ndim not in (2, 3) or min(values.shape[:2]) < LEAST:
        return None
    return np.abs(values) if values.dtype.kind == "c" else values


def painted(plane: Array, low: float | None = None, high: float | None = None) -> Array:
    """Return colours [height, width, 3] uint8 of what `plane_of` gives.

    Args:
        plane: A matrix becomes a heat map; three channels are red, green and blue.
        low: What has the first colour; by default the least finite number.
        high: What has the last one.
    """
    values = np.asarray(plane, np.float64)
    finite = values[np.isfinite(values)]
    low = float(finite.min()) if low is None and finite.size else low or 0.0
    high = float(finite.max()) if high is None and finite.size else high or 0.0
    is_plain = values.ndim == 3 and low >= 0.0 and high <= 1.0
    begin, width = (0.0, 1.0) if is_plain else (low, (high - low) or 1.0)
    with np.errstate(all="ignore"):
        level = np.clip(np.nan_to_num((values - begin) / width), 0.0, 1.0)
    if values.ndim == 3:
        return np.asarray(np.round(255 * level[..., :3]), np.uint8)
    at = np.arange(len(_STOPS)) / (len(_STOPS) - 1)
    found = np.stack([np.interp(level, at, _STOPS[:, n]) for n in range(3)], axis=-1)
    for where, colour in (
        (np.isnan(values), _NAN), (np.isposinf(values), _HIGH), (np.isneginf(values), _LOW),
    ):  # fmt: skip
        found[where] = colour
    return np.asarray(np.round(found), np.uint8)


def beside(pictures: list[Array]) -> Array:
    """Return pictures of one height side by side, with grey between them, enlarged if small."""
    height = pictures[0].shape[0]
    gap = np.full((height, max(1, height // 32), 3), 128, np.uint8)
    row = [part for one in pictures for part in (one, gap)][:-1]
    times = max(1, SHOWN // height)
    return np.concatenate(row, axis=1).repeat(times, axis=0).repeat(times, axis=1)


def titled(picture: Array, words: list[str]) -> Array:
    """Return pictures of one width, side by side, with words above each, in black on white.

    Letters are 5 pixels high, twice that where there is room for them.
    """
    count = len(words)
    width = picture.shape[1] // count
    longest = max(len(one) for one in words)
    times = 2 if (longest * 4 + 2) * 2 <= width else 1
    head = np.full((9 * times, picture.shape[1], 3), 255, np.uint8)
    for number, one in enumerate(words):
        marks = _lettered(one).repeat(times, axis=0).repeat(times, axis=1)
        begin = number * width + 2 * times
        room = head[2 * times : 7 * times, begin : begin + marks.shape[1]]
        room[marks[:, : room.shape[1]]] = 0
    return np.concatenate([head, picture])


def _lettered(words: str) -> Array:
    """Return a mask of 5 rows with the words' letters, 3 columns and a gap each."""
    found = np.zeros((5, 4 * max(1, len(words))), bool)
    for number, letter in enumerate(words.upper()):
        bits = _LETTERS.get(letter, 0)
        for row in range(5):
            for column in range(3):
                found[row, 4 * number + column] = bits >> (14 - 3 * row - column) & 1
    return found


def write_png(path: Path, pixels: Array) -> None:
    """Write colours [height, width, 3] uint8 as a PNG file.

    Source: Portable Network Graphics, third edition, W3C, 2025, sections 5 and 11.
    """
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(rows.tobytes())
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", packed), chunk(b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
