"""How far a result may lie from a recorded one: from WGSL's accuracy and each kernel's formula.

The records were computed in double precision and rounded at the end of a kernel, or, where a
kernel is composed of others, after each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing import bounds
from wgsl_kernels.testing.samples.images.sampling import between
from wgsl_kernels.testing.samples.linear_algebra.einsum import einsum_bound
from wgsl_kernels.testing.samples.signal.spectral import transform_bound

Array = np.ndarray
Inputs = Mapping[str, "Array | list[Array]"]

EPS = float(np.finfo(np.float32).eps)
ERF_ERROR = 1.5e-7
"""Of the formula behind the records: Abramowitz and Stegun, 7.1.26."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# One rounding at the most, so nothing but a flushed subnormal may differ.
EXACT = _names(
    """
    Abs Add BatchToSpaceND BroadcastTo Cast Ceil ClipByValue Complex Concat ExpandDims Fill Floor
    GatherV2 Identity DepthToSpace Diag FlipLeftRight GatherNd Imag IsFinite IsInf IsNan
    MatrixBandPart Max MaxPool MaxPool3D MaxPoolWithArgmax Maximum Min Minimum MirrorPad Neg OneHot
    OnesLike Pack PadV2 RaggedGather RaggedTensorToTensor Real Relu Relu6 Reshape
    ResizeNearestNeighbor Reverse RotateWithOffset Round Select Sign Slice SpaceToBatchND
    SparseToDense SplitV Step StridedSlice Sub TensorScatterUpdate Tile TopK Transpose Unique Unpack
    ZerosLike
    """
)

# Sums of terms that grow with the size of the inputs: run on absolute values, the kernel gives
# the sum of the terms' sizes, and run on ones their number.
SUMS = _names(
    """
    AddN AvgPool AvgPool3D AvgPoolGrad AvgPool3DGrad BatchMatMul Conv2D Conv3D Conv2DBackpropFilter
    Conv3DBackpropFilterV2 Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput _FusedMatMul FusedConv2D
    FusedDepthwiseConv2D MaxPoolGrad MaxPool3DGrad Mean Sum UnsortedSegmentSum
    """
)
AVERAGES = frozenset({"AvgPool", "AvgPool3D", "AvgPool3DGrad", "AvgPoolGrad", "Mean"})
CHOOSING = frozenset({"indices", "segment_ids", "input", "output"})  # they add nothing themselves

# The function of shaders/lib that a kernel is made of.
FUNCTIONS = {
    "Acos": "safe_acos",
    "Acosh": "safe_acosh",
    "Asin": "safe_asin",
    "Asinh": "safe_asinh",
    "Atan": "safe_atan",
    "Atan2": "safe_atan2",
    "Atanh": "safe_atanh",
    "Cos": "safe_cos",
    "Cosh": "safe_cosh",
    "Elu": "safe_expm1",
    "EluGrad": "safe_expm1",
    "Exp": "safe_exp",
    "Expm1": "safe_expm1",
    "FloorDiv": "floor_div_f32",
    "Log": "safe_log",
    "Log1p": "safe_log1p",
    "Mod": "floor_mod_f32",
    "Selu": "safe_expm1",
    "Pow": "safe_pow",
    "RealDiv": "safe_div",
    "Reciprocal": "safe_div",
    "Rsqrt": "safe_rsqrt",
    "Sigmoid": "safe_sigmoid",
    "Sin": "safe_sin",
    "Sinh": "safe_sinh",
    "Softplus": "safe_softplus",
    "Sqrt": "safe_sqrt",
    "Tan": "safe_tan",
    "Tanh": "safe_tanh",
}


def interval(
    kernel: str, inputs: Inputs, attrs: Mapping[str, Any], expected: Array
) -> bounds.Interval:
    """Return the interval that each element of a float result must lie in.

    Args:
        kernel: The kernel's name.
        inputs: What it was run on.
        attrs: Its attributes.
        expected: The recorded result.
    """
    return _bound(kernel, inputs, attrs)([], _wide(expected))


def _bound(kernel: str, inputs: Inputs, attrs: Mapping[str, Any]) -> bounds.Bound:
    if kernel in EXACT:
        return bounds.exact()
    if kernel in SUMS:
        return _sum_bound(kernel, inputs, attrs)
    if kernel in FUNCTIONS:
        return bounds.plus(bounds.safe(FUNCTIONS[kernel]), bounds.ulp(0.5))
    if kernel in ("FFT", "IFFT"):
        of_inputs = transform_bound(inverse=kernel == "IFFT")
        return lambda _, expected: of_inputs([np.asarray(inputs["input"])], expected)
    if kernel == "Cumsum":
        return _cumsum_bound(inputs, attrs)
    if kernel == "ResizeBilinear":  # between elements, none of which is larger
        return bounds.absolute(12 * EPS * float(np.max(np.abs(inputs["images"]), initial=0)))
    if kernel in ("CropAndResize", "Transform"):
        image = np.asarray(inputs["image"])
        return lambda _, expected: between(max(image.shape))([image], expected)
    if kernel == "Einsum":
        given = [np.asarray(one) for one in inputs["inputs"]]
        return lambda _, expected: einsum_bound(attrs["equation"])(given, expected)
    if kernel == "LRNGrad":
        x, y, dy = (np.abs(np.asarray(inputs[name], np.float64)) for name in ("x", "y", "dy"))
        crossed = 2 * attrs["alpha"] * attrs["beta"] * np.max(np.sum(x * y, -1), initial=0)
        return bounds.absolute(16 * EPS * float(np.max(dy, initial=0)) * (1 + float(crossed)))
    if kernel == "LRN":
        return bounds.relative(64 * EPS)
    if kernel == "LinSpace":  # the record adds up the step
        size = max(abs(attrs["start"]), abs(attrs["stop"]))
        return bounds.absolute(2 * attrs["num"] * EPS * size)
    if kernel == "ComplexAbs":
        return bounds.ulp(10)
    if kernel == "Erf":
        return bounds.plus(bounds.safe("safe_erf"), bounds.absolute(ERF_ERROR))
    if kernel in ("Cumprod", "Prod"):
        return bounds.ulp(2 * max(np.size(one) for one in inputs.values()))
    if kernel in ("Softmax", "LogSoftmax"):
        return _softmax_bound(kernel, inputs)
    if kernel == "FusedBatchNorm":
        return bounds.plus(_batch_norm_bound(inputs, attrs), bounds.ulp(1))
    return bounds.ulp(4)


def _sum_bound(kernel: str, inputs: Inputs, attrs: Mapping[str, Any]) -> bounds.Bound:
    plain = {**attrs, "activation": "linear"} if "activation" in attrs else dict(attrs)
    slope = max(1.0, float(np.max(np.abs(inputs.get("prelu_activation_weights", 0)), initial=0)))
    inputs = {name: one for name, one in inputs.items() if name != "prelu_activation_weights"}

    def run(values: Inputs) -> Array:
        with wk.use_backend("cpu"):
            result = wk.engine().run_kernel(kernel, values, plain)
            return np.asarray(result.numpy(), np.float64)

    magnitude = run(each(np.abs, inputs))
    most = max(np.size(one) for one in inputs.values())
    terms = np.asarray(most) if kernel in AVERAGES else run(each(np.ones_like, inputs))
    return bounds.sum_of_terms(lambda: terms + 2, lambda: slope * magnitude, extra_ulp=4)


def _softmax_bound(kernel: str, inputs: Inputs) -> bounds.Bound:
    # Both round x - max(x), and both e^(x - max): relative errors of the terms of the sum.
    logits = np.asarray(inputs["logits"], np.float64)
    spread = float(np.max(np.abs(logits), initial=0)) * 2
    steps = 2 * spread + logits.shape[-1] + 8
    if kernel == "Softmax":
        return bounds.relative(steps * EPS)
    return bounds.plus(bounds.absolute(steps * EPS), bounds.ulp(4))


def _cumsum_bound(inputs: Inputs, attrs: Mapping[str, Any]) -> bounds.Bound:
    sizes = np.abs(np.asarray(inputs["x"], np.float64))
    magnitude = np.sum(sizes, axis=attrs["axis"] if sizes.ndim else None, keepdims=True)
    return bounds.sum_of_terms(sizes.size, lambda: magnitude)


def _batch_norm_bound(inputs: Inputs, attrs: Mapping[str, Any]) -> bounds.Bound:
    # safe_rsqrt 2, and a rounding for each of the sums and products
    x, mean, scale, offset, variance = (
        np.asarray(inputs.get(name, default), np.float64)
        for name, default in (("x", 0), ("mean", 0), ("scale", 1), ("offset", 0), ("variance", 0))
    )
    slope = np.abs(scale) / np.sqrt(variance + attrs["variance_epsilon"])
    size = (np.abs(x) + np.abs(mean)) * slope + np.abs(offset)
    return bounds.absolute(8 * EPS * size)


def each(function: Callable[[Array], Array], inputs: Inputs) -> dict[str, Any]:
    """Return the inputs with ``function`` applied to all that adds to a sum."""
    return {name: _applied(function, name, value) for name, value in inputs.items()}


def _applied(function: Callable[[Array], Array], name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_applied(function, name, one) for one in value]
    return value if name in CHOOSING else np.asarray(function(value))


def gradient_interval(expected: Array) -> bounds.Interval:
    """Return the interval for a recorded gradient.

    A rule is a handful of ops, rounded after each on both sides, and may end in a sum over
    broadcast axes whose terms cancel; so errors count against the tensor's largest gradient.
    """
    return _of_largest(expected, 16, float(np.max(np.abs(expected), initial=0)))


def composed_interval(expected: Array) -> bounds.Interval:
    """Return the interval for the recorded result of a public op.

    An op is a few kernels, each rounded on both sides, the sums of many terms among them; each
    kernel's own records hold it to its own bound.
    """
    sizes = np.abs(expected)
    return _of_largest(expected, 64, float(np.max(sizes[np.isfinite(sizes)], initial=0)))


def steps_interval(expected: Array, steps: int, largest: float, lost: float) -> bounds.Interval:
    """Return the interval for a variable after that many steps of an optimizer.

    Each step rounds an update of a handful of ops, and the sum of it and the variable, whose
    elements were at most ``largest`` until now; the record may be off by ``lost`` besides.
    """
    return _of_largest(expected, 4 * steps, largest, lost)


def _of_largest(
    expected: Array, roundings: int, largest: float, lost: float = 0.0
) -> bounds.Interval:
    error = roundings * EPS * largest + lost
    return bounds.plus(bounds.absolute(error), bounds.ulp(roundings))([], _wide(expected))


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
