"""assert_close: whether values are those expected, within a stated tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgsl_kernels.engine.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]

DEFAULTS = {"float16": (1e-2, 1e-3), "float64": (1e-12, 1e-13), "complex128": (1e-12, 1e-13)}
"""rtol and atol where none is given, by dtype; float32 and complex64 have the last line's."""
_SINGLE = (1e-5, 1e-6)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
) -> None:
    """Raise unless every element of ``actual`` is near that of ``expected``.

    An element is near if |a - e| <= atol + rtol * |e|, or if it is within ``ulp`` units in the last
    place of e in the dtype of ``actual``. NaN equals NaN only, and each infinity itself only;
    integers, bools and strings must be equal where no tolerance is given.

    Args:
        actual: A tensor or array, or a list or tuple of them.
        expected: The same, of equal shapes.
        rtol: Relative tolerance. Where no tolerance is given, float32 has rtol 1e-5 and atol 1e-6.
        atol: Absolute tolerance, in the unit of the values.
        ulp: Units in the last place.

    Raises:
        AssertionError: Shapes differ, or an element is not near; the message names the worst.
    """
    if isinstance(actual, (list, tuple)) and any(isinstance(one, Tensor) for one in actual):
        assert len(actual) == len(expected), (
            f"assert_close: got {len(actual)} tensors, want {len(expected)}."
        )
        for one, wanted in zip(actual, expected, strict=True):
            assert_close(one, wanted, rtol=rtol, atol=atol, ulp=ulp)
        return
    have, want = _values(actual), _values(expected)
    if have.shape != want.shape:
        raise AssertionError(
            f"assert_close: got shape {list(have.shape)}, want {list(want.shape)}."
        )
    error, allowed = _error_and_tolerance(have, want, rtol, atol, ulp)
    bad = ~(error <= allowed)
    if bad.any():
        raise AssertionError(_message(have, want, error, allowed, bad))


def _values(given: Any) -> Array:
    return given.numpy() if isinstance(given, Tensor) else np.asarray(given)


def _error_and_tolerance(
    have: Array, want: Array, rtol: float | None, atol: float | None, ulp: float | None
) -> tuple[Array, Array]:
    free = rtol is None and atol is None and ulp is None
    whole = not (_is_inexact(have) or _is_inexact(want))
    if (whole and free) or have.dtype == object or want.dtype == object:
        equal = np.asarray(have == want)
        return np.where(equal, 0.0, np.inf), np.zeros(have.shape)
    relative, fixed = rtol or 0.0, atol or 0.0
    if free:
        relative, fixed = DEFAULTS.get(have.dtype.name, _SINGLE)
    wide = np.result_type(have, want, np.float64)
    a, e = have.astype(wide), want.astype(wide)
    with np.errstate(all="ignore"):
        allowed = fixed + relative * np.abs(e)
        if ulp is not None:
            allowed = np.maximum(allowed, ulp * spacing(np.abs(e), have.dtype))
        error = np.abs(a - e)
    alike = equal_or_nan(np.real(a), np.real(e)) & equal_or_nan(np.imag(a), np.imag(e))
    settled = np.isfinite(a) & np.isfinite(e)
    error = np.where(alike, 0.0, np.where(settled, error, np.inf))
    return error, np.where(settled, allowed, 0.0)


def _is_inexact(values: Array) -> bool:
    return bool(np.issubdtype(values.dtype, np.inexact))


def largest_at(values: Array) -> tuple[int, ...]:
    """Return the index of the largest element; of truth values that of the first that holds."""
    return tuple(map(int, np.unravel_index(int(np.argmax(values)), values.shape)))


def equal_or_nan(one: Array, two: Array) -> Array:
    """Return which elements are equal; NaN is equal to NaN."""
    return np.asarray((one == two) | ((one != one) & (two != two)))


def spacing(size: Array, dtype: Any) -> Array:
    """Return one unit in the last place of numbers of these absolute values, in ``dtype``."""
    kind = np.dtype(dtype)
    single = {"c": np.float64 if kind.itemsize == 16 else np.float32}.get(kind.kind)
    target = single or (kind.type if kind.kind == "f" else np.float32)
    info = np.finfo(target)
    clipped = np.clip(np.nan_to_num(size, nan=1.0), float(info.tiny), float(info.max))
    return np.asarray(2.0 ** np.floor(np.log2(clipped)) * float(info.eps), np.float64)


def _message(have: Array, want: Array, error: Array, allowed: Array, bad: Array) -> str:
    excess = np.where(bad, np.where(np.isnan(error), np.inf, error - allowed), -np.inf)
    at = largest_at(excess)
    place = f" at {list(at)}" if at else ""
    return (
        f"assert_close: {int(bad.sum())} of {bad.size} elements differ; worst{place}: "
        f"got {have[at]!r}, want {want[at]!r} (off {error[at]:.3g}, allowed {allowed[at]:.3g})."
    )
