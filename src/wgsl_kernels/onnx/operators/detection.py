"""Boxes chosen among those that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


@operator("NonMaxSuppression", host=(2, 3, 4), reads=True)
def non_max_suppression(
    node: OnnxNode,
    boxes: Tensor,
    scores: Tensor,
    most: Array | None = None,
    overlap: Array | None = None,
    least: Array | None = None,
) -> Array:
    """Return batch, class and place of the boxes chosen, [chosen, 3].

    A box is dropped whose overlap with one chosen before is above the threshold; boxes at the
    threshold stay, unlike in `wk.non_max_suppression`. Overlaps are computed on the device.
    """
    count = 0 if most is None else int(np.ravel(most)[0])
    limit = 0.0 if overlap is None else float(np.ravel(overlap)[0])
    floor = None if least is None else float(np.ravel(least)[0])
    drops = np.asarray((_overlaps(node, boxes) > limit).numpy())
    values = np.asarray(scores.numpy())
    found: list[tuple[int, int, int]] = []
    for batch in range(values.shape[0]):
        for kind in range(values.shape[1]):
            row = values[batch, kind]
            chosen: list[int] = []
            for place in np.argsort(-row, kind="stable"):
                if len(chosen) >= count or (floor is not None and row[place] <= floor):
                    break
                if not drops[batch, place, chosen].any():
                    chosen.append(int(place))
            found += [(batch, kind, place) for place in chosen]
    return np.array(found, np.int64).reshape(-1, 3)


def _overlaps(node: OnnxNode, boxes: Tensor) -> Tensor:
    """Return the intersection over the union of each two boxes, [batch, boxes, boxes]."""
    first, second, third, fourth = (boxes[..., i] for i in range(4))
    if node.attr("center_point_box"):
        half_width, half_height = third / 2.0, fourth / 2.0
        left, right = first - half_width, first + half_width
        top, bottom = second - half_height, second + half_height
    else:
        top, bottom = ops.minimum(first, third), ops.maximum(first, third)
        left, right = ops.minimum(second, fourth), ops.maximum(second, fourth)

    def shared(low: Tensor, high: Tensor) -> Tensor:
        begin = ops.maximum(ops.expand_dims(low, -1), ops.expand_dims(low, -2))
        end = ops.minimum(ops.expand_dims(high, -1), ops.expand_dims(high, -2))
        return ops.maximum(end - begin, 0.0)

    area: Any = (bottom - top) * (right - left)
    inside = shared(top, bottom) * shared(left, right)
    union = ops.expand_dims(area, -1) + ops.expand_dims(area, -2) - inside
    return ops.div_no_nan(inside, union)
