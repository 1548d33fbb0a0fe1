"""Convolutions, pooling, and images resized or normalised over channels, in ONNX.

Its images have channels first. Filters are [out, in, height, width] there, and [height, width, in,
out] here.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.values.windows import slide
from wgsl_kernels.onnx.rules.shapes import numbers
from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.engine.values.windows import Sliding
    from wgsl_kernels.onnx.rules.writer import Attrs, ModelWriter, Values
    from wgsl_kernels.onnx.saving.graph_writer import Rule

_ACTIVATIONS = {"linear": "", "relu": "Relu", "sigmoid": "Sigmoid", "elu": "Elu", "Tanh": "Tanh"}


def activated(w: ModelWriter, x: str, xs: Values, attrs: Attrs) -> str:
    """Return what the activation of a fused kernel makes of a value."""
    name = attrs.get("activation", "linear")
    if name == "leakyrelu":
        return w.emit("LeakyRelu", [x], alpha=float(attrs["leakyrelu_alpha"]))
    if name == "relu6":
        return w.emit("Clip", [x, *(w.number(n, xs[0].dtype) for n in (0, 6))])
    if name == "prelu":
        if xs[3].size > 1 and attrs.get("data_format", "NHWC") in ("NCHW", "NCDHW"):
            raise CannotSayError("with slopes for channels that come first")
        return w.emit("PRelu", [x, w.name(xs[3])])
    if name not in _ACTIVATIONS:
        raise CannotSayError(f"with the activation {name!r}")
    return w.emit(_ACTIVATIONS[name], [x]) if _ACTIVATIONS[name] else x


def sliding_window(attrs: Attrs, shape: Sequence[int], size: Sequence[int]) -> Sliding:
    """Return how a window moves over images.

    Raises:
        CannotSayError: There are no elements, or the outputs are counted otherwise.
    """
    if 0 in shape or 0 in size:
        raise CannotSayError("of no elements")
    if attrs.get("dim_rounding_mode") not in (None, "floor"):
        raise CannotSayError(f"with dim_rounding_mode {attrs['dim_rounding_mode']!r}")
    given = {name: attrs[name] for name in ("dilations", "data_format") if name in attrs}
    return slide("save", tuple(shape), size, strides=attrs["strides"], pad=attrs["pad"], **given)


def _window(attrs: Attrs, shape: Sequence[int], size: Sequence[int]) -> dict[str, Any]:
    """Return the attributes of a window over images; its padding in numbers."""
    axes = sliding_window(attrs, shape, size).axes
    return {
        "kernel_shape": list(size),
        "strides": [axis.stride for axis in axes],
        "dilations": [axis.dilation for axis in axes],
        "pads": [axis.before for axis in axes] + [axis.after for axis in axes],
    }


def _channels_last(attrs: Attrs) -> bool:
    return str(attrs.get("data_format", "NHWC")).endswith("C")


def _channels_first(w: ModelWriter, x: Any, attrs: Attrs, run: Callable[[str], str]) -> str:
    """Return what ``run`` makes of ``x`` with channels first, in the layout that ``x`` has."""
    if not _channels_last(attrs):
        return run(w.name(x))
    ndim = x.ndim
    order, back = [0, ndim - 1, *range(1, ndim - 1)], [0, *range(2, ndim), 1]
    return w.transposed(run(w.transposed(w.name(x), order)), back)


def _filters(w: ModelWriter, filters: Any) -> str:
    count = filters.ndim - 2
    return w.transposed(w.name(filters), [count + 1, count, *range(count)])


def _channel_filters(w: ModelWriter, filters: Any) -> str:
    """Return filters of single channels."""
    high, wide, channels, times = filters.shape
    turned = w.transposed(w.name(filters), (2, 3, 0, 1))
    return w.reshaped(turned, (channels * times, 1, high, wide))


def _bias(w: ModelWriter, more: Values, channels: int) -> list[str]:
    bias = next((one for one in more[:1] if one is not None), None)
    if bias is None:
        return []
    if bias.size != channels:
        raise CannotSayError(f"with a bias of shape {bias.shape}")
    return [w.reshaped(w.name(bias), (channels,))]


def _convolution(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, filters, *more = xs
    given = [_filters(w, filters), *_bias(w, more, filters.shape[-1])]
    window = _window(attrs, x.shape, filters.shape[:-2]) | {"group": int(attrs.get("groups", 1))}
    found = _channels_first(w, x, attrs, lambda name: w.emit("Conv", [name, *given], **window))
    return [activated(w, found, xs, attrs)]


def _depthwise(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    x, filters, *more = xs
    high, wide, channels, times = filters.shape
    given = [_channel_filters(w, filters), *_bias(w, more, channels * times)]
    window = _window(attrs, x.shape, (high, wide)) | {"group": channels}
    found = _channels_first(w, x, attrs, lambda name: w.emit("Conv", [name, *given], **window))
    return [activated(w, found, xs, attrs)]


def _transposed(w: ModelWriter, xs: Values, attrs: Attrs, weight: str) -> list[str]:
    """Write ConvTranspose: its images are as long as the windows reach, or longer."""
    dy, filters = xs
    shape = attrs["input_shape"]
    window = _window(attrs, shape, filters.shape[: dy.ndim - 2])
    count = dy.ndim - 2
    first = 1 if _channels_last(attrs) else 2
    longer = []
    for i in range(count):
        places, length = dy.shape[first + i], shape[first + i]
        span = (window["kernel_shape"][i] - 1) * window["dilations"][i] + 1
        reach = (places - 1) * window["strides"][i] + span
        longer.append(length - (reach - window["pads"][i] - window["pads"][i + count]))
    window |= {"group": int(attrs["groups"])}
    if any(longer):
        window["output_padding"] = longer
    return [
        _channels_first(
            w, dy, attrs, lambda name: w.emit("ConvTranspose", [name, weight], **window)
        )
    ]


def _to_input(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return _transposed(w, xs, {"groups": 1, **attrs}, _filters(w, xs[1]))


def _depthwise_to_input(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    return _transposed(w, xs, {**attrs, "groups": xs[1].shape[2]}, _channel_filters(w, xs[1]))


def _to_filters(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Convolve images with the gradient, channels and batch in each other's place."""
    x, dy = xs
    if int(attrs.get("groups", 1)) != 1:
        raise CannotSayError("with groups")
    shape = attrs["filter_shape"]
    window = _window(attrs, x.shape, shape[:-2])
    spatial = list(range(1, x.ndim - 1)) if _channels_last(attrs) else list(range(2, x.ndim))
    swapped = [x.ndim - 1, 0, *spatial] if _channels_last(attrs) else [1, 0, *spatial]
    found = w.emit(
        "Conv",
        [w.transposed(w.name(x), swapped), w.transposed(w.name(dy), swapped)],
        kernel_shape=[dy.shape[axis] for axis in spatial],
        strides=window["dilations"],
        dilations=window["strides"],
        pads=window["pads"],
    )
    count = len(spatial)
    found = w.sliced(found, [0] * count, list(shape[:-2]), list(range(2, count + 2)))
    return [w.transposed(found, [*range(2, count + 2), 0, 1])]


def _pool(op: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        count = xs[0].ndim - 2
        if ys[0].dtype == "int32":
            raise CannotSayError("of int32")
        window = _window(attrs, xs[0].shape, numbers(attrs["filter_size"], count))
        if op == "AveragePool":
            dilations = window.pop("dilations")
            if any(one != 1 for one in dilations):
                w.since(19)
                window["dilations"] = dilations
        return [_channels_first(w, xs[0], attrs, lambda name: w.emit(op, [name], **window))]

    return rule


def _pool_places(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    """Write MaxPool with places, which count along height and width after the channels there."""
    x = xs[0]
    window = _window(attrs, x.shape, numbers(attrs["filter_size"], 2))
    _, high, wide, channels = x.shape
    turned = w.transposed(w.name(x), (0, 3, 1, 2))
    values, places = w.emit_many("MaxPool", [turned], 2, **window)
    plane, count = w.ints(high * wide), w.ints(channels)
    at = w.emit("Mul", [w.emit("Mod", [places, plane]), count])
    found = w.emit("Add", [at, w.emit("Mod", [w.emit("Div", [places, plane]), count])])
    if attrs["include_batch_in_index"]:
        inside = w.emit("Mod", [places, w.ints(high * wide * channels)])
        found = w.emit("Add", [found, w.emit("Sub", [places, inside])])
    return [w.transposed(values, (0, 2, 3, 1)), w.cast(w.transposed(found, (0, 2, 3, 1)), "int32")]


def _resize(mode: str) -> Rule:
    def rule(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
        x, y = xs[0], ys[0]
        if x.ndim != 4:
            raise CannotSayError(f"of {x.ndim} axes")
        options: dict[str, Any] = {"mode": mode}
        where = "align_corners" if attrs["align_corners"] else "asymmetric"
        options["coordinate_transformation_mode"] = (
            "half_pixel" if attrs["half_pixel_centers"] else where
        )
        if mode == "nearest":
            is_floor = options["coordinate_transformation_mode"] == "asymmetric"
            options["nearest_mode"] = "floor" if is_floor else "round_prefer_ceil"
        name = w.transposed(w.cast(w.name(x), y.dtype, x.dtype), (0, 3, 1, 2))
        sizes = w.ints((y.shape[0], y.shape[3], *y.shape[1:3]))
        return [w.transposed(w.emit("Resize", [name, "", "", sizes], **options), (0, 2, 3, 1))]

    return rule


def _local_response(w: ModelWriter, xs: Values, attrs: Attrs, ys: Values) -> list[str]:
    size = 2 * int(attrs["depth_radius"]) + 1
    options = {
        "size": size,
        "alpha": float(attrs["alpha"]) * size,
        "beta": float(attrs["beta"]),
        "bias": float(attrs["bias"]),
    }
    return [_channels_first(w, xs[0], {}, lambda name: w.emit("LRN", [name], **options))]


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "AvgPool": _pool("AveragePool"),
        "AvgPool3D": _pool("AveragePool"),
        "Conv2D": _convolution,
        "Conv2DBackpropFilter": _to_filters,
        "Conv2DBackpropInput": _to_input,
        "Conv3D": _convolution,
        "Conv3DBackpropFilterV2": _to_filters,
        "Conv3DBackpropInputV2": _to_input,
        "DepthwiseConv2dNative": _depthwise,
        "DepthwiseConv2dNativeBackpropInput": _depthwise_to_input,
        "FusedConv2D": _convolution,
        "FusedDepthwiseConv2D": _depthwise,
        "LRN": _local_response,
        "MaxPool": _pool("MaxPool"),
        "MaxPool3D": _pool("MaxPool"),
        "MaxPoolWithArgmax": _pool_places,
        "ResizeBilinear": _resize("linear"),
        "ResizeNearestNeighbor": _resize("nearest"),
    }
)
