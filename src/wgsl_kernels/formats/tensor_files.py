"""Safetensors files: named tensors, and what their metadata says about them.

bool, int8, uint8, int32, float16, float32 and float64 are stored as they are (BOOL, I8, U8, I32,
F16, F32, F64); bfloat16 (BF16) is read as float32, and written if asked for. A complex tensor is
stored as floats with a last axis of 2, the real and the imaginary part. Two lists of names, as
JSON, stand in the metadata: under ``complex`` the complex tensors, under ``by_path`` the objects
whose state names variables by their paths in the file. Any reader of safetensors opens such a file.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, WgslKernelsError
from wgsl_kernels.engine.environment.files import path_of, write_whole
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.formats.tensor_header import (
    BFLOAT16,
    RESERVED,
    STORED,
    DamagedError,
    TensorEntry,
    packed,
    read_header,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from wgsl_kernels.engine.tensors.tensor import Tensor

COMPLEX, BY_PATH = "complex", "by_path"
NARROW = ("float16", "bfloat16")
"""What floats may be rounded to in a file."""

WIDER = ("float32", "float64")
FOREIGN = {
    ".npz": "numpy.savez",
    ".npy": "numpy.save",
    ".pt": "torch.save",
    ".pth": "torch.save",
    ".h5": "h5py or Keras",
    ".hdf5": "h5py or Keras",
    ".keras": "Keras",
    ".onnx": "onnx.save",
    ".pkl": "pickle.dump",
    ".pickle": "pickle.dump",
}
"""What writes files of other formats, by how their names end."""


class Content(NamedTuple):
    """What a file holds.

    Attributes:
        tensors: By name.
        by_path: The names of the objects whose state calls variables by their paths in the file.
        narrowed: The names of the tensors that may be rounded to a narrower dtype.
    """

    tensors: dict[str, Tensor]
    by_path: Sequence[str]
    narrowed: Collection[str] = ()


def write(path: str | os.PathLike[str], content: Content, dtype: str | None = None) -> None:
    """Write a file, in one step.

    Args:
        path: Where.
        content: What.
        dtype: What wider floats are rounded to, of the tensors in ``content.narrowed``.

    Raises:
        ArgumentError: ``path`` is none, a name cannot be one in a file, a number is beyond
            ``dtype``.
        DTypeError: A tensor holds strings.
        OSError: The file cannot be written.
    """
    place = path_of("save", path)
    suffix = place.suffix.lower()
    if suffix in FOREIGN:
        raise ArgumentError(
            f"save: {place.name} would be taken for another format; {FOREIGN[suffix]} writes "
            "those. Want a name such as 'model.safetensors'."
        )
    for name in content.tensors:
        check_name("save", name)
    narrowed = content.narrowed if dtype else ()
    arrays = {
        name: _encoded(name, value, dtype if name in narrowed else None)
        for name, value in content.tensors.items()
    }
    complexes = [name for name, value in content.tensors.items() if value.dtype in COMPLEXES]
    lists = {COMPLEX: complexes, BY_PATH: list(content.by_path)}
    metadata = {key: json.dumps(names) for key, names in lists.items() if names}
    write_whole(place, packed(arrays, metadata))


def read(path: str | os.PathLike[str]) -> Content:
    """Return what is in a file, tensor by tensor, each read into memory of its own.

    Nothing is mapped: who shortens the file meanwhile gives an error here, not the end of the
    process.

    Raises:
        ArgumentError: ``path`` is none, or what is there is no safetensors file, or damaged, or it
            changes while it is read.
        OSError: The file cannot be read.
    """
    place = path_of("load", path)
    with place.open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        try:
            entries, metadata = read_header(file, before.st_size)
            complexes = set(_names(place, metadata, COMPLEX))
            by_path = _names(place, metadata, BY_PATH)
            _check_parts(place, complexes, entries)
            found = {one.name: _read_one(file, place, one, complexes) for one in entries}
        except DamagedError as error:
            reason = f"load: {place} is no readable safetensors file: {error}."
            known = FOREIGN.get(place.suffix.lower())
            other = f" {known} writes files of this name." if known else ""
            raise ArgumentError(reason + other) from None
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ArgumentError(f"load: {place} was changed while it was read; load it again.")
    return Content(dict(sorted(found.items())), by_path)


def _read_one(file: BinaryIO, path: Path, entry: TensorEntry, complexes: set[str]) -> Tensor:
    array = np.empty(entry.shape, STORED[entry.stored])
    if entry.nbytes:
        file.seek(entry.start)
        left = array.reshape(-1).view(np.uint8).data
        while left:
            count = file.readinto(left)  # type: ignore[attr-defined]  # of a file without a buffer
            if not count:
                raise DamagedError(f"it was cut short while {entry.name!r} was read")
            left = left[count:]
    if entry.stored == BFLOAT16:
        array = widened(array)
    return _decoded(path, entry.name, array, complexes)


def check_name(caller: str, name: str) -> None:
    """Raise unless a name can stand in a file."""
    if name == RESERVED:
        raise ArgumentError(f"{caller}: {name!r} is kept for the format; want another name.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ArgumentError(
            f"{caller}: {name!r} is no name: it has half a character in it."
        ) from None


def _encoded(name: str, value: Tensor, dtype: str | None) -> tuple[str, np.ndarray]:
    """Return a tensor as it is stored: the dtype there, and the elements."""
    if value.dtype == "string":
        raise DTypeError(f"save: {name!r} holds strings; want numbers or bools.")
    array = value.numpy()
    if value.dtype in COMPLEXES:
        array = np.stack([np.real(array), np.imag(array)], axis=-1)
    elif dtype is not None and value.dtype in WIDER:
        return _rounded(name, array, dtype)
    return next(key for key, one in STORED.items() if one == array.dtype), array


def _rounded(name: str, array: np.ndarray, dtype: str) -> tuple[str, np.ndarray]:
    """Return floats rounded to the nearest of a narrow dtype, ties to even; NaN stays NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "float16":
            found = infinite = array.astype(np.float16)
            stored = "F16"
        else:
            bits = _odd(array).view(np.uint32)
            up = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
            quiet = (bits >> 16) | 0x40
            found = np.where(np.isnan(array), quiet, up).astype(np.uint16)
            infinite = widened(found)
            stored = BFLOAT16
    if (np.isinf(infinite) & np.isfinite(array)).any():
        most = np.abs(array[np.isfinite(array)]).max()
        raise ArgumentError(f"save: {name!r} holds {most:.6g}, beyond {dtype}; save it wider.")
    return stored, found


def _odd(array: np.ndarray) -> np.ndarray:
    """Return float32, of doubles rounded to odd, so that rounding once more is right."""
    found = np.array(array, np.float32)
    if array.dtype == np.float64:
        is_inexact = (found != array) & np.isfinite(array)
        bits = found.view(np.uint32)
        bits -= (is_inexact & (np.abs(found) > np.abs(array))).astype(np.uint32)
        bits |= is_inexact.astype(np.uint32)
    return found


def _names(path: Path, metadata: Mapping[str, str], key: str) -> list[str]:
    """Return one of the lists in the metadata."""
    try:
        found: Any = json.loads(metadata.get(key, "[]"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        text = metadata[key]
        shown = text if len(text) < 60 else text[:57] + "..."
        raise ArgumentError(
            f"load: {path} is damaged: its metadata says {shown!r} under {key!r}; want a list of "
            "names."
        )
    return found


def _check_parts(path: Path, complexes: set[str], entries: Sequence[TensorEntry]) -> None:
    present = {one.name: one for one in entries}
    for name in sorted(complexes):
        said = f"load: {path} is damaged: its metadata says that {name!r} is complex; "
        one = present.get(name)
        if one is None:
            raise ArgumentError(f"{said}there is no such tensor.")
        if one.shape[-1:] != (2,) or one.stored not in ("F32", "F64"):
            raise ArgumentError(
                f"{said}it is {one.stored} of shape {list(one.shape)}, not pairs of floats."
            )


def _decoded(path: Path, name: str, array: np.ndarray, complexes: set[str]) -> Tensor:
    if name in complexes:
        kind = np.complex64 if array.dtype == np.float32 else np.complex128
        array = np.asarray(array, order="C").view(kind)[..., 0]
    if array.dtype == np.bool_:
        array = np.asarray(array, order="C").view(np.uint8) != 0  # a damaged one has other bytes
    try:
        return tensor(array, dtype=array.dtype if array.dtype.kind in "bfc" else None)
    except WgslKernelsError as error:
        raise type(error)(f"load: {name!r} of {path} makes no tensor: {error}") from error
