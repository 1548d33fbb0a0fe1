"""How kernels run on the tensors of all examples, which have one axis more, the first.

A rule takes a `BatchedCall` and returns the results of all examples, or None where it does not fit,
and the kernel runs once per example.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.ops.linear_algebra.matrix import BATCH_AXES
from wgsl_kernels.ops.rules.elementwise import declared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.execution.execute import Result
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Shape, Spec


@dataclass(frozen=True)
class BatchedCall:
    """A kernel run of one example, and what is known of all of them.

    Attributes:
        name: The kernel's name.
        size: How many examples there are.
        inputs: The inputs of one example, in the signature's order.
        mapped: Of each the tensor of all examples, None of one that they share; lists likewise.
        attrs: The attributes of one example, with defaults.
        outputs: The specs of one example's results.
    """

    name: str
    size: int
    inputs: tuple[Any, ...]
    mapped: tuple[Any, ...]
    attrs: Mapping[str, Any]
    outputs: Sequence[Spec]

    def shape(self, at: int) -> Shape:
        """Return the shape of one example's input."""
        found: Shape = self.inputs[at].shape
        return found

    def run(self, *inputs: Any, **attrs: Any) -> Tensor:
        """Run the kernel with some attributes changed."""
        return run(self.name, *inputs, **{**self.attrs, **attrs})

    def whole(self, at: int) -> Tensor:
        """Return an input of all examples, copies of one that they share."""
        return _whole(self.size, self.inputs[at], self.mapped[at])

    def only(self, *places: int) -> bool:
        """Say whether no other inputs are mapped."""
        return all(one is None for at, one in enumerate(self.mapped) if at not in places)


Rule = Callable[[BatchedCall], "Result | None"]


def _whole(size: int, one: Tensor, mapped: Tensor | None) -> Tensor:
    if mapped is not None:
        return mapped
    return run("BroadcastTo", one, shape=(size, *one.shape))


def _aligned(call: BatchedCall) -> list[Any]:
    """Return the inputs, with axes of length 1 behind the first where they are to broadcast."""
    ranks = [one.ndim for one in call.inputs if one is not None]
    most = max(ranks, default=0)
    found: list[Any] = []
    for one, mapped in zip(call.inputs, call.mapped, strict=True):
        if mapped is None or one.ndim == most:
            found.append(one if mapped is None else mapped)
            continue
        shape = (call.size, *(1,) * (most - one.ndim), *one.shape)
        found.append(run("Reshape", mapped, shape=shape))
    return found


def _elementwise(call: BatchedCall) -> Result:
    return call.run(*_aligned(call))


def _alike(call: BatchedCall) -> Result:
    """Run an elementwise kernel whose inputs have one shape."""
    return call.run(*[call.whole(at) for at in range(len(call.inputs))])


def _normalized(call: BatchedCall) -> Result:
    """Run a kernel that broadcasts all inputs to its first."""
    return call.run(call.whole(0), *_aligned(call)[1:])


def _along(call: BatchedCall, axis: str) -> Result | None:
    """Run a kernel along axes of its first input; what else it takes must be shared."""
    rank, at = len(call.shape(0)), call.attrs[axis]
    if not call.only(0):
        return None
    if not rank and isinstance(at, int):  # a scalar is taken for a vector of one element
        found = call.run(run("Reshape", call.mapped[0], shape=(call.size, 1)), **{axis: 1})
        return run("Reshape", found, shape=(call.size, *call.outputs[0].shape))
    if isinstance(at, int):
        moved: Any = at % rank + 1
    else:
        moved = tuple([one % rank + 1 for one in (range(rank) if at is None else at)])
    return call.run(call.mapped[0], *call.inputs[1:], **{axis: moved})


def _leading(call: BatchedCall) -> Result | None:
    """Run a kernel that takes any number of leading axes of its first input."""
    return call.run(call.mapped[0], *call.inputs[1:]) if call.only(0) else None


def _product(call: BatchedCall) -> Result | None:
    a, b = call.mapped
    rows = call.shape(0)[-2]
    is_plain = len(call.shape(0)) == len(call.shape(1)) == 2 and not call.attrs["transpose_a"]
    if is_plain and b is None:  # one product of all rows
        merged = run("Reshape", a, shape=(call.size * rows, call.shape(0)[-1]))
        return run(
            "Reshape", call.run(merged, call.inputs[1]), shape=(call.size, *call.outputs[0].shape)
        )
    most = max(len(call.shape(0)), len(call.shape(1)))
    return call.run(*_aligned(call)) if most < 2 + BATCH_AXES else None


def _reshaped(call: BatchedCall) -> Result:
    return run("Reshape", call.mapped[0], shape=(call.size, *call.outputs[0].shape))


def _broadcast(call: BatchedCall) -> Result:
    shape = call.outputs[0].shape
    ones = (1,) * (len(shape) - len(call.shape(0)))
    given = run("Reshape", call.mapped[0], shape=(call.size, *ones, *call.shape(0)))
    return run("BroadcastTo", given, shape=(call.size, *shape))


def _transpose(call: BatchedCall) -> Result:
    rank = len(call.shape(0))
    perm = call.attrs["perm"]
    order = range(rank)[::-1] if perm is None else [one % rank for one in perm]
    return call.run(call.mapped[0], perm=(0, *[one + 1 for one in order]))


def _slice(call: BatchedCall) -> Result:
    begin = (0, *call.attrs["begin"])
    return call.run(call.mapped[0], begin=begin, size=(call.size, *call.outputs[0].shape))


def _strided_slice(call: BatchedCall) -> Result:
    attrs = {name: call.attrs[name] << 1 for name in call.attrs if name.endswith("_mask")}
    for name, first in (("begin", 0), ("end", call.size), ("strides", 1)):
        if call.attrs[name] is not None:
            attrs[name] = (first, *call.attrs[name])
    return call.run(call.mapped[0], **attrs)


def _padded(call: BatchedCall) -> Result:
    return call.run(call.mapped[0], paddings=((0, 0), *call.attrs["paddings"]))


def _tile(call: BatchedCall) -> Result:
    return call.run(call.mapped[0], reps=(1, *call.attrs["reps"]))


def _listed(call: BatchedCall) -> list[Tensor]:
    pairs = zip(call.inputs[0], call.mapped[0], strict=True)
    return [_whole(call.size, *pair) for pair in pairs]


def _joined(call: BatchedCall) -> Result:
    """Join tensors along an axis of the result."""
    axis = call.attrs["axis"] % len(call.outputs[0].shape) + 1
    return call.run(_listed(call), axis=axis)


def _added(call: BatchedCall) -> Result:
    return call.run(_listed(call))


def _split(call: BatchedCall) -> Result:
    axis = call.attrs["axis"] % len(call.shape(0)) + 1
    return run_many(call.name, call.mapped[0], **{**call.attrs, "axis": axis})


def _gather(call: BatchedCall) -> Result:
    axis, dims = call.attrs["axis"] % len(call.shape(0)), call.attrs["batch_dims"]
    if call.mapped[1] is None and not dims:
        return call.run(call.mapped[0], call.inputs[1], axis=axis + 1)
    if call.mapped[0] is None and not dims and not axis:
        return call.run(call.inputs[0], call.mapped[1])
    dims = dims % (len(call.shape(1)) + 1)
    return call.run(call.whole(0), call.whole(1), axis=axis + 1, batch_dims=dims + 1)


def _along_axis(call: BatchedCall) -> Result:
    axis = call.attrs["axis"] % len(call.shape(0)) + 1
    return call.run(call.whole(0), call.whole(1), axis=axis)


def _segments(call: BatchedCall) -> Result:
    """Sum segments: those of the n-th example are numbered behind those of the others."""
    count = call.attrs["num_segments"]
    ids, axes = call.whole(1), len(call.shape(1))
    first = run("Range", start=0, stop=call.size * count, step=count, dtype="int32")
    first = run("Reshape", first, shape=(call.size, *(1,) * axes))
    is_one = run("LogicalAnd", run("GreaterEqual", ids, 0), run("Less", ids, count))
    numbers = run("Select", is_one, run("Add", ids, first), -1)
    found = call.run(call.whole(0), numbers, num_segments=call.size * count)
    return run("Reshape", found, shape=(call.size, *call.outputs[0].shape))


def _merged(call: BatchedCall, count: int, shape: str = "") -> Result | None:
    """Make one batch of all examples' batches.

    Args:
        call: The call.
        count: How many inputs, the first ones, have a batch.
        shape: The attribute that has the shape of a result, if one does.
    """
    if not call.only(*range(count)):
        return None
    given = [
        run("Reshape", call.whole(at), shape=(call.size * call.shape(at)[0], *call.shape(at)[1:]))
        for at in range(count)
    ]
    attrs: dict[str, Any] = {}
    if shape:
        first, *rest = call.attrs[shape]
        attrs[shape] = (call.size * first, *rest)
    found = call.run(*given, *call.inputs[count:], **attrs)
    return run("Reshape", found, shape=(call.size, *call.outputs[0].shape))


def _einsum(call: BatchedCall) -> Result | None:
    equation = call.attrs["equation"].replace(" ", "")
    free = [one for one in string.ascii_letters if one not in equation]
    if "." in equation or "->" not in equation or not free:
        return None
    terms, result = equation.split("->")
    pairs = list(zip(terms.split(","), call.inputs[0], call.mapped[0], strict=True))
    named = [term if mapped is None else free[0] + term for term, _, mapped in pairs]
    given = [one if mapped is None else mapped for _, one, mapped in pairs]
    return call.run(given, equation=f"{','.join(named)}->{free[0]}{result}")


def _random(call: BatchedCall) -> Result | None:
    if call.mapped[0] is not None:
        return None
    return call.run(call.inputs[0], shape=(call.size, *call.attrs["shape"]))


def _multinomial(call: BatchedCall) -> Result | None:
    if call.mapped[1] is not None:
        return None
    rows, classes = call.shape(0)
    logits = run("Reshape", call.whole(0), shape=(call.size * rows, classes))
    found = call.run(logits, call.inputs[1])
    return run("Reshape", found, shape=(call.size, *call.outputs[0].shape))


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        [
            *declared,
            *("Cast", "ClipByValue", "ComplexAbs", "CopySign", "Elu", "FloorDiv", "Identity"),
            *("Imag", "LeakyRelu", "NextAfter", "OnesLike", "Prelu", "Real", "Select", "Step"),
            "ZerosLike",
        ],
        _elementwise,
    ),
    **dict.fromkeys(["Complex", "EluGrad"], _alike),
    "FusedBatchNorm": _normalized,
    **{
        name: partial(_along, axis=axis)
        for axis, names in {
            "axis": (
                *("All", "Any", "ArgMax", "ArgMin", "Cumprod", "Cumsum", "LayerNorm"),
                *("LogSoftmax", "LogSumExp", "Mean", "Min", "Prod", "Roll", "Sort", "Sum"),
                "Variance",
            ),
            "dim": ("Softmax",),
            "dims": ("Reverse",),
            "reduction_indices": ("Max",),
        }.items()
        for name in names
    },
    **dict.fromkeys(["Cholesky", "FFT", "IFFT", "MatrixCofactors", "OneHot"], _leading),
    "AddN": _added,
    "BatchMatMul": _product,
    "BroadcastTo": _broadcast,
    "Concat": _joined,
    "Einsum": _einsum,
    "ExpandDims": _reshaped,
    "GatherV2": _gather,
    "MirrorPad": _padded,
    "Multinomial": _multinomial,
    "Pack": _joined,
    "PadV2": _padded,
    **dict.fromkeys(["RandomNormal", "RandomUniform"], _random),
    "Reshape": _reshaped,
    "Slice": _slice,
    "SplitV": _split,
    "StridedSlice": _strided_slice,
    "TakeAlongAxis": _along_axis,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unpack": _split,
    "UnsortedSegmentSum": _segments,
    **{
        name: partial(_merged, count=count)
        for name, count in {
            "AvgPool": 1,
            "AvgPool3D": 1,
            "AvgPool3DGrad": 2,
            "AvgPoolGrad": 2,
            "Conv2D": 1,
            "Conv3D": 1,
            "DepthToSpace": 1,
            "DepthwiseConv2dNative": 1,
            "Dilation2D": 1,
            "FlipLeftRight": 1,
            "LRN": 1,
            "LRNGrad": 3,
            "MaxPool": 1,
            "MaxPool3D": 1,
            "MaxPool3DGrad": 3,
            "MaxPoolGrad": 3,
            "ResizeBilinear": 1,
            "ResizeBilinearGrad": 2,
            "ResizeNearestNeighbor": 1,
            "ResizeNearestNeighborGrad": 2,
        }.items()
    },
    **dict.fromkeys(
        ["Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"],
        partial(_merged, count=1, shape="input_shape"),
    ),
}
"""The rule of each kernel that has one."""
