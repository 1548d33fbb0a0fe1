"""Gathering, scattering and counting in ONNX."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.onnx.rules.writer import Attrs, ModelWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule


def _gather(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, indices = xs
    shared, axis = int(attrs["batch_dims"]), int(attrs["axis"]) % x.ndim
    if not shared:
        places = w.cast(w.name(indices), "int32", indices.dtype)
        return [w.emit("Gather", [w.name(x), places], axis=axis)]
    order = [*range(shared), axis, *(i for i in range(shared, x.ndim) if i != axis)]
    named = w.reshaped(w.cast(w.name(indices), "int64"), (*indices.shape, 1))
    found = w.emit("GatherND", [w.transposed(w.name(x), order), named], batch_dims=shared)
    # what stood between the shared axes and the one that is indexed comes behind the indices
    between, many = axis - shared, indices.ndim - shared
    first = shared + many
    back = [
        *range(shared),
        *range(first, first + between),
        *range(shared, first),
        *range(first + between, ys[0].ndim),
    ]
    return [w.transposed(found, back)]


def _gather_nd(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    if not xs[1].shape[-1]:
        raise CannotSayError("of rows without an index")
    return [w.emit("GatherND", [w.name(xs[0]), w.cast(w.name(xs[1]), "int64")])]


def _along_axis(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, indices = xs
    axis = int(attrs["axis"]) % x.ndim
    name = w.name(x)
    shape = list(ys[0].shape)
    shape[axis] = x.shape[axis]
    if tuple(shape) != tuple(x.shape):
        name = w.emit("Expand", [name, w.ints(shape)])
    given = w.cast(w.name(indices), "int32", indices.dtype)
    if indices.shape != ys[0].shape:
        given = w.emit("Expand", [given, w.ints(ys[0].shape)])
    return [w.emit("GatherElements", [name, given], axis=axis)]


def _zeros(w: ModelWriter, shape: Sequence[int], dtype: Any) -> str:
    return w.emit("Expand", [w.number(0, dtype), w.ints(shape)])


def _scatter_nd(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Add updates into zeros."""
    indices, updates = xs
    w.since(16)
    if not ys[0].ndim:
        raise CannotSayError("into a scalar")
    given = [_places(w, indices), _updates(w, indices, updates, ys[0])]
    zeros = _zeros(w, ys[0].shape, ys[0].dtype)
    return [w.emit("ScatterND", [zeros, *given], reduction="add")]


def _places(w: ModelWriter, indices: Any) -> str:
    """Return indices in rows."""
    places = w.cast(w.name(indices), "int64")
    if indices.ndim < 2:
        places = w.reshaped(places, (indices.size, 1))
    return places


def _updates(w: ModelWriter, indices: Any, updates: Any, y: Any) -> str:
    """Return what is put at indices in rows."""
    *rows, width = indices.shape if indices.ndim > 1 else (indices.size, 1)
    return w.reshaped(w.name(updates), (*rows, *y.shape[width:]))


def _update(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    into, indices, updates = xs
    given = [_places(w, indices), _updates(w, indices, updates, ys[0])]
    return [w.emit("ScatterND", [w.name(into), *given])]


def _to_dense(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    indices, values, default = xs
    places = _places(w, indices)
    count = indices.shape[0] if indices.ndim else 1
    given = w.emit("Expand", [w.name(values), w.ints([count])])
    into = w.emit("Expand", [w.name(default), w.ints(ys[0].shape)])
    return [w.emit("ScatterND", [into, places, given])]


def _one_hot(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write OneHot, in which an index below 0 counts from the end: here it is none."""
    depth, dtype = int(attrs["depth"]), ys[0].dtype
    if not depth:
        raise CannotSayError("of depth 0")
    outside = w.emit("Less", [w.name(xs[0]), w.number(0, "int32")])
    given = w.emit("Where", [outside, w.number(depth, "int32"), w.name(xs[0])])
    kind = np.dtype("float32" if "float" in str(dtype) else "int64")
    values = w.constant(np.array([attrs["off_value"], attrs["on_value"]]).astype(kind))
    places = w.cast(given, "int64")
    if not xs[0].ndim:
        places = w.reshaped(places, (1,))
    found = w.cast(w.emit("OneHot", [places, w.ints(depth), values], axis=-1), dtype, kind)
    return [found if xs[0].ndim else w.reshaped(found, (depth,))]


def _segment_sum(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Add rows into zeros, with one more for those of no segment."""
    x, ids = xs
    w.since(16)
    count = int(attrs["num_segments"])
    name = w.name(ids)
    none = w.emit(
        "Or",
        [
            w.emit("Less", [name, w.number(0, "int32")]),
            w.emit("GreaterOrEqual", [name, w.number(count, "int32")]),
        ],
    )
    places = w.emit("Where", [none, w.number(count, "int32"), name])
    places = w.reshaped(w.cast(places, "int64"), (*ids.shape, 1))
    zeros = _zeros(w, (count + 1, *ys[0].shape[1:]), ys[0].dtype)
    found = w.emit("ScatterND", [zeros, places, w.name(x)], reduction="add")
    return [w.sliced(found, [0], [count], [0])]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "GatherNd": _gather_nd,
        "GatherV2": _gather,
        "OneHot": _one_hot,
        "ScatterNd": _scatter_nd,
        "SparseToDense": _to_dense,
        "TakeAlongAxis": _along_axis,
        "TensorScatterUpdate": _update,
        "UnsortedSegmentSum": _segment_sum,
    }
)
