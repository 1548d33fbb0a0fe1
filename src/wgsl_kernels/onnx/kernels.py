"""What kernels are in ONNX: a rule for each writes the nodes that compute the same."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.values.windows import slide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.onnx.writing import ModelWriter

    Rule = Callable[[ModelWriter, Sequence[Any], Mapping[str, Any], Sequence[Any]], list[str]]

OPSET = 21
"""The version of ONNX's operators that the rules write."""

_MAPS = {
    **{
        name: name
        for name in (
            "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu",
            "Erf", "Exp", "Floor", "Identity", "Log", "Neg", "Reciprocal", "Relu", "Round", "Selu",
            "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Sqrt", "Tan", "Tanh",
        )
    },
    "IsNan": "IsNaN",
    "IsInf": "IsInf",
    "LogicalNot": "Not",
}  # fmt: skip
_BINARY = {
    "Add": "Add",
    "Equal": "Equal",
    "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
    "Less": "Less",
    "LessEqual": "LessOrEqual",
    "LogicalAnd": "And",
    "LogicalOr": "Or",
    "LogicalXor": "Xor",
    "Maximum": "Max",
    "Minimum": "Min",
    "Multiply": "Mul",
    "Pow": "Pow",
    "RealDiv": "Div",
    "Sub": "Sub",
}
_ACTIVATIONS = {"linear": "", "relu": "Relu", "sigmoid": "Sigmoid", "elu": "Elu"}


OF_BOOL = frozenset(
    {
        "All", "Any", "Attention", "BroadcastTo", "Cast", "Concat", "Equal", "ExpandDims",
        "GatherV2", "Identity", "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "NotEqual",
        "Pack", "Reshape", "Reverse", "Select", "Slice", "SplitV", "Tile", "Transpose", "Unpack",
    }
)  # fmt: skip
"""Kernels whose operators take bool."""


class CannotSayError(Exception):
    """A kernel's call that no rule can write, and why."""


def _map(op: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        if xs[0].dtype != ys[0].dtype and op not in ("IsNaN", "IsInf"):
            return [w.emit(op, [w.cast(w.name(xs[0]), ys[0].dtype)])]
        if xs[0].dtype in ("bool", "int32") and op not in (
            "Abs",
            "Identity",
            "Neg",
            "Not",
            "Relu",
            "Sign",
        ):
            raise CannotSayError(f"of {xs[0].dtype}")
        return [w.emit(op, [w.name(xs[0])])]

    return rule


def _binary(op: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        names = [w.name(x) for x in xs]
        if op in ("And", "Or", "Xor"):
            names = [w.cast(name, "bool", x.dtype) for name, x in zip(names, xs, strict=True)]
        elif ys[0].dtype == "bool":
            if xs[0].dtype != xs[1].dtype:
                raise CannotSayError(f"of {xs[0].dtype} and {xs[1].dtype}")
        else:
            names = [w.cast(name, ys[0].dtype, x.dtype) for name, x in zip(names, xs, strict=True)]
            if ys[0].dtype == "int32" and op == "Pow":
                raise CannotSayError("of int32")
        return [w.emit(op, names)]

    return rule


def _axes(attrs: Mapping[str, Any], ndim: int) -> list[int]:
    given = attrs.get("axis", attrs.get("reduction_indices"))
    if given is None:
        return list(range(ndim))
    return [int(a) % ndim for a in (given if isinstance(given, (tuple, list)) else (given,))]


def _reduction(op: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        logical = op in ("All", "Any")
        kind = {"All": "ReduceMin", "Any": "ReduceMax"}.get(op, f"Reduce{op}")
        x = w.cast(w.name(xs[0]), "int32" if logical else ys[0].dtype, xs[0].dtype)
        if xs[0].size == 0:
            raise CannotSayError("of no elements")
        if xs[0].ndim:
            axes = w.constant(np.array(_axes(attrs, xs[0].ndim), np.int64))
            x = w.emit(kind, [x, axes], keepdims=int(bool(attrs.get("keep_dims"))))
        return [w.cast(x, "bool", "int32") if logical else x]

    return rule


def _extreme_place(op: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        if xs[0].ndim == 0 or attrs["axis"] is None or xs[0].dtype == "bool":
            raise CannotSayError("without an axis, or of bool")
        found = w.emit(op, [w.name(xs[0])], axis=int(attrs["axis"]), keepdims=0)
        return [w.cast(found, "int32")]

    return rule


def _reshape(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    return [w.reshaped(w.name(xs[0]), ys[0].shape)]


def _softmax(op: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        return [w.emit(op, [w.name(xs[0])], axis=int(attrs.get("axis", attrs.get("dim", -1))))]

    return rule


def _matmul(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    names = []
    for key, x in zip(("transpose_a", "transpose_b"), xs, strict=False):
        name = w.cast(w.name(x), ys[0].dtype, x.dtype)
        if attrs.get(key):
            order = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
            name = w.emit("Transpose", [name], perm=order)
        names.append(name)
    found = w.emit("MatMul", names)
    if len(xs) > 2 and xs[2] is not None:
        found = w.emit("Add", [found, w.name(xs[2])])
    return [_activated(w, found, xs, attrs)]


def _activated(w: ModelWriter, x: str, xs: Sequence[Any], attrs: Mapping[str, Any]) -> str:
    name = attrs.get("activation", "linear")
    if name == "leakyrelu":
        return w.emit("LeakyRelu", [x], alpha=float(attrs["leakyrelu_alpha"]))
    if name == "relu6":
        return w.emit("Clip", [x, w.constant(np.float32(0)), w.constant(np.float32(6))])
    if name not in _ACTIVATIONS:
        raise CannotSayError(f"with the activation {name!r}")
    return w.emit(_ACTIVATIONS[name], [x]) if _ACTIVATIONS[name] else x


def _numbers(value: Any, count: int) -> list[int]:
    return [int(value)] * count if isinstance(value, int) else [int(one) for one in value]


def _window(attrs: Mapping[str, Any], x: Any, size: Sequence[int]) -> dict[str, Any]:
    """Return the attributes of a window over images; its padding in numbers."""
    if attrs.get("dim_rounding_mode") not in (None, "floor"):
        raise CannotSayError(f"with dim_rounding_mode {attrs['dim_rounding_mode']!r}")
    given = {name: attrs[name] for name in ("dilations", "data_format") if name in attrs}
    sliding = slide("save", x.shape, size, strides=attrs["strides"], pad=attrs["pad"], **given)
    axes = sliding.axes
    return {
        "kernel_shape": list(size),
        "strides": [axis.stride for axis in axes],
        "dilations": [axis.dilation for axis in axes],
        "pads": [axis.before for axis in axes] + [axis.after for axis in axes],
    }


def _with_channels_first(
    w: ModelWriter, x: Any, attrs: Mapping[str, Any], run: Callable[[str], str]
) -> str:
    """Return what ``run`` makes of ``x`` with channels first, in the layout that ``x`` has."""
    if not attrs.get("data_format", "NHWC").endswith("C"):
        return run(w.name(x))
    order = [0, x.ndim - 1, *range(1, x.ndim - 1)]
    back = [0, *range(2, x.ndim), 1]
    return w.emit("Transpose", [run(w.emit("Transpose", [w.name(x)], perm=order))], perm=back)


def _convolution(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    x, filters, *more = xs
    count = x.ndim - 2
    turned = w.emit("Transpose", [w.name(filters)], perm=[count + 1, count, *range(count)])
    bias = next((one for one in more[:1] if one is not None), None)
    window = _window(attrs, x, filters.shape[:count]) | {"group": int(attrs.get("groups", 1))}

    def run(name: str) -> str:
        given = [name, turned]
        if bias is not None:
            given.append(w.reshaped(w.name(bias), (filters.shape[-1],)))
        return w.emit("Conv", given, **window)

    if bias is not None and bias.size != filters.shape[-1]:
        raise CannotSayError(f"with a bias of shape {bias.shape}")
    return [_activated(w, _with_channels_first(w, x, attrs, run), xs, attrs)]


def _depthwise(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    x, filters = xs[:2]
    high, wide, channels, times = filters.shape
    turned = w.emit("Transpose", [w.name(filters)], perm=[2, 3, 0, 1])
    weight = w.reshaped(turned, (channels * times, 1, high, wide))
    window = _window(attrs, x, (high, wide)) | {"group": channels}
    return [
        _with_channels_first(w, x, attrs, lambda name: w.emit("Conv", [name, weight], **window))
    ]


def _pool(op: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        count = xs[0].ndim - 2
        size = _numbers(attrs["filter_size"], count)
        window = _window(attrs, xs[0], size)
        return [_with_channels_first(w, xs[0], attrs, lambda name: w.emit(op, [name], **window))]

    return rule


def _batch_norm(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    x, mean, variance, offset, scale = xs
    kind = w.number(attrs["variance_epsilon"], x.dtype)
    deviation = w.emit("Sqrt", [w.emit("Add", [w.name(variance), kind])])
    found = w.emit("Div", [w.emit("Sub", [w.name(x), w.name(mean)]), deviation])
    if scale is not None:
        found = w.emit("Mul", [found, w.name(scale)])
    return [found if offset is None else w.emit("Add", [found, w.name(offset)])]


def _layer_norm(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    x, scale, offset = xs
    axis = attrs["axis"] % x.ndim
    ones = w.constant(np.ones(x.shape[axis:], np.dtype(x.dtype.name)))
    given = [w.name(x), ones if scale is None else w.name(scale)]
    given += [] if offset is None else [w.name(offset)]
    return [w.emit("LayerNormalization", given, axis=axis, epsilon=float(attrs["epsilon"]))]


def _slice(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    begin = [
        b % n if n else 0 for b, n in zip(_numbers(attrs["begin"], 1), xs[0].shape, strict=False)
    ]
    ends = [b + n for b, n in zip(begin, ys[0].shape, strict=False)]
    return [w.sliced(w.name(xs[0]), begin, ends)]


def _reverse(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    dims = range(xs[0].ndim) if attrs["dims"] is None else attrs["dims"]
    axes = [d % xs[0].ndim for d in (dims if not isinstance(dims, int) else (dims,))]
    count = len(axes)
    return [w.sliced(w.name(xs[0]), [-1] * count, [-(1 << 62)] * count, axes, [-1] * count)]


def _split(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    axis = attrs["axis"] % xs[0].ndim
    stacked = len(ys[0].shape) < xs[0].ndim
    sizes = [1 if stacked else y.shape[axis] for y in ys]
    given = [w.name(xs[0]), w.constant(np.array(sizes, np.int64))]
    found = w.emit_many("Split", given, len(ys), axis=axis)
    return [w.reshaped(one, ys[0].shape) for one in found] if stacked else found


def _concat(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    return [w.emit("Concat", [w.name(x) for x in xs], axis=int(attrs["axis"]))]


def _pack(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    axis = attrs["axis"] % ys[0].ndim
    shape = [1 if i == axis else n for i, n in enumerate(ys[0].shape)]
    return [w.emit("Concat", [w.reshaped(w.name(x), shape) for x in xs], axis=axis)]


def _pad(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    pairs = attrs["paddings"]
    widths = np.array([a for a, _ in pairs] + [b for _, b in pairs], np.int64)
    value = w.number(attrs["constant_value"], xs[0].dtype)
    return [w.emit("Pad", [w.name(xs[0]), w.constant(widths), value])]


def _mirrored(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    """Take elements where ONNX's Pad has no such mode, or copies no element twice."""
    name, mode = w.name(xs[0]), attrs["mode"]
    pairs = [tuple(map(int, pair)) for pair in attrs["paddings"]]
    fits = all(max(pair) < n or not any(pair) for pair, n in zip(pairs, xs[0].shape, strict=True))
    if mode == "edge" or (mode in ("reflect", "wrap") and fits):
        widths = np.array([a for a, _ in pairs] + [b for _, b in pairs], np.int64)
        return [w.emit("Pad", [name, w.constant(widths)], mode=mode)]
    for axis, (pair, length) in enumerate(zip(pairs, xs[0].shape, strict=True)):
        if any(pair):
            places = np.pad(np.arange(length), pair, mode=mode)
            name = w.emit("Gather", [name, w.constant(places)], axis=axis)
    return [name]


def _attention(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    """Write products and a softmax: the operator Attention gives NaN where no key is allowed."""
    query, key, value, mask = xs
    batch, heads, steps, size = query.shape
    key_heads, length = key.shape[1:3]
    if not length:
        raise CannotSayError("of no keys")
    dtype = query.dtype
    grouped = (batch, key_heads, heads // key_heads * steps)  # queries side by side share a key
    q = w.reshaped(
        w.emit("Mul", [w.name(query), w.number(attrs["scale"], dtype)]), (*grouped, size)
    )
    k = w.emit("Transpose", [w.name(key)], perm=[0, 1, 3, 2])
    scores = w.reshaped(w.emit("MatMul", [q, k]), (batch, heads, steps, length))
    least = w.number(-np.inf, dtype)
    if mask is not None and mask.dtype == "bool":
        scores = w.emit("Where", [w.name(mask), scores, least])
    elif mask is not None:
        scores = w.emit("Add", [scores, w.name(mask)])
    if attrs["causal"]:
        allowed = np.tri(steps, length, length - steps, dtype=np.bool_)
        scores = w.emit("Where", [w.constant(allowed), scores, least])
    lowest = w.number(np.finfo(str(dtype)).min, dtype)
    weights = w.emit("Softmax", [w.emit("Max", [scores, lowest])], axis=-1)
    weights = w.emit("Where", [w.emit("Equal", [scores, least]), w.number(0, dtype), weights])
    found = w.emit("MatMul", [w.reshaped(weights, (*grouped, length)), w.name(value)])
    log_sums = w.emit("ReduceLogSumExp", [scores, w.constant(np.array([-1]))], keepdims=0)
    return [w.reshaped(found, ys[0].shape), log_sums]


def _gather(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    if attrs.get("batch_dims"):
        raise CannotSayError("with batch_dims")
    return [w.emit("Gather", [w.name(one) for one in xs], axis=int(attrs["axis"]))]


def _clip(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    bounds = [w.number(attrs[f"clip_value_{one}"], xs[0].dtype) for one in ("min", "max")]
    return [w.emit("Clip", [w.name(xs[0]), *bounds])]


def _select(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    kind = "int32" if ys[0].dtype == "bool" else ys[0].dtype  # ONNX Runtime has none of bool
    both = [w.cast(w.name(x), kind, x.dtype) for x in xs[1:]]
    return [w.cast(w.emit("Where", [w.name(xs[0]), *both]), ys[0].dtype, kind)]


def _leaky(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    if xs[0].dtype == "int32":
        raise CannotSayError("of int32")
    return [w.emit("LeakyRelu", [w.name(xs[0])], alpha=float(attrs["alpha"]))]


def _shaped(op: str, key: str) -> Rule:
    def rule(
        w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
    ) -> list[str]:
        return [w.emit(op, [w.name(xs[0]), w.constant(np.array(attrs[key], np.int64))])]

    return rule


def _running(
    w: ModelWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Sequence[Any]
) -> list[str]:
    axis = w.constant(np.array(attrs["axis"], np.int64))
    options = {name: int(attrs[name]) for name in ("exclusive", "reverse")}
    return [w.emit("CumSum", [w.name(xs[0]), axis], **options)]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: _map(op) for name, op in _MAPS.items()},
        **{name: _binary(op) for name, op in _BINARY.items()},
        **{name: _reduction(name) for name in ("All", "Any", "Max", "Mean", "Min", "Prod", "Sum")},
        "ArgMax": _extreme_place("ArgMax"),
        "ArgMin": _extreme_place("ArgMin"),
        "Attention": _attention,
        "AvgPool": _pool("AveragePool"),
        "AvgPool3D": _pool("AveragePool"),
        "BatchMatMul": _matmul,
        "BroadcastTo": _shaped("Expand", "shape"),
        "Cast": lambda w, xs, attrs, ys: [w.cast(w.name(xs[0]), ys[0].dtype)],
        "ClipByValue": _clip,
        "Concat": _concat,
        "Conv2D": _convolution,
        "Conv3D": _convolution,
        "Cumsum": _running,
        "DepthwiseConv2dNative": _depthwise,
        "Einsum": lambda w, xs, attrs, ys: [
            w.emit("Einsum", [w.name(x) for x in xs], equation=attrs["equation"])
        ],
        "ExpandDims": _reshape,
        "FusedBatchNorm": _batch_norm,
        "FusedConv2D": _convolution,
        "GatherV2": _gather,
        "LayerNorm": _layer_norm,
        "LeakyRelu": _leaky,
        "LogSoftmax": _softmax("LogSoftmax"),
        "MaxPool": _pool("MaxPool"),
        "MaxPool3D": _pool("MaxPool"),
        "MirrorPad": _mirrored,
        "NotEqual": lambda w, xs, attrs, ys: [w.emit("Not", _binary("Equal")(w, xs, attrs, ys))],
        "Pack": _pack,
        "PadV2": _pad,
        "Relu6": lambda w, xs, attrs, ys: [
            w.emit("Clip", [w.name(xs[0]), *(w.number(n, xs[0].dtype) for n in (0, 6))])
        ],
        "Reshape": _reshape,
        "Reverse": _reverse,
        "Rsqrt": lambda w, xs, attrs, ys: [
            w.emit(
                "Reciprocal", [w.emit("Sqrt", [w.cast(w.name(xs[0]), ys[0].dtype, xs[0].dtype)])]
            )
        ],
        "Select": _select,
        "Slice": _slice,
        "Softmax": _softmax("Softmax"),
        "SplitV": _split,
        "Square": lambda w, xs, attrs, ys: [w.emit("Mul", [w.name(xs[0])] * 2)],
        "Tile": _shaped("Tile", "reps"),
        "Transpose": lambda w, xs, attrs, ys: [
            w.emit("Transpose", [w.name(xs[0])], perm=[int(i) for i in attrs["perm"]])
        ],
        "Unpack": _split,
        "_FusedMatMul": _matmul,
    }
)
"""By the kernel's name: given the writer, the inputs, the attributes and the outputs."""
