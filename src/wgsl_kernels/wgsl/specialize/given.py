"""Values of constants that a caller gives, as their declarations want them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ArgumentError
from wgsl_kernels.wgsl.specialize.folding import node_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.values import (
    Kind,
    Known,
    converted,
    known_literal,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUFFIXED = {"f32": "f", "f16": "h"}
_KINDS: Mapping[str, Kind] = {"bool": "bool", "i32": "i32", "u32": "u32"}


def given_literal(node: tree.Value, value: bool | int | float) -> tree.Expression:
    """Return ``value`` as WGSL writes it, of the type that the constant ``node`` has.

    Raises:
        ArgumentError: The constant is of another type.
    """
    assert node.value is not None
    type_ = "" if node.type is None else spell(node.type)
    own = _own(node.value)
    begin, end = node.value.begin, node.value.end
    place = tree.Name(begin, end, node.ident, ())
    if isinstance(value, bool):
        if type_ == "bool" or (own is not None and own.kind == "bool"):
            return tree.Literal(begin, end, "true" if value else "false")
        raise _refused(node, value)
    kind = _KINDS.get(type_, None if own is None else own.kind) if type_ in ("", *_KINDS) else None
    if isinstance(value, int) and kind not in (None, "bool"):
        assert kind is not None
        known = converted(Known("int", value), kind)
        if known is not None:
            return node_of(known, place)
        raise _refused(node, value)
    if ((kind is None and own is None) or type_ in _SUFFIXED) and math.isfinite(value):
        text = f"{abs(float(value))!r}{_SUFFIXED.get(type_, _suffix(node.value))}"
        literal = tree.Literal(begin, end, text)
        return tree.Unary(begin, end, "-", literal) if value < 0 else literal
    raise _refused(node, value)


def _own(node: tree.Expression) -> Known | None:
    """Return the value of a literal, with or without a minus."""
    if isinstance(node, tree.Unary) and node.operator == "-":
        node = node.operand
    return known_literal(node.text) if isinstance(node, tree.Literal) else None


def _suffix(node: tree.Expression) -> str:
    if isinstance(node, tree.Unary):
        node = node.operand
    is_suffixed = isinstance(node, tree.Literal) and node.text[-1] in "fh"
    return node.text[-1] if is_suffixed and isinstance(node, tree.Literal) else ""


def _refused(node: tree.Value, value: object) -> ArgumentError:
    assert node.value is not None
    written = f"{node.ident.name} = {spell(node.value)}"
    return ArgumentError(f"specialize: {value!r} is no value for 'const {written}'.")
