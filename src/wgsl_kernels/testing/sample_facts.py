"""What the facts of a sample must be, so that a slip is told where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.dtypes import DTYPES
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.testing.sample import Sample


def check_facts(one: Sample) -> None:
    """Refuse facts of the wrong kind.

    Raises:
        ArgumentError: A fact is of another kind than its field's.
    """
    kernel: Any = one.kernel
    if not isinstance(kernel, str) or not kernel:
        raise ArgumentError(f"Sample: kernel is {shown(kernel)}; want a kernel's name.")
    for name in ("f", "bound", "reference"):
        value = getattr(one, name)
        if not callable(value) and (name == "f" or value is not None):
            raise _wrong(one, name, value, "a function")
    if not _is_listed(one.shapes) or not all(map(_is_shape, one.shapes)):
        raise _wrong(one, "shapes", one.shapes, "a shape per tensor, as ((2, 3),)")
    dtypes: Any = (one.dtypes,) if isinstance(one.dtypes, str) else one.dtypes
    if not _is_listed(dtypes) or not all(isinstance(d, str) and d in DTYPES for d in dtypes):
        raise _wrong(one, "dtypes", one.dtypes, f"one or some of {', '.join(DTYPES)}")
    if not isinstance(one.dtypes, str) and len(dtypes) != len(one.shapes):
        raise _wrong(one, "dtypes", one.dtypes, f"one dtype, or {len(one.shapes)} of them")
    for name in ("attrs", "tries"):
        value = getattr(one, name)
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise _wrong(one, name, value, "a dictionary by attribute")
    for attr, values in one.tries.items():
        if not _is_listed(values):
            raise _wrong(one, f"tries[{attr!r}]", values, "a sequence of values to try")
    _check_numbers(one)
    if one.values is not None and not _is_listed(one.values):
        raise _wrong(one, "values", one.values, "a tuple with an array for each shape")


def _check_numbers(one: Sample) -> None:
    """Refuse limits that are no numbers, or in the wrong order, and tolerances below 0."""
    count = len(one.shapes)
    limits: dict[str, tuple[Any, ...]] = {}
    for name in ("low", "high"):
        value = getattr(one, name)
        limits[name] = value if isinstance(value, tuple) else (value,) * count
        if len(limits[name]) != count or not all(map(_is_number, limits[name])):
            raise _wrong(one, name, value, f"a number, or {count} of them")
    if any(low > high for low, high in zip(limits["low"], limits["high"], strict=True)):
        raise _wrong(one, "low", one.low, f"at most high, which is {shown(one.high)}")
    for name in ("rtol", "atol", "ulp"):
        value = getattr(one, name)
        if value is not None and not (_is_number(value) and value >= 0):
            raise _wrong(one, name, value, "a number from 0 on")


def _wrong(one: Sample, name: str, value: Any, want: str) -> ArgumentError:
    return ArgumentError(f"Sample: {one.kernel}: {name} is {shown(value)}; want {want}.")


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_shape(value: Any) -> bool:
    return _is_listed(value) and all(type(one) is int and one >= 0 for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
