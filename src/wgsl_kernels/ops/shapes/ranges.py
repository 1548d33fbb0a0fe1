"""Ops that make rows of numbers at even distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.drivers.host_memory import check_room, too_large
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import flag, integer, number, plain
from wgsl_kernels.engine.values.dtypes import INTEGERS, OBJECTS, DType, is_float, numpy_dtype
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.rules.numbers import as_int32
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeLike


@public(tfjs="range")
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """Return the numbers from ``start`` to before ``stop`` in steps of ``step``.

    Args:
        start: The first number; with ``start`` alone, the numbers run from 0 to before it.
        stop: Where to stop.
        step: The distance of neighbours; it may be negative.
        dtype: Without it int32 where all three are integers, else float32.
        device: The backend that makes them; without one the backend in force.

    Raises:
        ArgumentError: ``step`` is 0, or ``dtype`` cannot hold the numbers.

    Example:
        >>> wk.arange(1, 7, 2).tolist()
        [1, 3, 5]
    """
    if device is not None:
        with use_backend(device):
            return arange(start, stop, step, dtype=dtype)
    given = number("arange", "start", start)
    first, last = (0, given) if stop is None else (given, number("arange", "stop", stop))
    gap = number("arange", "step", step)
    whole = all(isinstance(one, int) for one in (first, last, gap))
    chosen = creation.chosen_dtype(dtype, "int32" if whole else "float32")
    if (last <= first and gap > 0) or (last >= first and gap < 0):
        return creation.zeros((0,), dtype=OBJECTS[chosen])
    return run("Range", start=first, stop=last, step=gap, dtype=chosen)


@public(tfjs="linspace")
def linspace(
    start: float,
    stop: float,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Return ``num`` numbers, evenly spaced from ``start`` to ``stop``, both included.

    Args:
        start: The first number.
        stop: The last one, or the one that would follow.
        num: How many.
        dtype: float32 without it.
        device: The backend that makes them; without one the backend in force.
        endpoint: Whether ``stop`` is among them.

    Raises:
        ArgumentError: ``num`` is below 1, or an end is no number.
        OutOfMemoryError: They are more than the backend may hold; no memory was taken.

    Example:
        >>> wk.linspace(0.0, 1.0, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if device is not None:
        with use_backend(device):
            return linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
    count = integer("linspace", "num", num)
    if count < 1:
        raise ArgumentError(f"linspace: num is {count}; want at least 1.")
    if endpoint is not True and not flag("linspace", "endpoint", endpoint):
        return linspace(start, stop, count + 1, dtype=dtype)[:-1]
    ends = _end("start", start), _end("stop", stop)
    chosen = creation.chosen_dtype(dtype, "float32")
    if any(isinstance(one, complex) for one in ends) and "complex" not in chosen:
        raise DTypeError(f"linspace: an end is complex; dtype {chosen} holds real numbers.")
    if chosen == "string":
        raise DTypeError("linspace: dtype is string; want one of numbers.")
    check_room((count,), chosen)
    first, last = ends
    if is_float(chosen) and _is_held(first, chosen) and _is_held(last, chosen):
        return run("LinSpace", start=first, stop=last, num=count, dtype=chosen)
    return tensor(_spaced(*ends, count, chosen), dtype=OBJECTS[chosen])


def _is_held(value: creation.Scalar, dtype: DType) -> bool:
    """Say whether a float dtype holds a number of this size."""
    return not isinstance(value, complex) and abs(value) <= float(np.finfo(numpy_dtype(dtype)).max)


def _spaced(start: creation.Scalar, stop: creation.Scalar, num: int, dtype: DType) -> Array:
    try:
        y = np.empty(num, numpy_dtype(dtype))
    except MemoryError:
        raise too_large(Spec((num,), dtype)) from None
    _space(y, start, stop)
    return y


@signature("LinSpace")
def _lin_space_signature(*, start: float, stop: float, num: int, dtype: DType = "float32") -> Spec:
    if num < 1:
        raise ArgumentError(f"LinSpace: num is {num}; want at least 1.")
    if not is_float(dtype):
        raise DTypeError(f"LinSpace: dtype is {dtype}; want float32.")
    for name, value in (("start", start), ("stop", stop)):
        if not _is_held(value, dtype):
            raise ArgumentError(f"LinSpace: {name} is {value}; want a number that {dtype} holds.")
    return Spec((num,), dtype)


@cpu_kernel("LinSpace")
def _lin_space_cpu(*, start: float, stop: float, num: int, dtype: DType) -> Array:
    return _spaced(start, stop, num, dtype)


def _lin_space_params(start: float, stop: float, num: int) -> dict[str, Any]:
    largest = float(np.finfo(np.float32).max)
    gap = min(max((stop - start) / max(num - 1, 1), -largest), largest)
    ends = {"first": _in_two(start), "last": _in_two(stop), "gap": _in_two(gap)}
    return {"count": num, **ends}


def _in_two(value: float) -> tuple[float, float]:
    """Return a number as the sum of two of float32."""
    near = float(np.float32(value))
    return near, value - near


wgsl_kernel("LinSpace", "shapes/ranges/lin_space.wesl", params=_lin_space_params)
no_gradient("LinSpace", because="it takes no tensor")


def _end(name: str, value: Any) -> creation.Scalar:
    given = plain(value)
    return given if isinstance(given, complex) else number("linspace", name, value)


@silent
def _space(y: Array, start: creation.Scalar, stop: creation.Scalar) -> None:
    """Fill ``y`` as NumPy's linspace does, bit for bit, in parts: it works in double precision."""
    first, last = np.asanyarray(start) * 1.0, np.asanyarray(stop) * 1.0
    apart, parts = np.subtract(last, first), len(y) - 1
    step = apart / parts if parts else apart
    for begin in range(0, len(y), _BLOCK):
        end = min(begin + _BLOCK, len(y))
        numbers = np.arange(begin, end).astype(np.result_type(first, last, np.float64))
        numbers = numbers / parts * apart if parts and step == 0 else numbers * step
        numbers += first
        if parts and end == len(y):
            numbers[-1] = last
        y[begin:end] = as_int32(numbers) if y.dtype == np.int32 else numbers


def _steps(start: float, stop: float, step: float) -> tuple[int, float]:
    """Return how many numbers there are and the step: 1 counts downwards where stop is below."""
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise ArgumentError(
            f"Range: start is {start}, stop {stop} and step {step}; "
            "want finite numbers and a step that is not 0."
        )
    used = -1 if stop < start and step == 1 else step
    try:
        return max(0, math.ceil((stop - start) / used)), used
    except OverflowError:
        raise ArgumentError(
            f"Range: start is {start}, stop {stop} and step {step}; want fewer numbers."
        ) from None


@signature("Range")
def _range_signature(
    *, start: float, stop: float, step: float = 1, dtype: DType = "float32"
) -> Spec:
    count, used = _steps(start, stop, step)
    if dtype not in INTEGERS and not is_float(dtype):
        raise DTypeError(f"Range: dtype is {dtype}; want float32 or an integer one.")
    creation.fitting("Range", "start", start, dtype)
    creation.fitting("Range", "step", step, dtype)
    if dtype != "float64" and abs(used) > np.finfo(np.float32).max:
        raise ArgumentError(f"Range: step is {step} and dtype {dtype}; want one that this holds.")
    if dtype in INTEGERS and count:
        creation.fitting("Range", "the last number", start + (count - 1) * int(used), dtype)
    return Spec((count,), dtype)


_BLOCK = 1 << 16
_EXACT = 1 << 24
"""Whole numbers up to which float32 has them all."""


@cpu_kernel("Range")
def _range_cpu(*, start: float, stop: float, step: float, dtype: DType) -> Array:
    count, used = _steps(start, stop, step)
    wanted = numpy_dtype(dtype)
    last = start + used * count
    whole = all(abs(one) <= _EXACT and float(one).is_integer() for one in (start, used, last))
    if whole and wanted.itemsize >= 4:
        return np.arange(int(start), int(last), int(used), dtype=wanted)
    y = np.empty(count, wanted)
    for first in range(0, count, _BLOCK):  # in double precision, which would double the memory
        block = y[first : first + _BLOCK]
        numbers = np.arange(first, first + len(block), dtype=np.float64)
        block[...] = start + used * numbers
    return y


def _range_params(start: float, stop: float, step: float, dtype: DType) -> dict[str, Any]:
    _, used = _steps(start, stop, step)
    whole = dtype == "int32"
    return {
        "first": start,
        "gap": used,
        "first_whole": int(start) if whole else 0,
        "gap_whole": int(used) if whole else 0,
    }


wgsl_kernel("Range", "shapes/ranges/range.wgsl", params=_range_params)
no_gradient("Range", because="it takes no tensor")
