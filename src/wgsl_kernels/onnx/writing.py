"""Functions of tensors as models of ONNX: the kernels of one run, written as nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.files import path_of, write_whole
from wgsl_kernels.engine.environment.origin import user_place
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.onnx.extra import needing_onnx
from wgsl_kernels.onnx.kernels import OF_BOOL, OPSET, RULES, CannotSayError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Mapping, Sequence

    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import TensorLike
    from wgsl_kernels.engine.values.host import Array

_KINDS = {
    "bool": 9,
    "float16": 10,
    "float32": 1,
    "float64": 11,
    "int32": 6,
    "int8": 3,
    "uint8": 2,
}
"""The numbers that the format has for element types."""


def save(
    f: Callable[..., Any], path: str | os.PathLike[str], inputs: Mapping[str, TensorLike]
) -> None:
    """Write a function of tensors as a model of ONNX.

    ``f`` runs once; the kernels that it runs become nodes. What does not depend on the inputs is
    written as it is in that run: variables, and what is computed of them. Shapes are those of the
    examples. What ``f`` reads on the host, as in an ``if``, is as it was in that run.

    Args:
        f: Called with ``inputs`` by name. It returns a tensor, or several in a tuple or list, which
            are called ``y``, or ``y0``, ``y1`` and so on, or in a dictionary under their names.
            Where an input is called so, ``_`` follows.
        path: The file, which is replaced when all is well.
        inputs: An example of each input, by name, of which shape and dtype count.

    Raises:
        ArgumentError: A kernel is none that ONNX can say: all of them are named, each with the line
            that ran it; or ``f`` returns something else than tensors, none, or one under the name
            of an input; or ``path`` is no path of a file; or ``onnx`` is missing.
        DTypeError: A dtype is none that ONNX has here.
        OSError: The file cannot be written.
    """
    with needing_onnx("save"):
        import onnx
    place = path_of("save", path)
    given = {name: tensor(value) for name, value in inputs.items()}
    writer = ModelWriter(given)
    with context.intercepted(writer.intercept):
        found = f(**given)
    model = writer.model(_named(found, given))
    onnx.checker.check_model(model)
    write_whole(place, [model.SerializeToString()])


def _named(found: Any, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what a function gave by name.

    Raises:
        ArgumentError: It is nothing, something of it is no tensor, or has no name of its own.
    """
    if isinstance(found, (tuple, list)):
        outputs = {_free(f"y{i}", inputs): one for i, one in enumerate(found)}
    else:
        outputs = dict(found) if isinstance(found, dict) else {_free("y", inputs): found}
    if not outputs:
        raise ArgumentError(f"save: f gave {found}; want a tensor at least.")
    names: list[Any] = list(outputs)
    for name, one in zip(names, outputs.values(), strict=True):
        if not isinstance(name, str) or not name or name in inputs:
            raise ArgumentError(
                f"save: an output is called {name!r}; want a name that no input has."
            )
        if not isinstance(one, Tensor):
            raise ArgumentError(f"save: output {name!r} is a {type(one).__name__}; want a tensor.")
    return outputs


def _free(name: str, taken: Container[str]) -> str:
    """Return a name, with ``_`` behind it until it is not taken."""
    while name in taken:
        name += "_"
    return name


class ModelWriter:
    """The nodes of a model, as they are written.

    Attributes:
        inputs: Tensors by name.
    """

    def __init__(self, inputs: Mapping[str, Tensor]) -> None:
        self.inputs = dict(inputs)
        self._names = {id(one): name for name, one in self.inputs.items()}
        self._kept: list[Any] = list(self.inputs.values())  # so that no id is given twice
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []
        self._unsaid: dict[str, None] = {}

    def intercept(self, call: Any, proceed: Callable[[Any], Any]) -> Any:
        """Run a kernel and write what it is, if it depends on the inputs."""
        result = proceed(call)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        given = _flat(call.inputs)
        self._kept += [*given, *outputs]
        if not any(id(x) in self._names for x in given if x is not None):
            return result
        try:
            rule = RULES.get(call.name)
            if rule is None:
                raise CannotSayError("")
            if call.name not in OF_BOOL and any(x is not None and x.dtype == "bool" for x in given):
                raise CannotSayError("of bool")
            names = rule(self, given, call.attrs, outputs)
        except CannotSayError as error:
            file, line = user_place()
            said = f" {error}" if str(error) else ""
            self._unsaid[f"{call.name}{said} at {file}:{line}"] = None
            names = [f"unsaid{i}" for i in range(len(outputs))]
        self._names.update((id(y), name) for y, name in zip(outputs, names, strict=True))
        return result

    def name(self, x: Tensor | Variable) -> str:
        """Return the name of a tensor; one that no input leads to becomes an initializer."""
        if id(x) not in self._names:
            self._kept.append(x)
            self._names[id(x)] = self.constant(np.asarray(x.numpy()))
        return self._names[id(x)]

    def constant(self, values: Array | np.generic) -> str:
        """Return the name of a new initializer."""
        from onnx import numpy_helper

        name = _free(f"c{len(self._initializers)}", self.inputs)
        self._initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def number(self, value: Any, dtype: Any) -> str:
        """Return the name of a number in the dtype of a tensor."""
        return self.constant(np.asarray(value, np.dtype(str(dtype))))

    def emit(self, op: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Write a node of one output and return that output's name."""
        return self.emit_many(op, inputs, 1, **attrs)[0]

    def emit_many(self, op: str, inputs: Sequence[str], count: int, **attrs: Any) -> list[str]:
        """Write a node and return the names of its outputs."""
        from onnx import helper

        outputs = [_free(f"v{len(self._nodes)}_{i}", self.inputs) for i in range(count)]
        self._nodes.append(helper.make_node(op, list(inputs), outputs, **attrs))
        return outputs

    def cast(self, name: str, to: Any, given: Any = None) -> str:
        """Return a value in a dtype, which it may have already."""
        if given is not None and str(given) == str(to):
            return name
        if str(to) not in _KINDS:
            raise CannotSayError(f"to {to}")
        return self.emit("Cast", [name], to=_KINDS[str(to)])

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        """Return a value in another shape."""
        return self.emit("Reshape", [name, self.constant(np.array(shape, np.int64))], allowzero=1)

    def sliced(
        self,
        name: str,
        begin: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> str:
        """Return a part of a value."""
        along = list(range(len(begin))) if axes is None else axes
        numbers = (begin, ends, along, [1] * len(begin) if steps is None else steps)
        return self.emit("Slice", [name, *(self.constant(np.array(n, np.int64)) for n in numbers)])

    def model(self, outputs: Mapping[str, Tensor]) -> Any:
        """Return the model that gives these.

        Raises:
            ArgumentError: Kernels were run that no rule can write.
        """
        from onnx import helper

        if self._unsaid:
            raise ArgumentError(f"save: ONNX cannot say {'; '.join(self._unsaid)}.")
        sources = [self.name(one) for one in outputs.values()]
        within = self._renamed(outputs)
        for name, source in zip(outputs, sources, strict=True):
            node = helper.make_node("Identity", [within.get(source, source)], [name])
            self._nodes.append(node)
        graph = helper.make_graph(
            self._needed(set(outputs)),
            "wgsl-kernels",
            [_info(name, one) for name, one in self.inputs.items()],
            [_info(name, one) for name, one in outputs.items()],
        )
        read = {name for node in graph.node for name in node.input}
        graph.initializer.extend(one for one in self._initializers if one.name in read)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=10, producer_name="wgsl-kernels"
        )

    def _renamed(self, taken: Mapping[str, Tensor]) -> dict[str, str]:
        """Give what is called as an output another name, and return the new names by the old."""
        own = [name for node in self._nodes for name in node.output]
        own += [one.name for one in self._initializers]
        every = {*own, *self.inputs, *taken}
        new = {name: _free(name, every) for name in own if name in taken}
        for node in self._nodes:
            node.input[:] = [new.get(name, name) for name in node.input]
            node.output[:] = [new.get(name, name) for name in node.output]
        for one in self._initializers:
            one.name = new.get(one.name, one.name)
        return new

    def _needed(self, wanted: set[str]) -> list[Any]:
        kept = []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        return kept[::-1]


def _flat(inputs: Any) -> list[Any]:
    found: list[Any] = []
    for one in inputs.values() if isinstance(inputs, dict) else inputs:
        found += one if isinstance(one, (tuple, list)) else [one]
    return found


def _info(name: str, x: Tensor) -> Any:
    from onnx import helper

    if str(x.dtype) not in _KINDS:
        raise ArgumentError(f"save: {name!r} is {x.dtype}; want one of {', '.join(_KINDS)}.")
    return helper.make_tensor_value_info(name, _KINDS[str(x.dtype)], list(x.shape))
