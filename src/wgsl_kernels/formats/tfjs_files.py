"""TensorFlow.js's models: model.json, with a topology of Keras or a graph, and files of weights.

Quantized weights are read as what they stand for: ``value * scale + min`` of uint8 and uint16, and
float16 as it is. See TensorFlow.js, io/types.ts (WeightsManifestEntry) and io/io_utils.ts.
"""

from __future__ import annotations

import errno
import json
import math
import os
import reprlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from wgsl_kernels.engine.environment.files import naming_damage, path_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    Array = np.ndarray[Any, Any]

_STORED = {"float32": "<f4", "int32": "<i4", "bool": "?", "uint8": "u1"}
_QUANTIZED = {"uint8": "u1", "uint16": "<u2", "float16": "<f2"}
_LARGEST_JSON = 1 << 28
_JSON_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
Json = TypeVar("Json", dict[str, Any], list[Any], str)


class TfjsFile(NamedTuple):
    """What is in the files.

    Attributes:
        topology: The root's ``class_name`` and ``config``.
        weights: By name.
    """

    topology: dict[str, Any]
    weights: dict[str, Array]


class TfjsGraphFile(NamedTuple):
    """What is in the files of a graph model.

    Attributes:
        graph: A ``GraphDef``, as protocol buffers are written in JSON.
        signature: Its inputs and outputs; empty where nothing is declared.
        weights: By the name of the node that gives them.
    """

    graph: dict[str, Any]
    signature: dict[str, Any]
    weights: dict[str, Array]


def read_layers_model(path: Path) -> TfjsFile:
    """Return the topology and the weights of a model.json.

    Raises:
        ArgumentError: It is none, or damaged; its files have not the bytes that it promises, or are
            outside of its folder.
        OSError: A file cannot be read.
    """
    with saying_what_is_damaged("load_layers_model", f"{path.name} is no layers model"):
        content = _content(path)
        if content.get("format", "layers-model") != "layers-model":
            raise ValueError(
                f"its format is {content['format']!r}; want 'layers-model' (a graph model has no "
                "layers: wk.tfjs.load_graph_model reads it)"
            )
        topology = member(content, "modelTopology", dict)
        root = topology
        if "model_config" in topology:
            root = member(topology, "model_config", dict, "modelTopology")
        if not isinstance(root.get("class_name"), str) or not isinstance(
            root.get("config"), (dict, list)
        ):
            raise ValueError("its topology has no class_name and config")
        return TfjsFile(root, _weights(path, content))


def read_graph_model(path: Path) -> TfjsGraphFile:
    """Return the graph, the signature and the weights of a model.json.

    Raises:
        ArgumentError: As `read_layers_model`.
        OSError: A file cannot be read.
    """
    with saying_what_is_damaged("load_graph_model", f"{path.name} is no graph model"):
        content = _content(path)
        if content.get("format", "graph-model") != "graph-model":
            raise ValueError(
                f"its format is {content['format']!r}; want 'graph-model' "
                "(wk.tfjs.load_layers_model reads layers)"
            )
        graph = member(content, "modelTopology", dict)
        if not isinstance(graph.get("node"), list):
            raise ValueError("its topology has no list of nodes")
        metadata = held_to(content.get("userDefinedMetadata") or {}, dict, "userDefinedMetadata")
        signature = metadata.get("signature") or content.get("signature") or {}
        held_to(signature, dict, "signature")
        return TfjsGraphFile(graph, signature, _weights(path, content))


def saying_what_is_damaged(caller: str, what: str) -> AbstractContextManager[None]:
    """Turn what Python raises of misshapen JSON into an `ArgumentError`.

    Args:
        caller: Who reads.
        what: What the file then is not, as "x.json is no layers model".
    """
    return naming_damage(f"{caller}: {what} of TensorFlow.js, or damaged")


def _content(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST_JSON:
        raise ValueError(f"it has {path.stat().st_size} bytes")
    return held_to(json.loads(path.read_text(encoding="utf-8")), dict, "the whole of it")


def model_file(caller: str, path: Any) -> Path:
    """Return where the file of a model is that a user names, itself or by its folder.

    Raises:
        ArgumentError: As `path_of`.
    """
    if isinstance(path, (str, os.PathLike)) and path:
        place = Path(os.fsdecode(path))
        path = place / "model.json" if place.is_dir() else path
    return path_of(caller, path)


def held_to(value: Any, kind: type[Json], place: str) -> Json:
    """Return what stands in JSON, held to be an object, a list or a text.

    Args:
        value: What was read.
        kind: ``dict``, ``list`` or ``str``.
        place: Where it stands, as keys with dots between them.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(value, kind):
        shown = reprlib.repr(value)
        raise ValueError(f"{place} is {shown}; want {_JSON_KINDS[kind]}")
    return value


def member(of: dict[str, Any], key: str, kind: type[Json], place: str = "") -> Json:
    """Return what an object has under a key; see `held_to`.

    Raises:
        ValueError: It has no such key, or something else there.
    """
    if key not in of:
        raise ValueError(f"{place or 'it'} lacks {key!r}")
    return held_to(of[key], kind, f"{place}.{key}" if place else key)


def _weights(path: Path, content: dict[str, Any]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    place = "weightsManifest"
    for i, group in enumerate(held_to(content.get(place) or [], list, place)):
        here = f"{place}.{i}"
        held_to(group, dict, here)
        files = member(group, "paths", list, here)
        for j, one in enumerate(files):
            held_to(one, str, f"{here}.paths.{j}")
        entries = member(group, "weights", list, here)
        for j, one in enumerate(entries):
            _check_entry(held_to(one, dict, f"{here}.weights.{j}"), f"{here}.weights.{j}")
        _read_group(path, files, entries, found)
    return found


def _check_entry(entry: dict[str, Any], place: str) -> None:
    """Hold what is said of a weight to be there, each of its kind."""
    member(entry, "name", str, place)
    member(entry, "shape", list, place)
    member(entry, "dtype", str, place)
    if entry.get("quantization") is not None:
        quantization, place = member(entry, "quantization", dict, place), f"{place}.quantization"
        has_scale = member(quantization, "dtype", str, place) != "float16"
        for key in ("scale", "min") if has_scale else ():
            if type(quantization.get(key)) not in (int, float):
                raise ValueError(f"{place}.{key} is {quantization.get(key)!r}; want a number")


def _read_group(
    path: Path, files: list[str], entries: list[dict[str, Any]], found: dict[str, Array]
) -> None:
    """Read the weights that stand one after the other in some files."""
    places = [_inside(path, name) for name in files]
    sizes = [_bytes_of(one) for one in entries]
    held = 0
    for file in places:
        if not file.is_file():
            said = f"{path.name} has its weights in this file, which is not there"
            raise FileNotFoundError(errno.ENOENT, said, str(file))
        held += file.stat().st_size
    if held != sum(sizes):
        raise ValueError(
            f"{', '.join(map(repr, files))} have {held} bytes; its weights take {sum(sizes)}"
        )
    data = b"".join(file.read_bytes() for file in places)
    start = 0
    for one, size in zip(entries, sizes, strict=True):
        name = one["name"]
        if name in found:
            raise ValueError(f"two weights are called {name!r}")
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
