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
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.ops.indexing.places import DEEPEST, columns
from wgsl_kernels.ops.linear_algebra.matrix import BATCH_AXES
from wgsl_kernels.ops.rules.elementwise import declared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.execution.execute import Result
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

    def run(self, *inputs: Any, **attrs: Any) -> Result:
        """Run the kernel with some attributes changed."""
        asked = {**self.attrs, **attrs}
        if len(self.outputs) == 1:
            return run(self.name, *inputs, **asked)
        return run_many(self.name, *inputs, **asked)

    def per_example(self, found: Result) -> Result:
        """Return results with the examples as their first axis, before those of one example."""
        if isinstance(found, Tensor):
            return run("Reshape", found, shape=(self.size, *self.outputs[0].shape))
        pairs = zip(found, self.outputs, strict=True)
        return tuple([run("Reshape", one, shape=(self.size, *spec.shape)) for one, spec in pairs])

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
    """Return the inputs, with axes of length 1 after the first where they are to broadcast."""
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
        row = run("Reshape", call.mapped[0], shape=(call.size, 1))
        return call.per_example(call.run(row, **{axis: 1}))
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
        return call.per_example(call.run(merged, call.inputs[1]))
    return _broadcast_product(call)


def _broadcast_product(call: BatchedCall) -> Result | None:
    """Run a product, with what is added to it, whose leading axes broadcast."""
    most = max(len(call.shape(0)), len(call.shape(1)))
    is_shared = call.mapped[0] is call.mapped[1] is None
    return call.run(*_aligned(call)) if most < 2 + BATCH_AXES and not is_shared else None


def _reshaped(call: BatchedCall) -> Result:
    return call.per_example(call.mapped[0])


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
    """Sum segments: those of the n-th example are numbered after those of the others."""
    count = call.attrs["num_segments"]
    ids, axes = call.whole(1), len(call.shape(1))
    step = max(count, 1)  # of no segments, too, so many numbers as examples
    first = run("Range", start=0, stop=call.size * step, step=step, dtype="int32")
    first = run("Reshape", first, shape=(call.size, *(1,) * axes))
    is_one = run("LogicalAnd", run("GreaterEqual", ids, 0), run("Less", ids, count))
    numbers = run("Select", is_one, run("Add", ids, first), -1)
    return call.per_example(call.run(call.whole(0), numbers, num_segments=call.size * count))


def _one_batch(x: Tensor) -> Tensor:
    """Return the batches of all examples as one."""
    return run("Reshape", x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))


def _merged(call: BatchedCall, count: int, shape: str = "") -> Result | None:
    """Make one batch of all examples' batches.

    Args:
        call: The call.
        count: How many inputs, the first ones, have a batch.
        shape: The attribute that has the shape of a result, if one does.
    """
    if not call.only(*range(count)):
        return None
    given = [_one_batch(call.whole(at)) for at in range(count)]
    attrs: dict[str, Any] = {}
    if shape:
        first, *rest = call.attrs[shape]
        attrs[shape] = (call.size * first, *rest)
    return call.per_example(call.run(*given, *call.inputs[count:], **attrs))


def _fused(call: BatchedCall) -> Result | None:
    """Make one batch of all examples' images; what is added to a result broadcasts along it."""
    ends = [one for one in call.inputs[2:] if one is not None]
    along = [one for one in ends if one.ndim == len(call.shape(0)) and one.shape[0] != 1]
    return None if along else _merged(call, 1)


def _rotary(call: BatchedCall) -> Result | None:
    """Run rotary embeddings: as ever if no batch has angles or positions, else as one batch."""
    of_batch = [0, *(n for n, ndim in ((1, 3), (2, 3), (3, 2)) if _rank(call, n) == ndim)]
    if any(one is not None and n not in of_batch for n, one in enumerate(call.mapped)):
        return None
    if of_batch == [0]:
        axis = call.attrs["axis"] % len(call.shape(0)) + 1
        return call.run(call.mapped[0], *call.inputs[1:], axis=axis)
    given = list(call.inputs)
    for n in of_batch:
        given[n] = _one_batch(call.whole(n))
    return call.per_example(call.run(*given))


def _rank(call: BatchedCall, at: int) -> int | None:
    return None if call.inputs[at] is None else len(call.shape(at))


def _attention(call: BatchedCall) -> Result:
    """Make one batch of all examples' batches; a mask that all of these share stays as it is."""
    *inputs, mask = range(len(call.inputs))
    given = [_one_batch(call.whole(at)) for at in inputs]
    found = call.inputs[mask]
    if found is not None and (call.mapped[mask] is not None or found.shape[0] != 1):
        shape = (call.size, call.shape(0)[0], *found.shape[1:])
        found = _one_batch(run("BroadcastTo", call.whole(mask), shape=shape))
    return call.per_example(call.run(*given, found))


def _solved(call: BatchedCall) -> Result:
    """Solve systems whose leading axes broadcast."""
    a, b = _aligned(call)
    if call.mapped[0] is None and len(call.outputs) > 1:  # singular values, of the matrices alone
        a = run("BroadcastTo", a, shape=(call.size, *(1,) * (b.ndim - a.ndim - 1), *a.shape))
    return call.per_example(call.run(a, b))


def _numbered(call: BatchedCall, at: int, shape: Shape) -> Tensor | None:
    """Return indices that name their example too, in a column before the others.

    Args:
        call: The call.
        at: Which input they are.
        shape: Theirs in one example, as [rows..., depth].
    """
    *rows, depth = shape
    if depth == DEEPEST:
        return None
    numbers = run("Range", start=0, stop=call.size, step=1, dtype="int32")
    numbers = run("Reshape", numbers, shape=(call.size, *(1,) * len(shape)))
    first = run("BroadcastTo", numbers, shape=(call.size, *rows, 1))
    others = run("Reshape", call.whole(at), shape=(call.size, *shape))
    return run("Concat", [first, others], axis=len(shape))


def _gather_nd(call: BatchedCall) -> Result | None:
    if call.mapped[0] is None:
        return call.run(call.inputs[0], call.mapped[1])
    indices = _numbered(call, 1, call.shape(1))
    return None if indices is None else call.run(call.mapped[0], indices)


def _scatter_nd(call: BatchedCall) -> Result | None:
    indices = _numbered(call, 0, columns(call.shape(0)))
    if indices is None:
        return None
    return call.run(indices, call.whole(1), shape=(call.size, *call.attrs["shape"]))


def _scatter_update(call: BatchedCall) -> Result | None:
    indices = _numbered(call, 1, columns(call.shape(1)))
    return None if indices is None else call.run(call.whole(0), indices, call.whole(2))


def _einsum(call: BatchedCall) -> Result | None:
    equation = call.attrs["equation"].replace(" ", "")
    free = [one for one in string.ascii_letters if one not in equation]
    if "->" not in equation or not free:
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
    return call.per_example(call.run(logits, call.inputs[1]))


MAPS = (
    *declared,
    *("Cast", "ClipByValue", "ComplexAbs", "CopySign", "Elu", "FloorDiv", "Identity", "Imag"),
    *("LeakyRelu", "NextAfter", "OnesLike", "Polygamma", "Prelu", "Real", "Select", "Step"),
    "ZerosLike",
)
"""Kernels whose inputs, broadcast, give one element each of the output."""
RULES: dict[str, Rule] = {
    **dict.fromkeys(MAPS, _elementwise),
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
    **dict.fromkeys(
        [
            *("Cholesky", "FFT", "IFFT", "LogMatrixDeterminant", "MatrixBandPart"),
            *("MatMulNBits", "MatrixCofactors", "MatrixDeterminant", "OneHot", "Qr"),
            *("SelfAdjointEig", "Svd", "TopK", "Widen"),
        ],
        _leading,
    ),
    **dict.fromkeys(["MatrixSolve", "MatrixSolveLs", "MatrixTriangularSolve"], _solved),
    "AddN": _added,
    **dict.fromkeys(["Attention", "AttentionGradient"], _attention),
    "BatchMatMul": _product,
    "BroadcastTo": _broadcast,
    "Concat": _joined,
    "Einsum": _einsum,
    "ExpandDims": _reshaped,
    **dict.fromkeys(["FusedConv2D", "FusedDepthwiseConv2D"], _fused),
    "GatherNd": _gather_nd,
    "GatherV2": _gather,
    "MirrorPad": _padded,
    "Multinomial": _multinomial,
    "Pack": _joined,
    "PadV2": _padded,
    **dict.fromkeys(["RandomNormal", "RandomUniform"], _random),
    "Reshape": _reshaped,
    "RotaryEmbedding": _rotary,
    "ScatterNd": _scatter_nd,
    "Slice": _slice,
    "SplitV": _split,
    "StridedSlice": _strided_slice,
    "TakeAlongAxis": _along_axis,
    "TensorScatterUpdate": _scatter_update,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unpack": _split,
    "UnsortedSegmentSum": _segments,
    "_FusedMatMul": _broadcast_product,
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
            "LowerBound": 2,
            "MaxPool": 1,
            "MaxPool3D": 1,
            "MaxPool3DGrad": 3,
            "MaxPoolGrad": 3,
            "ResizeBilinear": 1,
            "ResizeBilinearGrad": 2,
            "ResizeNearestNeighbor": 1,
            "ResizeNearestNeighborGrad": 2,
            "SearchSorted": 2,
            "UpperBound": 2,
        }.items()
    },
    **dict.fromkeys(
        ["Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"],
        partial(_merged, count=1, shape="input_shape"),
    ),
}
"""The rule of each kernel that has one."""
