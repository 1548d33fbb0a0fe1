"""Safetensors files: named tensors, and what their metadata says about them.

bool, int8, uint8, int32, float16, float32 and float64 are stored as they are (BOOL, I8, U8, I32,
F16, F32, F64), a complex tensor as floats with a last axis of 2, the real and the imaginary part.
Two lists of names, as JSON, stand in the metadata: under ``complex`` the complex tensors, under
``by_path`` the objects whose state names variables by their paths in the file. Any reader of
safetensors opens such a file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.engine.dtypes import COMPLEXES
from wgsl_kernels.engine.errors import ArgumentError, DTypeError, WgslKernelsError
from wgsl_kernels.engine.files import path_of, write_whole
from wgsl_kernels.engine.tensor import Tensor, tensor

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COMPLEX, BY_PATH = "complex", "by_path"
RESERVED = "__metadata__"
"""The one name that the format keeps for itself."""


class Content(NamedTuple):
    """What a file holds.

    Attributes:
        tensors: By name.
        by_path: The names of the objects whose state calls variables by their paths in the file.
    """

    tensors: dict[str, Tensor]
    by_path: Sequence[str]


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Write a file, in one step.

    Raises:
        ArgumentError: ``path`` is none, or a name cannot stand in a file.
        DTypeError: A tensor holds strings.
        OSError: The file cannot be written.
    """
    from safetensors.numpy import save

    place = path_of("save", path)
    for name in content.tensors:
        _check_name(name)
    arrays = {name: _encoded(name, value) for name, value in content.tensors.items()}
    complexes = [name for name, value in content.tensors.items() if value.dtype in COMPLEXES]
    lists = {COMPLEX: complexes, BY_PATH: list(content.by_path)}
    metadata = {key: json.dumps(names) for key, names in lists.items() if names}
    write_whole(place, save(arrays, metadata or None))


def read(path: str | os.PathLike[str]) -> Content:
    """Return what is in a file.

    Raises:
        ArgumentError: ``path`` is none, or what is there is no safetensors file, or damaged.
        OSError: The file cannot be read.
    """
    from safetensors import safe_open

    place = path_of("load", path)
    place.open("rb").close()  # a missing file, or none that may be read, raises OSError here
    try:
        with safe_open(place, framework="numpy") as file:
            names = file.keys()  # no mapping: it has keys, and cannot be iterated
            arrays = {name: file.get_tensor(name) for name in names}
            metadata = file.metadata() or {}
    except (OSError, MemoryError):
        raise
    except Exception as error:
        reason = str(error).rstrip(".")
        raise ArgumentError(f"load: {place} is no readable safetensors file: {reason}.") from error
    complexes = set(_names(place, metadata, COMPLEX))
    by_path = _names(place, metadata, BY_PATH)
    for name in complexes:
        _check_parts(place, name, arrays)
    found = {name: _decoded(place, name, one, complexes) for name, one in arrays.items()}
    return Content(found, by_path)


def _check_name(name: str) -> None:
    if name == RESERVED:
        raise ArgumentError(f"save: {name!r} is kept for the format; want another name.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"save: {name!r} is no name: it has half a character in it.") from None


def _encoded(name: str, value: Tensor) -> np.ndarray:
    if value.dtype == "string":
        raise DTypeError(f"save: {name!r} holds strings; want numbers or bools.")
    array = value.numpy()
    return (
        np.stack([np.real(array), np.imag(array)], axis=-1) if value.dtype in COMPLEXES else array
    )


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


def _check_parts(path: Path, name: str, arrays: Mapping[str, np.ndarray]) -> None:
    array = arrays.get(name)
    if array is None:
        raise ArgumentError(
            f"load: {path} is damaged: its metadata says that {name!r} is complex; there is no "
            "such tensor."
        )
    if array.shape[-1:] != (2,) or array.dtype not in (np.float32, np.float64):
        raise ArgumentError(
            f"load: {path} is damaged: its metadata says that {name!r} is complex; it is "
            f"{array.dtype} of shape {list(array.shape)}, not pairs of floats."
        )


def _decoded(path: Path, name: str, array: np.ndarray, complexes: set[str]) -> Tensor:
    if name in complexes:
        kind = np.complex64 if array.dtype == np.float32 else np.complex128
        array = np.ascontiguousarray(array).view(kind)[..., 0]
    if array.dtype == np.bool_:
        array = np.ascontiguousarray(array).view(np.uint8) != 0  # a damaged one has other bytes
    try:
        return tensor(array, dtype=array.dtype if array.dtype.kind in "bfc" else None)
    except WgslKernelsError as error:
        raise type(error)(f"load: {name!r} of {path} makes no tensor: {error}") from error
