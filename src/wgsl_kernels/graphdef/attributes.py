"""Attributes of TensorFlow's nodes: what JSON says of an ``AttrValue``, as Python's values.

Integers of 64 bits are strings in JSON, and bytes are in base64, as protocol buffers have it;
TensorFlow.js itself writes some of them as numbers, and bytes as lists of numbers.
Source: TensorFlow, core/framework/attr_value.proto, types.proto; Protocol Buffers, ProtoJSON.
"""

from __future__ import annotations

import base64
import reprlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.formats.tfjs_files import held_to

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBERS = {
    1: "DT_FLOAT",
    3: "DT_INT32",
    4: "DT_UINT8",
    7: "DT_STRING",
    9: "DT_INT64",
    10: "DT_BOOL",
    19: "DT_HALF",
}
ELEMENTS: Mapping[str, str] = MappingProxyType(
    {
        "DT_FLOAT": "float",
        "DT_HALF": "float16",
        "DT_INT32": "int32",
        "DT_INT64": "int64",
        "DT_UINT8": "uint8",
        "DT_BOOL": "bool",
    }
)
"""TensorFlow's name of a dtype, and ONNX's name of such elements."""
INTEGERS = frozenset({"DT_INT32", "DT_INT64", "DT_BOOL"})
"""The dtypes of shapes, axes and what is computed of them."""


def attributes_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a ``NodeDef`` by name; those that are tensors or functions are None.

    Raises:
        ValueError: One is not of the form that it has in JSON.
    """
    found: dict[str, Any] = {}
    attrs = held_to(node.get("attr") or {}, dict, f"attr of {node['name']!r}")
    for name, value in attrs.items():
        place = f"the attribute {name!r} of {node['name']!r}"
        found[name] = _value(held_to(value, dict, place), place)
    return found


def _value(value: Mapping[str, Any], place: str) -> Any:
    for kind, given in value.items():
        if kind == "list":
            several = held_to(given, dict, f"{place}, a list,").items()
            return [
                _read(one, x, place)
                for one, xs in several
                if one in _READERS
                for x in held_to(xs, list, f"{place}, list.{one},")
            ]
        if kind in _READERS:
            return _read(kind, given, place)
    return None


def _read(kind: str, value: Any, place: str) -> Any:
    """Return a value of a kind, as ``AttrValue`` calls it."""
    try:
        return _READERS[kind](value)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        why = f": {error}" if type(error) is ValueError else ""
        raise ValueError(f"{place} is {reprlib.repr(value)}, no {kind!r}{why}") from None


def _size(value: Any) -> int:
    if not isinstance(value, (int, float, str)):
        raise ValueError(f"the size of one of dim is {value!r}; want a number")
    return int(value)


def dtype_name(value: Any) -> str:
    """Return TensorFlow's name of a dtype that is given by name or number."""
    return _NUMBERS.get(value, f"dtype {value}") if isinstance(value, int) else str(value)


def _text(value: Any) -> str:
    data = bytes(value) if isinstance(value, list) else base64.b64decode(value, validate=True)
    return data.decode("utf-8")


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"a bool is {value!r}")
    return value


def lengths_of(shape: Mapping[str, Any]) -> tuple[int | None, ...] | None:
    """Return the lengths of a ``TensorShapeProto``: None of those that vary, or of any rank."""
    dims = held_to(held_to(shape, dict, "a shape").get("dim") or [], list, "dim of a shape")
    sizes = [_size(held_to(one, dict, "one of dim").get("size", 0)) for one in dims]
    if shape.get("unknownRank"):
        return None
    return tuple(size if size >= 0 else None for size in sizes)


_READERS: Mapping[str, Any] = MappingProxyType(
    {
        "b": _bool,
        "f": float,
        "i": int,
        "s": _text,
        "shape": lengths_of,
        "type": dtype_name,
    }
)
