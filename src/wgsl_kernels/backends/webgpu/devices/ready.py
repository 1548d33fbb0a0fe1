"""A dispatch with all that was checked and looked up beforehand: only its buffers are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.bindings import PipelineLayout
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline, Ranges
    from wgsl_kernels.backends.webgpu.devices.recorder import Dispatch, Label


Origin = tuple[Any, Any] | None
"""The program that a dispatch belongs to, and the dispatch there."""


class Fitting:
    """What bind groups of the same buffers have in common: a device makes one object of each.

    So it is looked up by identity, where the ranges would be hashed each time.
    """

    __slots__ = ("layout", "ranges", "window")

    def __init__(self, layout: PipelineLayout, window: int, ranges: Ranges) -> None:
        self.layout = layout
        self.window = window
        self.ranges = ranges


class Ready(NamedTuple):
    """One dispatch of a device, but for its buffers.

    Attributes:
        fitting: What is bound of the buffers, and how much of the parameters is seen.
        groups: The grid, which the device can run.
        work: How many workgroups it has; 0: there is nothing to do.
        origin: The program that it belongs to, and its dispatch there, for who explains it.
    """

    pipeline: Pipeline
    fitting: Fitting
    params: bytes
    groups: tuple[int, int, int]
    work: int
    label: Label
    origin: Origin = None


def label_of(record: Dispatch) -> str:
    """Return what a dispatch is called: its own label, or its pipeline's."""
    return shown(record[4] or record[0].label)


def shown(label: Label) -> str:
    """Return a label as errors and tables have it."""
    return label if isinstance(label, str) else " + ".join(label)
