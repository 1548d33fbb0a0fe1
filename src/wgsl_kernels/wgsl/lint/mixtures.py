"""What to write where two types meet that have no operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.types.kinds import (
    BOOL,
    U32,
    Scalar,
    Vector,
    conversion_rank,
    scalar_of,
)

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.types.kinds import Type


def mixed(operator: str, types: tuple[Type, Type], texts: tuple[str, str]) -> tuple[str, bool]:
    """Return what to say of ``left operator right``, and whether it is the right one's fault."""
    left, right = types
    one, two = scalar_of(left), scalar_of(right)
    said = f"{left} {operator} {right} has no meaning."
    if not isinstance(one, Scalar) or not isinstance(two, Scalar):
        return said, True
    if BOOL in (one, two):
        if operator in ("+", "-", "*", "/"):
            is_right = two == BOOL
            other = one if is_right else two
            shown = texts[1] if is_right else texts[0]
            return f"{said} Write select({other}(0), {other}(1), {shown}).", is_right
        return said, True
    if one == two and isinstance(left, Vector) and isinstance(right, Vector):
        return f"{said} The vectors have {left.size} and {right.size} components.", True
    if one == two:  # of matrices
        return said, True
    if operator in ("<<", ">>"):
        by: Type = Vector(right.size, U32) if isinstance(right, Vector) else U32
        return f"{said} A shift is by a u32: write {by}({_bare(texts[1])}).", True
    if {one.name, two.name} == {"f16", "f32"}:
        is_right = two.name == "f32"
        shown = texts[1] if is_right else texts[0]
        return f"{said} Write T({shown}), and declare an attribute's field as T.", is_right
    is_right = conversion_rank(two) <= conversion_rank(one)
    wanted, shown = (one, texts[1]) if is_right else (two, texts[0])
    target: Type = wanted
    own = right if is_right else left
    if isinstance(own, Vector):
        target = Vector(own.size, wanted)
    return f"{said} WGSL converts nothing by itself: write {target}({_bare(shown)}).", is_right


def _bare(text: str) -> str:
    if text.startswith("(") and text.endswith(")"):
        depth = 0
        for at, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if depth == 0 and at < len(text) - 1:
                return text
        return text[1:-1]
    return text
