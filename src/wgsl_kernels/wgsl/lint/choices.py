"""Where a text lets NaN choose: comparisons of floats, and functions that are made of them.

Implementations may assume that no NaN and no infinity occurs, so that a comparison with one may
come out either way, and what is made of comparisons may give anything.
Source: WebGPU Shading Language, section 15.7.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from wgsl_kernels.wgsl.lint.remarks import bare, functions_of, root_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import ABSTRACT_FLOAT, F16, F32, scalar_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.syntax.places import Span, Text
    from wgsl_kernels.wgsl.types.infer import Types

Doing: TypeAlias = Literal["compares", "asks"]

COMPARING = frozenset({"clamp", "frexp", "modf", "saturate", "sign", "smoothstep", "step"})
"""Functions of which WGSL does not say what they give for NaN, or for infinity.

``min`` and ``max`` are none: of a NaN and a number they give the number, and a text says so.
"""
ASKING = frozenset({"bitcast", "is_finite", "is_inf", "is_nan", "is_nan_or_zero"})
"""Functions by which a text asks for NaN itself."""
EITHER_ZERO = frozenset({"clamp", "max", "min", "saturate", "sign"})
"""Functions that may give a zero of either sign where they meet one."""
_ORDERING = ("<", "<=", ">", ">=", "==", "!=")
_LOOPS = (tree.For, tree.Loop, tree.While)
_FLOATS = (F32, F16, ABSTRACT_FLOAT)


def choices(text: Text) -> Iterator[tuple[Doing, Span]]:
    """Yield each place at which a shader compares floats, or asks whether a number is NaN.

    Args:
        text: The text with everything that it needs: a composed one.

    Raises:
        ShaderError: It cannot be read at all.
    """
    for node, types in _typed(text):
        if isinstance(node, tree.Call):
            name = node.callee.name
            if name in COMPARING:
                yield "compares", node.span
            elif name in ASKING:
                yield "asks", node.span
        elif isinstance(node, tree.Binary) and _is_of_floats(node, types):
            is_itself = bare(node.left) == bare(node.right)
            yield "asks" if is_itself else "compares", node.span


def may_give_either_zero(text: Text) -> bool:
    """Say whether a shader may give a zero of either sign: by a function, or by sums in a loop.

    Args:
        text: The text with everything that it needs: a composed one.

    Raises:
        ShaderError: It cannot be read at all.
    """
    return any(
        (isinstance(node, _LOOPS) and any(_adds(one, types) for one in descendants(node)))
        or (
            isinstance(node, tree.Call)
            and node.callee.name in EITHER_ZERO
            and _is_float(node.arguments[0], types)
        )
        for node, types in _typed(text)
    )


def _typed(text: Text) -> Iterator[tuple[tree.Node, Types]]:
    """Yield what the bodies of a text's functions are made of, with the types there."""
    module = parse(text)
    types = infer(module.declarations)
    for function in functions_of(module):
        for node in descendants(function.body):
            yield node, types


def _adds(node: tree.Node, types: Types) -> bool:
    """Say whether a statement makes a float of what it was before."""
    if not isinstance(node, tree.Assign) or node.target is None:
        return False
    root = root_of(node.target)
    return _is_float(node.target, types) and (
        node.operator != "="
        or any(
            isinstance(one, tree.Name) and root is not None and one.name == root.name
            for one in descendants(node.value)
        )
    )


def _is_of_floats(node: tree.Binary, types: Types) -> bool:
    return node.operator in _ORDERING and _is_float(node.left, types)


def _is_float(node: tree.Expression, types: Types) -> bool:
    kind = types.value_of(node)
    return kind is not None and scalar_of(kind) in _FLOATS
