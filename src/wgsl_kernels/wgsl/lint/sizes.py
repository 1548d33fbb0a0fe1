"""Variables of functions, and of invocations, that take more memory than WGSL allows.

naga does not look; browsers refuse such a shader.

Source: WebGPU Shading Language, section 2.4, limits: the variables of one function, and those of
the private address space, take 8,192 bytes at most; a bool counts as one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark, functions_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.layouts import TypeLayouts, UnknownTypeError
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.types.infer import Types

MOST_BYTES = 8192
_LARGEST_ELEMENT = 64
"""Bytes of the largest type that is no array and no struct: a matrix."""
_ARRAY = re.compile(r"\barray\s*<")
_COUNT = re.compile(r"\barray\s*<[^;=(){}]{0,400}?,\s*(\d{1,9})u?\s*>")
_STORAGE = re.compile(r"var<storage[^;]{0,400};")
"""Both look no further than types are long: a text that repeats how one begins takes its length."""
_COMMENT = re.compile(r"//[^\n]*")


def may_be_large(text: str) -> bool:
    """Say whether variables may take more than is allowed: quick, and never wrong to deny it.

    Numbers beside the arrays of a text tell how large they are; arrays in storage have none.
    """
    text = _COMMENT.sub(" ", text)
    arrays = _ARRAY.findall(text)
    counts = [int(one) for one in _COUNT.findall(text)]
    unsized = sum(_ARRAY.search(one) is not None for one in _STORAGE.findall(text))
    if len(counts) + unsized < len(arrays):
        return True  # a count with a name
    return sum(counts) * _LARGEST_ELEMENT > MOST_BYTES


def size_remarks(module: tree.Module, types: Types) -> Iterator[Remark]:
    """Yield a remark for each function whose variables are too large, and for private ones."""
    if not may_be_large(module.text.text):
        return
    layouts = TypeLayouts(NamedTypes(module.declarations, overrides={}))
    for function in functions_of(module):
        own = [one for one in descendants(function.body) if isinstance(one, tree.Var)]
        yield from _of_several(own, f"of {function.ident.name}", layouts, types)
    private = [one for one in module.variables.values() if one.space == "private"]
    yield from _of_several(private, "in the private address space", layouts, types)


def _of_several(
    variables: Sequence[tree.Var], where: str, layouts: TypeLayouts, types: Types
) -> Iterator[Remark]:
    sizes = [_bytes(one, layouts, types) for one in variables]
    if sum(sizes) > MOST_BYTES:
        largest = variables[sizes.index(max(sizes))]
        words = (
            f"the variables {where} take {sum(sizes)} bytes; WGSL allows {MOST_BYTES}, and "
            "browsers refuse more. Make the array smaller, or use workgroup memory."
        )
        yield Remark("over-default-limits", words, largest.ident.span)


def _bytes(variable: tree.Var, layouts: TypeLayouts, types: Types) -> int:
    """Return the bytes of a variable, 0 where its type is not known."""
    found = layouts.types.of(variable.type)
    if variable.type is None and variable.value is not None:
        found = types.value_of(variable.value)
    if found is None:
        return 0
    try:
        size = layouts.of(found).size
    except UnknownTypeError:
        return 0
    return size // 4 if re.search(r"\bbool\b", str(found)) else size
