"""Functions of tensors as graph models of TensorFlow.js: model.json and files of weights.

Source: TensorFlow.js, tfjs-core/src/io/types.ts (ModelJSON, WeightsManifestConfig).
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.environment.files import path_of, write_whole
from wgsl_kernels.graphdef import kernel_nodes, shape_nodes, window_nodes
from wgsl_kernels.graphdef.node_writer import DTYPES, STORED, NodeWriter, shape_json
from wgsl_kernels.onnx.saving.compositions import COMPOSITIONS
from wgsl_kernels.onnx.saving.varying import GraphFormat, write_function

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from wgsl_kernels.engine.tensors.tensor import TensorLike
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.saving.graph_writer import Rule
    from wgsl_kernels.onnx.saving.varying import Dims, WrittenGraph

RULES: Mapping[str, Rule] = MappingProxyType(
    {**kernel_nodes.RULES, **shape_nodes.RULES, **window_nodes.RULES}
)
"""By the kernel's name: given the writer, the inputs, the attributes and the outputs."""
_SHARD = 1 << 22
"""Bytes of a file of weights, as TensorFlow.js's converter has them."""
_SHARD_NAME = re.compile(r"group1-shard\d+of\d+-[0-9a-f]{8}\.bin")
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
"""What a node may be called. Source: TensorFlow, core/framework/node_def_util.cc."""


def save_graph_model(
    f: Callable[..., Any],
    folder: str | os.PathLike[str],
    inputs: Mapping[str, TensorLike],
    *,
    dynamic_axes: Mapping[str, Mapping[int, str]] | None = None,
) -> None:
    """Write a function of tensors as a graph model that TensorFlow.js loads.

    ``f`` runs once; the kernels that it runs become nodes. What does not depend on the inputs is
    written as it is in that run: variables, and what is computed of them. Shapes are those of the
    examples, but for axes in ``dynamic_axes``: for these ``f`` runs at several lengths, 1 among
    them, and what of its graphs differs is computed from the inputs' shapes, or refused.
    Variables, optimizers and `wk.random` are afterwards as before.

    Args:
        f: Called with ``inputs`` by name. It returns a tensor, or several in a tuple or list, which
            are called ``y``, or ``y0``, ``y1`` and so on, or in a dictionary under their names.
            Where an input is called so, ``_`` follows.
        folder: Where ``model.json`` and the files of weights are written, the former last; it is
            made where it is missing.
        inputs: An example of each input, by name, of which shape and dtype count.
        dynamic_axes: Axes whose length may be another one, named: ``{"x": {0: "batch"}}``. Those of
            one name have one length. At most three names.

    Raises:
        ArgumentError: A kernel has no rule in TensorFlow.js: all of them are named, each with
            the line that ran it; or ``f`` does not take its inputs, or reads values that depend on
            them, or draws random numbers; or it cannot be said for any length of the dynamic axes,
            and by which line; or it returns something else than tensors, none, or one under the
            name of an input; or a name is none that a node can have; or ``folder`` is no path.
        DTypeError: An input, output or weight is none of float32, int32 and bool, or an example
            makes no tensor.
        OSError: A file cannot be written.

    Source: TensorFlow.js, tf.GraphModel.
    """
    caller = "save_graph_model"
    place = _folder(caller, folder)
    target = GraphFormat(caller, "TensorFlow.js", NodeWriter, RULES, COMPOSITIONS)
    found = write_function(target, f, inputs, dynamic_axes)
    _check(caller, found)
    nodes, weights = found.writer.graph(found.inputs)
    for name, array in weights.items():
        _check_dtype(caller, f"the constant {name!r}", array.dtype.name)
    data = b"".join(array.tobytes() for array in weights.values())
    digest = hashlib.sha256(data).hexdigest()[:8]
    shards = [data[start : start + _SHARD] for start in range(0, len(data), _SHARD)]
    paths = [f"group1-shard{i + 1}of{len(shards)}-{digest}.bin" for i in range(len(shards))]
    place.mkdir(parents=True, exist_ok=True)
    for path, shard in zip(paths, shards, strict=True):
        write_whole(place / path, [shard])
    content = _content(found, nodes, weights, paths)
    write_whole(place / "model.json", [json.dumps(content).encode()])
    for old in place.iterdir():
        if _SHARD_NAME.fullmatch(old.name) and old.name not in paths:
            old.unlink()  # of a model that was here before


def _folder(caller: str, folder: Any) -> Path:
    """Return where a model is written.

    Raises:
        ArgumentError: ``folder`` is no path, or a file.
    """
    if isinstance(folder, (str, Path)) or hasattr(folder, "__fspath__"):
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise ArgumentError(f"{caller}: {place} is a file; want a folder.")
        return path_of(caller, place / "model.json").parent
    raise ArgumentError(f"{caller}: folder is a {type(folder).__name__}; want a path.")


def _check(caller: str, found: WrittenGraph) -> None:
    traced = found.writer.traced
    for kind, values in (("input", traced.inputs), ("output", traced.outputs)):
        for name, one in values.items():
            if not _NAME.fullmatch(name):
                raise ArgumentError(
                    f"{caller}: an {kind} is called {name!r}; want letters, digits and any of "
                    "_ . / - behind the first."
                )
            _check_dtype(caller, f"{kind} {name!r}", str(one.dtype))


def _check_dtype(caller: str, what: str, dtype: str) -> None:
    if dtype not in STORED:
        raise DTypeError(f"{caller}: {what} is {dtype}; want one of {', '.join(STORED)}.")


def _content(
    found: WrittenGraph, nodes: list[dict[str, Any]], weights: Mapping[str, Array], paths: list[str]
) -> dict[str, Any]:
    """Return what is in model.json."""
    traced = found.writer.traced
    entries = [
        {"name": name, "shape": list(array.shape), "dtype": array.dtype.name}
        for name, array in weights.items()
    ]
    return {
        "format": "graph-model",
        "generatedBy": "wgsl-kernels",
        "convertedBy": "wgsl-kernels",
        "signature": {
            "inputs": _infos(traced.inputs, found.inputs),
            "outputs": _infos(traced.outputs, found.outputs),
        },
        "modelTopology": {"node": nodes, "library": {}, "versions": {}},
        "weightsManifest": [{"paths": paths, "weights": entries}],
    }


def _infos(values: Mapping[str, Any], dims: Mapping[str, Dims]) -> dict[str, Any]:
    return {
        name: {
            "name": f"{name}:0",
            "dtype": DTYPES[str(one.dtype)],
            "tensorShape": shape_json(dims[name]),
        }
        for name, one in values.items()
    }
