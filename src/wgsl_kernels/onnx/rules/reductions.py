"""Reductions, sorting and what accumulates along an axis, in ONNX."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.onnx.rules.writer import Attrs, ModelWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule


def reduced_axes(attrs: Attrs, ndim: int) -> list[int]:
    """Return the axes that a reduction's attributes name, counted from the first."""
    given = attrs.get("axis", attrs.get("reduction_indices"))
    if given is None:
        return list(range(ndim))
    return [int(a) % ndim for a in (given if isinstance(given, (tuple, list)) else (given,))]


def _reduction(op: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        dtype = "int32" if ys[0].dtype == "bool" else ys[0].dtype
        kind = {"All": "ReduceMin", "Any": "ReduceMax"}.get(op, f"Reduce{op}")
        x = w.cast(w.name(xs[0]), dtype, xs[0].dtype)
        if xs[0].size == 0:
            raise CannotSayError("of no elements")
        axes, keep = reduced_axes(attrs, xs[0].ndim), bool(attrs.get("keep_dims"))
        if axes:
            x = w.reduced(kind, x, axes, keep=keep)
        return [w.cast(x, ys[0].dtype, dtype)]

    return rule


def _extreme_place(op: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        if xs[0].ndim == 0 or attrs["axis"] is None:
            raise CannotSayError("without an axis")
        x = w.cast(w.name(xs[0]), w.computing(op, xs[0].dtype), xs[0].dtype)
        found = w.emit(op, [x], axis=int(attrs["axis"]), keepdims=0)
        return [w.cast(found, "int32")]

    return rule


def _softmax(op: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        return [w.emit(op, [w.name(xs[0])], axis=int(attrs.get("axis", attrs.get("dim", -1))))]

    return rule


def _running(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    if not xs[0].ndim:
        raise CannotSayError("of a scalar")
    axis = w.ints(int(attrs["axis"]))
    options = {name: int(attrs[name]) for name in ("exclusive", "reverse")}
    kind = w.computing("CumSum", ys[0].dtype)
    found = w.emit("CumSum", [w.cast(w.name(xs[0]), kind, xs[0].dtype), axis], **options)
    return [w.cast(found, ys[0].dtype, kind)]


def _largest(w: ModelWriter, x: Any, count: int, axis: int, *, largest: bool) -> list[str]:
    if not x.size or not count:
        raise CannotSayError("of no elements")
    options = {"axis": axis, "largest": int(largest), "sorted": 1}
    values, places = w.emit_many("TopK", [w.name(x), w.ints([count])], 2, **options)
    return [values, w.cast(places, "int32")]


def _top_k(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return _largest(w, xs[0], int(attrs["k"]), -1, largest=bool(attrs["largest"]))


def _sort(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    axis = int(attrs["axis"])
    if not xs[0].ndim:
        raise CannotSayError("without an axis")
    return _largest(w, xs[0], xs[0].shape[axis], axis, largest=bool(attrs["descending"]))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: _reduction(name) for name in ("All", "Any", "Max", "Mean", "Min", "Prod", "Sum")},
        "ArgMax": _extreme_place("ArgMax"),
        "ArgMin": _extreme_place("ArgMin"),
        "Cumsum": _running,
        "LogSoftmax": _softmax("LogSoftmax"),
        "LogSumExp": _reduction("LogSumExp"),
        "Softmax": _softmax("Softmax"),
        "Sort": _sort,
        "TopK": _top_k,
    }
)
