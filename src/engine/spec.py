"""What is known of a tensor before its values: shape and dtype."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakValueDictionary

from wgsl_kernels.engine.dtypes import DType, itemsize

Shape = tuple[int, ...]


class Spec:
    """A shape with a dtype; equal ones are the same object, so they compare and hash by identity.

    ``shape`` may hold ``None`` where a length is known only after the run (``Unique``); ``size``
    and ``nbytes`` are then 0.
    """

    __slots__ = ("__weakref__", "dtype", "nbytes", "ndim", "shape", "size")

    shape: Shape
    dtype: DType
    size: int
    ndim: int
    nbytes: int

    def __new__(cls, shape: tuple[int | None, ...], dtype: DType) -> Spec:
        """Return the one Spec of this shape and dtype."""
        found = _interned.get((shape, dtype))
        if found is not None:
            return found
        self = object.__new__(cls)
        self.shape = shape  # type: ignore[assignment]  # None only until the run is done
        self.dtype = dtype
        self.ndim = len(shape)
        self.size = 0 if None in shape else math.prod(self.shape)
        self.nbytes = self.size * itemsize(dtype)
        return _interned.setdefault((shape, dtype), self)

    def like(self, shape: tuple[int | None, ...] | None = None, dtype: DType | None = None) -> Spec:
        """Return the Spec with ``shape`` or ``dtype`` replaced."""
        return Spec(self.shape if shape is None else shape, self.dtype if dtype is None else dtype)

    @property
    def is_known(self) -> bool:
        """Whether every length is known before the run."""
        return None not in self.shape

    def __repr__(self) -> str:
        return f"Spec({list(self.shape)}, {self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Spec, (self.shape, self.dtype))


_interned: WeakValueDictionary[tuple[tuple[int | None, ...], DType], Spec] = WeakValueDictionary()
