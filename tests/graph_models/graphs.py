"""Writes graph models of TensorFlow.js as its converter does: model.json and files of weights."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DTYPES = {"float32": "DT_FLOAT", "int32": "DT_INT32", "bool": "DT_BOOL"}


def attribute(value: Any) -> dict[str, Any]:
    """Return an ``AttrValue`` in JSON."""
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, int):
        return {"i": str(value)}
    if isinstance(value, float):
        return {"f": value}
    if isinstance(value, str):
        if value.startswith("DT_"):
            return {"type": value}
        return {"s": base64.b64encode(value.encode()).decode()}
    lists: dict[str, list[Any]] = {}
    for one in value:
        for kind, item in attribute(one).items():
            lists.setdefault(kind, []).append(item)
    return {"list": lists}


def shape_of(lengths: Any) -> dict[str, Any]:
    """Return a ``TensorShapeProto`` in JSON."""
    return {"dim": [{"size": str(n)} for n in lengths]}


class GraphWriter:
    """Collects nodes and weights; each call returns the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.weights: dict[str, np.ndarray] = {}
        self.inputs: dict[str, dict[str, Any]] = {}

    def placeholder(self, name: str, shape: Any, dtype: str = "DT_FLOAT") -> str:
        """Add an input."""
        attrs = {"dtype": {"type": dtype}, "shape": {"shape": shape_of(shape)}}
        self.nodes.append({"name": name, "op": "Placeholder", "attr": attrs})
        self.inputs[name] = {"name": f"{name}:0", "dtype": dtype, "tensorShape": shape_of(shape)}
        return name

    def constant(self, values: Any, name: str = "") -> str:
        """Add a constant, in float32, int32 or bool."""
        array = np.asarray(values)
        array = array.astype({"f": np.float32, "i": np.int32, "b": np.bool_}[array.dtype.kind])
        name = name or f"const/{len(self.nodes)}"
        dtype = {"dtype": {"type": DTYPES[array.dtype.name]}}
        self.nodes.append({"name": name, "op": "Const", "attr": dtype})
        self.weights[name] = array
        return name

    def node(self, op: str, *inputs: Any, name: str = "", **attrs: Any) -> str:
        """Add a node; inputs that are not names become constants, whose dtype is its ``T``."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        name = name or f"{op}/{len(self.nodes)}"
        found = {key: attribute(value) for key, value in attrs.items()}
        if names and "T" not in found:
            kind = self.weights.get(names[0], np.zeros(0, np.float32)).dtype.name
            found["T"] = {"type": DTYPES[kind]}
        self.nodes.append({"name": name, "op": op, "input": names, "attr": found})
        return name

    def content(self, outputs: Mapping[str, str], shard: int = 1 << 20) -> dict[str, Any]:
        """Return what is in model.json; weights are in shards of so many bytes."""
        data = self.data()
        entries = [
            {"name": name, "shape": list(one.shape), "dtype": one.dtype.name}
            for name, one in self.weights.items()
        ]
        count = max(1, -(-len(data) // shard))
        paths = [f"group1-shard{i + 1}of{count}.bin" for i in range(count)]
        signature = {
            "inputs": self.inputs,
            "outputs": {name: {"name": one} for name, one in outputs.items()},
        }
        return {
            "format": "graph-model",
            "generatedBy": "2.15.0",
            "convertedBy": "TensorFlow.js Converter v4.22.0",
            "signature": signature,
            "modelTopology": {"node": self.nodes, "library": {}, "versions": {}},
            "weightsManifest": [{"paths": paths, "weights": entries}],
        }

    def data(self) -> bytes:
        """Return the weights one behind the other."""
        return b"".join(one.tobytes() for one in self.weights.values())

    def save(self, folder: Path, outputs: Mapping[str, str], shard: int = 1 << 20) -> Path:
        """Write model.json and its shards; return where the former is."""
        folder.mkdir(parents=True, exist_ok=True)
        content = self.content(outputs, shard)
        for i, path in enumerate(content["weightsManifest"][0]["paths"]):
            (folder / path).write_bytes(self.data()[i * shard : (i + 1) * shard])
        (folder / "model.json").write_text(json.dumps(content))
        return folder / "model.json"
