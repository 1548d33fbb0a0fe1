"""Values with their tangents, and functions of whole vectors on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Dual:
    """A value as WGSL, and its tangent, None where that is zero."""

    value: str
    tangent: str | None = None


_PLAIN = re.compile(r"[\w.\[\]]+(?:\(\))?")


def is_plain(value: str) -> bool:
    """Say whether a value needs no parentheses and is as cheap written twice."""
    return _PLAIN.fullmatch(value) is not None


def wrapped(value: str) -> str:
    """Return a value in parentheses, where it needs some."""
    return value if is_plain(value) or _is_whole(value) else f"({value})"


def _is_whole(text: str) -> bool:
    """Say whether a text is in parentheses, or one call."""
    depth = 0
    begin = text.find("(")
    if begin < 0 or not re.fullmatch(r"\w*", text[:begin]):
        return False
    for at, one in enumerate(text[begin:], begin):
        depth += (one == "(") - (one == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


class Writer(Protocol):
    """What writes a function."""

    def let(self, value: str) -> str:
        """Return a name for a value, which is computed once."""
        ...


def _dot(make: Writer, values: Sequence[str], tangents: Sequence[str | None]) -> Dual:
    (a, b), (da, db) = values, tangents
    parts = [f"dot({da}, {b})"] if da else []
    parts += [f"dot({a}, {db})"] if db else []
    return Dual(f"dot({a}, {b})", " + ".join(parts))


def _cross(make: Writer, values: Sequence[str], tangents: Sequence[str | None]) -> Dual:
    (a, b), (da, db) = values, tangents
    parts = [f"cross({da}, {b})"] if da else []
    parts += [f"cross({a}, {db})"] if db else []
    return Dual(f"cross({a}, {b})", " + ".join(parts))


def _length(make: Writer, values: Sequence[str], tangents: Sequence[str | None]) -> Dual:
    found = make.let(f"length({values[0]})")
    return Dual(found, f"dot({values[0]}, {tangents[0]}) / {found}")


def _distance(make: Writer, values: Sequence[str], tangents: Sequence[str | None]) -> Dual:
    between = make.let(f"{values[0]} - {values[1]}")
    (da, db) = tangents
    change = f"{da} - ({db})" if da and db else (da or f"-({db})")
    found = make.let(f"length({between})")
    return Dual(found, f"dot({between}, {change}) / {found}")


def _normalized(make: Writer, values: Sequence[str], tangents: Sequence[str | None]) -> Dual:
    found = make.let(f"normalize({values[0]})")
    change = make.let(tangents[0] or "")
    return Dual(found, f"({change} - {found} * dot({found}, {change})) / length({values[0]})")


VECTORS: Mapping[
    str, Callable[[Writer, Sequence[str], Sequence[str | None]], Dual]
] = {
    "dot": _dot, "cross": _cross, "length": _length, "distance": _distance,
    "normalize": _normalized,
}  # fmt: skip
