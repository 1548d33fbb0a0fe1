"""Samples of boxes chosen by their scores."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import ulp
from wgsl_kernels.testing.sample import Sample

CASES: list[tuple[int, int, dict[str, Any]]] = [
    (6, 3, {}),
    (6, 9, {"iou_threshold": 0.1}),
    (9, 9, {"iou_threshold": 0.3, "score_threshold": 0.4}),
    (70, 12, {"iou_threshold": 0.2}),
    (300, 5, {"score_threshold": 0.2}),
    (4, 0, {}),
]


def _padded(boxes: wk.Tensor, scores: wk.Tensor, **attrs: Any) -> list[wk.Tensor]:
    return list(wk.non_max_suppression_padded(boxes, scores, **attrs))


def _scored(boxes: wk.Tensor, scores: wk.Tensor, **attrs: Any) -> list[wk.Tensor]:
    return list(wk.non_max_suppression_with_score(boxes, scores, **attrs))


def _sample(
    kernel: str, f: Any, count: int, most: int, *, dtype: str = "float32", **attrs: Any
) -> Sample:
    attrs = {"max_output_size": most, **attrs}
    return Sample(kernel, f, ((count, 4), (count,)), dtype, attrs, 0.0, 1.0, ulp(64))


V3 = ("NonMaxSuppressionV3", wk.non_max_suppression)
V4 = ("NonMaxSuppressionV4", _padded)
V5 = ("NonMaxSuppressionV5", _scored)
SAMPLES = [
    *(_sample(*V3, count, most, **attrs) for count, most, attrs in CASES),
    *(
        _sample(*V4, count, most, pad_to_max_output_size=bool(place % 2), **attrs)
        for place, (count, most, attrs) in enumerate(CASES)
    ),
    *(
        _sample(*V5, count, most, soft_nms_sigma=0.5 * (place % 3), **attrs)
        for place, (count, most, attrs) in enumerate(CASES)
    ),
    _sample(*V3, 9, 6, dtype="float16", iou_threshold=0.2),
    _sample(*V5, 9, 6, dtype="float16", soft_nms_sigma=0.5),
]
