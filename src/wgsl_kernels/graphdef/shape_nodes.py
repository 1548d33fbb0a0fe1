"""Kernels of shapes and places as TensorFlow's operators, which have them as inputs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.graphdef.node_writer import DTYPES
from wgsl_kernels.onnx.rules.shapes import MASKS, block_starts, strided
from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.graphdef.node_writer import Attrs, NodeWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule


def _reshape(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.reshaped(w.name(xs[0]), ys[0].shape, ys[0].dtype)]


def _transpose(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    order = [int(i) for i in attrs["perm"]]
    return [w.transposed(w.name(xs[0]), order, xs[0].dtype)]


def _reverse(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, dims = xs[0], attrs["dims"]
    axes = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    places = w.ints(np.array([d % x.ndim for d in axes], np.int32))
    return [w.node("ReverseV2", [w.name(x), places], x.dtype, Tidx="DT_INT32")]


def _shaped(op: str, key: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        return [w.node(op, [w.name(xs[0]), w.ints(attrs[key])], xs[0].dtype)]

    return rule


def _concat(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    axis = w.ints(int(attrs["axis"]) % ys[0].ndim)
    names = [w.named(x, dtype) for x in xs]
    if len(names) == 1:
        return names
    return [w.node("ConcatV2", [*names, axis], dtype, N=len(xs), Tidx="DT_INT32")]


def _pack(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    names = [w.named(x, dtype) for x in xs]
    return [w.node("Pack", names, dtype, N=len(xs), axis=int(attrs["axis"]) % ys[0].ndim)]


def _unpack(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x = xs[0]
    options = {"T": DTYPES[str(x.dtype)], "num": len(ys), "axis": int(attrs["axis"]) % x.ndim}
    return w.emit_many("Unpack", [w.name(x)], len(ys), **options)


def _split(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, axis = xs[0], int(attrs["axis"]) % xs[0].ndim
    if len(ys) == 1:
        return [w.name(x)]
    given = [w.name(x), w.splitting(y.shape[axis] for y in ys), w.ints(axis)]
    options = {"T": DTYPES[str(x.dtype)], "num_split": len(ys), "Tlen": "DT_INT32"}
    return w.emit_many("SplitV", given, len(ys), **options)


def _slice(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x = xs[0]
    starts = w.ints(block_starts(attrs, x.ndim))
    return [w.node("Slice", [w.name(x), starts, w.ints(ys[0].shape)], x.dtype, Index="DT_INT32")]


def _strided_slice(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write what an index takes of each axis, and the axes that it adds or drops as a shape."""
    x, index = xs[0], [one for one in strided(attrs, xs[0].ndim) if one is not None]
    cuts = [slice(i, i + 1 or None) if isinstance(i, int) else i for i in index]
    given: list[list[int]] = [[], [], []]
    masks: dict[str, int] = dict.fromkeys(MASKS, 0)
    for i, cut in enumerate(cuts):
        for name, numbers, bound in (("begin", given[0], cut.start), ("end", given[1], cut.stop)):
            numbers.append(0 if bound is None else bound)
            masks[f"{name}_mask"] |= (bound is None) << i
        given[2].append(1 if cut.step is None else cut.step)
    places = [w.ints(np.array(one, np.int32)) for one in given]
    found = w.node("StridedSlice", [w.name(x), *places], x.dtype, Index="DT_INT32", **masks)
    is_same = len(index) == ys[0].ndim and not any(isinstance(one, int) for one in index)
    return [found if is_same else w.reshaped(found, ys[0].shape, x.dtype)]


def widths(w: NodeWriter, pairs: Sequence[tuple[int, int]]) -> str:
    """Return the name of what is added before and after each axis."""
    return w.ints([[int(a), int(b)] for a, b in pairs])


def _pad(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x = xs[0]
    value = w.number(attrs["constant_value"], x.dtype)
    return [w.node("PadV2", [w.name(x), widths(w, attrs["paddings"]), value], x.dtype)]


def _mirrored(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Take elements: the operator has two modes of four, and copies no element twice."""
    x, name = xs[0], w.name(xs[0])
    for axis, (pair, length) in enumerate(zip(attrs["paddings"], x.shape, strict=True)):
        if any(pair):
            places = w.ints(np.pad(np.arange(length), tuple(map(int, pair)), mode=attrs["mode"]))
            name = _gathered(w, name, places, axis, x.dtype)
    return [name]


def _gathered(w: NodeWriter, x: str, places: str, axis: int, dtype: Any, shared: int = 0) -> str:
    options = {"Tparams": DTYPES[str(dtype)], "Tindices": "DT_INT32", "Taxis": "DT_INT32"}
    return w.emit("GatherV2", [x, places, w.ints(axis)], batch_dims=shared, **options)


def _indices(w: NodeWriter, indices: Any, lengths: Any, attrs: Attrs) -> str:
    """Return indices that count from the start; TensorFlow.js knows no others.

    Args:
        w: The writer.
        indices: What the kernel is given.
        lengths: How many elements each indexes among.
        attrs: Whether they may count from the end.
    """
    if not attrs["wrap_negative_indices"]:
        return w.name(indices)
    ends = np.array(lengths, np.int32)
    if indices.array is not None:
        return w.constant(np.where(indices.array < 0, indices.array + ends, indices.array))
    name = w.name(indices)
    is_below = w.node("Less", [name, w.number(0, "int32")], "int32")
    moved = w.node("AddV2", [name, w.constant(ends)], "int32")
    return w.node("SelectV2", [is_below, moved, name], "int32")


def _gather(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, indices = xs
    axis = int(attrs["axis"]) % x.ndim
    places = _indices(w, indices, x.shape[axis], attrs)
    return [_gathered(w, w.name(x), places, axis, x.dtype, int(attrs["batch_dims"]))]


def _gather_nd(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, indices = xs
    if not indices.shape[-1]:
        raise CannotSayError("of rows without an index")
    places = _indices(w, indices, x.shape[: indices.shape[-1]], attrs)
    options = {"Tparams": DTYPES[str(x.dtype)], "Tindices": "DT_INT32"}
    return [w.emit("GatherNd", [w.name(x), places], **options)]


def _rows(w: NodeWriter, indices: Any, updates: Any, shape: Sequence[int]) -> list[str]:
    """Return rows of indices and what they name, as matrices have them."""
    width = indices.shape[-1] if indices.ndim > 1 else 1
    count = indices.size // max(width, 1)
    rows = w.reshaped(w.name(indices), (count, width), "int32")
    values = w.reshaped(w.name(updates), (count, *shape[width:]), updates.dtype)
    return [rows, values]


def _scatter_nd(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    if not ys[0].ndim or xs[1].dtype == "bool" or not xs[1].size:
        raise CannotSayError("into a scalar, of no elements, or of bool")
    given = [*_rows(w, xs[0], xs[1], ys[0].shape), w.ints(ys[0].shape)]
    return [w.node("ScatterNd", given, ys[0].dtype, Tindices="DT_INT32")]


def _update(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    into, indices, updates = xs
    given = [w.name(into), *_rows(w, indices, updates, ys[0].shape)]
    return [w.node("TensorScatterUpdate", given, ys[0].dtype, Tindices="DT_INT32")]


def _to_dense(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    indices, values, default = xs
    given = [w.name(indices), w.ints(ys[0].shape), w.name(values), w.name(default)]
    return [w.node("SparseToDense", given, ys[0].dtype, Tindices="DT_INT32", validate_indices=True)]


def _one_hot(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dtype = ys[0].dtype
    if str(dtype) not in ("float32", "int32"):
        raise CannotSayError(f"to {dtype}")
    values = [w.number(attrs[f"{one}_value"], dtype) for one in ("on", "off")]
    given = [w.name(xs[0]), w.ints(int(attrs["depth"])), *values]
    return [w.node("OneHot", given, dtype, axis=-1, TI="DT_INT32")]


def _bincount(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, weights = xs
    if not x.size:
        raise CannotSayError("of no elements")
    given = [w.name(x), w.ints(int(attrs["size"])), w.name(weights)]
    return [w.node("Bincount", given, weights.dtype)]


def _dense_bincount(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, weights = xs
    if x.ndim not in (1, 2) or not x.size:
        raise CannotSayError(f"of shape {x.shape}")
    binary = bool(attrs["binary_output"])
    given = [w.name(x), w.ints(int(attrs["size"])), w.name(weights)]
    return [w.node("DenseBincount", given, weights.dtype, Tidx="DT_INT32", binary_output=binary)]


def _blocks(op: str, name: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        given = [w.name(xs[0]), w.ints(attrs["block_shape"]), widths(w, attrs[name])]
        return [w.node(op, given, xs[0].dtype)]

    return rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "BatchToSpaceND": _blocks("BatchToSpaceND", "crops"),
        "Bincount": _bincount,
        "BroadcastTo": _shaped("BroadcastTo", "shape"),
        "Concat": _concat,
        "DenseBincount": _dense_bincount,
        "ExpandDims": _reshape,
        "GatherNd": _gather_nd,
        "GatherV2": _gather,
        "MirrorPad": _mirrored,
        "OneHot": _one_hot,
        "Pack": _pack,
        "PadV2": _pad,
        "Reshape": _reshape,
        "Reverse": _reverse,
        "ScatterNd": _scatter_nd,
        "Slice": _slice,
        "SpaceToBatchND": _blocks("SpaceToBatchND", "paddings"),
        "SparseToDense": _to_dense,
        "SplitV": _split,
        "StridedSlice": _strided_slice,
        "TensorScatterUpdate": _update,
        "Tile": _shaped("Tile", "reps"),
        "Transpose": _transpose,
        "Unpack": _unpack,
    }
)
