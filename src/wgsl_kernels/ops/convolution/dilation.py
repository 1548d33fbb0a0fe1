"""Grey-scale dilation of images: the largest sum of an element and a filter's; and its gradients.

All go by where the largest sum of each window comes from: the gradients add dy there, and theirs
fetch what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.environment.parameters import takes
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.values.windows import Sliding, slide
from wgsl_kernels.ops.elementwise import binary, logical
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec
    from wgsl_kernels.engine.values.windows import Padding, Pair

_TAPS = 1 << 15
"""Elements of a filter that one invocation goes through."""


class _Window:
    """The attributes that say how the filter moves, as signatures declare them."""

    strides: Pair
    pad: Padding
    dilations: Pair = 1


@public(tfjs="dilation2d")
def dilation2d(
    x: TensorLike,
    filter: TensorLike,
    *,
    strides: Pair = 1,
    pad: Padding = "valid",
    dilations: Pair = 1,
) -> Tensor:
    """Return the largest ``x + filter`` of each window, channel by channel.

    The gradient goes to the first of equal sums, row by row.

    Args:
        x: [batch, height, width, channels], or one image without the batch; float32.
        filter: [height, width, channels].
        strides: Elements between two windows, one number or two.
        pad: "valid" or "same", or numbers as `avg_pool` takes them.
        dilations: Elements between two that a window reads.

    Returns:
        [batch, places down, places across, channels]; padding does not count.

    Raises:
        ShapeError: The ranks or channels do not fit, or the window is larger than the image.

    Example:
        >>> dilation2d(tensor([[[[1.0], [2.0]]]]), tensor([[[0.5], [0.0]]])).tolist()
        [[[[2.0]]]]
    """
    given = as_floats(x)
    single = given.ndim == 3
    batch = shapes.expand_dims(given) if single else given
    y = run("Dilation2D", batch, filter, strides=strides, pad=pad, dilations=dilations)
    return shapes.reshape(y, y.shape[1:]) if single else y


def _sliding(kernel: str, x: Shape, filter: Shape, geometry: dict[str, Any]) -> Sliding:
    return slide(kernel, x, filter[:2], **geometry)


def _checked(kernel: str, x: Spec, filter: Spec, **geometry: Any) -> Shape:
    """Return the result's shape, or refuse the inputs."""
    require_rank(kernel, "x", x, 4)
    require_rank(kernel, "filter", filter, 3)
    for name, one in (("x", x), ("filter", filter)):
        require_dtype(kernel, name, one, "float32")
    if x.shape[3] != filter.shape[2] or filter.shape[0] * filter.shape[1] > _TAPS:
        raise ShapeError(
            f"{kernel}: x has shape {show(x.shape)} and filter {show(filter.shape)}; want as many "
            f"channels, and at most {_TAPS} elements for each."
        )
    return _sliding(kernel, x.shape, filter.shape, geometry).out_shape


@signature("Dilation2D", promote=("x", "filter"), floats=("x", "filter"))
@takes(_Window)
def _dilation2d_signature(x: Spec, filter: Spec, /, **geometry: Any) -> Spec:
    shape = _checked("Dilation2D", x, filter, **geometry)
    return x.like(shape=shape)


class _LargestSums(NamedTuple):
    """The largest sums, and the indices of what they were made of; -1 of none."""

    best: Array
    of_x: Array
    of_filter: Array


@silent
def _find(kernel: str, x: Array, filter: Array, geometry: dict[str, Any]) -> _LargestSums:
    sliding = _sliding(kernel, x.shape, filter.shape, geometry)
    rows, cols = sliding.rows, sliding.cols
    room = sliding.padded(x, 0)
    numbers = sliding.padded(np.arange(x.size, dtype=np.int32).reshape(x.shape), -1)
    best = np.full(sliding.out_shape, -np.inf, x.dtype)
    of_x, of_filter = (np.full(best.shape, -1, np.int32) for _ in range(2))
    places = np.arange(filter.size, dtype=np.int32).reshape(filter.shape)
    for row in range(rows.window):
        for col in range(cols.window):
            part = (slice(None), rows.places(row), cols.places(col))
            sums, from_x = room[part] + filter[row, col], numbers[part]
            is_better = ~np.isnan(best) & (np.isnan(sums) | (sums > best))
            taken = (from_x >= 0) & ((of_x < 0) | is_better)
            best = np.where(taken, sums, best)
            of_x = np.where(taken, from_x, of_x)
            of_filter = np.where(taken, places[row, col], of_filter)
    return _LargestSums(best, of_x, of_filter)


@cpu_kernel("Dilation2D")
def _dilation2d_cpu(x: Array, filter: Array, **geometry: Any) -> Array:
    return _find("Dilation2D", x, filter, geometry).best


_VALUE, _OF_X, _OF_FILTER = 0, 1, 2


def _found_on_device(
    gpu: Gpu, kernel: str, x: GpuArray, filter: GpuArray, what: int, geometry: dict[str, Any]
) -> GpuArray:
    sliding = _sliding(kernel, x.shape, filter.shape, geometry)
    y = gpu.empty(sliding.out_shape, x.dtype if what == _VALUE else "int32")
    if y.size:
        fields = sliding.fields()
        del fields["channels_first"]
        gpu.dispatch(
            "convolution/dilation/dilation2d.wesl",
            {"x": x, "filter_": filter, "y": y},
            params={**fields, "what": what, "channels": sliding.channels},
        )
    return y


@wgsl_kernel("Dilation2D")
def _dilation2d_webgpu(gpu: Gpu, x: GpuArray, filter: GpuArray, **geometry: Any) -> GpuArray:
    return _found_on_device(gpu, "Dilation2D", x, filter, _VALUE, geometry)


@gradient("Dilation2D")
def _dilation2d_grad(dy: Tensor, x: Tensor, filter: Tensor, **geometry: Any) -> Any:
    return (
        lambda: run("Dilation2DBackpropInput", x, filter, dy, **geometry),
        lambda: run("Dilation2DBackpropFilter", x, filter, dy, **geometry),
    )


def _check_gradient(kernel: str, x: Spec, filter: Spec, dy: Spec, **geometry: Any) -> None:
    shape = _checked(kernel, x, filter, **geometry)
    require_dtype(kernel, "dy", dy, "float32")
    if dy.shape != shape:
        raise ShapeError(f"{kernel}: dy has shape {show(dy.shape)}; want {show(shape)}.")


def _added(dy: Array, places: Array, shape: Shape) -> Array:
    total = segment.summed(dy.reshape(-1, 1), places.reshape(-1), int(np.prod(shape)))
    return total.reshape(shape)


def _added_on_device(gpu: Gpu, dy: GpuArray, places: GpuArray, shape: Shape) -> GpuArray:
    if not dy.size:
        return gpu.full(shape, dy.dtype, 0)
    flat, ids = (shapes.reshaped(gpu, one, (dy.size,)) for one in (dy, places))
    total = segment.summed_on_device(gpu, flat, ids, int(np.prod(shape)))
    return shapes.reshaped(gpu, total, shape)


def _fetched(
    values: Tensor,
    x: Tensor,
    filter: Tensor,
    which: int,
    geometry: dict[str, Any],
) -> Tensor:
    """Return what ``values`` has where each window's largest sum comes from."""
    places = run_many("Dilation2DPlaces", x, filter, **geometry)[which]
    inside = binary.maximum(places, 0)
    flat = gather.take(shapes.reshape(values, (-1,)), shapes.reshape(inside, (-1,)))
    return logical.where(places >= 0, shapes.reshape(flat, places.shape), 0.0)


def _declare_backprop(kernel: str, which: int) -> None:
    """Declare the gradient by the images, 0, or by the filter, 1."""

    @signature(kernel, promote=("x", "filter", "dy"))
    @takes(_Window)
    def backprop_signature(x: Spec, filter: Spec, dy: Spec, /, **geometry: Any) -> Spec:
        _check_gradient(kernel, x, filter, dy, **geometry)
        return (x, filter)[which]

    @cpu_kernel(kernel)
    @silent
    def backprop_cpu(x: Array, filter: Array, dy: Array, **geometry: Any) -> Array:
        places = _find(kernel, x, filter, geometry)[1 + which]
        return _added(dy, places, (x, filter)[which].shape)

    @wgsl_kernel(kernel)
    def backprop_webgpu(
        gpu: Gpu, x: GpuArray, filter: GpuArray, dy: GpuArray, **geometry: Any
    ) -> GpuArray:
        places = _found_on_device(gpu, kernel, x, filter, (_OF_X, _OF_FILTER)[which], geometry)
        return _added_on_device(gpu, dy, places, (x, filter)[which].shape)

    @gradient(kernel)
    def backprop_grad(
        ddx: Tensor, x: Tensor, filter: Tensor, **geometry: Any
    ) -> tuple[None, None, Tensor]:
        return None, None, _fetched(ddx, x, filter, which, geometry)


_declare_backprop("Dilation2DBackpropFilter", 1)
_declare_backprop("Dilation2DBackpropInput", 0)


@signature("Dilation2DPlaces", promote=("x", "filter"))
@takes(_Window)
def _places_signature(x: Spec, filter: Spec, /, **geometry: Any) -> dict[str, Spec]:
    shape = _checked("Dilation2DPlaces", x, filter, **geometry)
    places = x.like(shape=shape, dtype="int32")
    return {"of_x": places, "of_filter": places}


@cpu_kernel("Dilation2DPlaces")
def _places_cpu(x: Array, filter: Array, **geometry: Any) -> tuple[Array, Array]:
    found = _find("Dilation2DPlaces", x, filter, geometry)
    return found.of_x, found.of_filter


@wgsl_kernel("Dilation2DPlaces")
def _places_webgpu(
    gpu: Gpu, x: GpuArray, filter: GpuArray, **geometry: Any
) -> tuple[GpuArray, GpuArray]:
    of_x, of_filter = (
        _found_on_device(gpu, "Dilation2DPlaces", x, filter, what, geometry)
        for what in (_OF_X, _OF_FILTER)
    )
    return of_x, of_filter


no_gradient("Dilation2DPlaces", because="its outputs are indices")
