"""Where this package differs from the records on purpose, beyond what their quirks say: and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.conformance.corpus import array_of

if TYPE_CHECKING:
    from tests.conformance.corpus import Array, Case, Unknown

Outputs = Sequence["Array | Unknown | None"]


@dataclass(frozen=True)
class Choice:
    """What is right here instead of the record.

    Attributes:
        because: The reason.
        outputs: The outputs that are right; without it the case is refused.
        gradients: Of a gradient's run what is right, by input; without it the case is refused.
    """

    because: str
    outputs: Callable[[Case], Outputs] | None = None
    gradients: Callable[[Case], dict[str, Array]] | None = None


def _in_order(case: Case) -> Outputs:
    values, indices = case.tensors("outputs")
    assert isinstance(values, np.ndarray)
    assert isinstance(indices, np.ndarray)
    order = np.argsort(-values, axis=-1, kind="stable")
    return [np.take_along_axis(one, order, axis=-1) for one in (values, indices)]


def _last_place(case: Case) -> Outputs:
    x = case.inputs["x"]
    assert isinstance(x, np.ndarray)
    y = np.full_like(x, np.nan)
    y[:, 1:, 1:] = x[:, 1:, 1:]
    return [y]


def _quarter_turn(case: Case) -> Outputs:
    image = case.inputs["image"]
    assert isinstance(image, np.ndarray)
    y = np.zeros_like(image)
    y[:, 2, :] = image[:, 1:, 1]
    return [y]


def _channels_first(case: Case) -> Outputs:
    x, filter = case.inputs["x"], case.inputs["filter"]
    assert isinstance(x, np.ndarray)
    assert isinstance(filter, np.ndarray)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (0, 1), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2), (2, 3))
    return [np.einsum("ncijpq,pqcm->ncij", windows, filter).astype(np.float32)]


def _along_x(case: Case) -> dict[str, Array]:
    x, (dy,) = case.inputs["x"], case.arriving
    assert isinstance(x, np.ndarray)
    assert dy is not None
    return {"x": (dy * x / np.abs(x)).astype(np.complex64)}


_OF_WRONG_OUTPUT = Choice(
    "dy has the shape that the forward kernel wrongly gives under a numeric pad (a marked defect "
    "there); it is no gradient of the right output"
)

KERNEL_CHOICES = {
    "AvgPool/010": Choice(
        "marked as wrong, the right result not recorded: a window of one element at -1 and 1 of "
        "each axis, and the mean of no elements is NaN",
        _last_place,
    ),
    "AvgPool3D/010": Choice("a window larger than the padded volume is refused, as of images"),
    "AvgPoolGrad/012": _OF_WRONG_OUTPUT,
    "Conv2DBackpropFilter/091": _OF_WRONG_OUTPUT,
    "Conv2DBackpropInput/100": _OF_WRONG_OUTPUT,
    "DepthwiseConv2dNative/070": Choice(
        "the record takes data_format NCHW for NHWC: it reads past the filter, hence its NaN",
        _channels_first,
    ),
    "Mean/062": Choice("axis is [0, 0]: an axis named twice is refused, as NumPy refuses it"),
    "RotateWithOffset/005": Choice(
        "a quarter turn puts places halfway between elements, where the last bit of the record's "
        "sine and cosine decides; ours go up",
        _quarter_turn,
    ),
    "TopK/048": Choice(
        "sorted=False leaves the order open: ours is sorted all the same", _in_order
    ),
}
"""By the id of a kernel run."""

GRADIENT_CHOICES = {
    "AvgPool/grad/013": _OF_WRONG_OUTPUT,
    "ComplexAbs/grad/003": Choice(
        "marked as wrong, the right gradient not recorded: dL/d conj(x) = dy * x / |x|",
        gradients=_along_x,
    ),
    "MaxPool/grad/026": _OF_WRONG_OUTPUT,
}
"""By the id of a gradient's run; one without gradients is refused."""


def _centered(run: Mapping[str, Any]) -> list[dict[str, Array]]:
    """Return the variables after each step of RMSProp that adds epsilon under the root."""
    config, found = run["config"], []
    values = {
        name: array_of(raw).astype(np.float64) for name, raw in run["steps"][0]["before"].items()
    }
    state = {name: [np.zeros_like(one)] * 3 for name, one in values.items()}
    for step in run["steps"]:
        for name, raw in step["grads"].items():
            gradient = array_of(raw).astype(np.float64)
            square, mean, moved = state[name]
            square = config["decay"] * square + (1 - config["decay"]) * gradient**2
            mean = config["decay"] * mean + (1 - config["decay"]) * gradient
            root = np.sqrt(square - mean**2 + config["epsilon"])
            moved = config["momentum"] * moved + step["learningRate"] * gradient / root
            state[name] = [square, mean, moved]
            values[name] = values[name] - moved
        found.append({name: np.asarray(one, np.float32) for name, one in values.items()})
    return found


OPTIMIZER_CHOICES = dict.fromkeys(
    ("RMSProp/011", "RMSProp/012", "RMSProp/014", "RMSProp/018"), _centered
)
"""By the id of an optimizer's run: what is right after each step.

These have the defect that two other centered runs are marked with, epsilon subtracted.
"""

_ANY_RANK = "one constructor makes tensors of every rank, as numpy.asarray does"
_VECTORS = "matmul takes vectors, as the array API standard has it"
_LONG = "a padding longer than the axis is mirrored again, as in NumPy"

ERROR_CHOICES = {
    "gather/error/008": "a negative index counts from the end, as in NumPy; the kernel refuses it",
    "fusedConv2d/error/003": "one weight per channel under NCHW, [3, 1, 1], fits y, [1, 3, 4, 3]",
    "matMul/error/009": _VECTORS,
    "matMul/error/010": _VECTORS,
    **{f"mirrorPad/error/00{number}": _LONG for number in range(4, 8)},
    "norm/error/004": "0 is the number of elements that are not 0, as NumPy has it",
    "scalar/error/000": _ANY_RANK,
    "tensor1d/error/001": "a tensor may hold NaN; config.check_numerics is for finding it",
    "tensor1d/error/008": _ANY_RANK,
    "tensor2d/error/006": _ANY_RANK,
    "tensor3d/error/006": _ANY_RANK,
    "tensor4d/error/004": _ANY_RANK,
}
"""By the id of an error: what is accepted all the same, and why."""
