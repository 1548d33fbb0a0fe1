"""Checks that signatures share; each takes the kernel's name first and begins messages with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.values.attributes import integer, integers
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec


def show(shape: Sequence[int | None]) -> str:
    """Return a shape as messages print it: ``[2, 3]``, with ``?`` where it is not known."""
    return "[" + ", ".join("?" if length is None else str(length) for length in shape) + "]"


def broadcast_shapes(*shapes: Shape) -> Shape | None:
    """Return the shape that all broadcast to by NumPy's rules, or None where there is none."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, length in enumerate(shape, start=rank - len(shape)):
            if length == 1:
                continue
            if result[axis] not in (1, length):
                return None
            result[axis] = length
    return tuple(result)


def broadcast(kernel: str, /, **specs: Spec) -> Shape:
    """Return the shape that the named inputs broadcast to.

    Raises:
        ShapeError: They do not; the message names the axis.
    """
    shape = broadcast_shapes(*(spec.shape for spec in specs.values()))
    if shape is not None:
        return shape
    rank = max(spec.ndim for spec in specs.values())
    for axis in range(-1, -rank - 1, -1):
        lengths = {spec.shape[axis] for spec in specs.values() if spec.ndim >= -axis} - {1}
        if len(lengths) > 1:
            break
    given = ", ".join(f"{name} is {show(spec.shape)}" for name, spec in specs.items())
    raise ShapeError(
        f"{kernel}: shapes do not broadcast: {given}; want equal lengths or 1 in axis {axis}."
    )


def lengths(kernel: str, name: str, shape: Any) -> Shape:
    """Return a length, or several, as a tuple of ints.

    Raises:
        ArgumentError: One is no integer.
        ShapeError: One is below 0.
    """
    want = integers(kernel, name, shape)
    if min(want, default=0) < 0:
        raise ShapeError(f"{kernel}: {name} is {show(want)}; want lengths of at least 0.")
    return want


def open_lengths(kernel: str, name: str, shape: Any) -> tuple[int | None, ...]:
    """Return lengths of which some may be None, which stands for any.

    Raises:
        ArgumentError: One is something else, or below 0.
    """
    if not isinstance(shape, (list, tuple)):
        return lengths(kernel, name, shape)
    known = iter(lengths(kernel, name, tuple(one for one in shape if one is not None)))
    return tuple(None if one is None else next(known) for one in shape)


def normalize_axis(kernel: str, axis: Any, ndim: int, name: str = "axis") -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ArgumentError: It is no integer, or not in [-ndim, ndim).
    """
    index = integer(kernel, name, axis)
    if not -ndim <= index < ndim:
        raise ArgumentError(
            f"{kernel}: {name} is {index}, but the tensor has rank {ndim}; "
            f"want an axis in [{-ndim}, {ndim})."
        )
    return index % ndim


def normalize_axes(kernel: str, axis: Any, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Return axes counted from the front, in ascending order; ``None`` stands for all of them.

    Raises:
        ArgumentError: One is no integer, out of range or given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:  # most are
        return (normalize_axis(kernel, axis, ndim, name),)
    given = integers(kernel, name, axis)
    axes = sorted(normalize_axis(kernel, one, ndim, name) for one in given)
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{kernel}: {name} is {shown(axis)}; each axis may stand only once.")
    return tuple(axes)


def reduced(shape: Shape, axes: Sequence[int], keep_dims: bool) -> Shape:
    """Return the shape that is left of ``shape`` when ``axes`` are reduced."""
    if keep_dims:
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def require_dtype(kernel: str, name: str, spec: Spec, *allowed: DType) -> None:
    """Refuse an input whose dtype is not among ``allowed``.

    float64 passes where float32 does, and complex128 where complex64 does: gradients are checked
    in double precision. int8 and uint8, which are computed in int32, pass where that does.

    Raises:
        DTypeError: It is not.
    """
    dtype = spec.dtype
    if dtype in allowed or (dtype == "float64" and "float32" in allowed):
        return
    if dtype == "complex128" and "complex64" in allowed:
        return
    if dtype == "float16" and "float32" in allowed:
        return
    if dtype in BYTES and "int32" in allowed:
        return
    raise DTypeError(f"{kernel}: {name} has dtype {dtype}; want {' or '.join(allowed)}.")


def require_rank(kernel: str, name: str, spec: Spec, *ranks: int) -> None:
    """Refuse an input whose rank is not among ``ranks``.

    Raises:
        ShapeError: It is not.
    """
    if spec.ndim not in ranks:
        want = " or ".join(map(str, ranks))
        raise ShapeError(
            f"{kernel}: {name} has shape {show(spec.shape)}, rank {spec.ndim}; want rank {want}."
        )
