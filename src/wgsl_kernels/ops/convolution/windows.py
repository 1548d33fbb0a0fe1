"""What convolutions share beyond the arithmetic of windows: formats of images, and checks."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.values.windows import Sliding, slide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.engine.values.spec import Shape, Spec

IMAGES: Mapping[str, bool | int] = MappingProxyType({})
VOLUMES: Mapping[str, bool | int] = MappingProxyType({"PLANES": True})


def channels_last(x: Array, data_format: str) -> Array:
    """Return a view of images as NHWC."""
    return np.moveaxis(x, 1, 3) if data_format == "NCHW" else x


def in_format(x: Array, data_format: str) -> Array:
    """Return NHWC images in ``data_format``."""
    return np.ascontiguousarray(np.moveaxis(x, 3, 1)) if data_format == "NCHW" else x


def convolved(
    kernel: str, x: Spec, filter: Spec, *, axes: int = 2, groups: int = 1, **geometry: Any
) -> Shape:
    """Return the shape that a convolution gives.

    Args:
        kernel: Its name.
        x: Images.
        filter: Its filter.
        axes: The number of spatial axes.
        groups: Parts of the channels that are convolved apart.
        **geometry: Its attributes.

    Raises:
        ShapeError, DTypeError, ArgumentError: It cannot be.
    """
    if groups < 1:
        raise ArgumentError(f"{kernel}: groups is {groups}; want 1 or more.")
    sliding = slide_filter(kernel, x, filter, axes, groups, **geometry)
    if filter.shape[-1] % groups:
        raise ShapeError(
            f"{kernel}: filter is {show(filter.shape)} with groups {groups}; want out channels, "
            "the last axis, that groups divides."
        )
    return sliding.shape_with(filter.shape[-1])


def slide_filter(
    kernel: str, x: Spec, filter: Spec, axes: int = 2, groups: int = 1, **geometry: Any
) -> Sliding:
    """Return how a filter moves over images, which have the channels that it wants.

    Raises:
        ShapeError, DTypeError, ArgumentError: It cannot be.
    """
    for name, spec in (("x", x), ("filter", filter)):
        require_dtype(kernel, name, spec, "float32")
        require_rank(kernel, name, spec, axes + 2)
    try:
        sliding = slide(kernel, x.shape, filter.shape, **geometry)
    except ShapeError as error:
        raise ShapeError(f"{error} {_layouts(kernel, geometry['data_format'], axes)}") from None
    if sliding.channels != filter.shape[-2] * groups:
        want = f"filter[{axes}] == {sliding.channels}"
        if groups > 1:
            want = f"filter[{axes}] * groups == {sliding.channels}, groups being {groups}"
        raise ShapeError(
            f"{kernel}: channels differ: x is {show(x.shape)} ({sliding.data_format}), filter is "
            f"{show(filter.shape)}; want {want}. "
            f"{_layouts(kernel, sliding.data_format, axes)}"
        )
    return sliding


def _layouts(kernel: str, data_format: str, axes: int) -> str:
    """Return the words on how images and filters are read: other libraries put channels first."""
    window = ", ".join(("depth", "height", "width")[-axes:])
    last, order = ("in, multiplier", (0, 1)) if "Depthwise" in kernel else ("in, out", (1, 0))
    return (
        f"x is read as {data_format}, filter as [{window}, {last}]: data_format= and "
        f"permute_dims(filter, {(*range(2, axes + 2), *order)}) serve arrays with channels first."
    )


def sliding_of(kernel: str, shape: Shape, filter_shape: Shape, **geometry: Any) -> Sliding:
    """Return how a filter moves over images; without ``dilations`` it reads neighbours."""
    return slide(kernel, shape, filter_shape, **_dilated(geometry))


def convolved_by_channel(kernel: str, x: Spec, filter: Spec, **geometry: Any) -> Shape:
    """Return the shape that a depthwise convolution gives; ``geometry`` is its attributes.

    Raises:
        ShapeError, DTypeError, ArgumentError: It cannot be.
    """
    sliding = slide_filter(kernel, x, filter, **_dilated(geometry))
    return sliding.shape_with(filter.shape[2] * filter.shape[3])


def _dilated(geometry: Mapping[str, Any]) -> dict[str, Any]:
    dilations = geometry["dilations"]
    return {**geometry, "dilations": 1 if dilations is None else dilations}


def shader_axes(sliding: Sliding, groups: int = 1) -> Mapping[str, bool | int]:
    """Return the constants of shaders/lib/axes.wesl, and of operands of convolutions in groups."""
    axes = VOLUMES if len(sliding.axes) == 3 else IMAGES
    return axes if groups == 1 else {**axes, "GROUPED": True}


def fields_of(sliding: Sliding, **arrays: GpuArray) -> dict[str, Any]:
    """Return the fields that shaders name; ``arrays`` are in the format of ``sliding``.

    Of volumes the step from one plane to the next is a field of its own, so that the other four
    strides are those of images.
    """
    fields = sliding.fields()
    if len(sliding.axes) == 3:
        plane = 2 if sliding.is_channels_first else 1
        for name, array in arrays.items():
            strides = list(array.strides)
            fields[f"{name}_plane_strides"] = strides.pop(plane)
            fields[f"{name}_strides"] = tuple(strides)
    return fields
