"""Models of TensorFlow.js as layers of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.files import path_of
from wgsl_kernels.formats.tfjs_files import read_layers_model
from wgsl_kernels.nn.graph import Graph, GraphCall, graph_call
from wgsl_kernels.nn.structure import Sequential, sequential
from wgsl_kernels.nn.tfjs_layers import MAKERS, LayerSource, UnfitLayerError

if TYPE_CHECKING:
    import os

    from wgsl_kernels.nn.graph import Source
    from wgsl_kernels.nn.tfjs_layers import Array

_SEQUENTIAL, _FUNCTIONAL, _INPUT = "Sequential", ("Functional", "Model"), "InputLayer"


def load_layers_model(path: str | os.PathLike[str]) -> Sequential | Graph:
    """Return a layers model of TensorFlow.js as layers of `wgsl_kernels.nn`, with its weights.

    A model that is a sequence becomes a `wgsl_kernels.nn.sequential`, any other a `Graph`, called
    with its inputs in order. Quantized weights become float32; layers that are frozen there are not
    trainable here.

    Args:
        path: ``model.json``, as ``model.save`` or the converter writes it, with its files of
            weights beside it.

    Raises:
        ArgumentError: The files are none, damaged, or lie outside of the folder; or layers are not
            known, or have options that ours lack, or weights are missing, misshapen or left over:
            the message has them all.
        OSError: A file cannot be read.

    Source: TensorFlow.js, tf.loadLayersModel.
    """
    file = read_layers_model(path_of("load_layers_model", path))
    try:
        return _Builder(file.topology, file.weights).model()
    except ArgumentError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise ArgumentError(
            f"load_layers_model: the topology is damaged: {type(error).__name__}: {error}."
        ) from None


class _Builder:
    """Makes layers of a topology, and notes what does not fit."""

    def __init__(self, topology: dict[str, Any], weights: dict[str, Array]) -> None:
        self._topology = topology
        names, unknown = set[str](), set[str]()
        _walk(topology, names, unknown)
        if unknown:
            raise ArgumentError(
                f"load_layers_model: layers that are not known: {', '.join(sorted(unknown))}; "
                f"want {', '.join(MAKERS)}."
            )
        self._weights: dict[str, dict[str, Array]] = {name: {} for name in names}
        self._wrong: list[str] = []
        for path, array in weights.items():
            *folders, end = path.split("/")  # of Keras with a cell's name between
            owner = next((one for one in reversed(folders) if one in names), None)
            if owner is None:
                self._wrong.append(f"no layer has the weight {path}")
            else:
                self._weights[owner][end] = array

    def model(self) -> Sequential | Graph:
        """Return the model.

        Raises:
            ArgumentError: Something does not fit.
        """
        found = self._model(self._topology)
        for name, left in self._weights.items():
            self._wrong += [f"{name}: the weight {one!r} is left over" for one in left]
        if self._wrong:
            raise ArgumentError(
                "load_layers_model: layers do not fit.\n  " + "\n  ".join(self._wrong)
            )
        return found

    def _model(self, node: dict[str, Any]) -> Sequential | Graph:
        if node["class_name"] == _SEQUENTIAL:
            made = [self._layer(one) for one in _layers(node) if one["class_name"] != _INPUT]
            return sequential(*(part for several in made for part in several))
        return self._graph(node["config"])

    def _layer(self, node: dict[str, Any]) -> list[Any]:
        if _is_model(node):
            return [self._model(node)]
        config = node["config"]
        name = config["name"]
        try:
            return MAKERS[node["class_name"]](LayerSource(config, self._weights[name]))
        except UnfitLayerError as error:
            self._wrong.append(f"{name} ({node['class_name']}): {error}")
            return []

    def _graph(self, config: dict[str, Any]) -> Graph:
        layers: dict[str, Any] = {}
        pending: list[tuple[str, int, list[tuple[str, int, int]]]] = []
        counts: dict[str, int] = {}
        for node in config["layers"]:
            name = node.get("name") or node["config"]["name"]
            if name in counts:
                raise ValueError(f"two layers are called {name!r}")
            if node["class_name"] == _INPUT:
                counts[name] = 1
                continue
            made = self._layer(node)
            layers[name] = made[0] if len(made) == 1 else sequential(*made)
            inbound = node["inbound_nodes"]
            counts[name] = len(inbound)
            pending += [(name, at, _references(name, one)) for at, one in enumerate(inbound)]
        inputs = tuple(one[0] for one in _ends(config["input_layers"]))
        outputs = _ends(config["output_layers"])
        # a model within counts from the call that made it
        used = [one for _, _, several in pending for one in several] + outputs
        first = {
            name: max([0, *(at - count + 1 for one, at, _ in used if one == name)])
            for name, count in counts.items()
        }
        places: dict[tuple[str, int], int] = {(name, 0): at for at, name in enumerate(inputs)}
        calls: list[GraphCall] = []

        def source(reference: tuple[str, int, int]) -> Source | None:
            name, at, number = reference
            place = places.get((name, at - first[name]))
            return None if place is None else (place, number)

        while pending:
            left = []
            for name, at, several in pending:
                sources = [source(one) for one in several]
                if None in sources:
                    left.append((name, at, several))
                    continue
                places[name, at] = len(inputs) + len(calls)
                known = tuple(one for one in sources if one is not None)
                calls.append(graph_call(name, layers[name], known))
            if len(left) == len(pending):
                raise ValueError(f"layers wait for one another: {left[0][0]!r}")
            pending = left
        ends = tuple(one for one in map(source, outputs) if one is not None)
        if len(ends) != len(outputs):
            raise ValueError("an output is of no layer")
        return Graph(layers, inputs, tuple(calls), ends)


def _is_model(node: dict[str, Any]) -> bool:
    return node["class_name"] == _SEQUENTIAL or node["class_name"] in _FUNCTIONAL


def _layers(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of a model; older files have the list alone for a sequence."""
    config = node["config"]
    found: list[dict[str, Any]] = config if isinstance(config, list) else config["layers"]
    return found


def _walk(node: dict[str, Any], names: set[str], unknown: set[str]) -> None:
    """Note the names of all layers, and the classes that are not known."""
    if not _is_model(node):
        kind = node["class_name"]
        if kind != _INPUT and kind not in MAKERS:
            unknown.add(str(kind))
        names.add(node["config"]["name"])
        return
    for one in _layers(node):
        _walk(one, names, unknown)


def _references(name: str, inbound: Any) -> list[tuple[str, int, int]]:
    """Return what a call of a layer is given: layers, their calls, and their results."""
    if not isinstance(inbound, list):
        raise ValueError(f"{name} is written by Keras 3; want a file of TensorFlow.js or Keras 2")
    if any(len(one) > 3 and one[3] for one in inbound):
        raise ValueError(f"{name} is called with keywords")
    return _ends(inbound)


def _ends(given: Any) -> list[tuple[str, int, int]]:
    """Return references to results; one alone may be given without a list."""
    several = [given] if given and isinstance(given[0], str) else given
    return [(str(one[0]), int(one[1]), int(one[2])) for one in several]
