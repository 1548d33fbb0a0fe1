"""The names of TensorFlow.js and of the Python array API standard, and what of them is here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from wgsl_kernels.engine.observe.coverage import expect_kernels
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.registry import backends_of
from wgsl_kernels.ops.names.names import NOT_OURS, tfjs_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KERNELS = """
    Abs Acos Acosh Add AddN All Any ArgMax ArgMin Asin Asinh Atan Atan2 Atanh AvgPool AvgPool3D
    AvgPool3DGrad AvgPoolGrad BatchMatMul BatchToSpaceND Bincount BitwiseAnd BroadcastArgs
    BroadcastTo Cast Ceil ClipByValue Complex ComplexAbs Concat Conv2D Conv2DBackpropFilter
    Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Cos Cosh
    CropAndResize Cumprod Cumsum DenseBincount DepthToSpace DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Diag Dilation2D
    Dilation2DBackpropFilter Dilation2DBackpropInput Draw Einsum Elu EluGrad Equal Erf Exp
    ExpandDims Expm1 FFT Fill FlipLeftRight Floor FloorDiv FromPixels FusedBatchNorm FusedConv2D
    FusedDepthwiseConv2D GatherNd GatherV2 Greater GreaterEqual IFFT Identity Imag IsFinite
    IsInf IsNan LRN LRNGrad LeakyRelu Less LessEqual LinSpace Log Log1p LogSoftmax LogicalAnd
    LogicalNot LogicalOr LogicalXor LowerBound MatrixBandPart Max MaxPool MaxPool3D
    MaxPool3DGrad MaxPoolGrad MaxPoolWithArgmax Maximum Mean Min Minimum MirrorPad Mod
    Multinomial Multiply Neg NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
    NotEqual OneHot OnesLike Pack PadV2 Pool Pow Prelu Prod RaggedGather RaggedRange
    RaggedTensorToTensor Range Real RealDiv Reciprocal Relu Relu6 Reshape ResizeBilinear
    ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad Reverse RotateWithOffset
    Round Rsqrt ScatterNd SearchSorted Select Selu Sigmoid Sign Sin Sinh Slice Softmax Softplus
    SpaceToBatchND SparseFillEmptyRows SparseReshape SparseSegmentMean SparseSegmentSum
    SparseToDense SplitV Sqrt Square SquaredDifference StaticRegexReplace Step StridedSlice
    StringNGrams StringSplit StringToHashBucketFast Sub Sum Tan Tanh TensorScatterUpdate Tile
    TopK Transform Transpose Unique Unpack UnsortedSegmentSum UpperBound ZerosLike _FusedMatMul
"""

_MAIN = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2
    atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
    bitwise_xor bool broadcast_arrays broadcast_to can_cast ceil clip complex128 complex64
    concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide e
    empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64 floor
    floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16
    int32 int64 int8 isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2
    logaddexp logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum
    mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter nonzero not_equal
    ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape
    result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std
    subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32
    uint64 uint8 unique_all unique_counts unique_inverse unique_values unstack var vecdot where
    zeros zeros_like __array_api_version__ __array_namespace_info__
"""

_LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""

_FFT = """
    fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn
"""

TFJS_KERNELS = tuple(_KERNELS.split())
"""The names of TensorFlow.js's kernels, version 4.22."""

ARRAY_API: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        space: tuple(names.split())
        for space, names in (("", _MAIN), ("linalg", _LINALG), ("fft", _FFT))
    }
)
"""The names of the array API standard, version 2024.12, by namespace; "" is the main one."""

_NOT_HELD = "no backend holds this type"
REASONS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("int16", "int64", "uint16", "uint32", "uint64"), _NOT_HELD)
)
"""Names of the array API standard that are not to come, and why."""


@dataclass(frozen=True)
class LedgerRow:
    """A name of one of the two standards.

    Attributes:
        standard: "TensorFlow.js kernel", "TensorFlow.js op" or "array API".
        name: The name there; one of a namespace with a dot, such as "linalg.inv".
        ours: The name here; empty where it is missing.
        because: Why it is not here, or what stands in its place; empty where it is here or to come.
    """

    standard: str
    name: str
    ours: str
    because: str


@public()
def ledger() -> list[LedgerRow]:
    """Return a row per name of both standards: what it is called here, or that it is missing.

    Example:
        >>> [row.ours for row in ledger() if row.name == "argMax"]
        ['argmax']
    """
    return [*_kernels(), *_ops(), *_array_api()]


def _kernels() -> Iterator[LedgerRow]:
    for name in TFJS_KERNELS:
        yield LedgerRow("TensorFlow.js kernel", name, name if backends_of(name) else "", "")


def _ops() -> Iterator[LedgerRow]:
    known = tfjs_names()
    for name in sorted({*known, *NOT_OURS}):
        yield LedgerRow("TensorFlow.js op", name, known.get(name, ""), NOT_OURS.get(name, ""))


def _array_api() -> Iterator[LedgerRow]:
    package = importlib.import_module("wgsl_kernels")
    for space, names in ARRAY_API.items():
        owner = getattr(package, space) if space and hasattr(package, space) else package
        for name in names:
            path = f"{space}.{name}" if space else name
            here = not (space and owner is package) and _is_ours(owner, name)
            yield LedgerRow("array API", path, path if here else "", REASONS.get(path, ""))


def _is_ours(owner: object, name: str) -> bool:
    return hasattr(owner, name) and not isinstance(getattr(owner, name), ModuleType)


expect_kernels(TFJS_KERNELS)
