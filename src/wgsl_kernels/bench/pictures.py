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
