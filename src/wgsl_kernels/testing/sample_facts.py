"""What the facts of a sample must be, so that a slip is told where it is written."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.dtypes import DTYPES, numpy_dtype
from wgsl_kernels.wgsl.errors.finding_codes import CODES
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.testing.sample import Sample

SPECIAL = (
    "NaN", "+Inf", "-Inf", "zeros", "subnormals", "halves", "edges", "extreme", "huge", "tiny",
)  # fmt: skip
"""The special values that a check puts among inputs, by name."""
_NARROW = {"int64": "int32", "complex128": "complex64"}
"""What stands for NumPy's own dtypes among drawn inputs."""


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
    if one.values is not None and one.make is not None:
        raise ArgumentError(f"Sample: {one.kernel} has values and make; want one of them.")
    _check_exceptions(one)


def _check_exceptions(one: Sample) -> None:
    """Refuse domains, special values and waivers of the wrong kind."""
    domain: Any = one.domain
    parts: Any = domain if _is_listed(domain) else ()
    is_given = domain is None or is_range(domain)
    is_each = _is_listed(domain) and len(parts) == len(one.shapes)
    is_each = is_each and all(each is None or is_range(each) for each in parts)
    if not is_given and not is_each:
        raise _wrong(one, "domain", domain, f"(low, high), or {len(one.shapes)} of them or None")
    special: Any = one.special
    if not _is_listed(special) or any(name not in SPECIAL for name in special):
        raise _wrong(one, "special", special, f"some of {', '.join(SPECIAL)}")
    waive: Any = one.waive
    if not isinstance(waive, Mapping):
        raise _wrong(one, "waive", waive, "a dictionary from codes to reasons")
    for code, reason in waive.items():
        if code not in CODES:
            raise _wrong(one, "waive", code, "codes of findings; docs/checking.md lists them")
        if not isinstance(reason, str) or not reason.strip():
            raise _wrong(one, f"waive[{code!r}]", reason, "the reason, in words")


def is_range(value: Any) -> bool:
    """Say whether a value is a pair of numbers, the smaller first; of one number both the same."""
    is_pair = isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))
    return is_pair and bool(value[0] <= value[1])


def made_inputs(one: Sample) -> list[np.ndarray[Any, Any]]:
    """Return what a sample's ``make`` draws at its size: always the same for one size.

    Raises:
        ArgumentError: It raises, gives no arrays, or those of a dtype that tensors have not.
    """
    if not callable(one.make):
        raise _wrong(one, "make", one.make, "a function of a generator and a size")
    size: Any = one.size
    if type(size) is not int or size < 0:
        raise _wrong(one, "size", size, "a number from 0 on")
    rng = np.random.default_rng([zlib.crc32(one.kernel.encode()), size])
    try:
        made = one.make(rng, size)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ArgumentError(f"Sample: {one.kernel}: make(rng, {size}) raised {what}.") from error
    if not _is_listed(made):
        raise _wrong(one, "what make gave", made, "a tuple with an array for each input")
    found: list[np.ndarray[Any, Any]] = []
    for number, array in enumerate(map(np.asarray, made)):
        name = _made_dtype(one, number, array)
        if name not in DTYPES or name == "string":
            raise _wrong(one, "what make gave", array.dtype.name, f"one of {', '.join(DTYPES)}")
        found.append(array.astype(numpy_dtype(name)))
    return found


def _made_dtype(one: Sample, number: int, array: np.ndarray[Any, Any]) -> Any:
    """Return the dtype of a drawn input: as stated for it, one for all being that of floats."""
    dtypes: Any = one.dtypes
    if not isinstance(dtypes, str) and number < len(dtypes):
        return dtypes[number]
    if array.dtype.kind == "f" and isinstance(dtypes, str):
        return dtypes
    return _NARROW.get(array.dtype.name, array.dtype.name)


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
