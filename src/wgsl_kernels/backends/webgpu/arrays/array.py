"""Arrays of the WebGPU backend: a view of a buffer, or host values that no kernel has asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.arrays.host_values import HostValues, ViewedValues
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.environment.recent import remembered
from wgsl_kernels.engine.values.attributes import integers
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from weakref import ref

    from wgsl_kernels.backends.webgpu.arrays.host_values import PackedValues
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape, Spec


ITEMSIZE = {
    "float32": 4,
    "int32": 4,
    "bool": 4,
    "float16": 2,
    "complex64": 8,
    "int8": 1,
    "uint8": 1,
}
"""Bytes of one element in a buffer; the dtypes that live there."""

SMALL = 64
"""Elements up to which an op runs on the host. An add of so many takes 5 us there; its dispatch
takes a software adapter 60 us, and a read waits longer. Checking each number limits it."""

CHECKED_BYTES = 1 << 18
"""Smaller arrays are left to the pool's own check."""

Layout = tuple[tuple[int, ...], int]
"""Strides and offset of a view, in elements."""


class Tail:
    """Which map is the last that was put behind a pending kernel, held weakly."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: ref[GpuArray] | None = None


class GpuArray:
    """One array: shape and dtype, and where its elements are.

    Attributes:
        layout: ``None`` where the elements lie row-major from the storage's beginning, else
            strides and offset.
        storage: The buffer on ``device``; ``None`` for an empty array and where only the host
            has the values.
        host: The values on the host, where they came from there; a view has them if it was made
            while no device did.
        source: Of a view, what its storage is filled with, where that came from the host.
        packed: A row-major copy of a view, once one was needed.
        immutable: Whether a tensor holds the values, so that no kernel may write there.
        op: Of a pending array, what makes it from ``inputs``; ``None`` once it is made.
        inputs: The arrays that it is made of.
        cost: About how many pending arrays it depends on, itself included.
        held_bytes: About how many bytes its inputs keep, each counted as often as it is used.
        place: Code and instruction that called the op.
        tail: Of a pending array that a kernel with a loop of its own makes, and of the maps of its
            size behind it, where the last of them is noted.
    """

    __slots__ = (
        "__weakref__", "cost", "device", "dtype", "held_bytes", "host", "immutable", "inputs",
        "layout", "op", "packed", "place", "shape", "size", "source", "storage", "tail",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        dtype: DType,
        size: int,
        storage: Storage | None,
        device: Device | None,
        layout: Layout | None = None,
        host: HostValues | ViewedValues | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = size
        self.storage = storage
        self.device = device
        self.layout = layout
        self.host = host
        self.source: HostValues | PackedValues | None = None
        self.packed: GpuArray | None = None
        self.immutable = False
        self.op: Any = None
        self.inputs: Sequence[GpuArray] = ()
        self.cost = 0
        self.held_bytes = 0
        self.place: tuple[Any, int] | None = None
        self.tail: Tail | None = None

    def materialise(self, storage: Storage | None, device: Device | None) -> None:
        """Give a pending array what was made for it: it is an ordinary one from now on."""
        self.storage = storage
        self.device = device
        self.op = None
        self.inputs = ()
        self.cost = 0
        self.tail = None

    @property
    def strides(self) -> tuple[int, ...]:
        return row_major(self.shape) if self.layout is None else self.layout[0]

    @property
    def offset(self) -> int:
        """Elements from the storage's beginning to the first one."""
        return 0 if self.layout is None else self.layout[1]

    @property
    def filling(self) -> HostValues | PackedValues | None:
        """What the storage is filled with, now or later, where that comes from the host."""
        return self.host if isinstance(self.host, HostValues) else self.source

    @property
    def is_scalar_on_host(self) -> bool:
        """Whether the array is one number that can travel as a parameter."""
        return self.size == 1 and self.host is not None

    @property
    def scalar(self) -> Any:
        assert self.host is not None
        return self.host.values.reshape(-1)[0].item()


def row_major(shape: Shape) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def is_row_major(shape: Shape, strides: Sequence[int]) -> bool:
    """Say whether ``strides`` walk ``shape`` without gaps; axes of length 1 do not matter."""
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def device_bytes(size: int, dtype: DType) -> int:
    """Return the bytes of ``size`` elements in a buffer, a multiple of 4."""
    return -(-size * ITEMSIZE[dtype] // 4) * 4


def view_of(array: GpuArray, shape: Shape, strides: tuple[int, ...], offset: int) -> GpuArray:
    """Return a view of ``array``'s storage; no element moves.

    Host values come along where the view has them all in order, so that a reshaped scalar still
    travels as a parameter, and where no device has them; else it knows where to find them if the
    device is lost.
    """
    size = math.prod(shape)
    contiguous = is_row_major(shape, strides)
    layout = None if contiguous and offset == 0 else (strides, offset)
    host: HostValues | ViewedValues | None = None
    filling = array.filling
    if layout is None and size == array.size and isinstance(array.host, HostValues):
        host = array.host
    elif array.storage is None and filling is not None and 0 < size <= max(array.size, SMALL):
        host = ViewedValues(filling, shape, strides, offset)
        if size == 1:  # it travels as a parameter, whose place in a buffer nobody looks at
            number = HostValues(np.array(host.values))
            return GpuArray(shape, array.dtype, 1, None, None, host=number)
    view = GpuArray(shape, array.dtype, size, array.storage, array.device, layout, host=host)
    view.source = filling
    view.immutable = array.immutable
    return view


def words_of_bytes(array: GpuArray) -> GpuArray:
    """Return a contiguous array of bytes as the int32 words that hold them."""
    count = -(-array.size // 4)
    return GpuArray((count,), "int32", count, array.storage, array.device)


def to_device_values(values: Array, dtype: DType) -> Array:
    """Return host values as they lie in a buffer: a bool is a u32."""
    return values.astype(np.uint32) if dtype == "bool" else np.ascontiguousarray(values)


def to_host_values(raw: Array, spec: Spec) -> Array:
    if spec.dtype == "bool":
        return raw[: spec.size * 4].view(np.uint32).astype(np.bool_).reshape(spec.shape)
    nbytes = spec.size * ITEMSIZE[spec.dtype]
    return raw[:nbytes].view(numpy_dtype(spec.dtype)).reshape(spec.shape)


def extent(kernel: str, shape: Shape, dtype: DType) -> tuple[Shape, int, int, str]:
    """Return the shape as plain ints, elements, bytes and words of an array that can be."""
    try:
        return _extent[kernel, shape, dtype]
    except TypeError as error:
        if isinstance(error, DTypeError):
            raise
    return _extent.function(kernel, shape, dtype)  # lists and arrays are not remembered


@remembered(500)
def _extent(kernel: str, shape: Shape, dtype: Any) -> tuple[Shape, int, int, str]:
    shape = integers(f"{kernel}: empty", "shape", shape)
    if any(length < 0 for length in shape):
        raise ShapeError(f"{kernel}: empty got shape {show(shape)}; want lengths from 0.")
    if not isinstance(dtype, str) or dtype not in ITEMSIZE:
        known = ", ".join(ITEMSIZE)
        raise DTypeError(f"{kernel}: empty got dtype {shown(dtype)}; on webgpu live {known}.")
    size = math.prod(shape)
    return shape, size, device_bytes(size, dtype), f"{show(shape)} {dtype}"


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
