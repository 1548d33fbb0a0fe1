"""How boxes are chosen by their scores, on either backend: one each round."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Spec

_TURNS = 1 << 14
"""Elements that one invocation looks at in a dispatch."""
_MOST = 1 << 22
"""Boxes that one workgroup goes through."""


class Limits:
    """The attributes that say which boxes are chosen, as signatures declare them."""

    max_output_size: int
    iou_threshold: float = 0.5
    score_threshold: float = -math.inf


class Rules(NamedTuple):
    """How boxes are chosen."""

    max_output_size: int
    iou_threshold: float
    score_threshold: float
    soft_nms_sigma: float = 0.0

    @property
    def scale(self) -> float:
        """The factor in the exponent by which a score is lessened."""
        return -0.5 / self.soft_nms_sigma if self.soft_nms_sigma > 0 else 0.0


def check_boxes(kernel: str, boxes: Spec, scores: Spec, rules: Rules) -> int:
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
    if math.isnan(rules.score_threshold) or not 0 <= rules.soft_nms_sigma <= 1:
        raise ArgumentError(
            f"{kernel}: score_threshold is {rules.score_threshold} and soft_nms_sigma "
            f"{rules.soft_nms_sigma}; want a number, and one in [0, 1]."
        )
    if rules.max_output_size < 0:
        raise ArgumentError(
            f"{kernel}: max_output_size is {rules.max_output_size}; want at least 0."
        )
    return min(rules.max_output_size, scores.size)


@silent
def chosen(boxes: Array, scores: Array, rules: Rules) -> tuple[Array, Array]:
    """Return the indices and the scores of the boxes chosen; of float16, computed in float32."""
    given = scores.dtype
    wide = np.result_type(given, np.float32)
    boxes, scores = boxes.astype(wide), scores.astype(wide)
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = np.where(np.isfinite(boxes).all(1), np.prod(high - low, axis=1), 0)
    left = np.where(scores > rules.score_threshold, scores, -np.inf)
    found: list[int] = []
    kept: list[float] = []
    while len(found) < min(rules.max_output_size, len(scores)):
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
    return np.array(found, np.int32), np.array(kept, given)


def chosen_on_device(
    gpu: Gpu, boxes: GpuArray, scores: GpuArray, rules: Rules
) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return indices and scores, both with zeros behind them, and their number, [1]."""
    count = scores.size
    most = min(rules.max_output_size, count)
    chosen = gpu.full((most,), "int32", 0)
    chosen_scores, state = gpu.full((most,), "float32", 0), gpu.full((1,), "int32", 0)
    if most:
        left = gpu.empty((count,), "float32")
        rounds = max(_TURNS // (2 * math.ceil(count / 256) + 1), 1)
        for first in range(0, most, rounds):
            gpu.dispatch(
                "images/box_choice/select_boxes.wesl",
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


def front(gpu: Gpu, array: GpuArray, state: GpuArray) -> GpuArray:
    """Return the part of what was chosen; waits for its length."""
    count = int(gpu.read(state)[0])
    return gpu.view(array, (count,), array.strides, array.offset)
