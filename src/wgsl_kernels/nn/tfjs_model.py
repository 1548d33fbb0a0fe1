"""Models of TensorFlow.js as layers of ours."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.formats.tfjs_files import held_to, member, model_file, read_layers_model
from wgsl_kernels.nn.graph import Graph, GraphCall, graph_call
from wgsl_kernels.nn.structure import Sequential, sequential
from wgsl_kernels.nn.tfjs_layers import MAKERS, LayerSource, UnfitLayerError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from wgsl_kernels.nn.graph import Source
    from wgsl_kernels.nn.tfjs_layers import Array

_SEQUENTIAL, _FUNCTIONAL, _INPUT = "Sequential", ("Functional", "Model"), "InputLayer"

_Call = tuple[str, int]
"""A call of a layer: the layer's name, and the number of the call among its calls."""


class _CallResult(NamedTuple):
    """A result of a call, by its number among the call's results."""

    call: _Call
    result: int


def load_layers_model(path: str | os.PathLike[str]) -> Sequential | Graph:
    """Return a layers model of TensorFlow.js as layers of `wgsl_kernels.nn`, with its weights.

    A model that is a sequence becomes a `wgsl_kernels.nn.sequential`, any other a
    `wgsl_kernels.nn.Graph`, called with its inputs in order. Quantized weights become float32;
    layers that are frozen there are not trainable here.

    Args:
        path: ``model.json``, as ``model.save`` or the converter writes it, with its files of
            weights beside it; or the folder of these.

    Raises:
        ArgumentError: The files are none, damaged, or outside of the folder; or layers are not
            known, or have options that ours lack, or weights are missing, misshapen or left over:
            the message has them all.
        OSError: A file cannot be read.

    Source: TensorFlow.js, tf.loadLayersModel.
    """
    file = read_layers_model(model_file("load_layers_model", path))
    try:
        return _Builder(file.topology, file.weights).model()
    except ArgumentError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        said = f"nothing in it is called {error}" if isinstance(error, KeyError) else str(error)
        raise ArgumentError(f"load_layers_model: the topology is damaged: {said}.") from None


class _Builder:
    """Makes layers of a topology, and notes what does not fit."""

    def __init__(self, topology: dict[str, Any], weights: dict[str, Array]) -> None:
        self._topology = topology
        names, unknown = set[str](), set[str]()
        _walk(topology, names, unknown, "the topology")
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
            every = _layers(node, "a model")
            made = [self._layer(one) for one in every if one["class_name"] != _INPUT]
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
            why = str(error)
        except (AttributeError, KeyError, TypeError) as error:
            why = f"an option is missing, or is not of the kind that it should be: {error}"
        self._wrong.append(f"{name} ({node['class_name']}): {why}")
        return []

    def _graph(self, config: dict[str, Any]) -> Graph:
        layers, given = self._called_layers(config["layers"])
        first_ones, last_ones = (
            member(config, key, list, "a model") for key in ("input_layers", "output_layers")
        )
        inputs = tuple(one.call[0] for one in _references(first_ones, "input_layers"))
        outputs = _references(last_ones, "output_layers")
        first = _first_calls(given, outputs)
        places = {(name, first.get(name, 0)): at for at, name in enumerate(inputs)}
        pending = {
            (name, first[name] + at): sources
            for name in layers
            for at, sources in enumerate(given[name])
        }
        calls: list[GraphCall] = []
        for call in _in_order(pending, places):
            sources = _sources(pending[call], places)
            places[call] = len(inputs) + len(calls)
            calls.append(graph_call(call[0], layers[call[0]], sources))
        if any(one.call not in places for one in outputs):
            raise ValueError("an output is of no layer")
        return Graph(layers, inputs, tuple(calls), _sources(outputs, places))

    def _called_layers(
        self, nodes: list[dict[str, Any]]
    ) -> tuple[dict[str, Any], dict[str, list[list[_CallResult]]]]:
        """Return layers by name, and what each is given in each call; nothing, of an input."""
        layers: dict[str, Any] = {}
        given: dict[str, list[list[_CallResult]]] = {}
        for node in nodes:
            name = held_to(node.get("name") or node["config"]["name"], str, "a layer's name")
            if name in given:
                raise ValueError(f"two layers are called {name!r}")
            if node["class_name"] == _INPUT:
                given[name] = [[]]
                continue
            made = self._layer(node)
            layers[name] = made[0] if len(made) == 1 else sequential(*made)
            given[name] = [_inbound(name, one) for one in member(node, "inbound_nodes", list, name)]
        return layers, given


def _is_model(node: dict[str, Any]) -> bool:
    return node["class_name"] == _SEQUENTIAL or node["class_name"] in _FUNCTIONAL


def _layers(node: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Return the layers of a model; older files have the list alone for a sequence."""
    if node["class_name"] == _SEQUENTIAL and isinstance(node.get("config"), list):
        return list(node["config"])
    return list(member(member(node, "config", dict, place), "layers", list, f"{place}.config"))


def _walk(node: Any, names: set[str], unknown: set[str], place: str) -> None:
    """Note the names of all layers, and the classes that are not known."""
    kind = member(held_to(node, dict, place), "class_name", str, place)
    if not _is_model(node):
        if kind != _INPUT and kind not in MAKERS:
            unknown.add(kind)
        config = member(node, "config", dict, place)
        names.add(member(config, "name", str, f"{place}.config"))
        return
    for at, one in enumerate(_layers(node, place)):
        _walk(one, names, unknown, f"{place}.config.layers.{at}")


def _inbound(name: str, inbound: Any) -> list[_CallResult]:
    """Return what a call of a layer is given."""
    if not isinstance(inbound, list):
        raise ValueError(f"{name} is written by Keras 3; want a file of TensorFlow.js or Keras 2")
    found = _references(inbound, f"inbound_nodes of {name}")
    if any(len(one) > 3 and one[3] for one in inbound):
        raise ValueError(f"{name} is called with keywords")
    return found


def _references(given: list[Any], place: str) -> list[_CallResult]:
    """Return references to results; one alone may be given without a list."""
    several = [given] if given and isinstance(given[0], str) else given
    for one in several:
        kinds = [type(part) for part in one[:3]] if isinstance(one, list) else []
        if kinds != [str, int, int]:
            raise ValueError(
                f"{place} has {reprlib.repr(one)}; want [a layer, which call of it, which result]"
            )
    return [_CallResult((str(one[0]), int(one[1])), int(one[2])) for one in several]


def _first_calls(
    given: Mapping[str, list[list[_CallResult]]], outputs: list[_CallResult]
) -> dict[str, int]:
    """Return the number of each layer's first call: a model within counts from where it was made.

    It is the least with which each call that is referred to exists.
    """
    first = dict.fromkeys(given, 0)
    for sources in [*(one for several in given.values() for one in several), outputs]:
        for (name, at), _ in sources:
            first[name] = max(first[name], at - len(given[name]) + 1)
    return first


def _in_order(pending: Mapping[_Call, list[_CallResult]], known: Iterable[_Call]) -> list[_Call]:
    """Return calls so that each comes after those whose results it is given."""
    order: list[_Call] = []
    done, remaining = set(known), list(pending)
    while remaining:
        left: list[_Call] = []
        for call in remaining:
            if all(one.call in done for one in pending[call]):
                done.add(call)
                order.append(call)
            else:
                left.append(call)
        if len(left) == len(remaining):
            raise ValueError(f"layers wait for one another: {left[0][0]!r}")
        remaining = left
    return order


def _sources(references: list[_CallResult], places: Mapping[_Call, int]) -> tuple[Source, ...]:
    return tuple([(places[one.call], one.result) for one in references])
