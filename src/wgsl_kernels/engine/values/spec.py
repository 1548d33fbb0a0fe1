"""What is known of a tensor before its values: shape and dtype."""

from __future__ import annotations

import math
import operator
from typing import Any
from weakref import WeakValueDictionary

from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.values.dtypes import DTYPES, DType, itemsize
from wgsl_kernels.wgsl.errors.words import shown

Shape = tuple[int, ...]


class NoShapeError(ShapeError):
    """A shape that no tensor can have; who knows the kernel says it again with its name."""


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
        try:
            found = _interned.get((shape, dtype))
        except TypeError:  # lists and arrays among them
            shape, found = _as_ints(shape), None
        if found is not None:
            return found
        shape = _as_ints(shape)
        if dtype not in DTYPES:
            raise DTypeError(f"dtype {shown(dtype)} is unknown; want one of {', '.join(DTYPES)}.")
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


def _as_ints(shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return lengths as plain ints: True and 1.0 equal 1, and all that have its Spec would see it.

    Raises:
        NoShapeError: A length is no integer, or an axis of length 0 hides that no array can have
            the others.
    """
    try:
        lengths = tuple([None if one is None else _as_int(one) for one in shape])
    except Exception:
        raise NoShapeError(f"shape is {shown(shape)}; want lengths that are integers.") from None
    if 0 in lengths and math.prod(one for one in lengths if one) > _MOST:
        raise NoShapeError(
            f"shape is {shown(shape)}; want lengths that multiply to at most 2^59 without the 0."
        )
    return lengths


def _as_int(length: int) -> int:
    if isinstance(length, bool):
        raise TypeError("a bool is no length")
    return operator.index(length)


_MOST = 1 << 59
"""Elements of 16 bytes beyond which NumPy makes no array, also where one of its lengths is 0."""
_interned: WeakValueDictionary[tuple[tuple[int | None, ...], DType], Spec] = WeakValueDictionary()
