"""What compilers may fold though NaN and infinity occur, and constants that no type holds.

Source: WebGPU Shading Language, section 15.7.1: implementations may assume that neither NaN nor
infinity occurs. Measured foldings: ``x != x`` is false, ``x * 0`` is 0 (Vulkan, naga 29).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark, bare, constants_of, functions_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.kinds import (
    ABSTRACT_FLOAT,
    F16,
    F32,
    Scalar,
    scalar_of,
)
from wgsl_kernels.wgsl.types.values import literal_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.types.constants import ConstantValues
    from wgsl_kernels.wgsl.types.infer import Types

_FLOATS = ("f32", "f16", ABSTRACT_FLOAT.name)
_LARGEST = {F32.name: 3.4028234663852886e38, F16.name: 65504.0, "u32": 2**32 - 1, "i32": 2**31 - 1}


def hazard_remarks(module: tree.Module, types: Types) -> Iterator[Remark]:
    """Yield a remark for each expression that does not mean what it says everywhere."""
    constants = constants_of(module)
    for function in functions_of(module):
        for node in descendants(function.body):
            if isinstance(node, tree.Binary):
                yield from _of_binary(node, types)
                yield from _of_quotient(node, types, constants)


def overflow_remarks(module: tree.Module, types: Types) -> Iterator[Remark]:
    """Yield a remark for each constant that its type cannot hold."""
    constants = constants_of(module)
    for node in module.declarations:
        yield from _overflows(node, types, constants)


def _of_binary(node: tree.Binary, types: Types) -> Iterator[Remark]:
    left, right = bare(node.left), bare(node.right)
    scalar = _scalar(types, node.left)
    if scalar is None or scalar.name not in _FLOATS:
        return
    if node.operator in ("!=", "==") and left == right:
        words = (
            f"compilers may assume that no number is NaN, and fold `{node.operator}` of a value "
            "and itself. Import wgsl_kernels::lib::safe_math::is_nan, which tests the bits."
        )
        yield Remark("nan-test", words, node.span)
    elif node.operator == "*" and (_is_zero(left) or _is_zero(right)):
        words = (
            "compilers fold a product with 0 to 0, which loses NaN and infinity. Write 0 where "
            "that is meant, or use select."
        )
        yield Remark("times-zero", words, node.span)


def _of_quotient(node: tree.Binary, types: Types, constants: ConstantValues) -> Iterator[Remark]:
    """Yield what is wrong with a value that is divided by a constant 0."""
    if node.operator not in ("/", "%") or constants.number_or_none(node.right) != 0:
        return
    scalar = _scalar(types, node.left)
    if scalar is None or constants.number_or_none(node.left) is not None:
        return  # where both are constant it does not compile, which is said elsewhere
    shown = spell(node.right)
    if scalar.name in _FLOATS:
        words = (
            f"{shown} is 0: what the quotient is, is undefined, and some compilers leave the "
            "output unwritten. Use wk_inf() or wk_nan() where that is meant."
        )
        yield Remark("zero-quotient", words, node.span)
    else:
        words = f"{shown} is 0, and WGSL refuses an integer that is divided by a constant 0."
        yield Remark("zero-divisor", words, node.span)


def _scalar(types: Types, node: tree.Expression) -> Scalar | None:
    found = types.value_of(node)
    return None if found is None else scalar_of(found)


def _is_zero(node: tree.Expression) -> bool:
    if isinstance(node, tree.Call) and len(node.arguments) == 1:
        return _is_zero(bare(node.arguments[0]))
    if isinstance(node, tree.Literal) and node.text not in ("true", "false"):
        return literal_value(node.text) == 0
    return False


def _overflows(node: tree.Declaration, types: Types, constants: ConstantValues) -> Iterator[Remark]:
    """Yield constants that their type cannot hold; browsers refuse them."""
    for one in descendants(node):
        if isinstance(one, tree.Literal) and one.text not in ("true", "false"):
            yield from _too_large(one, one.text, types)
        elif isinstance(one, tree.Call) and one.callee.name in ("f16", "vec2h", "vec3h", "vec4h"):
            for argument in one.arguments:
                value = bare(argument)
                if isinstance(value, tree.Literal) and _above(value.text, "f16"):
                    yield _overflow(value, "f16")
        elif isinstance(one, tree.Binary) and _is_infinite(one, constants):
            if isinstance(constants.number_or_none(one.right), int):
                words = "an integer divided by 0 does not compile. Write another divisor."
                yield Remark("zero-divisor", words, one.span)
                continue
            words = "a constant divided by 0 does not compile. Use wk_inf() or wk_nan()."
            yield Remark("literal-overflow", words, one.span)


def _is_infinite(node: tree.Binary, constants: ConstantValues) -> bool:
    """Say whether an expression is a constant divided by 0."""
    if node.operator not in ("/", "%") or constants.number_or_none(node.right) != 0:
        return False
    return constants.number_or_none(node.left) is not None


def _too_large(node: tree.Literal, text: str, types: Types) -> Iterator[Remark]:
    is_hex = text[:2] in ("0x", "0X")
    suffix = text[-1] if text[-1] in "iuh" or (text[-1] == "f" and not is_hex) else ""
    found = types.value_of(node)
    name = {"i": "i32", "u": "u32", "h": "f16", "f": "f32"}.get(suffix, "")
    if not name and found == ABSTRACT_FLOAT:
        name = "f32"
    if name and _above(text, name):
        yield _overflow(node, name)


def _above(text: str, name: str) -> bool:
    try:
        return abs(literal_value(text)) > _LARGEST[name]
    except (ValueError, OverflowError):
        return False


def _overflow(node: tree.Literal, name: str) -> Remark:
    words = (
        f"{node.text} is more than {name} holds ({_LARGEST[name]:g}). Use wk_inf() where infinity "
        "is meant."
    )
    return Remark("literal-overflow", words, node.span)
