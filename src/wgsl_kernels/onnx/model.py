"""A model from a file of ONNX: a function of tensors, with its parameters."""

from __future__ import annotations

import copy
import functools
import time
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.capture.capture import Captured
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.observe.profile import evaluate, synchronize
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.tensors.watched_reads import tapes_within
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.onnx import registry
from wgsl_kernels.onnx.extra import needing_onnx
from wgsl_kernels.onnx.optimizing import Optimised, optimise
from wgsl_kernels.onnx.placing import graphs_in, read_on_device, reason_not_replayed
from wgsl_kernels.onnx.running import device, host, run_graph
from wgsl_kernels.onnx.types import CARRIERS, FLOATS, element, entered, numpy_type, released
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode, ValueInfo

_NORMS = ("BatchNormalization", "FusedBatchNorm")
"""What the names of operators begin with whose inputs 3 and 4 are running statistics."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_STATIC = MappingProxyType({"static": True})
_UNTRAINED = " The model's weights are no variables: load it with trainable=True."


def load(path_or_proto: str | os.PathLike[str] | Any, *, trainable: bool = False) -> Model:
    """Return a model of ONNX as a function of tensors.

    Everything that can be wrong is said before anything runs: a file that is no model or ends too
    early, operators that are not known here, all of them at once, values that nothing gives.
    Weights in files of external data are read from the folder of the model.

    Args:
        path_or_proto: A file, an ``onnx.ModelProto``, or the bytes of one.
        trainable: Whether the floating-point initializers become variables, which a gradient tape
            watches and optimisers change.

    Returns:
        The model.

    Raises:
        ArgumentError: What is given is no model, or its data do not fit, or a name is no text, or
            operators are unknown; or the package ``onnx`` is not installed.
        OSError: A file cannot be read.

    Source: Open Neural Network Exchange Specification, github.com/onnx/onnx, docs/IR.md.
    """
    return _loaded(path_or_proto, trainable=trainable)


def _loaded(
    source: Any,
    *,
    trainable: bool,
    without: frozenset[str] = frozenset(),
    known: Mapping[str, Any] = _NOTHING,
) -> Model:
    """Return a model that has no defaults of some inputs, and variables that are known."""
    with needing_onnx("load"):
        from wgsl_kernels.onnx.files import defaults_of, read_model, without_defaults
        from wgsl_kernels.onnx.reading import read_graph
    registry.load_families()
    model, folder = read_model(source)
    defaults = defaults_of(model) - without
    graph = read_graph(without_defaults(model, without) if without else model, folder)
    graph.inputs = tuple(sorted(graph.inputs, key=lambda one: one.name in without))
    done = optimise(graph, trainable=trainable)
    for name, one in graph.constants.items():
        if trainable and name in known:
            one.keep_in(known[name])
    found = Model(graph, done, trainable=trainable)
    if defaults and not without:
        found._defaults = defaults
        found._again = functools.partial(_loaded, source, trainable=trainable)
    return found


@dataclass(eq=False, init=False, repr=False)
class Model:
    """A model: called with the inputs of its graph, it returns the outputs.

    Inputs are tensors or what `wk.tensor` takes, in the graph's order or by name. Initializers that
    are inputs, too, are defaults, in place of which others may be given by name. Integers beyond
    32 bits are refused: they are computed in int32. One output is returned as a tensor, several
    as a tuple in the graph's order; those of types that tensors have not are in the dtype that
    carries them, as int32 for int64. `numpy` returns arrays of the declared types.

    As a tree of variables, such as optimisers and `wk.save` take, it is its ``parameters``.

    Attributes:
        parameters: The floating-point initializers, by name; variables, if they can be trained.
            Those that are running statistics of a batch norm are not trainable.
        optimised: What was done to the graph on load.
        why_not_replayed: Why calls are not replayed on backends that can do so, or None.
    """

    parameters: Mapping[str, Tensor | Variable]
    optimised: Optimised = field(metadata=_STATIC)
    why_not_replayed: str | None = field(metadata=_STATIC)
    _graph: Graph = field(metadata=_STATIC)
    _untrained: str = field(metadata=_STATIC)
    _defaults: frozenset[str] = field(metadata=_STATIC)
    _others: dict[frozenset[str], Model] = field(metadata=_STATIC)
    _again: Callable[..., Model] | None = field(metadata=_STATIC)
    _replayed: Captured[..., tuple[Any, ...]] = field(metadata=_STATIC)

    def __init__(self, graph: Graph, optimised: Optimised, *, trainable: bool = False) -> None:
        self._graph = graph
        self._defaults, self._others, self._again = frozenset(), {}, None
        self.optimised = optimised
        statistics = {
            name
            for inner in graphs_in(graph)
            for node in inner.nodes
            if node.op.startswith(_NORMS)
            for name in node.inputs[3:5]
        }
        found: dict[str, Tensor | Variable] = {}
        for name, constant in read_on_device(graph).items():
            if constant.array.dtype.kind == "f":
                if trainable and not isinstance(constant.tensor, Variable):
                    is_trained = name not in statistics
                    made = ops.variable(constant.tensor, name=name, trainable=is_trained)
                    constant.keep_in(made)
                found[name] = constant.tensor
        self.parameters = MappingProxyType(found)
        self._untrained = "" if trainable else _UNTRAINED
        self.why_not_replayed = reason_not_replayed(graph)
        self._replayed = Captured(self._forward, is_checked=False)  # it does the same each time

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        memo[id(self)] = made = object.__new__(type(self))
        state = {**self.__dict__, "parameters": dict(self.parameters)}
        made.__dict__.update(copy.deepcopy(state, memo))
        made.parameters = MappingProxyType(made.parameters)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "Model: cannot be pickled; give the path of its file, and save what was trained by "
            "wk.save(path, model), or the model by wk.onnx.save."
        )

    @property
    def inputs(self) -> tuple[ValueInfo, ...]:
        """What the model takes: name, type and shape of each."""
        return self._graph.inputs

    @property
    def outputs(self) -> tuple[ValueInfo, ...]:
        """What it gives."""
        return self._graph.outputs

    @property
    def nodes(self) -> tuple[OnnxNode, ...]:
        """The nodes that run, in order."""
        return tuple(self._graph.nodes)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Return the outputs for some inputs, given in the graph's order or by name.

        Raises:
            ArgumentError: An input is missing, unknown or has values beyond int32.
            DTypeError: An input is a tensor of another dtype.
            ShapeError: An input has another shape than the model declares.
        """
        found = self._run(inputs, named)
        return found[0] if len(found) == 1 else found

    def numpy(self, *inputs: Any, **named: Any) -> tuple[Any, ...]:
        """Return the outputs as NumPy arrays of the types that the model declares.

        Integers are widened to those; bfloat16 and the like are ``ml_dtypes``'. Sequences are
        lists of arrays. What is raised is said at the call itself.
        """
        found = self._run(inputs, named)
        return tuple(_arrays(one, info.type) for one, info in zip(found, self.outputs, strict=True))

    def _forward(self, *inputs: Any) -> tuple[Any, ...]:
        return tuple(map(_tensors, run_graph(self._graph, inputs)))

    def _run(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Run the graph, or replay it: nobody must be there who wants to see its kernels."""
        other = self._for(named)
        if other is not self:
            return other._run(inputs, named)
        now = context.current()
        is_watched = now.interceptors or now.double or config.switches(now)["check_numerics"]
        given = self._taken(inputs, named, is_lent=not is_watched and now.watch is None)
        for tape in tapes_within(now.interceptors):
            tape.untrained = tape.untrained or self._untrained
        if self.why_not_replayed is None and not is_watched:
            return self._replayed(*given)
        return self._forward(*given)

    def trace(
        self, observe: Callable[[OnnxNode, tuple[Any, ...]], None], *inputs: Any, **named: Any
    ) -> tuple[Any, ...]:
        """Return the outputs, and call a function with each node and what it gave.

        What a node gave is a tensor, an array where it was computed on the host, a list of a
        sequence, or None.
        """
        other = self._for(named)
        if other is not self:
            return other.trace(observe, *inputs, **named)
        found = run_graph(self._graph, self._taken(inputs, named), observe=observe)
        return tuple(map(_tensors, found))

    def _for(self, named: Mapping[str, Any]) -> Model:
        """Return the model that takes what is given by name: one that has no default of it."""
        given = self._defaults.intersection(named)
        if not given:
            return self
        if given not in self._others:
            assert self._again is not None
            self._others[given] = self._again(without=given, known=self.parameters)
        return self._others[given]

    def _node_rows(
        self, inputs: tuple[Any, ...], named: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Return the fields of a `LayerSummary` of the model, and of each node."""
        calls: dict[OnnxNode | None, tuple[Any, float]] = {}
        if inputs or named:

            def note(node: OnnxNode, found: tuple[Any, ...], spent: float) -> None:
                calls[node] = (_shapes(found), spent)

            found = timed(self, note, *inputs, **named)
            calls[None] = (_shapes(found), sum(spent for _, spent in calls.values()))
        read = read_on_device(self._graph)

        def row(path: str, kind: str, names: Iterable[str], node: OnnxNode | None) -> Any:
            shapes, spent = calls.get(node, ((), None))
            held = {name: read[name] for name in names if name in read}
            size = sum(one.array.size for name, one in held.items() if name in self.parameters)
            return path, kind, shapes, size, sum(one.nbytes for one in held.values()), spent

        whole = row("", type(self).__name__, read, None)
        return [whole, *(row(one.name, one.op, one.reads(), one) for one in self.nodes)]

    def _taken(
        self, inputs: tuple[Any, ...], named: Mapping[str, Any], *, is_lent: bool = False
    ) -> list[Any]:
        """Return the inputs in order, checked, as tensors; see `entered` for ``is_lent``."""
        names = [one.name for one in self.inputs]
        if len(inputs) > len(names):
            raise ArgumentError(f"model: got {len(inputs)} inputs; want {', '.join(names)}.")
        given = dict(zip(names, inputs, strict=False))
        for name, one in named.items():
            if name not in names or name in given:
                said = "is given twice" if name in given else "is no input"
                raise ArgumentError(f"model: {name!r} {said}; the inputs are {', '.join(names)}.")
            given[name] = one
        missing = [
            one.name
            for one in self.inputs
            if one.name not in given and not one.type.startswith("optional(")
        ]
        if missing:
            raise ArgumentError(f"model: no input {', '.join(map(repr, missing))} is given.")
        return [_taken(given.get(one.name), one, is_lent=is_lent) for one in self.inputs]

    def __repr__(self) -> str:
        def shown(values: tuple[ValueInfo, ...]) -> str:
            return ", ".join(map(str, values))

        count = sum(one.size for one in self.parameters.values())
        return (
            f"Model({shown(self.inputs)} -> {shown(self.outputs)}; "
            f"{len(self.nodes)} nodes, {count:,} parameters)"
        )


def timed(
    model: Model,
    note: Callable[[OnnxNode, tuple[Any, ...], float], None],
    *inputs: Any,
    **named: Any,
) -> tuple[Any, ...]:
    """Trace a model, and note with each node the milliseconds until its outputs are there.

    It runs twice, for all is compiled in the first run.
    """
    model.trace(lambda node, found: None, *inputs, **named)
    synchronize()
    began = time.perf_counter()

    def timing(node: OnnxNode, found: tuple[Any, ...]) -> None:
        nonlocal began
        evaluate([one for one in found if isinstance(one, Tensor)])
        synchronize()
        note(node, found, 1000 * (time.perf_counter() - began))
        began = time.perf_counter()

    return model.trace(timing, *inputs, **named)


def _shapes(found: Iterable[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(one.shape) for one in found if hasattr(one, "shape"))


def _taken(value: Any, info: ValueInfo, *, is_lent: bool) -> Any:
    """Return an input as a tensor, or a list of them."""
    if isinstance(value, (list, tuple)) and "seq(" in info.type:
        kind = type(info)(info.name, info.type[4:-1], None)
        return [_taken(one, kind, is_lent=is_lent) for one in value]
    if value is None and not info.type.startswith("optional("):
        raise ArgumentError(f"model: input {info.name!r} is None; want {info}.")
    if value is None or "tensor(" not in info.type:
        return value
    carrier = CARRIERS[element(info.type)]
    if isinstance(value, (Tensor, Variable)):
        found: Any = value
        if str(found.dtype) != carrier:
            raise DTypeError(
                f"model: input {info.name!r} is {found.dtype}; want {carrier} for {info.type}."
            )
    else:
        array = _as_declared(value, info)
        found = entered(array, f"model: input {info.name!r}", is_lent=is_lent)
    if info.shape is not None:
        fits = len(info.shape) == found.ndim and all(
            not isinstance(n, int) or n == there
            for n, there in zip(info.shape, found.shape, strict=True)
        )
        if not fits:
            is_batch = found.shape[1:] == info.shape[1:] and info.shape[:1] == (1,)
            raise ShapeError(
                f"model: input {info.name!r} has shape {show(found.shape)}; want {info}."
                + " For a batch give vmap a function that calls it with x[None]." * is_batch
            )
    return found


def _as_declared(value: Any, info: ValueInfo) -> Array:
    """Return an array of the declared type where it, or Python's or NumPy's default, is given."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"model: input {info.name!r} is no array: {error}.") from None
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    name, wanted = element(info.type), numpy_type(element(info.type))
    if array.dtype == wanted or (name == "string" and array.dtype.kind in "UST"):
        return array
    given, is_plain = array.dtype, not hasattr(value, "dtype")
    if given.kind == wanted.kind and given.name in ("float64", "int64", "complex128"):
        return array.astype(wanted)
    if given.name in ("int64", "int32") and wanted.kind in "iu" and wanted.itemsize >= 4:
        return array.astype(wanted)
    if is_plain and name in FLOATS and given.kind in "fi":
        return array.astype(wanted)
    raise DTypeError(f"model: input {info.name!r} is {given.name}; want {info.type}.")


def _tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [_tensors(one) for one in value]
    found = device(value)
    return ops.clone(found) if isinstance(found, Variable) else found


def _arrays(value: Any, type_: str) -> Any:
    if isinstance(value, list):
        return [_arrays(one, type_) for one in value]
    if value is None:
        return None
    if not type_:
        return host(value)
    return released(value, type_) if "tensor(" in type_ else value
