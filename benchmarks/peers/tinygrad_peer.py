"""The items in tinygrad on WebGPU, through Dawn; each is compiled once and replayed."""

from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from benchmarks.items.item import Array, Item, Work
from benchmarks.peers.peer import Peer, Running
from benchmarks.peers.vocabulary import ADAM_EPSILON, EPSILON, LEARNING_RATE, spoken

tinygrad: Any = import_module("tinygrad")  # only the peer's own environment has it
Tensor = tinygrad.Tensor


def _conv2d(x: Any, filter: Any, stride: int) -> Any:
    weight, reach = filter.permute(3, 2, 0, 1), filter.shape[0] // 2
    y = x.permute(0, 3, 1, 2).conv2d(weight, stride=stride, padding=reach)
    return y.permute(0, 2, 3, 1)


def _conv3d(x: Any, filter: Any) -> Any:
    weight, reach = filter.permute(4, 3, 0, 1, 2), filter.shape[0] // 2
    y = x.permute(0, 4, 1, 2, 3).conv2d(weight, padding=reach)
    return y.permute(0, 2, 3, 4, 1)


def _depthwise(x: Any, filter: Any, stride: int) -> Any:
    weight, reach, channels = filter.permute(2, 3, 0, 1), filter.shape[0] // 2, filter.shape[2]
    y = x.permute(0, 3, 1, 2).conv2d(weight, groups=channels, stride=stride, padding=reach)
    return y.permute(0, 2, 3, 1)


def _max_pool(x: Any, size: int) -> Any:
    return x.permute(0, 3, 1, 2).max_pool2d(size).permute(0, 2, 3, 1)


def _over_volumes(pool: str) -> Any:
    def pooled(x: Any, size: int) -> Any:
        y = getattr(x.permute(0, 4, 1, 2, 3), pool)((size, size, size))
        return y.permute(0, 2, 3, 4, 1)

    return pooled


def _batch_norm(x: Any, mean: Any, variance: Any, offset: Any, scale: Any) -> Any:
    return (x - mean) * (scale * (variance + EPSILON).rsqrt()) + offset


def _refuse(*_args: Any, **_attrs: Any) -> Any:
    raise NotImplementedError("left out")


OPS = spoken(
    {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "negative": lambda x: -x,
        "abs": lambda x: x.abs(),
        "sqrt": lambda x: x.sqrt(),
        "exp": lambda x: x.exp(),
        "relu": lambda x: x.relu(),
        "relu6": lambda x: x.relu6(),
        "gelu": lambda x: x.gelu(),
        "matmul": lambda a, b: a @ b,
        "sum": lambda x, axis: x.sum(axis),
        "max": lambda x, axis: x.max(axis),
        "mean": lambda x, axis: x.mean(axis),
        "argmax": lambda x, axis: x.argmax(axis),
        "softmax": lambda x: x.softmax(-1),
        "log_softmax": lambda x: x.log_softmax(-1),
        "layer_norm": lambda x, scale, offset: x.layernorm(-1, EPSILON) * scale + offset,
        "reshape": lambda x, shape: x.reshape(shape),
        "transpose": lambda x, axes: x.permute(axes).contiguous(),
        "conv2d": _conv2d,
        "depthwise": _depthwise,
        "max_pool": _max_pool,
        "conv3d": _conv3d,
        "max_pool3d": _over_volumes("max_pool2d"),
        "avg_pool3d": _over_volumes("avg_pool2d"),
        "batch_norm": _batch_norm,
        "take": lambda x, indices: x[indices],
        "scatter_add": _refuse,
        "cumulative_sum": lambda x: x.cumsum(0),
        "topk": lambda x, k: x.topk(k, -1),
        "fft": _refuse,
        "cross_entropy": lambda labels, logits: -(labels * logits.log_softmax(-1)).sum(-1).mean(),
        "crop_and_resize": _refuse,
        "transform": _refuse,
        "einsum": lambda a, b, equation: Tensor.einsum(equation, a, b),
    }
)


class TinygradPeer(Peer):
    """tinygrad under TinyJit: schedule and kernels are made once and replayed."""

    def __init__(self) -> None:
        self._device = tinygrad.Device[tinygrad.Device.DEFAULT]
        Tensor([1.0]).realize()  # raises where Dawn has no adapter

    def facts(self) -> dict[str, str]:
        """Return the versions of tinygrad and of Dawn's binding."""
        return {"tinygrad": version("tinygrad"), "dawn-python": version("dawn-python")}

    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return the program on tinygrad's tensors, compiled."""
        inputs = {name: Tensor(one).realize() for name, one in work.inputs.items()}
        call: Any
        if work.kind == "training":
            call = _training(work, inputs)
        elif work.kind == "upload":
            values = work.inputs["x"]
            call = partial(_uploaded, values)
        elif work.kind == "download":
            call = inputs["x"].numpy
        else:
            call = _compiled(work, inputs)
        return {"": Running(call, self._device.synchronize, _fetched)}


def _uploaded(values: Array) -> Any:
    return Tensor(values).realize()


def _compiled(work: Work, inputs: dict[str, Any]) -> Any:
    def program(*given: Any) -> Any:
        result = work.program(OPS, **dict(zip(inputs, given, strict=True)))
        parts = result if isinstance(result, tuple) else (result,)
        return parts[0].realize(*parts[1:]) if len(parts) == 1 else _realized(parts)

    fast, given = tinygrad.TinyJit(program), tuple(inputs.values())
    if work.kind == "read":
        return lambda: fast(*given).numpy()
    return lambda: fast(*given)


def _realized(parts: Any) -> Any:
    Tensor.realize(*parts)
    return tuple(parts)


def _training(work: Work, inputs: dict[str, Any]) -> Any:
    own = {name: Tensor(one).realize() for name, one in work.variables.items()}
    adam = tinygrad.nn.optim.Adam(list(own.values()), lr=LEARNING_RATE, eps=ADAM_EPSILON)

    def step() -> Any:
        with tinygrad.Context(TRAINING=1):
            adam.zero_grad()
            loss = work.program(OPS, **inputs, **own).backward()
            return loss.realize(*adam.schedule_step())

    return tinygrad.TinyJit(step)


def _fetched(result: Any) -> list[Array]:
    parts = result if isinstance(result, tuple) else (result,)
    return [one.numpy() if hasattr(one, "numpy") else one for one in parts]
