"""Boxes chosen by their scores, those that overlap a chosen one being suppressed.

On webgpu one workgroup chooses a box each round; the number of rounds is ``max_output_size``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.parameters import takes
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.images.box_choice import (
    Limits,
    Rules,
    check_boxes,
    chosen,
    chosen_on_device,
    front,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

BECAUSE = "which boxes are chosen does not change smoothly"


@public()
class PaddedBoxes(NamedTuple):
    """The boxes chosen, with zeros behind them if asked for, and how many there are."""

    selected_indices: Tensor
    valid_outputs: Tensor


@public()
class ScoredBoxes(NamedTuple):
    """The boxes chosen, and their scores after those before had lessened them."""

    selected_indices: Tensor
    selected_scores: Tensor


@public(tfjs="image.nonMaxSuppression")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    *,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
) -> Tensor:
    """Return the indices of boxes by falling score, without those that overlap one before.

    As in TensorFlow.js a box is suppressed whose intersection over union with a chosen one is equal
    to the threshold (>=); torchvision's ``nms`` keeps it (>).

    Args:
        boxes: [count, 4], float32: two opposite corners, (y1, x1, y2, x2).
        scores: [count], float32; boxes of NaN are left out. A box with a
            corner that is not finite overlaps none.
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


@signature("NonMaxSuppressionV3", floats=("boxes", "scores"))
@takes(Limits)
def _v3_signature(boxes: Spec, scores: Spec, /, **limits: Any) -> Spec:
    check_boxes("NonMaxSuppressionV3", boxes, scores, Rules(**limits))
    return Spec((None,), "int32")


@cpu_kernel("NonMaxSuppressionV3")
def _v3_cpu(boxes: Array, scores: Array, **limits: Any) -> Array:
    return chosen(boxes, scores, Rules(**limits))[0]


@wgsl_kernel("NonMaxSuppressionV3", dtypes=("float32", "float16"), repeats=False)
def _v3_webgpu(gpu: Gpu, boxes: GpuArray, scores: GpuArray, **limits: Any) -> GpuArray:
    found, _, state = chosen_on_device(gpu, boxes, scores, Rules(**limits))
    return front(gpu, found, state)


no_gradient("NonMaxSuppressionV3", because=BECAUSE)


@public(tfjs="image.nonMaxSuppressionPadded")
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


@signature("NonMaxSuppressionV4", floats=("boxes", "scores"))
@takes(Limits)
def _v4_signature(
    boxes: Spec, scores: Spec, /, *, pad_to_max_output_size: bool = False, **limits: Any
) -> dict[str, Spec]:
    most = check_boxes("NonMaxSuppressionV4", boxes, scores, Rules(**limits))
    length = most if pad_to_max_output_size else None
    return {"selected_indices": Spec((length,), "int32"), "valid_outputs": Spec((), "int32")}


@cpu_kernel("NonMaxSuppressionV4")
def _v4_cpu(
    boxes: Array, scores: Array, *, pad_to_max_output_size: bool, **limits: Any
) -> tuple[Array, Array]:
    rules = Rules(**limits)
    found, _ = chosen(boxes, scores, rules)
    count = np.array(found.size, np.int32)
    if pad_to_max_output_size:
        found = np.pad(found, (0, min(rules.max_output_size, scores.size) - found.size))
    return found, count


@wgsl_kernel("NonMaxSuppressionV4", dtypes=("float32", "float16"))
def _v4_webgpu(
    gpu: Gpu, boxes: GpuArray, scores: GpuArray, *, pad_to_max_output_size: bool, **limits: Any
) -> tuple[GpuArray, GpuArray]:
    found, _, state = chosen_on_device(gpu, boxes, scores, Rules(**limits))
    kept = found if pad_to_max_output_size else front(gpu, found, state)
    return kept, gpu.view(state, (), (), state.offset)


no_gradient("NonMaxSuppressionV4", because=BECAUSE)


@public(tfjs="image.nonMaxSuppressionWithScore")
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


@signature("NonMaxSuppressionV5", floats=("boxes", "scores"))
@takes(Limits)
def _v5_signature(
    boxes: Spec, scores: Spec, /, *, soft_nms_sigma: float = 0.0, **limits: Any
) -> dict[str, Spec]:
    rules = Rules(soft_nms_sigma=soft_nms_sigma, **limits)
    check_boxes("NonMaxSuppressionV5", boxes, scores, rules)
    return {"selected_indices": Spec((None,), "int32"), "selected_scores": scores.like((None,))}


@cpu_kernel("NonMaxSuppressionV5")
def _v5_cpu(boxes: Array, scores: Array, **limits: Any) -> tuple[Array, Array]:
    return chosen(boxes, scores, Rules(**limits))


@wgsl_kernel("NonMaxSuppressionV5", dtypes=("float32", "float16"), repeats=False)
def _v5_webgpu(
    gpu: Gpu, boxes: GpuArray, scores: GpuArray, **limits: Any
) -> tuple[GpuArray, GpuArray]:
    found, found_scores, state = chosen_on_device(gpu, boxes, scores, Rules(**limits))
    kept = cast.converted(gpu, front(gpu, found_scores, state), scores.dtype)
    return front(gpu, found, state), kept


no_gradient("NonMaxSuppressionV5", because=BECAUSE)
