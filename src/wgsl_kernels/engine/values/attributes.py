"""Plain values at the door: what a caller gives becomes plain Python of one kind, or is refused.

Behind here a length, a count or an axis is an ``int`` and nothing else. ``True == 1 == 1.0`` and
all three hash alike, so that what was remembered for one of them would be found for the others.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.any_tensor import AnyTensor
from wgsl_kernels.engine.values.dtypes import DTypeName, canonical
from wgsl_kernels.wgsl.errors.words import shown

Converter = Callable[[str, str, Any], Any]
"""Takes a kernel's name, an attribute's name and its value; returns the value in its kind."""

_WORD = 1 << 63
_DEEPEST = 64


def plain(value: Any, depth: int = 0) -> Any:
    """Return an attribute as plain Python: NumPy scalars unpacked, lists as tuples.

    Raises:
        ArgumentError: Lists are nested beyond any use, as is one that holds itself.
    """
    if isinstance(value, (list, tuple)):
        if depth > _DEEPEST:
            raise ArgumentError(f"a value is nested {depth} levels deep; want numbers in a tuple.")
        return tuple(plain(one, depth + 1) for one in value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return str(value) if isinstance(value, DTypeName) else value


def attr_key(value: Any) -> Any:
    """Return what tells attribute values apart: 0.0 from -0.0, 1 from True, NaN as one value.

    Raises:
        TypeError: It is a tensor.
    """
    kind = type(value)
    if value is None or kind is str:
        return value
    if kind is int or kind is bool:
        return (kind, value)
    if isinstance(value, float):
        return ("f", value.hex())
    if isinstance(value, (bool, int)):
        return (bool if isinstance(value, bool) else int, int(value))
    if isinstance(value, (list, tuple)):
        return tuple([attr_key(one) for one in value])
    if isinstance(value, complex):
        return ("c", value.real.hex(), value.imag.hex())
    if isinstance(value, DTypeName):
        return str(value)
    if isinstance(value, AnyTensor):
        raise TypeError("a tensor is no attribute")
    clean = plain(value)
    return (kind, value) if clean is value else attr_key(clean)


def field_key(value: Any) -> Any:
    """Return what tells numbers apart that are packed into 32 bits each: 0.0 from -0.0.

    1, 1.0 and True give the same bits; so does all else that is equal.
    """
    kind = type(value)
    return value if kind is int or (kind is float and value) else attr_key(value)


def integer(kernel: str, name: str, value: Any) -> int:
    """Return an integer of Python or NumPy, or a 0-d array of one, as an int.

    Raises:
        ArgumentError: It is none, or a bool, or has more than 64 bits.
    """
    return _integer(kernel, name, value, value, "an integer")


def at_least(kernel: str, name: str, value: Any, least: int) -> int:
    """Return an integer from ``least`` on.

    Raises:
        ArgumentError: It is none, or below.
    """
    given = integer(kernel, name, value)
    if given < least:
        raise ArgumentError(f"{kernel}: {name} is {given}; want {least} or more.")
    return given


def integers(kernel: str, name: str, value: Any) -> tuple[int, ...]:
    """Return one integer, or a sequence of them, as a tuple of ints.

    Raises:
        ArgumentError: It is neither.
    """
    want = "an integer or a tuple of integers"
    given = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes, bytearray)):
        return tuple([_integer(kernel, name, one, value, want) for one in given])
    return (_integer(kernel, name, value, value, want),)


def integer_or_integers(kernel: str, name: str, value: Any) -> int | tuple[int, ...]:
    """Return one integer as an int, a sequence of them as a tuple of ints.

    Raises:
        ArgumentError: It is neither.
    """
    found = integers(kernel, name, value)
    is_one = not isinstance(value, Sequence) and np.ndim(value) == 0
    return found[0] if is_one else found


def _integer(kernel: str, name: str, value: Any, whole: Any, want: str) -> int:
    if type(value) is not int:
        try:
            if isinstance(value, bool):
                raise TypeError("a bool is no integer here")
            value = operator.index(value)
        except Exception:
            aside = "; True and False are none" if _has_bool(whole) else ""
            raise ArgumentError(
                f"{kernel}: {name} is {shown(whole)}; want {want}{aside}."
            ) from None
    if not -_WORD <= value < _WORD:
        raise ArgumentError(f"{kernel}: {name} is {shown(whole)}; want {want}, of 64 bits at most.")
    found: int = value
    return found


def _has_bool(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "b")
    some = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(one, (bool, np.bool_)) for one in some)


def number(kernel: str, name: str, value: Any) -> float:
    """Return a real number of Python or NumPy as an int or a float.

    Raises:
        ArgumentError: It is none, or an integer that no float holds.
    """
    given = plain(value)
    try:
        if isinstance(given, int):
            float(given)
            return int(given)
        if isinstance(given, float):
            return float(given)
    except OverflowError:
        pass
    raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want a number.")


def flag(kernel: str, name: str, value: Any) -> bool:
    """Return True or False, of Python or NumPy, or 1 or 0, as a bool.

    Raises:
        ArgumentError: It is none of these.
    """
    given = plain(value)
    if isinstance(given, int) and given in (0, 1):
        return bool(given)
    raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want True or False.")


def text(kernel: str, name: str, value: Any) -> str:
    """Return a string.

    Raises:
        ArgumentError: It is none.
    """
    if isinstance(value, str):
        return str(value)
    raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want a string.")


def sequence(kernel: str, name: str, value: Any, want: str = "tensors") -> list[Any]:
    """Return the items of a list of tensors, or of another iterable of them.

    Raises:
        ArgumentError: It is one tensor, a string, a mapping, or cannot be iterated over.
    """
    if not isinstance(value, (AnyTensor, str, bytes, bytearray, Mapping, set, frozenset)):
        try:
            return list(value)
        except Exception:  # of the object's own making
            pass
    kind = "tensor" if isinstance(value, AnyTensor) else type(value).__name__
    raise ArgumentError(f"{kernel}: {name} is a {kind}; want a list of {want}.")


def function(op: str, name: str, value: Any) -> Callable[..., Any]:
    """Return what can be called.

    Raises:
        ArgumentError: It cannot.
    """
    if not callable(value):
        raise ArgumentError(f"{op}: {name} is {shown(value)}; want a function.")
    found: Callable[..., Any] = value
    return found


def examples(op: str, f: Any, inputs: Any) -> Mapping[str, Any]:
    """Return a function's examples, which it takes by name.

    Raises:
        ArgumentError: It does not, or there are no names, or it is no function.
    """
    function(op, "f", f)
    if not isinstance(inputs, Mapping):
        kind = type(inputs).__name__
        raise ArgumentError(f'{op}: inputs is a {kind}; want examples by name: {{"x": x}}.')
    try:
        inspect.signature(f).bind(**inputs)
    except TypeError as error:
        names = ", ".join(map(str, inputs))
        raise ArgumentError(f"{op}: f is called with {names} by name: {error}.") from None
    except ValueError:
        pass  # what is written in C may have no signature
    return inputs


def _dtype(kernel: str, name: str, value: Any) -> str:
    del kernel, name  # the words of a wrong dtype name the dtype
    return canonical(value)


def _is(kernel: str, name: str, value: Any) -> Any:
    del kernel, name
    return value


def _or_none(convert: Converter) -> Converter:
    return lambda kernel, name, value: None if value is None else convert(kernel, name, value)


_SEQUENCES = ("Sequence[int]", "tuple[int, ...]", "list[int]", "Shape")
_KINDS: dict[frozenset[str], Converter] = {
    frozenset({"float"}): number,
    frozenset({"int"}): integer,
    frozenset({"bool"}): flag,
    frozenset({"str"}): text,
    frozenset({"DType"}): _dtype,
    **{frozenset({one}): integers for one in _SEQUENCES},
    **{frozenset({"int", one}): integer_or_integers for one in _SEQUENCES},
}


def converter(annotation: str) -> Converter:
    """Return what brings a value into the kind that a signature's annotation names.

    Known are ``float``, ``int``, ``bool``, ``str``, ``DType``, ``Sequence[int]`` (also as
    ``Shape``), ``int | Sequence[int]``, each also with ``| None``, and ``Axes``, which is
    ``int | Sequence[int] | None``. What is annotated otherwise is taken as it is given.
    """
    named = annotation.replace("Axes", "int | Sequence[int] | None")
    named = named.replace("collections.abc.", "").replace("typing.", "")
    kinds = frozenset(named.split(" | "))
    found = _KINDS.get(kinds - {"None"})
    if found is None:
        return _is
    return _or_none(found) if "None" in kinds else found


def converter_like(default: Any) -> Converter:
    """Return what brings a value into the kind of a default, where that is a number or a bool."""
    kind = type(default)
    if kind is float:
        return number
    if kind is bool:
        return flag
    return _numbers if kind is int else _is


def _numbers(kernel: str, name: str, value: Any) -> Any:
    """Return a number, numbers in sequences, or None.

    Raises:
        ArgumentError: It is none of these.
    """
    given = plain(value)
    if not _is_numbers(given):
        raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want a number, or several.")
    return given


def _is_numbers(given: Any) -> bool:
    if isinstance(given, tuple):
        return all(map(_is_numbers, given))
    return given is None or isinstance(given, (int, float))
