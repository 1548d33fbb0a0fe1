"""What kernels are in TensorFlow: the table of operators read backwards, and what it lacks.

An operator that is a kernel is written by the table that reads it; where one has what the kernel
has as an attribute as an input, there is a rule of its own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.graphdef.kernels import SAME, WITH_ATTRIBUTES
from wgsl_kernels.graphdef.node_writer import DTYPES
from wgsl_kernels.onnx.rules.reductions import reduced_axes
from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.graphdef.node_writer import Attrs, NodeWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule

_PREFERRED = {"Add": "AddV2", "Mod": "FloorMod", "RealDiv": "RealDiv"}
"""Of several operators that are one kernel, the one to write."""
_OF_BOOL = {"Equal", "NotEqual", "LogicalAnd", "LogicalNot", "LogicalOr", "OnesLike", "ZerosLike"}
_WHOLE = {"Abs", "Neg", "OnesLike", "Relu", "Relu6", "Sign", "Square", "ZerosLike"}
"""Maps that TensorFlow.js has of int32, to int32."""
_OTHERWISE = {"BitwiseAnd", "DepthToSpace", "MatrixBandPart"}
"""Operators that TensorFlow.js 4.22 refuses, or of which it gives something else."""
_AS_GIVEN = {"Complex", "ComplexAbs", "FFT", "IFFT", "Imag", "LowerBound", "Real"} | {"UpperBound"}
"""Operators whose inputs have dtypes of their own."""


def _plain(op: str, kernel: str) -> Rule:
    """Return the rule of an operator that has the kernel's inputs, and no attribute."""

    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        declared = find_signature(kernel)
        for name, value in attrs.items():
            if declared is None or value != declared.attrs.get(name):
                raise CannotSayError(f"with {name} {value!r}")
        return [w.node(op, *_inputs(w, kernel, xs, ys))]

    return rule


def _inputs(w: NodeWriter, kernel: str, xs: Values, ys: Values) -> tuple[list[str], str]:
    """Return the inputs, all in the dtype in which they are computed with, and that dtype."""
    kinds, gives = {str(x.dtype) for x in xs}, str(ys[0].dtype)
    if kernel in _AS_GIVEN:
        return [w.name(x) for x in xs], str(xs[0].dtype)
    if kernel.startswith("Logical"):
        return [w.named(x, "bool") for x in xs], "bool"
    if gives != "bool":
        if len(xs) == 1 and gives == "int32" and kernel not in _WHOLE:
            raise CannotSayError(f"of {xs[0].dtype}")
        kind = gives if "complex64" not in kinds else "complex64"
    elif kernel.startswith("Is") and kinds == {"int32"}:
        kind = "float32"
    else:
        kind = kinds.pop() if len(kinds) == 1 else "float32"
    if kind == "bool" and kernel not in _OF_BOOL:
        raise CannotSayError("of bool")
    return [w.named(x, kind) for x in xs], kind


def _bitwise(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        """Write what there is of bool; TensorFlow.js has no node of bits."""
        if ys[0].dtype != "bool":
            raise CannotSayError(f"of {ys[0].dtype}")
        if op == "LogicalXor":
            return [w.node("NotEqual", [w.name(x) for x in xs], "bool")]
        return [w.emit(op, [w.name(x) for x in xs])]

    return rule


def _with_attributes(op: str, kernel: str, names: Mapping[str, tuple[str, Any]]) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        given = {theirs: attrs[ours] for ours, (theirs, _) in names.items()}
        for theirs, default in names.values():
            if not isinstance(given[theirs], (bool, str)):
                given[theirs] = (float if isinstance(default, float) else int)(given[theirs])
        return [w.node(op, *_inputs(w, kernel, xs, ys), **given)]

    return rule


def _reduction(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, dtype = xs[0], ys[0].dtype
        if not x.size:
            raise CannotSayError("of no elements")
        given = [w.named(x, dtype), w.ints(np.array(reduced_axes(attrs, x.ndim), np.int32))]
        return [w.node(op, given, dtype, keep_dims=bool(attrs["keep_dims"]), Tidx="DT_INT32")]

    return rule


def _extreme_place(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x = xs[0]
        if x.ndim == 0 or attrs["axis"] is None:
            raise CannotSayError("without an axis")
        axis, dtype = w.ints(int(attrs["axis"]) % x.ndim), "int32" if x.dtype == "bool" else x.dtype
        return [
            w.node(op, [w.named(x, dtype), axis], dtype, output_type="DT_INT32", Tidx="DT_INT32")
        ]

    return rule


def _running(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, dtype = xs[0], ys[0].dtype
        if not x.ndim:
            raise CannotSayError("of a scalar")
        options = {name: bool(attrs[name]) for name in ("exclusive", "reverse")}
        given = [w.named(x, dtype), w.ints(int(attrs["axis"]) % x.ndim)]
        return [w.node(op, given, dtype, Tidx="DT_INT32", **options)]

    return rule


def _softmax(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        """Write the operator, which is of the last axis: another one is moved there."""
        x, dtype = xs[0], ys[0].dtype
        axis = int(attrs.get("axis", attrs.get("dim", -1))) % max(x.ndim, 1)
        if axis == x.ndim - 1:
            return [w.node(op, [w.named(x, dtype)], dtype)]
        order = [i for i in range(x.ndim) if i != axis] + [axis]
        back = sorted(range(x.ndim), key=order.__getitem__)
        moved = w.node(op, [w.transposed(w.named(x, dtype), order, dtype)], dtype)
        return [w.transposed(moved, back, dtype)]

    return rule


def _clip(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    bounds = [w.number(attrs[f"clip_value_{one}"], dtype) for one in ("min", "max")]
    return [w.node("ClipByValue", [w.named(xs[0], dtype), *bounds], dtype)]


def _select(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    both = [w.named(x, dtype) for x in xs[1:]]
    return [w.node("SelectV2", [w.name(xs[0]), *both], dtype)]


def _cast(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.named(xs[0], ys[0].dtype)]


def _identity(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.node("Identity", [w.name(xs[0])], xs[0].dtype)]


def _floor_div(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write FloorDiv, and what is divided by 0: that is left to the reader there."""
    zero = w.number(0, "int32")
    if all(x.dtype == "bool" for x in xs):
        raise CannotSayError("of bool")
    if all(x.dtype == "int32" for x in xs):
        a, b = (w.name(x) for x in xs)
        is_zero = w.node("Equal", [b, zero], "int32")
        divisor = w.node("SelectV2", [is_zero, w.number(1, "int32"), b], "int32")
        found = w.node("FloorDiv", [a, divisor], "int32")
        return [w.node("SelectV2", [is_zero, zero, found], "int32") if attrs["as_int32"] else found]
    both = [w.named(x, "float32") for x in xs]
    found = w.node("Floor", [w.node("RealDiv", both, "float32")], "float32")
    if not attrs["as_int32"]:
        return [found]
    is_number = w.node("IsFinite", [found], "float32")
    kept = w.node("SelectV2", [is_number, found, w.number(0, "float32")], "float32")
    return [w.cast(kept, "int32", "float32")]


def _add_n(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    return [w.node("AddN", [w.named(x, dtype) for x in xs], dtype, N=len(xs))]


def _einsum(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    names = [w.named(x, dtype) for x in xs]
    terms, _, result = str(attrs["equation"]).replace(" ", "").partition("->")
    every = [*terms.split(","), result]
    alone = [one for one in set(terms) - {","} if "".join(every).count(one) < 2]
    if len(every) > 3 or "..." in terms or alone or any(len(set(e)) < len(e) for e in every):
        raise CannotSayError(f"with the equation {attrs['equation']!r}")
    return [w.node("Einsum", names, dtype, N=len(xs), equation=attrs["equation"])]


def _top_k(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write the largest: the smallest are those of negated values, or of inverted bits."""
    x = xs[0]
    if not x.size or not attrs["k"]:
        raise CannotSayError("of no elements")

    def turned(name: str) -> str:
        if attrs["largest"]:
            return name
        if x.dtype == "int32":
            return w.node("Sub", [w.number(-1, "int32"), name], "int32")
        return w.node("Neg", [name], x.dtype)

    given = [turned(w.name(x)), w.ints(int(attrs["k"]))]
    values, places = w.emit_many("TopKV2", given, 2, T=DTYPES[str(x.dtype)], sorted=True)
    return [turned(values), places]


def _matmul(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    names = [w.named(x, dtype) for x in xs]
    turned = [bool(attrs[f"transpose_{one}"]) for one in "ab"]
    if xs[0].ndim == xs[1].ndim == 2:
        options = dict(zip(("transpose_a", "transpose_b"), turned, strict=True))
        return [w.node("MatMul", names, dtype, **options)]
    options = dict(zip(("adj_x", "adj_y"), turned, strict=True))
    return [w.node("BatchMatMulV2", names, dtype, **options)]


_KNOWN: Mapping[str, Callable[..., list[str]]] = MappingProxyType(
    {
        **{name: _reduction(name) for name in ("All", "Any", "Max", "Mean", "Min", "Prod", "Sum")},
        "AddN": _add_n,
        "ArgMax": _extreme_place("ArgMax"),
        "ArgMin": _extreme_place("ArgMin"),
        "BatchMatMul": _matmul,
        **{f"Bitwise{one}": _bitwise(f"Logical{one}") for one in ("And", "Or", "Xor")},
        "BitwiseInvert": _bitwise("LogicalNot"),
        "Cast": _cast,
        "ClipByValue": _clip,
        "Cumprod": _running("Cumprod"),
        "Cumsum": _running("Cumsum"),
        "Einsum": _einsum,
        "FloorDiv": _floor_div,
        "Identity": _identity,
        "LogSoftmax": _softmax("LogSoftmax"),
        "Select": _select,
        "Softmax": _softmax("Softmax"),
        "TopK": _top_k,
    }
)
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{
            ours: _plain(_PREFERRED.get(ours, theirs), ours)
            for theirs, ours in SAME.items()
            if theirs not in _OTHERWISE
        },
        **{
            ours: _with_attributes(_PREFERRED.get(ours, theirs), ours, attrs)
            for theirs, (ours, attrs) in WITH_ATTRIBUTES.items()
            if theirs not in _OTHERWISE
        },
        **_KNOWN,
    }
)
"""Rules of kernels that compute values; those of shapes and windows are in modules of their own."""
