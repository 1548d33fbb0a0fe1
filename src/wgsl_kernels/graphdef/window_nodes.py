"""Convolutions, pooling and images resized as TensorFlow's operators.

TensorFlow.js computes with channels last, and pads as "same" and "valid" say: other padding is
written as an operator of its own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.graphdef.node_writer import DTYPES
from wgsl_kernels.graphdef.shape_nodes import widths
from wgsl_kernels.onnx.rules.shapes import numbers
from wgsl_kernels.onnx.rules.windows import sliding_window
from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.graphdef.node_writer import Attrs, NodeWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule


class _SlidingWindow:
    """How a window moves over images that are written with channels last.

    Attributes:
        sliding: The arithmetic of it.
        padding: ``SAME`` or ``VALID``; the latter where zeros are added before.
    """

    def __init__(self, attrs: Attrs, shape: Sequence[int], size: Sequence[int]) -> None:
        self.sliding = sliding_window(attrs, shape, size)
        axes, pad = self.sliding.axes, attrs["pad"]
        self._outside = [(0, 0), *((one.before, one.after) for one in axes), (0, 0)]
        self.padding = "SAME" if pad == "same" else "VALID"
        self._is_padded = not isinstance(pad, str) and any(map(any, self._outside))

    @property
    def strides(self) -> list[int]:
        return [1, *(one.stride for one in self.sliding.axes), 1]

    @property
    def dilations(self) -> list[int]:
        return [1, *(one.dilation for one in self.sliding.axes), 1]

    def padded(self, w: NodeWriter, name: str, dtype: Any, value: float = 0.0) -> str:
        """Return images with what the operator cannot add to them."""
        if not self._is_padded:
            return name
        given = [name, widths(w, self._outside), w.number(value, dtype)]
        return w.node("PadV2", given, dtype)

    @property
    def skips_both(self) -> bool:
        """Whether the window skips places and elements, which TensorFlow.js refuses."""
        return any(n != 1 for n in self.strides) and any(n != 1 for n in self.dilations)

    def as_padded(self) -> None:
        """Have all padding written as an operator of its own."""
        self._is_padded, self.padding = any(map(any, self._outside)), "VALID"

    def shares(self) -> Any:
        """Return by which factor a mean over padding is less than that over the image."""
        factor: Any = np.float32(1)
        for one in self.sliding.axes:
            counts = one.counts() if self._is_padded else np.full(one.out, one.window)
            factor = np.multiply.outer(factor, (one.window / counts).astype(np.float32))
        return factor[None, ..., None]


def _channels_last(
    w: NodeWriter, x: Any, attrs: Attrs, run: Callable[[str], str], dtype: Any
) -> str:
    """Return what ``run`` makes of images with channels last, in the layout that they have."""
    if str(attrs.get("data_format", "NHWC")).endswith("C"):
        return run(w.named(x, dtype))
    order, back = [0, *range(2, x.ndim), 1], [0, x.ndim - 1, *range(1, x.ndim - 1)]
    return w.transposed(run(w.transposed(w.named(x, dtype), order, dtype)), back, dtype)


def _convolution(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, filters = xs
        dtype = ys[0].dtype
        if dtype != "float32":
            raise CannotSayError(f"of {dtype}")
        window = _SlidingWindow(attrs, x.shape, filters.shape[: x.ndim - 2])
        every = window.strides if window.skips_both else []
        if every:
            window.as_padded()
        strides = [1] * x.ndim if every else window.strides
        options = {"strides": strides, "padding": window.padding}
        options |= {"dilations": window.dilations, "T": DTYPES["float32"]}
        options["data_format"] = "NDHWC" if x.ndim == 5 else "NHWC"

        def run(name: str) -> str:
            name = window.padded(w, name, dtype)
            groups = int(attrs.get("groups", 1))
            kernel = w.named(filters, dtype)
            if groups == 1:
                found = w.emit(op, [name, kernel], **options)
            else:
                parts = zip(
                    _parts(w, name, groups, x.ndim - 1, filters.shape[-2]),
                    _parts(w, kernel, groups, x.ndim - 1, filters.shape[-1] // groups),
                    strict=True,
                )
                several = [w.emit(op, list(pair), **options) for pair in parts]
                given = [*several, w.ints(x.ndim - 1)]
                found = w.node("ConcatV2", given, dtype, N=groups, Tidx="DT_INT32")
            return _every(w, found, every, dtype) if every else found

        return [_channels_last(w, x, attrs, run, dtype)]

    return rule


def _parts(w: NodeWriter, name: str, count: int, axis: int, length: int) -> list[str]:
    """Return equal parts of a value along an axis."""
    given = [name, w.ints([length] * count), w.ints(axis)]
    options = {"T": DTYPES["float32"], "num_split": count, "Tlen": "DT_INT32"}
    return w.emit_many("SplitV", given, count, **options)


def _to_input(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write a transposed convolution into images with their padding, and cut that off."""
    dy, filters = xs
    y, dtype = ys[0], ys[0].dtype
    if int(attrs["groups"]) != 1 or dtype != "float32":
        raise CannotSayError("with groups, or of another dtype than float32")
    if str(attrs["data_format"]) != "NHWC":
        raise CannotSayError("with channels that come first")
    window = _SlidingWindow(attrs, y.shape, filters.shape[:2])
    axes = window.sliding.axes
    if any(one != 1 for one in window.dilations):
        raise CannotSayError("with dilations")
    lengths = [one.before + one.size + one.after for one in axes]
    whole = [y.shape[0], *lengths, y.shape[3]]
    options = {"strides": window.strides, "padding": "VALID", "data_format": "NHWC"}
    given = [w.ints(whole), w.named(filters, dtype), w.named(dy, dtype)]
    found = w.node("Conv2DBackpropInput", given, dtype, dilations=[1] * 4, **options)
    if lengths == list(y.shape[1:3]):
        return [found]
    begin = w.ints([0, *(one.before for one in axes), 0])
    return [w.node("Slice", [found, begin, w.ints(y.shape)], dtype, Index="DT_INT32")]


def _dilation(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, filters = xs
    if attrs["pad"] not in ("same", "valid"):
        raise CannotSayError("with a pad in numbers")
    window = _SlidingWindow(attrs, x.shape, filters.shape[:2])
    given = [w.named(one, "float32") for one in xs]
    options = {"strides": window.strides, "rates": window.dilations, "padding": window.padding}
    return [w.node("Dilation2D", given, "float32", **options)]


def _pool(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, dtype = xs[0], ys[0].dtype
        if dtype != "float32":
            raise CannotSayError(f"of {dtype}")
        sizes = numbers(attrs["filter_size"], x.ndim - 2)
        window = _SlidingWindow(attrs, x.shape, sizes)
        if any(one != 1 for one in window.dilations):
            raise CannotSayError("with dilations")
        options = {"ksize": [1, *sizes, 1], "strides": window.strides, "padding": window.padding}
        options["data_format"] = "NDHWC" if x.ndim == 5 else "NHWC"
        is_mean = op.startswith("Avg")

        def run(name: str) -> str:
            name = window.padded(w, name, dtype, 0.0 if is_mean else -np.inf)
            if all(n == 1 for n in sizes):  # TensorFlow.js then ignores the strides
                return _every(w, name, window.strides, dtype)
            found = w.node(op, [name], dtype, **options)
            shares = window.shares()
            if not is_mean or not np.any(shares != 1):
                return found
            return w.node("Mul", [found, w.constant(shares)], dtype)

        return [_channels_last(w, x, attrs, run, dtype)]

    return rule


def _every(w: NodeWriter, name: str, strides: Sequence[int], dtype: Any) -> str:
    """Return each n-th element along axes."""
    count, every = len(strides), 2 ** len(strides) - 1
    masks = {"begin_mask": every, "end_mask": every, "ellipsis_mask": 0, "new_axis_mask": 0}
    given = [name, w.ints([0] * count), w.ints([0] * count), w.ints(list(strides))]
    return w.node("StridedSlice", given, dtype, Index="DT_INT32", shrink_axis_mask=0, **masks)


def _pool_places(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, sizes = xs[0], numbers(attrs["filter_size"], 2)
    if attrs["pad"] not in ("same", "valid") or x.dtype != "float32":
        raise CannotSayError("with a pad in numbers, or of another dtype than float32")
    window = _SlidingWindow(attrs, x.shape, sizes)
    options: dict[str, Any] = {"ksize": [1, *sizes, 1], "strides": window.strides}
    options["padding"] = window.padding
    options["include_batch_in_index"] = bool(attrs["include_batch_in_index"])
    return w.emit_many("MaxPoolWithArgmax", [w.name(x)], 2, T="DT_FLOAT", **options)


def _resize(op: str) -> Rule:
    def rule(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, y = xs[0], ys[0]
        if x.ndim != 4:
            raise CannotSayError(f"of {x.ndim} axes")
        options = {name: bool(attrs[name]) for name in ("align_corners", "half_pixel_centers")}
        return [w.node(op, [w.named(x, y.dtype), w.ints(y.shape[1:3])], y.dtype, **options)]

    return rule


def _crop(w: NodeWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    image, boxes, which = xs
    given = [w.named(image, "float32"), w.name(boxes), w.name(which), w.ints(attrs["crop_size"])]
    options = {
        "method": str(attrs["method"]),
        "extrapolation_value": float(attrs["extrapolation_value"]),
    }
    return [w.node("CropAndResize", given, "float32", **options)]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: _pool(name) for name in ("AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D")},
        "Conv2D": _convolution("Conv2D"),
        "Conv2DBackpropInput": _to_input,
        "Conv3D": _convolution("Conv3D"),
        "CropAndResize": _crop,
        "DepthwiseConv2dNative": _convolution("DepthwiseConv2dNative"),
        "Dilation2D": _dilation,
        "MaxPoolWithArgmax": _pool_places,
        "ResizeBilinear": _resize("ResizeBilinear"),
        "ResizeNearestNeighbor": _resize("ResizeNearestNeighbor"),
    }
)
