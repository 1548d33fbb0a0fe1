"""Products of matrices, attention and normalization in ONNX."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx.rules.windows import activated
from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.onnx.rules.writer import Attrs, ModelWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule


def _matmul(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    names = []
    for key, x in zip(("transpose_a", "transpose_b"), xs, strict=False):
        name = w.name(x)
        if attrs.get(key):
            name = w.transposed(name, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])
        names.append(name)
    found = w.emit("MatMul", names)
    if len(xs) > 2 and xs[2] is not None:
        found = w.emit("Add", [found, w.name(xs[2])])
    return [activated(w, found, xs, attrs)]


def _einsum(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.emit("Einsum", [w.name(x) for x in xs], equation=attrs["equation"])]


def _determinant(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    if not xs[0].shape[-1]:
        raise CannotSayError("of no elements")
    return [w.emit("Det", [w.cast(w.name(xs[0]), ys[0].dtype, xs[0].dtype)])]


def _attention(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
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
    k = w.transposed(w.name(key), (0, 1, 3, 2))
    scores = w.reshaped(w.emit("MatMul", [q, k]), (batch, heads, steps, length))
    least = w.number(-np.inf, dtype)
    if mask is not None and mask.dtype == "bool":
        scores = w.emit("Where", [w.name(mask), scores, least])
    elif mask is not None:
        scores = w.emit("Add", [scores, w.name(mask)])
    if attrs["causal"]:
        scores = w.emit("Where", [_triangle(w, steps, length), scores, least])
    lowest = w.number(np.finfo(str(dtype)).min, dtype)
    weights = w.emit("Softmax", [w.emit("Max", [scores, lowest])], axis=-1)
    weights = w.emit("Where", [w.emit("Equal", [scores, least]), w.number(0, dtype), weights])
    found = w.emit("MatMul", [w.reshaped(weights, (*grouped, length)), w.name(value)])
    log_sums = w.reduced("ReduceLogSumExp", scores, [-1], keep=False)
    return [w.reshaped(found, ys[0].shape), log_sums]


def _triangle(w: ModelWriter, steps: int, length: int) -> str:
    """Return which keys a query may attend to: those at its place or before, from the last on."""
    rows = w.emit("Range", [w.ints(length - steps), w.ints(length), w.ints(1)])
    columns = w.emit("Range", [w.ints(0), w.ints(length), w.ints(1)])
    rows = w.emit("Unsqueeze", [rows, w.ints([1])])
    return w.emit("LessOrEqual", [columns, rows])


def _batch_norm(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, mean, variance, offset, scale = xs
    epsilon = w.number(attrs["variance_epsilon"], x.dtype)
    deviation = w.emit("Sqrt", [w.emit("Add", [w.name(variance), epsilon])])
    found = w.emit("Div", [w.emit("Sub", [w.name(x), w.name(mean)]), deviation])
    if scale is not None:
        found = w.emit("Mul", [found, w.name(scale)])
    return [found if offset is None else w.emit("Add", [found, w.name(offset)])]


def _layer_norm(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, scale, offset = xs
    axis = attrs["axis"] % x.ndim
    ones = w.constant(np.ones(x.shape[axis:], np.dtype(x.dtype.name)))
    given = [w.name(x), ones if scale is None else w.name(scale)]
    given += [] if offset is None else [w.name(offset)]
    return [w.emit("LayerNormalization", given, axis=axis, epsilon=float(attrs["epsilon"]))]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "Attention": _attention,
        "BatchMatMul": _matmul,
        "Einsum": _einsum,
        "FusedBatchNorm": _batch_norm,
        "LayerNorm": _layer_norm,
        "MatrixDeterminant": _determinant,
        "_FusedMatMul": _matmul,
    }
)
