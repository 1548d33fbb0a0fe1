"""The header of a safetensors file: where each tensor is, checked before any of it is read.

Source: https://github.com/huggingface/safetensors#format, and its checks of offsets and lengths.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.values.spec import Shape

RESERVED = "__metadata__"
"""The one name that the format keeps for itself."""

BFLOAT16 = "BF16"
STORED: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in (
        ("BOOL", "?"),
        ("U8", "u1"),
        ("I8", "i1"),
        ("U16", "<u2"),
        ("I16", "<i2"),
        ("F16", "<f2"),
        (BFLOAT16, "<u2"),
        ("U32", "<u4"),
        ("I32", "<i4"),
        ("F32", "<f4"),
        ("U64", "<u8"),
        ("I64", "<i8"),
        ("F64", "<f8"),
        ("C64", "<c8"),
    )
}
"""What the elements of a stored dtype are in memory; those of bfloat16 are its bits."""

LONGEST = 100_000_000
"""Bytes of a header, at most; other readers of the format have the same limit."""

LENGTH = 8  # bytes before the header, that say how long it is


def widened(bits: np.ndarray) -> np.ndarray:
    """Return float32 of the bits of bfloat16 numbers, which are its upper half."""
    return np.asarray((bits.astype(np.uint32) << 16).view(np.float32))


class TensorEntry(NamedTuple):
    """A tensor of a file: its dtype there, its shape, and its bytes from the file's beginning."""

    name: str
    stored: str
    shape: Shape
    start: int
    nbytes: int


class DamagedError(Exception):
    """The file is none of safetensors, or not whole; the message says why."""


def parsed(header: bytes, size: int) -> tuple[list[TensorEntry], dict[str, str]]:
    """Return the tensors in the order of their bytes, and the metadata.

    Args:
        header: The text.
        size: The bytes of the file.

    Raises:
        DamagedError: The header does not describe such a file.
    """
    try:
        found = json.loads(header.decode(), object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise DamagedError(f"its header cannot be read: {reason}") from None
    if not isinstance(found, dict):
        raise DamagedError("its header is no JSON object")
    metadata = found.pop(RESERVED, {})
    texts = [*metadata, *metadata.values()] if isinstance(metadata, dict) else [None]
    if not all(isinstance(one, str) for one in texts):
        raise DamagedError("its metadata are no strings by name")
    first = LENGTH + len(header)
    entries = [_entry(name, facts, first) for name, facts in found.items()]
    entries.sort(key=lambda one: (one.start, one.nbytes))
    end, before = first, "the header"
    for one in entries:
        if one.start != end:
            what = "overlap" if one.start < end else "have a gap between them"
            raise DamagedError(f"{before} and {one.name!r} {what}")
        end, before = end + one.nbytes, repr(one.name)
    if end != size:
        raise DamagedError(f"its tensors end at byte {end}, the file at {size}")
    return entries, metadata


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise DamagedError(f"its header has {twin!r} twice")
    return found


def _entry(name: str, facts: Any, first: int) -> TensorEntry:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DamagedError(f"the name {name!r} has half a character in it") from None
    if not isinstance(facts, dict) or facts.keys() != {"dtype", "shape", "data_offsets"}:
        raise DamagedError(f"{name!r} has not dtype, shape and data_offsets alone")
    stored, shape, offsets = facts["dtype"], facts["shape"], facts["data_offsets"]
    if not isinstance(stored, str) or stored not in STORED:
        known = ", ".join(STORED)
        raise DamagedError(f"{name!r} is {stored!r}, which is not read here; want {known}")
    if not _are_sizes(shape) or len(shape) > 64:
        raise DamagedError(f"the shape of {name!r} is no list of lengths")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise DamagedError(f"the data_offsets of {name!r} are not where it begins and ends")
    nbytes = math.prod(shape) * STORED[stored].itemsize
    if offsets[1] - offsets[0] != nbytes:
        raise DamagedError(
            f"{name!r} takes {offsets[1] - offsets[0]} bytes; {stored} of shape {shape} has "
            f"{nbytes}"
        )
    return TensorEntry(name, stored, tuple(shape), first + offsets[0], nbytes)


def _are_sizes(found: Any) -> bool:
    return isinstance(found, list) and all(type(one) is int and 0 <= one < 2**63 for one in found)


def packed(
    arrays: Mapping[str, tuple[str, np.ndarray]], metadata: Mapping[str, str]
) -> list[bytes | memoryview]:
    """Return the parts of a file, in order: the header, and the bytes of each array.

    Wide elements come first, so that each begins at a multiple of its size.
    """
    header: dict[str, Any] = {RESERVED: dict(metadata)} if metadata else {}
    parts: list[bytes | memoryview] = []
    at = 0
    for name, (stored, array) in sorted(
        arrays.items(), key=lambda pair: (-pair[1][1].dtype.itemsize, pair[0])
    ):
        data = np.asarray(array, STORED[stored], order="C")
        offsets = [at, at + data.nbytes]
        header[name] = {"dtype": stored, "shape": list(array.shape), "data_offsets": offsets}
        at += data.nbytes
        if data.nbytes:
            parts.append(data.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // LENGTH) * LENGTH)
    if len(text) > LONGEST:
        raise ArgumentError(f"save: the names take {len(text)} bytes; want {LONGEST} at most.")
    return [len(text).to_bytes(LENGTH, "little") + text, *parts]


def read_header(file: BinaryIO, size: int) -> tuple[list[TensorEntry], dict[str, str]]:
    """Return what an open file has in it, from its beginning.

    Raises:
        DamagedError: It is no such file.
    """
    head = file.read(LENGTH)
    length = int.from_bytes(head, "little")
    if len(head) < LENGTH:
        raise DamagedError(f"it has {size} bytes, fewer than a header")
    if length > min(LONGEST, size - LENGTH):
        most = min(LONGEST, size - LENGTH)
        raise DamagedError(f"its header would have {length} bytes; there can be {most}")
    header = file.read(length)
    if len(header) < length:
        raise DamagedError("it was cut short while it was read")
    return parsed(header, size)
