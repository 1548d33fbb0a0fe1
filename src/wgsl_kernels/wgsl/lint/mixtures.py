"""What to write where two types meet that have no operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.types.kinds import (
    BOOL,
    F32,
    FLOATS,
    I32,
    U32,
    Array,
    Matrix,
    Scalar,
    StructType,
    Vector,
    concrete,
    conversion_rank,
    scalar_of,
    with_scalar,
)

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.types.kinds import Type


def mixed(operator: str, types: tuple[Type, Type], texts: tuple[str, str]) -> tuple[str, bool]:
    """Return what to say of ``left operator right``, and whether it is the right one's fault.

    A number without suffix is said to be what it would be alone: a float is f32.
    """
    left, right = concrete(types[0]), concrete(types[1])
    one, two = scalar_of(left), scalar_of(right)
    said = f"{left} {operator} {right} has no meaning."
    if not isinstance(one, Scalar) or not isinstance(two, Scalar):
        return f"{said}{_of_parts(left, right)}", True
    if operator in ("&&", "||"):
        is_right = left == BOOL
        return f"{said} {truth(right if is_right else left, texts[is_right])}", is_right
    if BOOL in (one, two):
        if operator in ("+", "-", "*", "/"):
            is_right = two == BOOL
            other = one if is_right and one != BOOL else two if two != BOOL else F32
            return f"{said} Write select({other}(0), {other}(1), {texts[is_right]}).", is_right
        return said, True
    if operator in ("^", "&", "|", "<<", ">>") and {one.name, two.name} & FLOATS:
        return _of_bits(said, operator, (left, right), texts)
    if isinstance(left, Vector) and isinstance(right, Vector) and left.size != right.size:
        return f"{said} The vectors have {left.size} and {right.size} components.", True
    if isinstance(left, Matrix) and isinstance(right, Vector):
        said += f" The matrix has {left.columns} columns, and the vector {right.size} components."
    if one == two:  # of matrices
        return said, True
    if operator in ("<<", ">>"):
        by: Type = Vector(right.size, U32) if isinstance(right, Vector) else U32
        return f"{said} A shift is by a u32: write {by}({_bare(texts[1])}).", True
    if {one.name, two.name} == {"f16", "f32"}:
        is_right = two.name == "f32"
        said += f" Write T({texts[is_right]}), and declare an attribute's field as T."
        return said, is_right
    is_right = conversion_rank(two) <= conversion_rank(one)
    wanted, shown = (one, texts[1]) if is_right else (two, texts[0])
    target: Type = wanted
    own = right if is_right else left
    if isinstance(own, Vector):
        target = Vector(own.size, wanted)
    return f"{said} WGSL converts nothing by itself: write {target}({_bare(shown)}).", is_right


def truth(type_: Type, text: str) -> str:
    """Return what to write where a value of a type stands for a condition."""
    if isinstance(type_, Vector) and type_.element == BOOL:
        return f"Write all({_bare(text)}) or any({_bare(text)})."
    if isinstance(type_, Vector):
        return f"Write any({text} != {type_}())."
    return f"Compare it: {text} != 0."


def _of_parts(left: Type, right: Type) -> str:
    """Return what to do with operands that are not numbers, or vectors and matrices of them."""
    if isinstance(left, Array) or isinstance(right, Array):
        return " Take an element, by its index."
    is_struct = isinstance(left, StructType) or isinstance(right, StructType)
    return " Take a member, behind a dot." if is_struct else ""


def _of_bits(
    said: str, operator: str, types: tuple[Type, Type], texts: tuple[str, str]
) -> tuple[str, bool]:
    """Return the same of an operator of bits that is given floats, which mean another one."""
    one, two = (_bare(text) for text in texts)
    left, right = types
    is_right, is_float = not _is_float(left), _is_float(right)
    if operator == "^":
        base = one if not is_right else f"{with_scalar(left, F32)}({one})"
        is_power = is_float and (isinstance(left, Vector) == isinstance(right, Vector))
        power = two if is_power else f"{_like(left, right, F32)}({two})"
        said += f" ^ is for bits of integers: for a power write pow({base}, {power})."
        return said, is_right
    if operator in ("&", "|"):
        pair = f"{with_scalar(left, U32)}({one}) {operator} {with_scalar(right, U32)}({two})"
        words = f"{operator} is for bits of integers: write {_like(left, right, F32)}({pair}), or"
        return f"{said} {words} bitcast<u32>(value) for the bits of a float.", is_right
    if is_right:
        return f"{said} A shift is by a u32: write {with_scalar(left, U32)}({two}).", True
    by = f"{'' if operator == '<<' else '-'}{_like(left, right, I32)}({two})"
    words = f"A shift is of an integer: write ldexp({one}, {by}) for a product with a power of 2."
    return f"{said} {words}", False


def _is_float(type_: Type) -> bool:
    scalar = scalar_of(type_)
    return isinstance(scalar, Scalar) and scalar.name in FLOATS


def _like(left: Type, right: Type, scalar: Scalar) -> Type:
    """Return the type of what an operator makes of two operands, with other scalars."""
    return with_scalar(right if isinstance(right, Vector) else left, scalar)


def _bare(text: str) -> str:
    if text.startswith("(") and text.endswith(")"):
        depth = 0
        for at, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if depth == 0 and at < len(text) - 1:
                return text
        return text[1:-1]
    return text
