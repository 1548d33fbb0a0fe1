"""What each class of Keras' layers is here: functions of a config and its weights.

Sources: TensorFlow.js, tfjs-layers (layers/*.ts, activations.ts), and Keras' documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor, tensor
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.nn.convolution import Conv, ConvTranspose
from wgsl_kernels.nn.fields import shown_by_fields
from wgsl_kernels.nn.layouts import reset_first
from wgsl_kernels.nn.normalization import BatchNorm, LayerNorm
from wgsl_kernels.nn.projection import Dense, Embedding
from wgsl_kernels.nn.recurrent import GRU, LSTM, hard_sigmoid
from wgsl_kernels.nn.structure import Dropout
from wgsl_kernels.ops.elementwise import activation, exponential, unary
from wgsl_kernels.ops.images import resize
from wgsl_kernels.ops.names import compositions
from wgsl_kernels.ops.pooling import pool
from wgsl_kernels.ops.reductions import extremes, reduce, softmax
from wgsl_kernels.ops.shapes import joining, shape

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

Array = np.ndarray[Any, Any]
Layers = list[Callable[..., Any]]


class UnfitLayerError(Exception):
    """Why a layer cannot be one of ours."""


@dataclass
class LayerSource:
    """A layer's config and weights.

    Attributes:
        config: What the topology says of it.
        weights: Those of its name, by the ends of theirs; those that are taken go.
    """

    config: Mapping[str, Any]
    weights: dict[str, Array]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an option; null is the default."""
        found = self.config.get(name)
        return default if found is None else found

    def want(self, **values: Any) -> None:
        """Refuse options that have other values than these, or tuples of them."""
        for name, wanted in values.items():
            known = wanted if isinstance(wanted, tuple) else (wanted,)
            found = self.get(name, known[0])
            if found not in known:
                raise UnfitLayerError(f"{name} is {found!r}; want {' or '.join(map(repr, known))}")

    def array(self, name: str, *lengths: int | None) -> Array:
        """Return a weight of such a shape; None stands for any length."""
        if name not in self.weights:
            raise UnfitLayerError(f"the weight {name!r} is missing")
        found = self.weights.pop(name)
        fits = len(found.shape) == len(lengths) and all(
            want in (None, have) for want, have in zip(lengths, found.shape, strict=True)
        )
        if not fits:
            want = ", ".join("any" if one is None else str(one) for one in lengths)
            raise UnfitLayerError(f"the weight {name!r} has shape {found.shape}; want [{want}]")
        return found

    def variable(self, array: Array, trainable: bool = True) -> Variable:
        """Return a float32 variable; one of a frozen layer is not trainable."""
        made = variable(tensor(np.asarray(array, np.float32, order="C")))
        made.trainable = trainable and bool(self.get("trainable", True))
        return made

    def bias(self, length: int) -> Variable | None:
        """Return the bias, where the layer has one."""
        return self.variable(self.array("bias", length)) if self.get("use_bias", True) else None

    def activation(self) -> Layers:
        """Return the activation's function; none, where it is linear."""
        return activated(self.get("activation", "linear"))


def activated(name: Any) -> Layers:
    """Return an activation by its name; none, where it is linear."""
    if name == "linear":
        return []
    if name not in ACTIVATIONS:
        raise UnfitLayerError(f"activation is {name!r}; want {', '.join(ACTIVATIONS)} or linear")
    return [ACTIVATIONS[name]]


def _softsign(x: Tensor) -> Tensor:
    return x / (unary.abs(x) + 1.0)


ACTIVATIONS: Mapping[str, Callable[..., Any]] = {
    "elu": activation.elu,
    "exponential": exponential.exp,
    "gelu": compositions.gelu,
    "hard_sigmoid": hard_sigmoid,
    "relu": activation.relu,
    "relu6": activation.relu6,
    "selu": activation.selu,
    "sigmoid": activation.sigmoid,
    "silu": compositions.silu,
    "softmax": softmax.softmax,
    "softplus": activation.softplus,
    "softsign": _softsign,
    "swish": compositions.silu,
    "tanh": exponential.tanh,
}


def _tuple(value: Any, axes: int) -> tuple[int, ...]:
    found = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(found) != axes or not all(type(one) is int and one > 0 for one in found):
        raise UnfitLayerError(f"an option is {value!r}; want {axes} lengths")
    return found


def _dense(source: LayerSource) -> Layers:
    units = source.get("units")
    weight = source.variable(source.array("kernel", None, units))
    return [Dense(weight, source.bias(units)), *source.activation()]


def _conv(axes: int, source: LayerSource) -> Layers:
    source.want(data_format="channels_last", padding=("valid", "same", "causal"))
    window = _tuple(source.get("kernel_size"), axes)
    outputs, groups = source.get("filters"), source.get("groups", 1)
    weight = source.variable(source.array("kernel", *window, None, outputs))
    dilations = _tuple(source.get("dilation_rate", 1), axes)
    pad, before = source.get("padding", "valid"), Layers()
    if pad == "causal":
        reach = (window[0] - 1) * dilations[0]
        pad, before = "valid", [partial(joining.pad, paddings=((0, 0), (reach, 0), (0, 0)))]
    strides = _tuple(source.get("strides", 1), axes)
    layer = Conv(weight, source.bias(outputs), strides, pad, dilations, groups)
    return [*before, layer, *source.activation()]


def _conv_transpose(source: LayerSource) -> Layers:
    source.want(data_format="channels_last", padding=("valid", "same"))
    source.want(output_padding=None, dilation_rate=([1, 1], 1))
    window, outputs = _tuple(source.get("kernel_size"), 2), source.get("filters")
    weight = source.variable(source.array("kernel", *window, outputs, None))
    strides = _tuple(source.get("strides", 1), 2)
    layer = ConvTranspose(weight, source.bias(outputs), strides, source.get("padding", "valid"))
    return [layer, *source.activation()]


def _depthwise(source: LayerSource, has_bias: bool = True) -> Conv:
    source.want(data_format="channels_last", padding=("valid", "same"))
    window, each = _tuple(source.get("kernel_size"), 2), source.get("depth_multiplier", 1)
    weight = source.array("depthwise_kernel", *window, None, each)
    channels = weight.shape[2]
    return Conv(
        source.variable(weight.reshape(*window, 1, channels * each)),
        source.bias(channels * each) if has_bias else None,
        _tuple(source.get("strides", 1), 2),
        source.get("padding", "valid"),
        _tuple(source.get("dilation_rate", 1), 2),
        channels,
    )


def _separable(source: LayerSource) -> Layers:
    each, outputs = _depthwise(source, has_bias=False), source.get("filters")
    weight = source.array("pointwise_kernel", 1, 1, each.weight.shape[-1], outputs)
    return [each, Conv(source.variable(weight), source.bias(outputs)), *source.activation()]


def _pool(op: Callable[..., Any], axes: int, source: LayerSource) -> Layers:
    source.want(data_format="channels_last", padding=("valid", "same"))
    window = _tuple(source.get("pool_size", 2), axes)
    strides = _tuple(source.get("strides", window), axes)
    pad = source.get("padding", "valid")
    if axes == 2:
        return [partial(op, filter_size=window, strides=strides, pad=pad)]
    return [partial(_pooled, op=op, size=window[0], stride=strides[0], pad=pad)]


def _pooled(x: Tensor, *, op: Callable[..., Any], size: int, stride: int, pad: str) -> Any:
    """Pool sequences, as images of one column."""
    found = op(shape.expand_dims(x, 2), (size, 1), strides=(stride, 1), pad=pad)
    return shape.squeeze(found, 2)


def _global_pool(op: Callable[..., Any], axes: int, source: LayerSource) -> Layers:
    source.want(data_format="channels_last", keepdims=(False, True))
    keepdims = source.get("keepdims", False)
    return [partial(op, axis=tuple(range(1, axes + 1)), keepdims=keepdims)]


def _last_axis(name: str, source: LayerSource) -> Layers:
    """Return what refuses inputs that would be normalized along another axis than the last one."""
    given = source.get("axis", -1)
    several = given if isinstance(given, list) else [given]
    if len(several) != 1 or type(several[0]) is not int or several[0] == 0 or several[0] < -1:
        raise UnfitLayerError(f"axis is {given!r}; want the last one")
    axis = several[0]
    if axis == -1:
        return []
    return [partial(_with_axes, count=axis + 1, name=name)]


def _with_axes(x: Tensor, *, count: int, name: str) -> Tensor:
    if x.ndim != count:
        raise ShapeError(f"{name}: x has shape {x.shape}; want {count} axes.")
    return x


def _scale_and_offset(source: LayerSource) -> tuple[Variable, Variable, int]:
    """Return gamma and beta; where the layer has none, ones and zeros that are not trained."""
    found: list[Variable | None] = []
    size = 0
    for option, name in (("scale", "gamma"), ("center", "beta")):
        if source.get(option, True):
            array = source.array(name, size or None)
            size = len(array)
            found.append(source.variable(array))
        else:
            found.append(None)
    size = size or len(source.weights.get("moving_mean", ()))
    if not size:
        raise UnfitLayerError("it has neither scale nor center")
    scale, offset = found
    if scale is None:
        scale = source.variable(np.ones(size), trainable=False)
    if offset is None:
        offset = source.variable(np.zeros(size), trainable=False)
    return scale, offset, size


def _batch_norm(source: LayerSource) -> Layers:
    checks = _last_axis("BatchNormalization", source)
    scale, offset, size = _scale_and_offset(source)
    mean, variance = (
        source.variable(source.array(name, size), trainable=False)
        for name in ("moving_mean", "moving_variance")
    )
    momentum, epsilon = source.get("momentum", 0.99), source.get("epsilon", 1e-3)
    return [*checks, BatchNorm(scale, offset, mean, variance, momentum, epsilon)]


def _layer_norm(source: LayerSource) -> Layers:
    checks = _last_axis("LayerNormalization", source)
    scale, offset, _ = _scale_and_offset(source)
    return [*checks, LayerNorm(scale, offset, source.get("epsilon", 1e-3))]


def _dropout(source: LayerSource) -> Layers:
    return [Dropout(float(source.get("rate", 0.0)))]


def _flatten(x: Tensor) -> Tensor:
    return shape.reshape(x, (x.shape[0], -1))


def _reshape(source: LayerSource) -> Layers:
    target = [-1 if one is None else one for one in source.get("target_shape", ())]
    return [partial(_reshaped, target=target)]


def _reshaped(x: Tensor, *, target: list[int]) -> Tensor:
    return shape.reshape(x, (x.shape[0], *target))


def _relu(source: LayerSource) -> Layers:
    source.want(threshold=(0, 0.0), negative_slope=(0, 0.0), max_value=(None, 6, 6.0))
    return [activation.relu if source.get("max_value") is None else activation.relu6]


def _elu(source: LayerSource) -> Layers:
    source.want(alpha=(1, 1.0))
    return [activation.elu]


def _leaky_relu(source: LayerSource) -> Layers:
    return [partial(activation.leaky_relu, alpha=source.get("alpha", 0.3))]


def _softmax(source: LayerSource) -> Layers:
    return [partial(softmax.softmax, axis=source.get("axis", -1))]


def _integers(x: TensorLike) -> Tensor:
    return as_tensor(x).astype("int32")


def _embedding(source: LayerSource) -> Layers:
    source.want(mask_zero=False)
    shape_ = source.get("input_dim"), source.get("output_dim")
    return [_integers, Embedding(source.variable(source.array("embeddings", *shape_)))]


@dataclass(eq=False, repr=False)
class RecurrentOutputs:
    """A recurrent layer of which the outputs are given, at all steps or at the last one.

    Attributes:
        layer: An LSTM or a GRU.
        all_steps: Whether at all steps.
        reverse: Whether it begins at the last step.
    """

    layer: LSTM | GRU
    all_steps: bool
    reverse: bool = False

    __repr__ = shown_by_fields

    def __call__(self, x: Tensor) -> Tensor:
        """Return [batch, steps, units], in the order of the computation, or [batch, units]."""
        ys, _ = self.layer(x, reverse=self.reverse)
        if not self.all_steps:
            return ys[:, 0] if self.reverse else ys[:, -1]
        return shape.flip(ys, 1) if self.reverse else ys


def _recurrent(gates: int, source: LayerSource) -> Layers:
    source.want(activation="tanh", return_state=False, stateful=False)
    source.want(recurrent_activation=("hard_sigmoid", "sigmoid"), recurrent_dropout=(0, 0.0))
    source.want(dropout=(0, 0.0))
    units, gate = source.get("units"), source.get("recurrent_activation", "hard_sigmoid")
    kernel = source.array("kernel", None, gates * units)
    hidden = source.array("recurrent_kernel", units, gates * units)
    rows = (2,) if gates == 3 and source.get("reset_after", False) else ()
    bias = np.zeros((*rows, gates * units))
    if source.get("use_bias", True):
        bias = source.array("bias", *bias.shape)
    layer: LSTM | GRU
    if gates == 4:
        of_inputs, of_state, added = map(source.variable, (kernel, hidden, bias))
        layer = LSTM(of_inputs, of_state, added, gate)
    else:
        biases = bias if rows else np.stack([bias, np.zeros_like(bias)])
        turned = (reset_first(one) for one in (kernel, hidden, *biases))
        of_inputs, of_state, first, second = map(source.variable, turned)
        layer = GRU(of_inputs, of_state, first, second, gate, bool(rows))
    reverse = bool(source.get("go_backwards", False))
    return [RecurrentOutputs(layer, bool(source.get("return_sequences", False)), reverse)]


def _sum(*xs: Tensor) -> Tensor:
    return sum(xs[1:], start=xs[0])


def _product(*xs: Tensor) -> Tensor:
    found = xs[0]
    for one in xs[1:]:
        found = found * one
    return found


def _concatenate(source: LayerSource) -> Layers:
    return [partial(_joined, axis=source.get("axis", -1))]


def _joined(*xs: Tensor, axis: int) -> Tensor:
    return joining.concat(xs, axis=axis)


def _zero_padding(source: LayerSource) -> Layers:
    source.want(data_format="channels_last")
    given = source.get("padding", 1)
    if isinstance(given, int):
        given = [given, given]
    pairs = [(one, one) if isinstance(one, int) else tuple(one) for one in given]
    return [partial(joining.pad, paddings=((0, 0), *pairs, (0, 0)))]


def _up_sampling(source: LayerSource) -> Layers:
    source.want(data_format="channels_last", interpolation=("nearest", "bilinear"))
    times = _tuple(source.get("size", 2), 2)
    is_nearest = source.get("interpolation", "nearest") == "nearest"
    resized = resize.resize_nearest_neighbor if is_nearest else resize.resize_bilinear
    return [partial(_larger, resized=resized, times=times)]


def _larger(x: Tensor, *, resized: Callable[..., Tensor], times: tuple[int, ...]) -> Tensor:
    return resized(x, (x.shape[1] * times[0], x.shape[2] * times[1]))


MAKERS: Mapping[str, Callable[[LayerSource], Layers]] = {
    "Activation": lambda source: source.activation(),
    "Add": lambda source: [_sum],
    "AveragePooling1D": partial(_pool, pool.avg_pool, 1),
    "AveragePooling2D": partial(_pool, pool.avg_pool, 2),
    "BatchNormalization": _batch_norm,
    "Concatenate": _concatenate,
    "Conv1D": partial(_conv, 1),
    "Conv2D": partial(_conv, 2),
    "Conv2DTranspose": _conv_transpose,
    "Dense": _dense,
    "DepthwiseConv2D": lambda source: [_depthwise(source), *source.activation()],
    "Dropout": _dropout,
    "ELU": _elu,
    "Embedding": _embedding,
    "Flatten": lambda source: [_flatten],
    "GRU": partial(_recurrent, 3),
    "GlobalAveragePooling1D": partial(_global_pool, reduce.mean, 1),
    "GlobalAveragePooling2D": partial(_global_pool, reduce.mean, 2),
    "GlobalMaxPooling1D": partial(_global_pool, extremes.max, 1),
    "GlobalMaxPooling2D": partial(_global_pool, extremes.max, 2),
    "LSTM": partial(_recurrent, 4),
    "LayerNormalization": _layer_norm,
    "LeakyReLU": _leaky_relu,
    "MaxPooling1D": partial(_pool, pool.max_pool, 1),
    "MaxPooling2D": partial(_pool, pool.max_pool, 2),
    "Multiply": lambda source: [_product],
    "ReLU": _relu,
    "Reshape": _reshape,
    "SeparableConv2D": _separable,
    "Softmax": _softmax,
    "UpSampling2D": _up_sampling,
    "ZeroPadding2D": _zero_padding,
}
"""By the class of Keras: what makes layers of a config and weights."""
