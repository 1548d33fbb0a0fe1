"""The items in this library: on either backend, eager or captured."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from benchmarks.items.item import Array, Item, Work
from benchmarks.peers.peer import Peer, Running
from benchmarks.peers.vocabulary import ADAM_EPSILON, EPSILON, LEARNING_RATE, spoken

import wgsl_kernels as wk

TOGETHER = 10
"""So many results are evaluated at once: what nobody evaluates is never computed."""


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + wk.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _padded(op: Callable[..., Any]) -> Callable[..., Any]:
    def convolve(x: Any, filter: Any, stride: int) -> Any:
        reach = filter.shape[0] // 2
        return op(x, filter, strides=stride, pad=reach, dim_rounding_mode="floor")

    return convolve


def _batch_norm(x: Any, mean: Any, variance: Any, offset: Any, scale: Any) -> Any:
    return wk.batch_norm(x, mean, variance, offset, scale, variance_epsilon=EPSILON)


OPS = spoken(
    {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "negative": wk.negative,
        "abs": wk.abs,
        "sqrt": wk.sqrt,
        "exp": wk.exp,
        "relu": wk.relu,
        "relu6": wk.relu6,
        "gelu": _gelu,
        "matmul": wk.matmul,
        "sum": wk.sum,
        "max": wk.max,
        "mean": wk.mean,
        "argmax": wk.argmax,
        "softmax": wk.softmax,
        "log_softmax": wk.log_softmax,
        "layer_norm": lambda x, scale, offset: wk.layer_norm(x, scale, offset, epsilon=EPSILON),
        "reshape": lambda x, shape: wk.reshape(x, shape),
        "transpose": lambda x, axes: wk.permute_dims(x, axes) * 1.0,  # alone it moves nothing
        "conv2d": _padded(wk.conv2d),
        "depthwise": _padded(wk.depthwise_conv2d),
        "max_pool": lambda x, size: wk.max_pool(x, size),
        "conv3d": lambda x, filter: wk.conv3d(x, filter, pad=len(filter) // 2),
        "max_pool3d": lambda x, size: wk.max_pool3d(x, size),
        "avg_pool3d": lambda x, size: wk.avg_pool3d(x, size),
        "batch_norm": _batch_norm,
        "take": wk.take,
        "scatter_add": lambda updates, indices, rows: wk.unsorted_segment_sum(
            updates, indices, num_segments=rows
        ),
        "cumulative_sum": wk.cumulative_sum,
        "topk": lambda x, k: wk.topk(x, k),
        "fft": wk.fft,
        "cross_entropy": wk.softmax_cross_entropy,
        "crop_and_resize": lambda image, boxes, indices, size: wk.crop_and_resize(
            image, boxes, indices, size
        ),
        "transform": lambda image, numbers: wk.transform(image, numbers, interpolation="bilinear"),
        "einsum": lambda a, b, equation: wk.einsum(equation, a, b),
    }
)


class OurPeer(Peer):
    """This library on one backend.

    Args:
        backend: ``"webgpu"`` or ``"cpu"``.
        captured: Whether programs run through ``wk.capture``.
    """

    def __init__(self, backend: str, *, captured: bool = False) -> None:
        self._backend = backend
        self._captured = captured

    def settle(self) -> None:
        """Make the backend the process's, and have small ops run on the device too."""
        wk.set_backend(self._backend)
        wk.config.small_ops = "device"

    def facts(self) -> dict[str, str]:
        """Return versions, and the adapter on webgpu."""
        found = {"wgsl-kernels": version("wgsl-kernels"), "wgpu": version("wgpu")}
        if self._backend == "webgpu":
            adapter = _adapter()
            found |= {name: adapter[name] for name in ("driver", "backend", "type")}
            found["adapter"] = adapter["name"]
        return found

    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return the program on tensors on the backend, or the model of a graph."""
        if work.kind == "graph":
            return {"": _graph(work)}
        inputs = {name: _placed(one) for name, one in work.inputs.items()}
        program = self._program(work, inputs)
        lazy = self._backend == "webgpu"
        running = _transfer(work, inputs) if program is None else _steady(work, program, lazy)
        if item.fusion == wk.config.fusion:
            return {"": running}

        def call() -> Any:
            with wk.config.using(fusion=item.fusion):
                return running.call()

        return {"": Running(call, running.finish, running.fetch)}

    def _program(self, work: Work, inputs: dict[str, Any]) -> Callable[[], Any] | None:
        if work.kind in ("upload", "download"):
            return None
        names = list(inputs)
        if work.kind == "training":
            own = {name: wk.variable(one, name=name) for name, one in work.variables.items()}
            adam = wk.train.Adam(LEARNING_RATE, epsilon=ADAM_EPSILON)

            def f(*given: Any) -> Any:
                placed = dict(zip(names, given, strict=True))
                return adam.minimize(lambda: work.program(OPS, **placed, **own))
        else:
            words = wk if work.kind == "own" else OPS

            def f(*given: Any) -> Any:
                return work.program(words, **dict(zip(names, given, strict=True)))

        run = wk.capture(f) if self._captured else f
        given = tuple(inputs.values())
        return lambda: run(*given)


def _adapter() -> dict[str, str]:
    """Return the facts of the adapter in use, as the command line tells them."""
    command = [sys.executable, "-m", "wgsl_kernels", "info", "--json"]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    if told["chosen"] is None:
        raise NotImplementedError("no WebGPU adapter was found")
    found: dict[str, str] = next(
        one for one in told["adapters"] if one["index"] == told["chosen"]["index"]
    )
    return found


def _steady(work: Work, program: Callable[[], Any], lazy: bool) -> Running:
    """Return a program that runs again and again.

    A ``lazy`` backend computes only what somebody evaluates, so some results are held for that.
    """
    held: list[Any] = []

    def call() -> Any:
        y = program()
        if work.kind == "read":
            return y.numpy()
        if lazy:
            held.append(y)
        if len(held) == TOGETHER:
            wk.evaluate(*held)
            held.clear()
        return y

    def finish() -> None:
        wk.evaluate(*held)
        held.clear()
        wk.synchronize()

    return Running(call, finish, _fetched)


def _graph(work: Work) -> Running:
    """Return a model of ONNX, given NumPy's arrays and read."""
    model = wk.onnx.load(work.program())
    given = tuple(work.inputs.values())
    return Running(lambda: model.numpy(*given), lambda: None, list)


def _transfer(work: Work, inputs: dict[str, Any]) -> Running:
    if work.kind == "upload":
        values = work.inputs["x"]

        def upload() -> Any:
            x = wk.tensor(values)
            wk.evaluate(x)
            return x

        return Running(upload, wk.synchronize, _fetched)
    x = inputs["x"]
    return Running(lambda: x.numpy(), wk.synchronize, _fetched)


def _placed(values: Array) -> Any:
    """Return a tensor that was computed, so that the host has no copy to read instead."""
    x = wk.tensor(values) * 1
    wk.evaluate(x)
    return x


def _fetched(result: Any) -> list[Array]:
    parts = result if isinstance(result, tuple | list) else (result,)
    return [one if isinstance(one, np.ndarray) else one.numpy() for one in parts]
