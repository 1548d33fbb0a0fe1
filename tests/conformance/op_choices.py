"""Where our ops differ from recorded calls on purpose: what is right there, by quirk or by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tests.conformance.choices import Choice
from tests.conformance.corpus import Array, Case, Unknown, tensor_of

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.public_names import snake_case

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.choices import Outputs


def recorded(case: Case, field: str = "result") -> list[Any]:
    """Return the arrays, or other values, of a recorded result in order."""
    return _opened(case.raw[field])


def _opened(raw: Any) -> list[Any]:
    if isinstance(raw, dict):
        if "dtype" in raw:
            return [tensor_of(raw)]
        values = [raw["$tensor"]] if "$tensor" in raw else list(raw.values())
        return [one for value in values for one in _opened(value)]
    if isinstance(raw, list):
        return [one for value in raw for one in _opened(value)]
    return [raw]


def _axis(case: Case) -> Any:
    found = case.args.get("axis")
    return tuple(found) if isinstance(found, list) else found


def _folded(function: Callable[..., Any], dtype: type) -> Callable[[Case], Outputs]:
    def right(case: Case) -> Outputs:
        x = np.asarray(case.args["x"])
        with np.errstate(all="ignore"):
            values = x if x.dtype == bool else x.astype(np.float64)
            keep = bool(case.args.get("keepDims", False))
            found = function(values, axis=_axis(case), keepdims=keep)
        return [np.asarray(found, dtype)]

    return right


def _extreme(extreme: Callable[..., Any], start: float) -> Callable[..., Any]:
    return lambda x, **options: extreme(x, initial=start, **options)


def _mean(x: Array, *, axis: Any, keepdims: bool) -> Array:
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return np.asarray(total / (np.float64(x.size) / total.size))


def _pairwise(function: Callable[..., Any], first: str, second: str) -> Callable[[Case], Outputs]:
    def right(case: Case) -> Outputs:
        with np.errstate(all="ignore"):
            a, b = (np.asarray(case.args[one], np.float64) for one in (first, second))
            return [np.asarray(function(a, b), np.float32)]

    return right


def _padded(op: Callable[..., Any], fill: float) -> Callable[[Case], Outputs]:
    """Return what ``op`` gives without padding for images that were padded beforehand."""

    def right(case: Case) -> Outputs:
        args = dict(case.args)
        x, pad = np.asarray(args.pop("x")), args.pop("pad")
        sides = [(0, 0), (pad, pad), (pad, pad), (0, 0)][4 - x.ndim :]
        wide = np.pad(x, sides, constant_values=fill).astype(np.float32)
        filters = [
            args[one] for one in ("filter", "depthwiseFilter", "pointwiseFilter") if one in args
        ]
        options = {"strides": args["strides"], "pad": "valid"}
        options |= {one: args[one] for one in ("dilations", "dilation") if one in args}
        if "filterSize" in args:
            filters = [args["filterSize"]]
        with wk.use_backend("cpu"):
            return [np.asarray(op(wide, *filters, **options).numpy())]

    return right


def _in_order(case: Case) -> Outputs:
    values, indices = recorded(case)
    order = np.argsort(-values, axis=-1, kind="stable")
    return [np.take_along_axis(one, order, axis=-1) for one in (values, indices)]


def _every_nan(axes: int = 2) -> Callable[[Case], Outputs]:
    def right(case: Case) -> Outputs:
        x = np.asarray(case.args["x"])
        places = tuple(range(-1 - axes, -1))
        windows = np.lib.stride_tricks.sliding_window_view(x, (2,) * axes, places)
        return [np.max(windows, axis=tuple(range(-axes, 0)))]

    return right


def _without_empty_windows(case: Case) -> Outputs:
    """Return averages over windows; NaN where no element lies in one."""
    x, size, strides = (np.asarray(case.args[one]) for one in ("x", "filterSize", "strides"))
    sides = [(0, 0), *[(case.args["pad"],) * 2] * 3, (0, 0)]
    wide = np.pad(x.astype(np.float64), sides, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(wide, tuple(size), (1, 2, 3))
    chosen = windows[:, :: strides[0], :: strides[1], :: strides[2]]
    is_in = ~np.isnan(chosen)
    with np.errstate(invalid="ignore"):
        total = np.where(is_in, chosen, 0).sum((-3, -2, -1)) / is_in.sum((-3, -2, -1))
    return [total.astype(np.float32)]


def _small_maxima(case: Case) -> Outputs:
    """Return every second element of images with a border, which is smaller than any."""
    wide = np.pad(case.args["input"], [(1, 1), (1, 1), (0, 0)], constant_values=-np.inf)
    return [wide[::2, ::2]]


def _cross_entropy(case: Case) -> Outputs:
    labels, logits = (np.asarray(case.args[one], np.float64) for one in ("onehotLabels", "logits"))
    largest = np.max(logits, axis=-1, keepdims=True)
    others = np.where(labels > 0, 0, np.exp(logits - largest)).sum(-1)
    return [np.asarray(np.mean(np.log1p(others)), np.float32)]


def _cast(dtype: str) -> Callable[[Case], Outputs]:
    return lambda case: [one.astype(dtype) for one in recorded(case)]


def _without_first_axis(case: Case) -> Outputs:
    return [one.reshape(one.shape[1:]) for one in recorded(case)]


def _lse(case: Case) -> Outputs:
    (found,) = recorded(case)
    return [np.where(np.isnan(found), np.float32(-np.inf), found)]


def _clipped(case: Case) -> Outputs:
    return [np.clip(case.args["x"], np.float32(1), np.float32(1))]


def _first_nan(case: Case) -> Outputs:
    return [np.asarray(np.argmin(case.args["x"], axis=case.args.get("axis", 0)), np.int32)]


_PAD = Choice("padding in numbers pads as many rows and columns as it says, as NumPy's pad does")
_FROM_THERE = "the array API standard's dtype, as NumPy has it"
_EMPTY = "over no elements a reduction gives its neutral element, a mean NaN"
_BATCH = "one sequence or row without a batch axis gives one without, as NumPy has it"


def _numeric_pad(op: Callable[..., Any], fill: float = 0.0) -> Choice:
    return Choice(_PAD.because, _padded(op, fill))


OP_CHOICES = {
    "all/op/038": Choice(_EMPTY, _folded(np.all, np.bool_)),
    "argMin/op/005": Choice("the first NaN is the smallest, as in NumPy", _first_nan),
    "atan2/op/029": Choice("an angle is a float", _pairwise(np.arctan2, "a", "b")),
    "atan2/op/033": Choice("an angle is a float", _pairwise(np.arctan2, "a", "b")),
    "avgPool3d/op/027": Choice("the mean of no elements is NaN", _without_empty_windows),
    "clipByValue/op/027": Choice("NaN is neither above nor below a limit", _clipped),
    "conv2d/op/056": _numeric_pad(wk.conv2d),
    "cumsum/op/002": Choice(
        "the sum of one number is that number", lambda case: [np.asarray(case.args["x"])]
    ),
    "denseBincount/op/009": Choice(
        "binary_output says whether a number occurs, of one row as of several",
        lambda case: [np.minimum(recorded(case)[0], 1)],
    ),
    "depthwiseConv2d/op/012": Choice(
        "paddings under data_format NCHW that stand where those of NHWC do are refused"
    ),
    "depthwiseConv2d/op/031": _numeric_pad(wk.depthwise_conv2d),
    "floorDiv/op/016": Choice(
        "by 0 the quotient of whole numbers is the dividend, as WGSL has it",
        lambda case: [np.where(case.args["b"] == 0, case.args["a"], recorded(case)[0])],
    ),
    "irfft/op/000": Choice(_BATCH, _without_first_axis),
    "irfft/op/001": Choice(_BATCH, _without_first_axis),
    "logSumExp/op/014": Choice("log of a sum of zeros is -infinity", _lse),
    "logSumExp/op/038": Choice("log of a sum of zeros is -infinity", _lse),
    "max/op/005": Choice(_EMPTY, _folded(_extreme(np.max, -np.inf), np.float32)),
    "maxPool/op/000": Choice("the largest of numbers and NaN is NaN", _every_nan()),
    "maxPool/op/023": _numeric_pad(wk.max_pool, -np.inf),
    "maxPool/op/038": _numeric_pad(wk.max_pool, -np.inf),
    "maxPool3d/op/006": Choice("the largest of numbers and NaN is NaN", _every_nan(3)),
    "maxPoolWithArgmax/op/007": Choice(
        "the largest of numbers and NaN is NaN", lambda case: [*_every_nan()(case), None]
    ),
    "mean/op/007": Choice(_EMPTY, _folded(_mean, np.float32)),
    "mean/op/023": Choice(
        "the sum of its numbers depends on their order in float32",
        lambda _: [Unknown((), "float32")],
    ),
    "mean/op/041": Choice(_EMPTY, _folded(_mean, np.float32)),
    "min/op/005": Choice(_EMPTY, _folded(_extreme(np.min, np.inf), np.float32)),
    "mod/op/030": Choice(
        "by an infinity of the other sign the remainder is that infinity",
        _pairwise(np.mod, "a", "b"),
    ),
    "pad/op/034": Choice("a width below 0 is refused; a slice cuts"),
    "pow/op/004": Choice(
        "1 to any power, and anything to the power 0, is 1, as IEEE 754 has it",
        _pairwise(np.power, "base", "exp"),
    ),
    "pool/op/009": Choice("pads and strides count for windows of 1, too", _small_maxima),
    "separableConv2d/op/029": _numeric_pad(wk.separable_conv2d),
    "sign/op/000": Choice(
        "the sign of NaN is NaN", lambda case: [np.sign(np.asarray(case.args["x"]))]
    ),
    "softmaxCrossEntropy/op/001": Choice(
        "the logarithm of a probability close to 1 keeps its digits", _cross_entropy
    ),
    "topk/op/009": Choice(
        "sorted=False leaves the order open: ours is sorted all the same", _in_order
    ),
    "topk/op/042": Choice(
        "sorted=False leaves the order open: ours is sorted all the same", _in_order
    ),
    "transform/op/022": Choice(
        "in single precision a place is in the middle between two pixels, and rounds to even",
        lambda _: [Unknown((1, 3, 6, 2), "float32")],
    ),
    "unsortedSegmentSum/op/008": Choice("sums of int32 are int32", _cast("int32")),
}
"""By the id of a call; one without outputs is refused."""


def _kinds(case: Case) -> set[str]:
    return {np.asarray(case.args[one]).dtype.kind for one in ("a", "b")}


def _image_by_image(case: Case) -> Outputs:
    args = dict(case.args)
    images, transforms = (np.asarray(args.pop(one)) for one in ("image", "transforms"))
    options = {snake_case(name): value for name, value in args.items()}
    with wk.use_backend("cpu"):
        parts = [
            wk.transform(images[i : i + 1], transforms[i % len(transforms)][None], **options)
            for i in range(len(images))
        ]
        return [np.concatenate([one.numpy() for one in parts])]


def _factors(case: Case) -> Outputs:
    mode = "complete" if case.args.get("fullMatrices") else "reduced"
    return list(np.linalg.qr(np.asarray(case.args["x"]), mode))  # type: ignore[call-overload]  # its mode is a word


def _quotient(case: Case) -> Outputs:
    a, b = (np.asarray(case.args[one]) for one in ("a", "b"))
    with np.errstate(all="ignore"):
        return [np.asarray(a / b, np.float32)]


def choice_of(case: Case) -> Choice | None:
    """Return the choice that a call comes under, if any."""
    if case.id in OP_CHOICES:
        return OP_CHOICES[case.id]
    if case.op == "searchSorted" and np.ndim(case.args["values"]) == 1:
        return Choice(_BATCH, _without_first_axis)
    if case.op == "range" and "dtype" not in case.args:
        return Choice(_FROM_THERE, _cast("int32" if _is_whole(case) else "float32"))
    if case.op == "floorDiv" and "peculiar: float32 in, int32 out" in case.quirks:
        return Choice(_FROM_THERE, _floored)
    if case.op == "transform" and case.is_called("wrong"):
        return Choice("each image of a batch is transformed", _image_by_image)
    if case.op == "qr":
        return Choice("the signs are LAPACK's", _factors)
    if case.op == "div" and _kinds(case) in ({"i"}, {"i", "b"}):
        return Choice(_FROM_THERE, _quotient)
    return None


def _floored(case: Case) -> Outputs:
    a, b = (np.asarray(case.args[one], np.float32) for one in ("a", "b"))
    with np.errstate(all="ignore"):
        return [np.asarray(np.floor_divide(a, b), np.float32)]


def _is_whole(case: Case) -> bool:
    return all(float(one) == int(one) for one in case.args.values())


def right_results(case: Case) -> list[list[Array | Any]]:
    """Return the results that are right, any one of them."""
    choice = choice_of(case)
    if choice is not None and choice.outputs is not None:
        return [list(choice.outputs(case))]
    right = [recorded(case, "expected")] if case.raw.get("expected") is not None else []
    return right if case.is_called("wrong") and right else [recorded(case), *right]
