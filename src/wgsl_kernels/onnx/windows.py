"""Windows of convolutions and poolings: their sizes, strides and the padding around the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode


@dataclass(frozen=True)
class OnnxWindow:
    """What a node's attributes say of its window, one number a spatial axis.

    Attributes:
        size: Elements.
        strides: From one window to the next.
        dilations: From one element to the next.
        pads: Before each axis, then after each.
        auto: ``NOTSET``, ``VALID``, ``SAME_UPPER`` or ``SAME_LOWER``.
        ceil: Whether a window that ends outside counts.
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    auto: str
    ceil: bool

    @classmethod
    def of(cls, node: OnnxNode, size: tuple[int, ...] | None = None) -> OnnxWindow:
        """Return the window of a node; ``size`` is that of its filters.

        Raises:
            ShapeError: The node says another size.
        """
        said = node.attr("kernel_shape")
        if size and said and tuple(said) != tuple(size):
            raise ShapeError(
                f"{node.op}: kernel_shape is {list(said)}; the filters have {list(size)}."
            )
        kernel = tuple(size or said)
        ones = (1,) * len(kernel)
        auto = node.attr("auto_pad", "NOTSET")
        pads = node.attr("pads") if auto == "NOTSET" else None
        return cls(
            kernel,
            tuple(node.attr("strides") or ones),
            tuple(node.attr("dilations") or ones),
            tuple(pads or (0,) * 2 * len(kernel)),
            auto,
            bool(node.attr("ceil_mode", 0)),
        )


def spatial_axes(op: str, x: Tensor) -> int:
    """Return how many axes of [batch, channels, ...] a window moves along.

    Raises:
        ShapeError: There are none, or more than three.
    """
    axes = x.ndim - 2
    if not 1 <= axes <= 3:
        raise ShapeError(f"{op}: x has {axes} spatial axes; want 1 to 3.")
    return axes


def window_counts(
    window: OnnxWindow, lengths: Sequence[int], pads: Sequence[tuple[int, int]]
) -> list[int]:
    """Return how many windows there are along each axis, below 1 where none fits."""
    return [
        (n + a + b - (k - 1) * d - 1) // s + 1
        for n, (a, b), k, d, s in zip(
            lengths, pads, window.size, window.dilations, window.strides, strict=True
        )
    ]


def padding(window: OnnxWindow, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return the elements to add before and after each axis, so that all windows are whole."""
    found = []
    count = len(window.size)
    for i, length in enumerate(lengths):
        span = (window.size[i] - 1) * window.dilations[i] + 1
        stride = window.strides[i]
        before, after = window.pads[i], window.pads[i + count]
        if window.auto.startswith("SAME"):
            more = max(0, (-(-length // stride) - 1) * stride + span - length)
            before = more // 2 if window.auto == "SAME_UPPER" else more - more // 2
            after = more - before
        elif window.ceil:
            steps = -(-(length + before + after - span) // stride)
            if steps * stride >= length + before:  # it would begin in the padding
                steps -= 1
            after = max(after, steps * stride + span - length - before)
        found.append((before, after))
    return found
