"""Boxes chosen by their scores, those that overlap a chosen one being suppressed.

On webgpu one workgroup chooses a box each round; the number of rounds is ``max_output_size``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.gradients import no_gradient
from wgsl_kernels.engine.run import run, run_many
from wgsl_kernels.engine.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.tensor import Tensor, TensorLike

BECAUSE = "which boxes are chosen does not change smoothly"
_TURNS = 1 << 14
"""Elements that one invocation looks at in a dispatch."""
_MOST = 1 << 22
"""Boxes that one workgroup goes through."""


class PaddedBoxes(NamedTuple):
    """The boxes chosen, with zeros behind them if asked for, and how many there are."""

    selected_indices: Tensor
    valid_outputs: Tensor


class ScoredBoxes(NamedTuple):
    """The boxes chosen, and their scores after those before had lessened them."""

    selected_indices: Tensor
    selected_scores: Tensor


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    *,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
) -> Tensor:
    """Return the indices of boxes by falling score, without those that overlap one before.

    Args:
        boxes: [count, 4], float32: two opposite corners, (y1, x1, y2, x2).
        scores: [count], float32; boxes of NaN are left out.
        max_output_size: How many boxes are chosen at most.
        iou_threshold: Boxes are suppressed whose shared area is this part of the area of either,
            or more; in [0, 1].
        score_threshold: Boxes are left out whose score is not above it.

    Returns:
        int32, [chosen]. Their number depends on the values, so on webgpu this waits for it.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: A threshold is out of range, or ``max_output_size`` is below 0.

    Example:
        >>> boxes = tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 5.0, 1.0, 6.0]])
        >>> non_max_suppression(boxes, tensor([0.5, 0.9, 0.7]), 3).tolist()
        [1, 2]
    """
    return run(
        "NonMaxSuppressionV3",
        boxes,
        scores,
        max_output_size=max_output_size,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
    )


class _Rules(NamedTuple):
    """How boxes are chosen."""

    most: int
    iou_threshold: float
    score_threshold: float
    sigma: float = 0.0

    @property
    def scale(self) -> float:
        """The factor in the exponent by which a score is lessened."""
        return -0.5 / self.sigma if self.sigma > 0 else 0.0


def _check_boxes(kernel: str, boxes: Spec, scores: Spec, rules: _Rules) -> int:
    """Return how many boxes are chosen at most, or refuse the inputs."""
    require_rank(kernel, "boxes", boxes, 2)
    require_rank(kernel, "scores", scores, 1)
    for name, one in (("boxes", boxes), ("scores", scores)):
        require_dtype(kernel, name, one, "float32")
    if boxes.shape != (scores.size, 4) or scores.size > _MOST:
        raise ShapeError(
            f"{kernel}: boxes has shape {show(boxes.shape)} and scores {show(scores.shape)}; want "
            f"[count, 4] and [count], at most {_MOST} boxes."
        )
    if not 0 <= rules.iou_threshold <= 1:
        raise ArgumentError(f"{kernel}: iou_threshold is {rules.iou_threshold}; want it in [0, 1].")
    if math.isnan(rules.score_threshold) or not 0 <= rules.sigma <= 1:
        raise ArgumentError(
            f"{kernel}: score_threshold is {rules.score_threshold} and soft_nms_sigma "
            f"{rules.sigma}; want a number, and one in [0, 1]."
        )
    if rules.most < 0:
        raise ArgumentError(f"{kernel}: max_output_size is {rules.most}; want at least 0.")
    return min(rules.most, scores.size)


@silent
def _chosen(boxes: Array, scores: Array, rules: _Rules) -> tuple[Array, Array]:
    """Return the indices and the scores of the boxes chosen."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = np.prod(high - low, axis=1)
    left = np.where(scores > rules.score_threshold, scores, -np.inf)
    found: list[int] = []
    kept: list[float] = []
    while len(found) < min(rules.most, len(scores)):
        best = int(np.argmax(left))
        if not left[best] > rules.score_threshold:
            break
        found.append(best)
        kept.append(float(left[best]))
        size = np.maximum(np.minimum(high, high[best]) - np.maximum(low, low[best]), 0)
        shared = np.prod(size, axis=1)
        overlap = np.where(
            (areas > 0) & (areas[best] > 0), shared / (areas + areas[best] - shared), 0
        )
        less = left * np.exp(rules.scale * overlap * overlap).astype(left.dtype)
        less[(overlap >= rules.iou_threshold) | (less <= rules.score_threshold)] = -np.inf
        less[best] = -np.inf
        left = np.where(left > rules.score_threshold, less, -np.inf)
    return np.array(found, np.int32), np.array(kept, scores.dtype)


def _chosen_on_device(
    gpu: Gpu, boxes: GpuArray, scores: GpuArray, rules: _Rules
) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return indices and scores, both with zeros behind them, and their number, [1]."""
    count = scores.size
    most = min(rules.most, count)
    chosen = gpu.full((most,), "int32", 0)
    chosen_scores, state = gpu.full((most,), "float32", 0), gpu.full((1,), "int32", 0)
    if most:
        left = gpu.empty((count,), "float32")
        rounds = max(_TURNS // (2 * math.ceil(count / 256) + 1), 1)
        for first in range(0, most, rounds):
            gpu.dispatch(
                "image/select_boxes.wesl",
                {
                    "boxes": boxes,
                    "scores": scores,
                    "left": left,
                    "chosen": chosen,
                    "chosen_scores": chosen_scores,
                    "state": state,
                },
                params={
                    "count": count,
                    "first": first,
                    "last": min(first + rounds, most),
                    "iou_threshold": rules.iou_threshold,
                    "score_threshold": rules.score_threshold,
                    "scale": rules.scale,
                },
                groups=(1, 1, 1),
            )
    return chosen, chosen_scores, state


def _front(gpu: Gpu, array: GpuArray, state: GpuArray) -> GpuArray:
    count = int(gpu.read(state)[0])
    return gpu.view(array, (count,), array.strides, array.offset)


@signature("NonMaxSuppressionV3")
def _v3_signature(
    boxes: Spec,
    scores: Spec,
    /,
    *,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
) -> Spec:
    rules = _Rules(max_output_size, iou_threshold, score_threshold)
    _check_boxes("NonMaxSuppressionV3", boxes, scores, rules)
    return Spec((None,), "int32")


@cpu_kernel("NonMaxSuppressionV3")
def _v3_cpu(
    boxes: Array,
    scores: Array,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
) -> Array:
    return _chosen(boxes, scores, _Rules(max_output_size, iou_threshold, score_threshold))[0]


@wgsl_kernel("NonMaxSuppressionV3", dtypes=("float32",))
def _v3_webgpu(
    gpu: Gpu,
    boxes: GpuArray,
    scores: GpuArray,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
) -> GpuArray:
    rules = _Rules(max_output_size, iou_threshold, score_threshold)
    chosen, _, state = _chosen_on_device(gpu, boxes, scores, rules)
    return _front(gpu, chosen, state)


no_gradient("NonMaxSuppressionV3", because=BECAUSE)


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    *,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    pad_to_max_output_size: bool = False,
) -> PaddedBoxes:
    """Return what `non_max_suppression` does, and how many boxes that are.

    Args, beside those of `non_max_suppression`:
        pad_to_max_output_size: Whether zeros follow the indices up to ``max_output_size``, but no
            more than there are boxes.

    Example:
        >>> boxes = tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 5.0, 1.0, 6.0]])
        >>> scores = tensor([0.5, 0.9, 0.7])
        >>> found = non_max_suppression_padded(boxes, scores, 3, pad_to_max_output_size=True)
        >>> found.selected_indices.tolist(), found.valid_outputs.item()
        ([1, 2, 0], 2)
    """
    return PaddedBoxes(
        *run_many(
            "NonMaxSuppressionV4",
            boxes,
            scores,
            max_output_size=max_output_size,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
            pad_to_max_output_size=pad_to_max_output_size,
        )
    )


@signature("NonMaxSuppressionV4")
def _v4_signature(
    boxes: Spec,
    scores: Spec,
    /,
    *,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    pad_to_max_output_size: bool = False,
) -> dict[str, Spec]:
    rules = _Rules(max_output_size, iou_threshold, score_threshold)
    most = _check_boxes("NonMaxSuppressionV4", boxes, scores, rules)
    length = most if pad_to_max_output_size else None
    return {"selected_indices": Spec((length,), "int32"), "valid_outputs": Spec((), "int32")}


@cpu_kernel("NonMaxSuppressionV4")
def _v4_cpu(
    boxes: Array,
    scores: Array,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
    pad_to_max_output_size: bool,
) -> tuple[Array, Array]:
    rules = _Rules(max_output_size, iou_threshold, score_threshold)
    chosen, _ = _chosen(boxes, scores, rules)
    count = np.array(chosen.size, np.int32)
    if pad_to_max_output_size:
        chosen = np.pad(chosen, (0, min(max_output_size, scores.size) - chosen.size))
    return chosen, count


@wgsl_kernel("NonMaxSuppressionV4", dtypes=("float32",))
def _v4_webgpu(
    gpu: Gpu,
    boxes: GpuArray,
    scores: GpuArray,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
    pad_to_max_output_size: bool,
) -> tuple[GpuArray, GpuArray]:
    rules = _Rules(max_output_size, iou_threshold, score_threshold)
    chosen, _, state = _chosen_on_device(gpu, boxes, scores, rules)
    kept = chosen if pad_to_max_output_size else _front(gpu, chosen, state)
    return kept, gpu.view(state, (), (), state.offset)


no_gradient("NonMaxSuppressionV4", because=BECAUSE)


def non_max_suppression_with_score(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    *,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    soft_nms_sigma: float = 0.0,
) -> ScoredBoxes:
    """Return what `non_max_suppression` does, and the scores of the boxes chosen.

    Args, beside those of `non_max_suppression`:
        soft_nms_sigma: If above 0, the score of a box is multiplied by
            ``exp(-overlap**2 / (2 * soft_nms_sigma))`` for each box chosen before; in [0, 1].

    Example:
        >>> boxes = tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 5.0, 1.0, 6.0]])
        >>> non_max_suppression_with_score(boxes, tensor([0.5, 1.0, 0.75]), 3)[1].tolist()
        [1.0, 0.75]

    Source: Bodla and others, Soft-NMS: Improving Object Detection With One Line of Code, 2017.
    """
    return ScoredBoxes(
        *run_many(
            "NonMaxSuppressionV5",
            boxes,
            scores,
            max_output_size=max_output_size,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
            soft_nms_sigma=soft_nms_sigma,
        )
    )


@signature("NonMaxSuppressionV5")
def _v5_signature(
    boxes: Spec,
    scores: Spec,
    /,
    *,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    soft_nms_sigma: float = 0.0,
) -> dict[str, Spec]:
    rules = _Rules(max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    _check_boxes("NonMaxSuppressionV5", boxes, scores, rules)
    return {"selected_indices": Spec((None,), "int32"), "selected_scores": scores.like((None,))}


@cpu_kernel("NonMaxSuppressionV5")
def _v5_cpu(
    boxes: Array,
    scores: Array,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
    soft_nms_sigma: float,
) -> tuple[Array, Array]:
    rules = _Rules(max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    return _chosen(boxes, scores, rules)


@wgsl_kernel("NonMaxSuppressionV5", dtypes=("float32",))
def _v5_webgpu(
    gpu: Gpu,
    boxes: GpuArray,
    scores: GpuArray,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
    soft_nms_sigma: float,
) -> tuple[GpuArray, GpuArray]:
    rules = _Rules(max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    chosen, chosen_scores, state = _chosen_on_device(gpu, boxes, scores, rules)
    return _front(gpu, chosen, state), _front(gpu, chosen_scores, state)


no_gradient("NonMaxSuppressionV5", because=BECAUSE)
