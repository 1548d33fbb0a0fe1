"""The types of calls: constructors, WGSL's own functions, textures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.types.builtins import BUILTINS, RESULTS, Builtin
from wgsl_kernels.wgsl.types.kinds import (
    ABSTRACT_FLOAT,
    ABSTRACT_INT,
    BOOL,
    F32,
    FLOATS,
    I32,
    INTEGERS,
    U32,
    VOID,
    Array,
    Atomic,
    Matrix,
    Opaque,
    Pointer,
    Scalar,
    StructType,
    Type,
    Vector,
    common,
    concrete,
    conversion_rank,
    converts,
    scalar_of,
    with_scalar,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.wgsl.types.named import NamedTypes


class MismatchError(Exception):
    """Arguments do not fit; the message says how.

    Attributes:
        at: Which argument is of the wrong type, None where it is the call.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


def constructed(types: NamedTypes, name: str, arguments: Sequence[Type]) -> Type | None:
    """Return the type of ``vec3(…)``, ``mat2x2(…)`` or ``array(…)``, whose arguments tell it."""
    if not arguments:
        return None
    if name == "array":
        element = _common(arguments)
        return None if element is None else Array(element, len(arguments))
    shape = types.shape(name)
    scalar = _common([scalar_of(one) or one for one in arguments])
    if shape is None or not isinstance(scalar, Scalar):
        return None
    columns, rows = shape
    if rows is None:
        return Vector(columns, scalar)
    return Matrix(columns, rows, ABSTRACT_FLOAT if scalar == ABSTRACT_INT else scalar)


def check_constructor(type_: Type, arguments: Sequence[Type]) -> None:
    """Refuse arguments that ``type_`` cannot be made of."""
    if not arguments:
        return
    if isinstance(type_, StructType):
        wanted: list[Type] = list(type_.members.values())
    elif isinstance(type_, Array):
        wanted = [type_.element] * len(arguments)
        if isinstance(type_.count, int) and type_.count != len(arguments):
            raise MismatchError(f"{type_} takes {type_.count} elements, not {len(arguments)}")
    else:
        _check_components(type_, arguments)
        return
    if len(wanted) != len(arguments):
        raise MismatchError(f"{type_} takes {len(wanted)} values, not {len(arguments)}")
    for at, (given, want) in enumerate(zip(arguments, wanted, strict=True)):
        if not converts(given, want):
            raise MismatchError(f"{type_} wants {want} here, not {given}", at)


def _check_components(type_: Type, arguments: Sequence[Type]) -> None:
    if isinstance(type_, Scalar):
        if len(arguments) != 1 or not isinstance(arguments[0], Scalar):
            raise MismatchError(f"{type_} is made of one scalar")
        return
    counts = [_components(one) for one in arguments]
    if isinstance(type_, Vector):
        fits = counts in ([1], [type_.size]) or (
            0 not in counts
            and sum(counts) == type_.size
            and all(converts(scalar_of(one) or one, type_.element) for one in arguments)
        )
    elif isinstance(type_, Matrix):
        size = type_.columns * type_.rows
        fits = isinstance(arguments[0], Matrix) or sum(counts) == size
    else:
        fits = False
    if not fits:
        raise MismatchError(f"{type_} is not made of {', '.join(map(str, arguments))}")


def _components(type_: Type) -> int:
    if isinstance(type_, Scalar):
        return 1
    return type_.size if isinstance(type_, Vector) else 0


def _common(types: Sequence[Type]) -> Type | None:
    found: Type | None = types[0]
    for one in types[1:]:
        found = None if found is None else common(found, one)
    return found


# WGSL's own functions.


def builtin_call(types: NamedTypes, name: str, arguments: Sequence[Type]) -> Type | None:
    """Return what a function of WGSL's own returns, None where it is not known.

    Raises:
        MismatchError: The function does not take these arguments.
    """
    if name.startswith("texture") and name != "textureBarrier":
        return _texture(name, arguments)
    row = BUILTINS.get(name)
    if row is None:
        return None
    if len(arguments) != len(row.parameters):
        raise MismatchError(f"{name} takes {len(row.parameters)}, not {len(arguments)}, arguments")
    first = _checked(types, name, row, arguments)
    return _result(types, row, arguments, first)


def _checked(types: NamedTypes, name: str, row: Builtin, arguments: Sequence[Type]) -> Type | None:
    """Check arguments against a row's words, and return what the first words have in common."""
    if not arguments:
        return None
    lead = row.parameters[0]
    alike = [one for one, word in zip(arguments, row.parameters, strict=True) if word == lead]
    if row.parameters == ("float", "float", "float|scalar"):
        alike += [one for one in arguments[2:] if not isinstance(one, Scalar)]
    first = _common(alike)
    if first is None:
        odd = min(alike, key=conversion_rank)  # the one that is converted to the others' type
        shown = " and ".join(map(str, alike))
        raise MismatchError(f"{name} wants one type, not {shown}", arguments.index(odd))
    if lead in ("float", "vector") and scalar_of(first) == ABSTRACT_INT:
        first = with_scalar(first, ABSTRACT_FLOAT)
    for given, word in zip(arguments, row.parameters, strict=True):
        both = common(scalar_of(first) or first, given) if "scalar" in word else None
        first = with_scalar(first, both) if isinstance(both, Scalar) else first
    for at, (given, word) in enumerate(zip(arguments, row.parameters, strict=True)):
        if not _fits(types, given, word, first):
            raise MismatchError(f"{name} wants {_PLAIN.get(word, word)} here, not {given}", at)
    return first


def _fits(types: NamedTypes, given: Type, word: str, first: Type) -> bool:
    """Say whether an argument is what a row's word wants; ``first`` is what leads the row."""
    scalar = scalar_of(given)
    kind = "" if scalar is None or isinstance(given, (Matrix, Atomic)) else scalar.name
    match word:
        case "float":
            return kind in FLOATS or kind == "AbstractInt"
        case "number":
            return kind in FLOATS or kind in INTEGERS
        case "vector":
            return isinstance(given, Vector) and kind != "bool"
        case "int":
            return kind in INTEGERS
        case "int*":
            return converts(given, with_scalar(first, I32))
        case "index":
            return kind in INTEGERS and isinstance(given, Scalar)
        case "bool":
            return given == BOOL
        case "logical":
            return kind == "bool"
        case "any":
            return scalar is not None
        case "scalar" | "float|scalar":
            element = scalar_of(first)
            fits = element is not None and converts(given, element)
            return fits or (word != "scalar" and converts(given, first))
        case "matrix":
            return isinstance(given, Matrix)
        case "pointer":
            return isinstance(given, Pointer)
        case "atomic":
            return isinstance(given, Pointer) and isinstance(given.store, Atomic)
        case "stored":
            return converts(given, _stored(first))
    wanted = _type_of_word(types, word)
    return wanted is not None and converts(given, wanted)


_PLAIN = {"int*": "i32", "index": "an integer", "logical": "bool", "any": "a scalar or a vector"}
"""What errors call the words of the table that say little."""


def _stored(pointer: Type) -> Type:
    assert isinstance(pointer, Pointer)
    return pointer.store.element if isinstance(pointer.store, Atomic) else pointer.store


def _result(
    types: NamedTypes, row: Builtin, arguments: Sequence[Type], first: Type | None
) -> Type | None:
    word = row.result
    if word == "nothing":
        return VOID
    if first is None:
        return _type_of_word(types, word)
    match word:
        case "same":
            return first
        case "first":
            return with_scalar(arguments[0], scalar_of(first) or F32)
        case "scalar":
            return scalar_of(first)
        case "stored":
            return _stored(first)
        case "transposed":
            assert isinstance(first, Matrix)
            return Matrix(first.rows, first.columns, first.element)
    if word in RESULTS:
        kept = _stored(first) if isinstance(first, Pointer) else concrete(first)
        one, two = RESULTS[word]
        other: Type = kept
        if one == "old_value":
            other = BOOL
        elif two == "exp":
            other = with_scalar(kept, I32)
        return StructType(f"{word}_{kept}", {one: kept, two: other})
    return _type_of_word(types, word)


def _type_of_word(types: NamedTypes, word: str) -> Type | None:
    node = parse_expression(word)
    return None if node is None else types.of(node)


# Textures: what they return depends on their own type.

_SIZES = {"1d": 1, "2d": 2, "3d": 3, "cube": 2, "external": 2}
_CHANNELS = {"sint": "i32", "uint": "u32"}


def _texture(name: str, arguments: Sequence[Type]) -> Type | None:
    texture = next((one for one in arguments if isinstance(one, Opaque)), None)
    if texture is None or not texture.name.startswith("texture_"):
        raise MismatchError(f"{name} wants a texture")
    if name == "textureStore":
        return VOID
    if name.startswith("textureNum"):
        return U32
    if name == "textureDimensions":
        words = texture.name.split("_")
        size = next(_SIZES[one] for one in words if one in _SIZES)
        return U32 if size == 1 else Vector(size, U32)
    is_depth = texture.name.startswith("texture_depth")
    if name == "textureGatherCompare" or (is_depth and name == "textureGather"):
        return Vector(4, F32)
    if is_depth or "Compare" in name:
        return F32
    return Vector(4, _channel(texture))


def _channel(texture: Opaque) -> Scalar:
    if not texture.templates:
        return F32
    format_ = texture.templates[0]
    for ending, scalar in _CHANNELS.items():
        if format_.endswith(ending):
            return Scalar(scalar)
    return Scalar(format_) if format_ in ("i32", "u32") else F32
