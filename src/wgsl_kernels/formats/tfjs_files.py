"""TensorFlow.js's layers models: model.json with a topology of Keras, and files of weights.

Quantized weights are read as what they stand for: ``value * scale + min`` of uint8 and uint16, and
float16 as it is. See TensorFlow.js, io/types.ts (WeightsManifestEntry) and io/io_utils.ts.
"""

from __future__ import annotations

import json
import math
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

    Array = np.ndarray[Any, Any]

_STORED = {"float32": "<f4", "int32": "<i4", "bool": "?", "uint8": "u1"}
_QUANTIZED = {"uint8": "u1", "uint16": "<u2", "float16": "<f2"}
_LARGEST_JSON = 1 << 28


class TfjsFile(NamedTuple):
    """What is in the files.

    Attributes:
        topology: The root's ``class_name`` and ``config``.
        weights: By name.
    """

    topology: dict[str, Any]
    weights: dict[str, Array]


def read_layers_model(path: Path) -> TfjsFile:
    """Return the topology and the weights of a model.json.

    Raises:
        ArgumentError: It is none, or damaged; its files have not the bytes that it promises, or lie
            outside of its folder.
        OSError: A file cannot be read.
    """
    try:
        return _read(path)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ArgumentError(
            f"load_layers_model: {path.name} is no layers model of TensorFlow.js, or damaged: "
            f"{said}."
        ) from None


def _read(path: Path) -> TfjsFile:
    if path.stat().st_size > _LARGEST_JSON:
        raise ValueError(f"it has {path.stat().st_size} bytes")
    content = json.loads(path.read_text(encoding="utf-8"))
    written = content.get("format", "layers-model")
    if written != "layers-model":
        raise ValueError(
            f"its format is {written!r}; want 'layers-model' (a graph model has no layers)"
        )
    topology = content["modelTopology"]
    root = topology.get("model_config", topology)
    if not isinstance(root.get("class_name"), str) or not isinstance(root["config"], (dict, list)):
        raise ValueError("its topology has no class_name and config")
    weights: dict[str, Array] = {}
    for group in content.get("weightsManifest") or []:
        _read_group(path, group["paths"], group["weights"], weights)
    return TfjsFile(root, weights)


def _read_group(
    path: Path, files: list[str], entries: list[dict[str, Any]], found: dict[str, Array]
) -> None:
    """Read the weights that stand one after the other in some files."""
    places = [_inside(path, name) for name in files]
    sizes = [_bytes_of(one) for one in entries]
    held = sum(one.stat().st_size for one in places)
    if held != sum(sizes):
        raise ValueError(
            f"{', '.join(map(repr, files))} have {held} bytes; its weights take {sum(sizes)}"
        )
    data = b"".join(one.read_bytes() for one in places)
    start = 0
    for one, size in zip(entries, sizes, strict=True):
        name = one["name"]
        if not isinstance(name, str) or name in found:
            raise ValueError(f"a weight is called {name!r}, or two are")
        found[name] = _decoded(one, data[start : start + size])
        start += size


def _inside(path: Path, name: str) -> Path:
    """Return where a file of weights is: beside model.json or below."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or ":" in name:
        raise ValueError(f"a file of weights is called {name!r}, which is outside of its folder")
    return path.parent / parts


def _bytes_of(entry: dict[str, Any]) -> int:
    """Return how many bytes a weight takes in its file."""
    shape: list[int] = entry["shape"]
    if not all(type(one) is int and one >= 0 for one in shape):
        raise ValueError(f"{entry['name']} has shape {shape!r}")
    return math.prod(shape) * _stored(entry).itemsize


def _stored(entry: dict[str, Any]) -> np.dtype[Any]:
    quantization = entry.get("quantization")
    dtype = entry["dtype"] if quantization is None else quantization["dtype"]
    known = _STORED if quantization is None else _QUANTIZED
    if dtype not in known or entry["dtype"] not in _STORED:
        raise ValueError(f"{entry['name']} is {dtype}; want {', '.join(known)}")
    return np.dtype(known[dtype])


def _decoded(entry: dict[str, Any], data: bytes) -> Array:
    values = np.frombuffer(data, _stored(entry)).reshape(entry["shape"])
    quantization = entry.get("quantization")
    if quantization is None:
        return values
    if quantization["dtype"] != "float16":
        scale, least = float(quantization["scale"]), float(quantization["min"])
        values = values * np.float32(scale) + np.float32(least)
    if entry["dtype"] == "int32":
        values = np.round(values)
    return values.astype(_STORED[entry["dtype"]])
