"""NumPy's functions that arrange elements anew by several of our ops; all differentiate."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.ops.elementwise import binary
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.linear_algebra import diagonals, norms
from wgsl_kernels.ops.shapes import joining, moving, slicing
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor


def swapaxes(a: Tensor, axis1: int, axis2: int) -> Tensor:
    """Return ``a`` with two axes exchanged."""
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return shapes.permute_dims(a, tuple(order))


def _split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    if isinstance(indices_or_sections, int):
        return list(slicing.split(ary, indices_or_sections, axis))
    bounds = [0, *map(int, indices_or_sections), ary.shape[axis]]
    sizes = [end - start for start, end in itertools.pairwise(bounds)]
    return list(slicing.split(ary, sizes, axis))


def _array_split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    if not isinstance(indices_or_sections, int) or indices_or_sections < 1:
        return _split(ary, indices_or_sections, axis)
    each, longer = divmod(ary.shape[axis], indices_or_sections)
    sizes = [each + 1] * longer + [each] * (indices_or_sections - longer)
    return list(slicing.split(ary, sizes, axis))


def _diag(v: Tensor, k: int = 0) -> Any:
    if v.ndim == 2:
        return norms.diagonal(v, offset=k)
    return diagonals.diag(v) if v.ndim == 1 and k == 0 else NotImplemented


def _dstack(tup: Sequence[Any]) -> Tensor:
    given = [as_tensor(one) for one in tup]
    rows = [shapes.reshape(x, (1, -1)) if x.ndim < 2 else x for x in given]
    return joining.concat([shapes.expand_dims(x, 2) if x.ndim == 2 else x for x in rows], 2)


def _kron(a: Any, b: Any) -> Any:
    a, b = as_tensor(a), as_tensor(b)
    rank = max(a.ndim, b.ndim)
    if rank > 3:  # tensors have up to 6 axes
        return NotImplemented
    sizes = [(*(1,) * (rank - x.ndim), *x.shape) for x in (a, b)]
    first = shapes.reshape(a, [one for size in sizes[0] for one in (size, 1)])
    second = shapes.reshape(b, [one for size in sizes[1] for one in (1, size)])
    return shapes.reshape(
        binary.multiply(first, second), [m * n for m, n in zip(*sizes, strict=True)]
    )


def _rot90(m: Tensor, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    turns = k % 4
    if turns == 2:
        return shapes.flip(m, axes)
    if turns == 1:
        return shapes.flip(swapaxes(m, *axes), axes[0])
    return swapaxes(shapes.flip(m, axes[0]), *axes) if turns else shapes.clone(m)


def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tensor:
    del subok, writeable  # a tensor never changes
    y = as_tensor(x)
    sizes = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = range(y.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    for size, at in zip(sizes, [one % y.ndim for one in axes], strict=True):
        count = y.shape[at] - size + 1
        if size < 0 or count < 1:
            raise ArgumentError(
                f"sliding_window_view: a window of {size} is given for an axis of {y.shape[at]}; "
                "want none that is longer."
            )
        places = np.arange(count, dtype=np.int32)[:, None] + np.arange(size, dtype=np.int32)
        y = moving.moveaxis(gather.take(y, places, at), at + 1, -1)
    return y


ARRANGED: dict[str, Callable[..., Any]] = {
    "array_split": _array_split,
    "diag": _diag,
    "dstack": _dstack,
    "kron": _kron,
    "lib.stride_tricks.sliding_window_view": _sliding_window_view,
    "rot90": _rot90,
    "split": _split,
    "swapaxes": swapaxes,
}
"""What runs for these functions of NumPy's main namespace."""
