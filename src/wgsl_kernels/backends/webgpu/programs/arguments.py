"""What a kernel is lowered for: the spec and the layout of each tensor, not its elements."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import (
    ITEMSIZE,
    device_bytes,
    is_row_major,
    row_major,
)
from wgsl_kernels.backends.webgpu.programs.program import ZEROS, BindingResource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, Layout
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec


ALIGNMENT = 256
"""Bytes that a window of a buffer begins at a multiple of."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One tensor of a kernel.

    Attributes:
        layout: Strides and offset of a view, None where it is contiguous.
        is_value: Whether it is one number on the host, which travels as a parameter.
        first_byte: Where in its buffer the binding begins; the layout's offset counts from there.
    """

    shape: Shape
    dtype: DType
    layout: Layout | None = None
    place: BindingResource = ZEROS
    is_value: bool = False
    first_byte: int = 0

    @classmethod
    def of(cls, array: GpuArray, number: int) -> Argument:
        """Return what ``array`` is as input ``number``."""
        is_value = array.is_scalar_on_host
        place = ZEROS if array.size == 0 else BindingResource("input", number)
        return cls(array.shape, array.dtype, array.layout, place, is_value)

    @classmethod
    def made(cls, spec: Spec, number: int) -> Argument:
        return cls(spec.shape, spec.dtype, None, BindingResource("buffer", number))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        return row_major(self.shape) if self.layout is None else self.layout[0]

    @property
    def offset(self) -> int:
        """Elements from the beginning of its buffer to the first one."""
        return 0 if self.layout is None else self.layout[1]

    @property
    def bound_bytes(self) -> int:
        """The bytes to bind: of a view up to its last element, whatever is behind it."""
        return bound_bytes(self.shape, self.dtype, self.layout)

    def within(self, largest: int) -> Argument:
        """Return the same, bound from its first element on where that keeps to a limit."""
        if self.layout is None or self.bound_bytes <= largest:
            return self
        strides, offset = self.layout
        steps = zip(self.shape, strides, strict=True)
        lowest = offset + sum((n - 1) * min(step, 0) for n, step in steps)
        itemsize = ITEMSIZE[self.dtype]
        first = lowest * itemsize // ALIGNMENT * ALIGNMENT
        offset -= first // itemsize
        is_flat = offset == 0 and is_row_major(self.shape, strides)
        layout = None if is_flat else (strides, offset)
        return replace(self, layout=layout, first_byte=self.first_byte + first)

    def contiguous(self) -> Argument:
        return Argument(self.shape, self.dtype, None, self.place, self.is_value)


def bound_bytes(shape: Shape, dtype: DType, layout: Layout | None) -> int:
    size = math.prod(shape)
    if layout is None or size == 0:
        return device_bytes(size, dtype)
    steps = zip(shape, layout[0], strict=True)
    reach = layout[1] + sum((n - 1) * max(step, 0) for n, step in steps) + 1
    return -(-reach * ITEMSIZE[dtype] // 4) * 4


def arguments_of(arrays: Sequence[GpuArray | None], largest: int) -> list[Argument | None]:
    """Return what arrays are as the inputs of a program."""
    return [
        None if one is None else Argument.of(one, n).within(largest) for n, one in enumerate(arrays)
    ]


def same_buffers(arrays: Sequence[Any]) -> tuple[int, ...]:
    if len(arrays) == 2:
        one, two = arrays
        if one is None or two is None or one.storage is None:
            return ()
        return (1,) if one.storage is two.storage else ()
    seen: set[int] = set()
    found: list[int] = []
    for index, array in enumerate(arrays):
        if array is not None and array.storage is not None:
            if id(array.storage) in seen:
                found.append(index)
            seen.add(id(array.storage))
    return tuple(found)


def tensor_facts(arguments: Mapping[str, Argument]) -> dict[str, Any]:
    """Return what is known of each tensor, by the names that fields and functions give it."""
    facts: dict[str, Any] = {}
    for name, one in arguments.items():
        facts[f"{name}_shape"] = one.shape
        facts[f"{name}_strides"] = one.strides
        facts[f"{name}_offset"] = one.offset
        facts[f"{name}_size"] = one.size
        facts[f"{name}_dtype"] = one.dtype
    return facts


def broadcast_strides(array: Argument | GpuArray, shape: Shape) -> tuple[int, ...]:
    """Return a tensor's strides as seen from ``shape``: 0 along broadcast axes."""
    missing = len(shape) - len(array.shape)
    own = tuple(
        0 if length == 1 else stride
        for length, stride in zip(array.shape, array.strides, strict=True)
    )
    return (0,) * missing + own


Strides = tuple[int, ...]


def collapse(
    shape: Sequence[int], strides: Sequence[Sequence[int]], kept: int | None = None
) -> tuple[tuple[int, ...], tuple[Strides, ...], int]:
    """Return ``shape`` and each tensor's strides with neighbouring axes merged where all allow it.

    Axes of size 1 go; two axes merge where, in every tensor, the outer stride is the inner
    stride times the inner size. The order of the elements stays.

    Args:
        shape: The iteration's sizes.
        strides: For every strided tensor its strides in that iteration, 0 where broadcast.
        kept: Of a reduction, how many leading axes are kept; kept and reduced never merge.

    Returns:
        The shape, the strides of each tensor, and how many of the axes are kept (all, for a map).

    Example:
        >>> collapse((4, 1, 5, 6), [(30, 0, 6, 1), (0, 0, 6, 1)])
        ((4, 30), ((30, 1), (0, 1)), 2)
    """
    split = len(shape) if kept is None else kept
    sizes: list[int] = []
    columns: list[tuple[int, ...]] = []
    kept_axes = 0
    for axis, size in enumerate(shape):
        column = tuple(one[axis] for one in strides)
        if axis == split:
            kept_axes = len(sizes)
        if size == 1:
            continue
        starts_anew = axis >= split and len(sizes) == kept_axes
        if sizes and not starts_anew and _follows(columns[-1], column, size):
            sizes[-1] *= size
            columns[-1] = column
        else:
            sizes.append(size)
            columns.append(column)
    if split >= len(shape):
        kept_axes = len(sizes)
    merged = tuple(tuple(column[tensor] for column in columns) for tensor in range(len(strides)))
    return tuple(sizes), merged, kept_axes


def _follows(outer: tuple[int, ...], inner: tuple[int, ...], size: int) -> bool:
    return all(o == i * size for o, i in zip(outer, inner, strict=True))
