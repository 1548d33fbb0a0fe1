"""``x.at[index].set(values)`` and its kind: a new tensor that differs where an index says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.dtypes import INTEGERS, float32
from wgsl_kernels.ops.elementwise import binary
from wgsl_kernels.ops.elementwise.cast import astype
from wgsl_kernels.ops.indexing import indexing, segment, updates
from wgsl_kernels.ops.shapes import ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.ops.indexing.indexing import Index


class IndexUpdateHelper:
    """What ``x.at`` is: to be indexed as ``x`` is, and then changed."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, index: Index | tuple[Index, ...]) -> IndexUpdateRef:
        return IndexUpdateRef(self._x, index)


class IndexUpdateRef:
    """The elements of a tensor that an index names; ``x`` itself never changes."""

    __slots__ = ("_index", "_x")

    def __init__(self, x: Tensor, index: Index | tuple[Index, ...]) -> None:
        self._x = x
        self._index = index

    def set(self, values: TensorLike) -> Tensor:
        """Return ``x`` with ``values`` in place of these elements.

        Args:
            values: What broadcasts to the shape of ``x[index]``. Where an element is named twice,
                the last value counts, and alone has a gradient.

        Raises:
            ShapeError: It does not broadcast.
            IndexOutOfRange: As for ``x[index]``.
        """
        places, given = self._placed(values)
        flat = shapes.reshape(self._x, (-1,))
        rows = shapes.reshape(places, (-1, 1))
        changed = updates.tensor_scatter_update(flat, rows, shapes.reshape(given, (-1,)))
        return shapes.reshape(changed, self._x.shape)

    def add(self, values: TensorLike) -> Tensor:
        """Return ``x`` with ``values`` added to these elements, all where one is named twice.

        Args:
            values: What broadcasts to the shape of ``x[index]``.

        Raises:
            ShapeError: It does not broadcast.
            DTypeError: ``x`` holds integers or bools, ``values`` does not.
            IndexOutOfRange: As for ``x[index]``.
        """
        dtype = as_tensor(values).dtype
        are_whole = {dtype, self._x.dtype} <= INTEGERS
        if not are_whole and not np.can_cast(dtype, self._x.dtype, "same_kind"):
            raise DTypeError(
                f"add: x has dtype {self._x.dtype}, values {dtype}; want values of that kind, or "
                f'x.astype("{dtype}") before.'
            )
        places, given = self._placed(values)
        wide = float32 if self._x.dtype == "float16" else self._x.dtype
        rows = astype(shapes.reshape(given, (-1,)), wide)
        ids = shapes.reshape(places, (-1,))
        total = segment.unsorted_segment_sum(rows, ids, self._x.size)
        return binary.add(self._x, astype(shapes.reshape(total, self._x.shape), self._x.dtype))

    def _placed(self, values: TensorLike) -> tuple[Tensor, Tensor]:
        """Return the place of each element in row-major order, and its value."""
        x = self._x
        numbers = shapes.reshape(ranges.arange(x.size), x.shape)
        places = indexing.getitem(numbers, self._index)
        kind = None if isinstance(values, Tensor) else x.dtype
        return places, shapes.broadcast_to(as_tensor(values, dtype=kind), places.shape)


def at(x: Tensor) -> IndexUpdateHelper:
    """Return what is indexed to change ``x``: ``x.at[0, 1].set(2.0)``, ``x.at[rows].add(y)``."""
    return IndexUpdateHelper(x)
