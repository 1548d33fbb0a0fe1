"""What ONNX can say of our kernels: by a rule, by other kernels, or not, and why."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.onnx.rules import elementwise, indexing, products, reductions, shapes, windows
from wgsl_kernels.onnx.saving.compositions import COMPOSITIONS
from wgsl_kernels.ops.rules.elementwise import declared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.onnx.saving.graph_writer import Rule
    from wgsl_kernels.onnx.saving.tracing import Composition

FAMILIES = (elementwise, indexing, products, reductions, shapes, windows)
RULES: Mapping[str, Rule] = MappingProxyType(
    {name: rule for family in FAMILIES for name, rule in family.RULES.items()}
)
"""By the kernel's name: given the writer, the inputs, the attributes and the outputs."""
COMPOSED: Mapping[str, Composition] = MappingProxyType(
    {name: one for name, one in COMPOSITIONS.items() if name not in RULES}
)
"""Kernels that are written as others."""
CONSTANT = ("Fill", "LinSpace", "Range")
"""Kernels without inputs: what they give is written as values."""
_FUNCTIONS = "functions without an operator"
_REASONS = {
    "complex numbers": ("Complex", "ComplexAbs", "FFT", "IFFT", "Imag", "Real"),
    "factorizations and solvers of matrices": (
        "Cholesky", "LogMatrixDeterminant", "MatrixCofactors", "MatrixSolve", "MatrixSolveLs",
        "MatrixTriangularSolve", "Qr", "SelfAdjointEig", "Svd",
    ),
    _FUNCTIONS: ("NextAfter", "Polygamma"),
    "gradients without an operator": (
        "AttentionGradient", "DepthwiseConv2dNativeBackpropFilter", "Dilation2DBackpropFilter",
        "Dilation2DBackpropInput", "Dilation2DPlaces", "LRNGrad", "MaxPool3DGrad",
        "MaxPool3DGradGrad", "MaxPoolGradGrad",
    ),
    "images that are sampled in other ways, or shown": (
        "CropAndResize", "Draw", "FromPixels", "RotateWithOffset", "Transform",
    ),
    "numbers of few bits": ("MatMulNBits", "Widen"),
    "random numbers": ("AdvanceKey", "Multinomial", "RandomNormal", "RandomUniform"),
    "shapes that depend on values": (
        "BroadcastArgs", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5",
        "NonZero", "RaggedGather", "RaggedRange", "RaggedTensorToTensor", "SparseFillEmptyRows",
        "SparseReshape", "SparseSegmentMean", "SparseSegmentSum", "Unique",
    ),
    "strings": (
        "StaticRegexReplace", "StringNGrams", "StringSplit", "StringToHashBucketFast",
    ),
}  # fmt: skip
UNSAID: Mapping[str, str] = MappingProxyType(
    {name: _FUNCTIONS for name in declared if name not in {*RULES, *COMPOSED}}
    | {name: reason for reason, names in _REASONS.items() for name in names}
)
"""Why there is no rule, by the kernel's name; of an elementwise function nothing need be said."""
_SINCE = {"LayerNorm": 17}
"""Kernels whose rule wants newer operators than the oldest; older ones write them as others."""


def rules_of(opset: int) -> Mapping[str, Rule]:
    """Return the rules that hold for a version of the operators."""
    return {name: rule for name, rule in RULES.items() if opset >= _SINCE.get(name, 0)}
