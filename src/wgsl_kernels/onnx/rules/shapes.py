"""Reshaping, joining, cutting and padding in ONNX."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.onnx.rules.writer import Attrs, ModelWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_PAST = 1 << 62
"""Beyond the end of any axis."""


def numbers(value: Any, count: int) -> list[int]:
    """Return an attribute that is a number for all axes, or one for each."""
    return [int(value)] * count if isinstance(value, int) else [int(one) for one in value]


def _reshape(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.reshaped(w.name(xs[0]), ys[0].shape)]


def block_starts(attrs: Attrs, ndim: int) -> list[int]:
    """Return where a Slice begins on each axis: those behind what its attribute says at 0."""
    said = numbers(attrs["begin"], 1)
    return said + [0] * (ndim - len(said))


def _slice(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    lengths = xs[0].shape
    begin = block_starts(attrs, len(lengths))
    ends = [b + n for b, n in zip(begin, ys[0].shape, strict=True)]
    cut = [i for i, (b, e) in enumerate(zip(begin, ends, strict=True)) if (b, e) != (0, lengths[i])]
    return [w.sliced(w.name(xs[0]), [begin[i] for i in cut], [ends[i] for i in cut], cut)]


def strided(attrs: Attrs, ndim: int) -> list[slice | int | None]:
    """Return the index that the attributes of StridedSlice mean, an entry for each axis."""
    begin, end = attrs["begin"], attrs["end"]
    strides = attrs["strides"] if attrs["strides"] is not None else [1] * len(begin)

    def is_set(mask: str, i: int) -> bool:
        return bool(int(attrs[f"{mask}_mask"]) >> i & 1)

    new = sum(is_set("new_axis", i) and not is_set("ellipsis", i) for i in range(len(begin)))
    marks = sum(is_set("ellipsis", i) for i in range(len(begin)))
    left = ndim - (len(begin) - new - marks)
    found: list[slice | int | None] = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        if is_set("ellipsis", i):
            found += [slice(None)] * left
        elif is_set("new_axis", i):
            found.append(None)
        elif is_set("shrink_axis", i):
            found.append(int(first))
        else:
            start = None if is_set("begin", i) else int(first)
            stop = None if is_set("end", i) else int(last)
            found.append(slice(start, stop, int(step)))
    return found if marks else found + [slice(None)] * left


def _strided_slice(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    axis = 0
    heads: list[tuple[int, int, int, int]] = []
    cuts: list[tuple[int, int, int, int]] = []
    for one in strided(attrs, xs[0].ndim):
        if one is None:
            continue
        if isinstance(one, int):
            cuts.append((one, one + 1 if one != -1 else _PAST, axis, 1))
        elif one != slice(None):
            step = 1 if one.step is None else one.step
            first = (0 if step > 0 else -1) if one.start is None else one.start
            last = (_PAST if step > 0 else -_PAST) if one.stop is None else one.stop
            if step < 0 and first < -1:
                # From before the axis backward there is nothing, but ONNX has its first element. So
                # all behind the beginning is cut off, and a negative end counted from there.
                heads.append((0, first + 1, axis, 1))
                last = min(last - first - 1, -1) if last < 0 else last
                first = -1
            if (first, last, step) != (0, _PAST, 1):
                cuts.append((first, last, axis, step))
        axis += 1
    found = w.name(xs[0])
    for some in (heads, cuts):
        if some:
            begin, ends, axes, steps = map(list, zip(*some, strict=True))
            found = w.sliced(found, begin, ends, axes, steps)
    plain = all(isinstance(one, slice) for one in strided(attrs, xs[0].ndim))
    return [found if plain else w.reshaped(found, ys[0].shape)]


def _reverse(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    dims = range(xs[0].ndim) if attrs["dims"] is None else attrs["dims"]
    axes = [d % xs[0].ndim for d in (dims if not isinstance(dims, int) else (dims,))]
    count = len(axes)
    return [w.sliced(w.name(xs[0]), [-1] * count, [-_PAST] * count, axes, [-1] * count)]


def _split(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    axis = attrs["axis"] % xs[0].ndim
    stacked = len(ys[0].shape) < xs[0].ndim
    sizes = [1 if stacked else y.shape[axis] for y in ys]
    found = w.emit_many("Split", [w.name(xs[0]), w.splitting(sizes)], len(ys), axis=axis)
    return [w.reshaped(one, ys[0].shape) for one in found] if stacked else found


def _concat(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.emit("Concat", [w.name(x) for x in xs], axis=int(attrs["axis"]))]


def _pack(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    axis = attrs["axis"] % ys[0].ndim
    shape = [1 if i == axis else n for i, n in enumerate(ys[0].shape)]
    return [w.emit("Concat", [w.reshaped(w.name(x), shape) for x in xs], axis=axis)]


def _widths(pairs: Sequence[tuple[int, int]]) -> list[int]:
    return [int(a) for a, _ in pairs] + [int(b) for _, b in pairs]


def _pad(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    value = w.number(attrs["constant_value"], xs[0].dtype)
    return [w.emit("Pad", [w.name(xs[0]), w.ints(_widths(attrs["paddings"])), value])]


def _mirrored(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Take elements where ONNX's Pad has no such mode, or copies no element twice."""
    name, mode = w.name(xs[0]), attrs["mode"]
    pairs = [(int(first), int(last)) for first, last in attrs["paddings"]]
    fits = all(max(pair) < n or not any(pair) for pair, n in zip(pairs, xs[0].shape, strict=True))
    if mode == "edge" or (mode == "reflect" and fits) or (mode == "wrap" and fits and w.opset > 18):
        return [w.emit("Pad", [name, w.ints(_widths(pairs))], mode=mode)]
    for axis, (pair, length) in enumerate(zip(pairs, xs[0].shape, strict=True)):
        if any(pair):
            places = np.pad(np.arange(length), pair, mode=mode)
            name = w.emit("Gather", [name, w.ints(places)], axis=axis)
    return [name]


def _shaped(op: str, key: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        return [w.emit(op, [w.name(xs[0]), w.ints(attrs[key])])]

    return rule


def _transpose(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return [w.transposed(w.name(xs[0]), [int(i) for i in attrs["perm"]])]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "BroadcastTo": _shaped("Expand", "shape"),
        "Concat": _concat,
        "ExpandDims": _reshape,
        "MirrorPad": _mirrored,
        "Pack": _pack,
        "PadV2": _pad,
        "Reshape": _reshape,
        "Reverse": _reverse,
        "Slice": _slice,
        "SplitV": _split,
        "StridedSlice": _strided_slice,
        "Tile": _shaped("Tile", "reps"),
        "Transpose": _transpose,
        "Unpack": _split,
    }
)
