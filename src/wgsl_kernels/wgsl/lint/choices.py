"""Where a text lets NaN choose: comparisons of floats, and functions that are made of them.

Implementations may assume that no NaN and no infinity occurs, so that a comparison with one may
come out either way, and what is made of comparisons may give anything.
Source: WebGPU Shading Language, section 15.7.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from wgsl_kernels.wgsl.lint.remarks import bare, functions_of
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
_ORDERING = ("<", "<=", ">", ">=", "==", "!=")
_FLOATS = (F32, F16, ABSTRACT_FLOAT)


def choices(text: Text) -> Iterator[tuple[Doing, Span]]:
    """Yield each place at which a shader compares floats, or asks whether a number is NaN.

    Args:
        text: The text with everything that it needs: a composed one.

    Raises:
        ShaderError: It cannot be read at all.
    """
    module = parse(text)
    types = infer(module.declarations)
    for function in functions_of(module):
        for node in descendants(function.body):
            if isinstance(node, tree.Call):
                name = node.callee.name
                if name in COMPARING:
                    yield "compares", node.span
                elif name in ASKING:
                    yield "asks", node.span
            elif isinstance(node, tree.Binary) and _is_of_floats(node, types):
                is_itself = bare(node.left) == bare(node.right)
                yield "asks" if is_itself else "compares", node.span


def _is_of_floats(node: tree.Binary, types: Types) -> bool:
    if node.operator not in _ORDERING:
        return False
    kind = types.value_of(node.left)
    return kind is not None and scalar_of(kind) in _FLOATS
