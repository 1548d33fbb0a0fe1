"""TensorFlow.js's models: model.json, with a topology of Keras or a graph, and files of weights.

Quantized weights are read as what they stand for: ``value * scale + min`` of uint8 and uint16, and
float16 as it is. See TensorFlow.js, io/types.ts (WeightsManifestEntry) and io/io_utils.ts.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Iterator
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
        topology = content["modelTopology"]
        root = topology.get("model_config", topology)
        if not isinstance(root.get("class_name"), str) or not isinstance(
            root["config"], (dict, list)
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
        graph = content["modelTopology"]
        if not isinstance(graph.get("node"), list):
            raise ValueError("its topology has no list of nodes")
        metadata = content.get("userDefinedMetadata") or {}
        signature = metadata.get("signature") or content.get("signature") or {}
        return TfjsGraphFile(graph, signature, _weights(path, content))


@contextmanager
def saying_what_is_damaged(caller: str, what: str) -> Iterator[None]:
    """Turn what Python raises of misshapen JSON into an `ArgumentError`.

    Args:
        caller: Who reads.
        what: What the file then is not, as "x.json is no layers model".
    """
    try:
        yield
    except WgslKernelsError:
        raise
    except (
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ArgumentError(f"{caller}: {what} of TensorFlow.js, or damaged: {said}.") from None


def _content(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST_JSON:
        raise ValueError(f"it has {path.stat().st_size} bytes")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _weights(path: Path, content: dict[str, Any]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for group in content.get("weightsManifest") or []:
        _read_group(path, group["paths"], group["weights"], found)
    return found


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
