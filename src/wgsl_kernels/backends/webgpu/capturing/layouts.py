"""The layout of a view in its buffer, as far as kernels can tell: what replays ask of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, GpuArray

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import Layout
    from wgsl_kernels.engine.values.spec import Shape

STEP = 32
"""Bytes by which a view may lie further on for the same dispatches: where wgpu lets bindings begin
at best, and a multiple of four elements of 8 bytes, within which our kernels look at an offset."""


def layout_of(array: GpuArray) -> tuple[Layout | None, int]:
    """Return an array's layout in the part of its buffer that a replay binds, and where that is.

    Equal layouts mean the same dispatches on other parts. Strides are kept; an offset is so only
    within `STEP` bytes, but what does not begin its buffer does not begin the part either.

    Returns:
        Strides and offset in that part, None for an array that is no view, and the number of
        elements in front of the part.
    """
    if array.layout is None or array.size == 0:
        return None, 0
    return _layout_of(array.shape, array.layout, STEP // ITEMSIZE[array.dtype])


def stretch(array: GpuArray) -> GpuArray:
    """Return what a replay binds of a view's buffer, up to the view's last element."""
    _, start = layout_of(array)
    size = _reach(array.shape, array.strides, array.offset)[1] - start
    layout = ((1,), start) if start else None
    return GpuArray((size,), array.dtype, size, array.storage, array.device, layout)


def _layout_of(shape: Shape, layout: Layout, step: int) -> tuple[Layout, int]:
    strides, offset = layout
    if offset < 2 * step:  # so near the beginning is any view's lowest element, too
        return layout, 0
    start = max(_reach(shape, strides, offset)[0] // step - 1, 0) * step
    return (strides, offset - start), start


def _reach(shape: Shape, strides: tuple[int, ...], offset: int) -> tuple[int, int]:
    """Return a view's lowest element and the one behind its highest."""
    low = high = offset
    for length, stride in zip(shape, strides, strict=True):
        end = (length - 1) * stride
        low, high = low + min(end, 0), high + max(end, 0)
    return low, high + 1
