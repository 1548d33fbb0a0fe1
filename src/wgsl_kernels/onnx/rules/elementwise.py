"""Maps, arithmetic, comparisons and choices in ONNX."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.onnx.rules.writer import Attrs, ModelWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule

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
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_LOGICAL = ("And", "Or", "Xor")
_WHOLE = ("Abs", "Identity", "Neg", "Not", "Relu", "Sign")
"""Operators that take integers as well."""


def _map(op: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, y = xs[0], ys[0]
        if op in ("IsNaN", "IsInf"):
            kind = "float32" if x.dtype == "int32" else w.computing(op, x.dtype)
            return [w.emit(op, [w.cast(w.name(x), kind, x.dtype)])]
        if x.dtype != y.dtype:
            return [w.emit(op, [w.cast(w.name(x), y.dtype)])]
        if x.dtype == "int32" and op in ("Ceil", "Floor", "Round"):
            return [w.emit("Identity", [w.name(x)])]
        if x.dtype in ("bool", "int32") and op not in _WHOLE:
            raise CannotSayError(f"of {x.dtype}")
        if op == "Relu" and x.dtype == "int32" and w.opset < 14:
            return [w.emit("Max", [w.name(x), w.number(0, "int32")])]
        kind = w.computing(op, x.dtype)
        return [w.cast(w.emit(op, [w.cast(w.name(x), kind, x.dtype)]), y.dtype, kind)]

    return rule


def _binary(op: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        compares = op in _COMPARISONS
        wanted = str(xs[0].dtype) if compares else "bool" if op in _LOGICAL else str(ys[0].dtype)
        kind = w.computing(op, wanted)
        found = w.emit(op, [w.cast(w.name(x), kind, x.dtype) for x in xs])
        return [found if compares else w.cast(found, wanted, kind)]

    return rule


def _not_equal(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.emit("Not", _binary("Equal")(w, xs, attrs, ys))]


def _bitwise(op: str, of_bool: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        if ys[0].dtype == "bool":
            return [w.emit(of_bool, [w.name(x) for x in xs])]
        w.since(18)
        return [w.emit(op, [w.cast(w.name(x), ys[0].dtype, x.dtype) for x in xs])]

    return rule


def _left_shift(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Multiply by a power of two, in which integers wrap; 0 where the shift is none."""
    a, b = (w.name(x) for x in xs)
    least, most = (w.number(n, "int32") for n in (0, 31))
    inside = w.emit("And", [w.emit("GreaterOrEqual", [b, least]), w.emit("LessOrEqual", [b, most])])
    powers = w.constant((np.int64(1) << np.arange(32)).astype(np.int32))
    clipped = w.emit("Max", [w.emit("Min", [b, most]), least])
    times = w.emit("Mul", [a, w.emit("Gather", [powers, clipped], axis=0)])
    return [w.emit("Where", [inside, times, least])]


def _right_shift(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Divide by a power of two, rounded down; the longest shifts leave the sign: 0 or -1."""
    a, b = (w.name(x) for x in xs)
    zero, last = w.number(0, "int32"), w.number(30, "int32")
    inside = w.emit("And", [w.emit("GreaterOrEqual", [b, zero]), w.emit("LessOrEqual", [b, last])])
    powers = w.constant((1 << np.arange(31)).astype(np.int32))
    divisor = w.emit("Gather", [powers, w.emit("Where", [inside, b, zero])], axis=0)
    rest = w.emit("Mod", [a, divisor])
    found = w.emit("Div", [w.emit("Sub", [a, rest]), divisor])
    sign = w.emit("Where", [w.emit("Less", [a, zero]), w.number(-1, "int32"), zero])
    return [w.emit("Where", [inside, found, sign])]


def _clip(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    bounds = [w.number(attrs[f"clip_value_{one}"], xs[0].dtype) for one in ("min", "max")]
    return [w.emit("Clip", [w.name(xs[0]), *bounds])]


def _relu6(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.emit("Clip", [w.name(xs[0]), *(w.number(n, xs[0].dtype) for n in (0, 6))])]


def _select(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    kind = "int32" if ys[0].dtype == "bool" else ys[0].dtype  # ONNX Runtime has none of bool
    both = [w.cast(w.name(x), kind, x.dtype) for x in xs[1:]]
    return [w.cast(w.emit("Where", [w.name(xs[0]), *both]), ys[0].dtype, kind)]


def _leaky(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    if xs[0].dtype == "int32":
        raise CannotSayError("of int32")
    return [w.emit("LeakyRelu", [w.name(xs[0])], alpha=float(attrs["alpha"]))]


def _prelu(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, slopes = (w.cast(w.name(one), ys[0].dtype, one.dtype) for one in xs)
    if xs[0].shape == ys[0].shape:
        return [w.emit("PRelu", [x, slopes])]
    below = w.emit("Less", [x, w.number(0, ys[0].dtype)])
    return [w.emit("Where", [below, w.emit("Mul", [x, slopes]), x])]


def _rsqrt(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    root = w.emit("Sqrt", [w.cast(w.name(xs[0]), ys[0].dtype, xs[0].dtype)])
    return [w.emit("Reciprocal", [root])]


def _square(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.emit("Mul", [w.name(xs[0])] * 2)]


def _mod(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write Mod, whose sign of integers is the divisor's and of floats the dividend's."""
    dtype = ys[0].dtype
    a, b = (w.cast(w.name(x), dtype, x.dtype) for x in xs)
    if dtype == "int32":
        return [w.emit("Mod", [a, _divisor(w, b)])]
    found = w.emit("Mod", [a, b], fmod=1)
    zero = w.number(0, dtype)
    other = w.emit("Xor", [w.emit("Less", [found, zero]), w.emit("Less", [b, zero])])
    some = w.emit("Not", [w.emit("Equal", [found, zero])])
    more = w.emit("Add", [found, b])
    return [w.emit("Where", [w.emit("And", [some, other]), more, found])]


def _divisor(w: ModelWriter, b: str) -> str:
    """Return integers to divide by: 1 in place of 0 and of -1, by which -2^31 is a trap there."""
    traps = [w.emit("Equal", [b, w.number(n, "int32")]) for n in (0, -1)]
    return w.emit("Where", [w.emit("Or", traps), w.number(1, "int32"), b])


def _floor_div(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    kind = "int32" if all(x.dtype == "int32" for x in xs) else "float32"
    a, b = (w.cast(w.name(x), kind, x.dtype) for x in xs)
    if kind == "float32":
        found = w.emit("Floor", [w.emit("Div", [a, b])])
        if ys[0].dtype == "int32":
            none = w.emit("Or", [w.emit("IsNaN", [found]), w.emit("IsInf", [found])])
            found = w.emit("Where", [none, w.number(0, kind), found])
        return [w.cast(found, ys[0].dtype, kind)]
    zero, one, minus = (w.number(n, "int32") for n in (0, 1, -1))
    divisor = _divisor(w, b)
    cut = w.emit("Div", [a, divisor])  # towards 0
    some = w.emit("Not", [w.emit("Equal", [w.emit("Mod", [a, divisor]), zero])])
    negative = w.emit("Xor", [w.emit("Less", [x, zero]) for x in (a, divisor)])
    below = w.emit("Where", [w.emit("And", [some, negative]), one, zero])
    found = w.emit("Sub", [cut, below])
    found = w.emit("Where", [w.emit("Equal", [b, minus]), w.emit("Sub", [zero, a]), found])
    if attrs["as_int32"]:  # nothing divided by 0 is 0 then, and what it was else
        found = w.emit("Where", [w.emit("Equal", [b, zero]), zero, found])
    return [found]


def _filled(value: int) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        one = w.number(value, ys[0].dtype)
        return [w.emit("Expand", [one, w.emit("Shape", [w.name(xs[0])])])]

    return rule


def _cast(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.cast(w.name(xs[0]), ys[0].dtype)]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: _map(op) for name, op in _MAPS.items()},
        **{name: _binary(op) for name, op in _BINARY.items()},
        **{f"Bitwise{one}": _bitwise(f"Bitwise{one}", one) for one in ("And", "Or", "Xor")},
        "BitwiseInvert": _bitwise("BitwiseNot", "Not"),
        "BitwiseLeftShift": _left_shift,
        "BitwiseRightShift": _right_shift,
        "Cast": _cast,
        "ClipByValue": _clip,
        "FloorDiv": _floor_div,
        "LeakyRelu": _leaky,
        "Mod": _mod,
        "NotEqual": _not_equal,
        "OnesLike": _filled(1),
        "Prelu": _prelu,
        "Relu6": _relu6,
        "Rsqrt": _rsqrt,
        "Select": _select,
        "Square": _square,
        "ZerosLike": _filled(0),
    }
)
