"""NumPy's names for what a generator draws, with NumPy's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.values.dtypes import tensor_dtype
from wgsl_kernels.ops.elementwise import exponential

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeLike

    Real = Tensor | float

Size = int | Sequence[int] | None


class NumpyDraws:
    """Mixin: methods of ``numpy.random.Generator``."""

    if TYPE_CHECKING:

        def _drawn(self, kernel: str, size: Size, dtype: Any, **attrs: float) -> Tensor: ...

    def random(self, size: Size = None, dtype: DTypeLike = "float32") -> Tensor:
        """Return numbers in [0, 1), a scalar without ``size``.

        Example:
            >>> wk.random.default_rng(7).random((2, 3)).shape
            (2, 3)
        """
        return self._drawn("RandomUniform", size, dtype, minval=0.0, maxval=1.0)

    def uniform(self, low: Real = 0.0, high: Real = 1.0, size: Size = None) -> Tensor:
        """Return numbers in [low, high), which are broadcast to ``size``."""
        return low + (high - low) * self.random(_size(size, low, high))

    def standard_normal(self, size: Size = None, dtype: DTypeLike = "float32") -> Tensor:
        """Return normally distributed numbers of mean 0 and standard deviation 1."""
        return self._drawn("RandomNormal", size, dtype, mean=0.0, std_dev=1.0)

    def normal(self, loc: Real = 0.0, scale: Real = 1.0, size: Size = None) -> Tensor:
        """Return normally distributed numbers of mean ``loc`` and standard deviation ``scale``."""
        return loc + scale * self.standard_normal(_size(size, loc, scale))

    def exponential(self, scale: Real = 1.0, size: Size = None) -> Tensor:
        """Return exponentially distributed numbers of mean ``scale``."""
        return -scale * exponential.log1p(-self.random(_size(size, scale)))

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: DTypeLike = "int32",
        endpoint: bool = False,
    ) -> Tensor:
        """Return whole numbers in [low, high), or [0, low) without ``high``.

        Args:
            low: The smallest, or the end.
            high: The end, which does not occur unless ``endpoint``.
            size: The result's shape; a scalar without it.
            dtype: An integer dtype; int64 and others that tensors lack become int32.
            endpoint: Whether the end may occur.
        """
        first, last = (0, low) if high is None else (low, high)
        ends = {"minval": int(first), "maxval": int(last) + bool(endpoint)}
        drawn = self._drawn("RandomUniform", size, "int32", **ends)
        return drawn.astype(tensor_dtype(dtype), copy=False)


def _size(size: Size, *parameters: Any) -> Size:
    """Return the shape that is drawn: without a ``size`` that of the parameters together."""
    if size is not None:
        return size
    return np.broadcast_shapes(*(np.shape(one) for one in parameters))
