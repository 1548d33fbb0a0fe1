"""Models in files: the one place where a file is read, and what can be wrong with it is said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
from google.protobuf.message import DecodeError

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Container

_DEFAULTS = 4
"""The version of the format since which an initializer need not be an input."""
_LARGE = 1 << 10
"""Elements of a tensor that is more than a shape."""


def read_model(source: str | os.PathLike[str] | Any) -> tuple[onnx.ModelProto, str]:
    """Return a model and the folder of its external data; what is in a file is read anew.

    Raises:
        ArgumentError: The file is no model, or ends too early, or a name in it is no text, or
            ``source`` is neither a path nor a model, nor the bytes of one.
        OSError: The file cannot be read.
    """
    if isinstance(source, onnx.ModelProto):
        model, folder, shown = source, "", "the model"
    elif isinstance(source, (bytes, str)) or hasattr(source, "__fspath__"):
        data, folder, shown = source, "", "what was given"
        if not isinstance(data, bytes):
            path = Path(data)
            data, folder, shown = path.read_bytes(), str(path.parent), str(path)
        model = onnx.ModelProto()
        try:
            model.ParseFromString(data)
        except DecodeError as error:
            raise ArgumentError(
                f"load: {shown} is no model of ONNX, or not the whole of one: {error}."
            ) from None
    else:
        raise ArgumentError(
            f"load: got a {type(source).__name__}; want a path, a ModelProto or its bytes."
        )
    if not model.HasField("graph") or not model.opset_import:
        raise ArgumentError(
            f"load: {shown} has no graph, or names no version of the "
            "operators; is it a model of ONNX?"
        )
    bad = _not_text(model)
    if bad:
        raise ArgumentError(f"load: {shown} is damaged: {bad} is not text in UTF-8.")
    return model, folder


def _not_text(message: Any, place: str = "") -> str:
    """Return which name in a message is bytes, as those are that are no UTF-8; "" of none."""
    for field, value in message.ListFields():
        if field.name == "doc_string":  # which nobody reads
            continue
        every = value if hasattr(value, "extend") else (value,)
        if field.type == field.TYPE_STRING:
            wrong = next((one for one in every if isinstance(one, bytes)), None)
            found = "" if wrong is None else f"{place}{field.name} {wrong!r}"
        elif field.type == field.TYPE_MESSAGE:
            texts = (_not_text(one, f"{place}{field.name}.") for one in every)
            found = next(filter(None, texts), "")
        else:
            continue
        if found:
            return found
    return ""


def defaults_of(model: onnx.ModelProto) -> frozenset[str]:
    """Return the names of initializers that are inputs, too, of which a caller may give others."""
    if model.ir_version < _DEFAULTS:
        return frozenset()
    initializers = {one.name for one in model.graph.initializer}
    return frozenset(one.name for one in model.graph.input if one.name in initializers)


def without_defaults(model: onnx.ModelProto, names: Container[str]) -> onnx.ModelProto:
    """Return a model that has to be given some of the inputs that have defaults."""
    kept = [one for one in model.graph.initializer if one.name not in names]
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.initializer[:]
    found.graph.initializer.extend(kept)
    return found


def values_of(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """Return what is known of values by name, with the shapes that the package ``onnx`` can tell.

    It writes the model and reads it again, so it is given large weights by type and lengths only.
    """
    bare = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name not in ("graph", "doc_string"):
            _put(bare, field.name, value)
    for field, value in model.graph.ListFields():
        if field.name not in ("initializer", "doc_string"):
            _put(bare.graph, field.name, value)
    bare.graph.initializer.extend(map(_outline, model.graph.initializer))
    try:
        found = onnx.shape_inference.infer_shapes(bare).graph
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        ValueError,
        RuntimeError,
    ):
        found = bare.graph  # what is wrong with it is said where it is read
    return {one.name: one for one in (*found.input, *found.output, *found.value_info)}


def _put(target: Any, name: str, value: Any) -> None:
    """Set a field of a message to a copy of a value, which is a message, a list or a scalar."""
    if hasattr(value, "extend"):
        getattr(target, name).extend(value)
    elif hasattr(value, "CopyFrom"):
        getattr(target, name).CopyFrom(value)
    else:
        setattr(target, name, value)


def _outline(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """Return a tensor, without its data where they are large: no shape depends on those."""
    if math.prod(tensor.dims) <= _LARGE:
        return tensor
    return onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)


def type_name(kind: onnx.TypeProto) -> str:
    """Return ONNX's name of a type, as ``seq(tensor(float))``; "" of none."""
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        number = kind.tensor_type.elem_type
        if number not in onnx.TensorProto.DataType.values() or number == 0:
            return ""
        return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"
    if which == "sequence_type":
        return f"seq({type_name(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({type_name(kind.optional_type.elem_type)})"
    return ""


def type_name_of(number: int) -> str:
    """Return ONNX's name of the type of tensors whose elements have a number in the format."""
    kind = onnx.TypeProto()
    kind.tensor_type.elem_type = number
    return type_name(kind)
