"""The items in PyTorch on the CPU; images keep their layout, which it calls channels last."""

import os
from importlib import import_module
from typing import Any

from benchmarks.items.item import Array, Item, Work
from benchmarks.peers.peer import Peer, Running
from benchmarks.peers.vocabulary import ADAM_EPSILON, EPSILON, LEARNING_RATE, spoken

torch: Any = import_module("torch")  # only the peer's own environment has it
nn: Any = import_module("torch.nn.functional")


def _first(x: Any) -> Any:
    """Return channels-last images or volumes as PyTorch names their axes; nothing is moved."""
    return x.movedim(-1, 1)


def _last(x: Any) -> Any:
    return x.movedim(1, -1)


def _conv2d(x: Any, filter: Any, stride: int) -> Any:
    weight = filter.permute(3, 2, 0, 1)
    return _last(nn.conv2d(_first(x), weight, stride=stride, padding=len(filter) // 2))


def _conv3d(x: Any, filter: Any) -> Any:
    weight = filter.permute(4, 3, 0, 1, 2)
    return _last(nn.conv3d(_first(x), weight, padding=len(filter) // 2))


def _depthwise(x: Any, filter: Any, stride: int) -> Any:
    weight = filter.permute(2, 3, 0, 1)
    reach, channels = len(filter) // 2, filter.shape[2]
    y = nn.conv2d(_first(x), weight, stride=stride, padding=reach, groups=channels)
    return _last(y)


def _batch_norm(x: Any, mean: Any, variance: Any, offset: Any, scale: Any) -> Any:
    return _last(nn.batch_norm(_first(x), mean, variance, scale, offset, eps=EPSILON))


def _over(op: Any) -> Any:
    return lambda x, axis: op(x) if axis is None else op(x, axis)


def _between(images: Any, rows: Any, columns: Any) -> Any:
    height, width = images.shape[1:3]
    grid = torch.stack((columns * 2 / (width - 1) - 1, rows * 2 / (height - 1) - 1), -1)
    return _last(nn.grid_sample(_first(images), grid, align_corners=True))


def _crop_and_resize(image: Any, boxes: Any, indices: Any, size: Any) -> Any:
    places = []
    for axis in (0, 1):
        begin, end = boxes[:, axis, None], boxes[:, axis + 2, None]
        steps = torch.linspace(0, 1, size[axis])
        places.append((begin + (end - begin) * steps) * (image.shape[1 + axis] - 1))
    rows, columns = torch.broadcast_tensors(places[0][:, :, None], places[1][:, None, :])
    return _between(image[indices], rows, columns)


def _transform(image: Any, numbers: Any) -> Any:
    y, x = torch.arange(image.shape[1])[:, None], torch.arange(image.shape[2])[None, :]
    a0, a1, a2, b0, b1, b2, c0, c1 = numbers.T[:, :, None, None]
    depth = c0 * x + c1 * y + 1
    return _between(image, (b0 * x + b1 * y + b2) / depth, (a0 * x + a1 * y + a2) / depth)


OPS = spoken(
    {
        "add": torch.add,
        "subtract": torch.sub,
        "multiply": torch.mul,
        "negative": torch.neg,
        "abs": torch.abs,
        "sqrt": torch.sqrt,
        "exp": torch.exp,
        "relu": torch.relu,
        "relu6": nn.relu6,
        "gelu": lambda x: nn.gelu(x, approximate="tanh"),
        "matmul": torch.matmul,
        "sum": _over(torch.sum),
        "max": _over(torch.amax),
        "mean": _over(torch.mean),
        "argmax": _over(torch.argmax),
        "softmax": lambda x: torch.softmax(x, -1),
        "log_softmax": lambda x: torch.log_softmax(x, -1),
        "layer_norm": lambda x, scale, offset: nn.layer_norm(
            x, x.shape[-1:], scale, offset, EPSILON
        ),
        "reshape": lambda x, shape: x.reshape(shape),
        "transpose": lambda x, axes: x.permute(axes).contiguous(),
        "conv2d": _conv2d,
        "depthwise": _depthwise,
        "max_pool": lambda x, size: _last(nn.max_pool2d(_first(x), size)),
        "conv3d": _conv3d,
        "max_pool3d": lambda x, size: _last(nn.max_pool3d(_first(x), size)),
        "avg_pool3d": lambda x, size: _last(nn.avg_pool3d(_first(x), size)),
        "batch_norm": _batch_norm,
        "take": lambda x, indices: torch.index_select(x, 0, indices),
        "scatter_add": lambda updates, indices, rows: torch.zeros(rows, updates.shape[1]).index_add(
            0, indices, updates
        ),
        "cumulative_sum": lambda x: torch.cumsum(x, 0),
        "topk": lambda x, k: tuple(torch.topk(x, k)),
        "fft": torch.fft.fft,
        "cross_entropy": lambda labels, logits: nn.cross_entropy(logits, labels),
        "crop_and_resize": _crop_and_resize,
        "transform": _transform,
        "einsum": lambda a, b, equation: torch.einsum(equation, a, b),
    }
)


class TorchPeer(Peer):
    """PyTorch on as many threads as there are cores."""

    def __init__(self) -> None:
        torch.set_num_threads(len(os.sched_getaffinity(0)))

    def facts(self) -> dict[str, str]:
        """Return PyTorch's version."""
        return {"torch": torch.__version__}

    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return the program on PyTorch's tensors."""
        inputs = {name: torch.from_numpy(one) for name, one in work.inputs.items()}
        if work.kind == "training":
            step = _training(work, inputs)
        else:

            def step() -> Any:
                with torch.inference_mode():
                    return work.program(OPS, **inputs)

        return {"": Running(step, lambda: None, _fetched)}


def _training(work: Work, inputs: dict[str, Any]) -> Any:
    own = {
        name: torch.from_numpy(one.copy()).requires_grad_() for name, one in work.variables.items()
    }
    adam = torch.optim.Adam(own.values(), LEARNING_RATE, eps=ADAM_EPSILON)

    def step() -> Any:
        adam.zero_grad(set_to_none=True)
        loss = work.program(OPS, **inputs, **own)
        loss.backward()
        adam.step()
        return loss

    return step


def _fetched(result: Any) -> list[Array]:
    parts = result if isinstance(result, tuple) else (result,)
    return [one.detach().numpy() for one in parts]
