"""What each kernel computes, in the words of the op that runs it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from functools import cache
from typing import TYPE_CHECKING

import wgsl_kernels as wk
from wgsl_kernels import linalg, ops
from wgsl_kernels.ops.random import streams as random

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PARTS = {
    "Filter": "the filter",
    "FilterV2": "the filter",
    "Input": "the input",
    "InputV2": "the input",
}


WRITTEN = {
    "AdvanceKey": ("", "The key of a stream of random numbers, moved on by what a draw used."),
    "AvgPool3D": ("wk.avg_pool3d", "Means over windows of volumes."),
    "Dilation2DPlaces": ("", "Where each window's largest sum of Dilation2D comes from."),
    "EluGrad": ("", "Gradient of Elu."),
    "MatrixCofactors": ("", "The cofactors of square matrices: the gradient of MatrixDeterminant."),
    "MaxPool3D": ("wk.max_pool3d", "Maxima over windows of volumes."),
    "RaggedTensorToTensor": ("wk.ragged_tensor_to_tensor", "Rows of any length as one tensor."),
}
"""Where no function says it."""


@cache
def by_kernel() -> dict[str, tuple[str, str]]:
    """Return for each kernel the public op that runs it, or nothing, and what it computes.

    Of several functions that run one the op of its name comes first, then any public one.
    """
    found: dict[str, tuple[int, str, str]] = {}
    for module in _modules():
        for function, kernel in _runs(module):
            words = _sentence(ast.get_docstring(function))
            name = _public_name(module, function.name)
            is_namesake = function.name.replace("_", "") == kernel.strip("_").lower()
            rank = 2 * bool(name) + is_namesake
            if words and rank > found.get(kernel, (-1,))[0]:
                found[kernel] = (rank, name, words)
    return {kernel: (name, words) for kernel, (_, name, words) in found.items()} | WRITTEN


def _public_name(module: ModuleType, name: str) -> str:
    own = getattr(module, name, module)
    for space, prefix in ((wk, "wk"), (linalg, "wk.linalg"), (random, "wk.random")):
        if getattr(space, name, None) is own:
            return f"{prefix}.{name}"
    return ""


def words_of(kernel: str) -> tuple[str, str]:
    """Return the op and the words for a kernel; gradients are named after what they belong to."""
    known = by_kernel().get(kernel)
    if known is not None:
        return known
    backward = re.fullmatch(r"(\w+?)(?:Native)?Backprop(\w+)", kernel)
    if backward:
        return "", f"Gradient of {backward[1]} with respect to {PARTS[backward[2]]}."
    if kernel.endswith("GradGrad"):
        return "", f"Second gradient of {kernel.removesuffix('GradGrad')}."
    if kernel.endswith("Grad"):
        return "", f"Gradient of {kernel.removesuffix('Grad')}."
    return "", ""


def _modules() -> Iterator[ModuleType]:
    for one in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        yield importlib.import_module(one.name)
    yield importlib.import_module("wgsl_kernels.linalg")
    yield importlib.import_module("wgsl_kernels.fft")


def _runs(module: ModuleType) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the functions of a module whose bodies name a kernel, with that name."""
    names = {row.name for row in wk.coverage()}
    for function in ast.parse(inspect.getsource(module)).body:
        if isinstance(function, ast.FunctionDef):
            for one in (part for line in function.body for part in ast.walk(line)):
                if isinstance(one, ast.Constant) and one.value in names:
                    yield function, str(one.value)


def _sentence(docstring: str | None) -> str:
    """Return the first sentence, without "Return", as plain text."""
    first = " ".join((docstring or "").split("\n\n")[0].split())
    first = re.sub("^Return,? (as int32, )?", "", first)
    is_word = re.match("(a|[a-z]{2,}) [a-z]", first) is not None  # not a formula
    return (first[:1].upper() + first[1:] if is_word else first).replace("``", "")
