"""How NumPy kernels are computed: silently, and in double precision where float32 would not do."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import numpy as np

from wgsl_kernels.backends.cpu.maps import mapped

if TYPE_CHECKING:
    from collections.abc import Callable

Params = ParamSpec("Params")
Result = TypeVar("Result")
Array = np.ndarray

WIDER = {
    np.dtype(np.float16): np.dtype(np.float64),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}

BLOCK = 1 << 14
"""Elements that are computed in double precision at a time, so that they stay in the cache."""

READ: list[Literal["readonly"]] = ["readonly"]
WRITE: list[Literal["writeonly"]] = ["writeonly"]

WORTH_MASKS = 1 << 12
"""Elements from which arithmetic on bits beats NumPy's choice, which guesses each branch."""


def silent(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return ``function`` without NumPy's warnings of overflow and invalid values."""

    @functools.wraps(function)
    def quiet(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return quiet


def widened(function: Callable[..., Any]) -> Callable[..., Array]:
    """Return ``function`` computed in double precision and rounded to its first array's dtype.

    It is called on blocks of elements, in any order and shape; a ufunc is called once, and NumPy
    converts its operands as it goes.
    """
    if isinstance(function, np.ufunc):
        return _widened_ufunc(function)

    @functools.wraps(function)
    def rounded(x: Array, *others: Array) -> Array:
        operands = [np.asarray(one) for one in (x, *others)]
        dtype = operands[0].dtype
        wide = WIDER.get(dtype, dtype)
        shape = np.broadcast_shapes(*(one.shape for one in operands))
        with np.errstate(all="ignore"):
            if max(one.size for one in operands) > BLOCK:
                return _in_blocks(function, operands, np.empty(shape, dtype), wide, wide)
            result = function(*(one.astype(wide) for one in operands))
            return np.asarray(result).astype(dtype)

    return rounded


def in_blocks(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Return ``function`` of floats, called on blocks of elements, which are rows."""

    @functools.wraps(function)
    def blocked(x: Array) -> Array:
        with np.errstate(all="ignore"):
            if x.size > BLOCK:
                return _in_blocks(function, [x], np.empty(x.shape, x.dtype), x.dtype, x.dtype)
            return np.asarray(function(x.reshape(-1))).reshape(x.shape)

    return blocked


def of_integers(function: Callable[..., Any]) -> Callable[..., Array]:
    """Return ``function`` of 32-bit integers, computed in double precision and wrapped.

    It must give whole numbers below 2^53; quotients of such integers are exact enough to be
    rounded down or toward zero, since they come no nearer to a whole number than 2^-32.
    """

    @functools.wraps(function)
    def wrapped(a: Array, b: Array) -> Array:
        wide = np.dtype(np.float64)
        shape = np.broadcast_shapes(a.shape, b.shape)
        with np.errstate(all="ignore"):
            if max(a.size, b.size) > BLOCK:
                y = np.empty(shape, a.dtype)
                return _in_blocks(function, [a, b], y, wide, np.dtype(np.int64))
            result = np.asarray(function(a.astype(wide), b.astype(wide)))
            return result.astype(np.int64).astype(a.dtype)

    return wrapped


def _widened_ufunc(ufunc: np.ufunc) -> Callable[..., Array]:
    def rounded(x: Array, *others: Array) -> Array:
        x = np.asarray(x)
        wide = WIDER.get(x.dtype, x.dtype)
        with np.errstate(all="ignore"):
            if others or not x.size:
                y = ufunc(x, *others, dtype=wide, casting="same_kind")
                return np.asarray(y).astype(x.dtype, copy=False)
            return np.asarray(ufunc(x, out=np.empty_like(x), dtype=wide, casting="same_kind"))

    return rounded


def _in_blocks(
    function: Callable[..., Any],
    operands: list[Array],
    y: Array,
    dtype: np.dtype[Any],
    result_dtype: np.dtype[Any],
) -> Array:
    """Fill ``y`` with ``function`` of the operands in ``dtype``, block by block."""
    count = len(operands)
    with np.nditer(
        [*operands, y],
        flags=["buffered", "external_loop"],
        op_flags=[*[READ] * count, WRITE],
        op_dtypes=[*[dtype] * count, result_dtype],
        casting="same_kind",
        buffersize=BLOCK,
    ) as blocks:
        for *values, result in blocks:
            result[...] = function(*values)
    return y


def native(ufunc: np.ufunc) -> Callable[..., Array]:
    """Return NumPy's own float32 version of ``ufunc``; other dtypes are computed as `widened`.

    For functions whose float32 version is within what their kernels' samples allow, on every
    instruction set that NumPy has one for.
    """
    accurate = widened(ufunc)

    def computed(x: Array, *others: Array) -> Array:
        if x.dtype != np.float32:
            return accurate(x, *others)
        with np.errstate(all="ignore"):
            return mapped(ufunc, x, *others)

    return computed


def select(condition: Array, t: Array, e: Array) -> Array:
    """Return ``t`` where the bool ``condition`` holds, else ``e``; both of one dtype."""
    shape = np.broadcast_shapes(condition.shape, t.shape, e.shape)
    if t.dtype.itemsize != 4 or t.dtype != e.dtype or math.prod(shape) < WORTH_MASKS:
        return np.where(condition, t, e)
    y = np.empty(shape, t.dtype)
    bits = [one.view(np.int32) for one in (t, e, y)]
    with np.nditer(
        [condition.view(np.int8), *bits],
        flags=["buffered", "external_loop"],
        op_flags=[READ, READ, READ, WRITE],
        buffersize=4 * BLOCK,
    ) as blocks:
        for holds, yes, no, result in blocks:
            mask = np.negative(holds).astype(np.int32)  # all bits or none
            np.bitwise_xor(yes, no, out=result)
            result &= mask
            result ^= no
    return y


def wide(x: Array) -> Array:
    """Return float16 as float32, which BLAS takes; all else as it is."""
    return x.astype(np.float32) if x.dtype == np.float16 else x
