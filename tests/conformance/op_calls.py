"""Calls our op for a recorded call of one of TensorFlow.js's, with its arguments in our form."""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.conformance.corpus import Case, op_parameters, op_paths, op_types
from tests.conformance.replay import tensors_of

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.public_names import snake_case
from wgsl_kernels.ops.names.names import tfjs_names

if TYPE_CHECKING:
    from collections.abc import Callable

# Arguments whose place in our op is neither their name's nor their position's.
ARGUMENTS = {
    ("softmax", "dim"): "axis",
    ("log_softmax", "dim"): "axis",
    ("rfft", "fft_length"): "n",
}
REDUCTIONS = ("none", "mean", "sum", "sum_by_nonzero_weights")

NO_ARGUMENTS = frozenset({"seed", "mask", "index_dtype"})
"""Arguments that our ops have another way for: a seed is that of the stream."""

PARSED_AS = {
    ("all", "x"): "bool",
    ("any", "x"): "bool",
    ("logicalNot", "x"): "bool",
    ("where", "condition"): "bool",
}
"""The dtype that numbers become where TensorFlow.js asks for one; elsewhere it is float32."""

WHOLE = {
    "confusionMatrix": ("labels", "predictions"),
    "gather": ("indices",),
    "gatherND": ("indices",),
    "raggedTensorToTensor": ("shape", "rowPartitionTensors"),
    "raggedGather": ("paramsNestedSplits", "indices"),
    "scatterND": ("indices",),
    "sparseFillEmptyRows": ("indices", "denseShape"),
    "sparseReshape": ("inputIndices", "inputShape", "newShape"),
    "sparseSegmentMean": ("indices", "segmentIds"),
    "sparseSegmentSum": ("indices", "segmentIds"),
    "sparseToDense": ("sparseIndices",),
    "stringNGrams": ("dataSplits",),
    "tensorScatterUpdate": ("indices",),
    "unsortedSegmentSum": ("segmentIds",),
}
"""Arguments that TensorFlow.js takes whole numbers for, by op."""

DEFAULTS = {"argMax": {"axis": 0}, "argMin": {"axis": 0}}
"""Defaults of TensorFlow.js where ours, those of the array API standard, are others."""

_OURS = tfjs_names()


def op_of(case: Case) -> Callable[..., Any] | None:
    """Return our op for the one that a case calls, if we have it."""
    ours = next((_OURS[one] for one in op_paths(case.op) if one in _OURS), None)
    found: Callable[..., Any] | None = None if ours is None else attrgetter(ours)(wk)
    return found


def op_call(case: Case) -> Any:
    """Return what our op gives for a recorded call."""
    op = op_of(case)
    assert op is not None
    if case.op == "qr":
        return op(case.args["x"], mode="complete" if case.args.get("fullMatrices") else "reduced")
    if case.op == "meshgrid":
        rows = [
            _tensor_like("meshgrid", "x", case.args[one]) for one in ("x", "y") if one in case.args
        ]
        return op(*rows, **case.args.get("options", {}))
    given = _arguments(case, op)
    ours = inspect.signature(op).parameters.values()
    rest = next((one.name for one in ours if one.kind is one.VAR_POSITIONAL), None)
    if rest is None:
        return op(**given)
    before = [given.pop(one.name) for one in ours if one.kind is one.POSITIONAL_OR_KEYWORD]
    return op(*before, *given.pop(rest), **given)


def _arguments(case: Case, op: Callable[..., Any]) -> dict[str, Any]:
    """Return the recorded arguments in the form that our op takes them."""
    given = case.args.get("config", case.args)
    given = {**DEFAULTS.get(case.op, {}), **given}
    order = op_parameters(case.op) if "config" not in case.args else list(given)
    ours = inspect.signature(op).parameters
    positional = [one for one in ours.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    types = op_types(case.op)
    names: dict[str, Any] = {}
    for place, theirs in enumerate(order):
        name = snake_case(theirs)
        is_absent = theirs not in given or ("result" in case.raw and given[theirs] is None)
        if is_absent or name in NO_ARGUMENTS:
            continue
        name = ARGUMENTS.get((op.__name__, name), name)
        if name not in ours:
            name = (
                name.replace("_", "") if name.replace("_", "") in ours else positional[place].name
            )
        value = given[theirs]
        kind = str(types.get(theirs))
        if "result" in case.raw and "TensorLike" in kind:
            several = isinstance(value, list) and ("[]" in kind or "<" in kind)
            value = (
                [_tensor_like(case.op, theirs, one) for one in value]
                if several
                else _tensor_like(case.op, theirs, value)
            )
        names[name] = _argument(name, value)
    return names


def _tensor_like(op: str, name: str, value: Any) -> Any:
    """Return numbers in the dtype that TensorFlow.js gives them."""
    if isinstance(value, (list, int, float)) and not _holds_arrays(value):
        array = np.asarray(value)
        if (op, name) in PARSED_AS:
            return array.astype(PARSED_AS[op, name])
        if array.dtype.kind in "if":
            return array.astype(np.int32 if name in WHOLE.get(op, ()) else np.float32)
    return value


def _holds_arrays(value: Any) -> bool:
    return isinstance(value, list) and any(
        isinstance(one, np.ndarray) or _holds_arrays(one) for one in value
    )


def _argument(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return next(iter(tensors_of({name: value}).values()))
    if isinstance(value, list):
        return [_argument(name, one) for one in value]
    return REDUCTIONS[value] if name == "reduction" else value
