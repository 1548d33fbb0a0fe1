"""Runs a recorded case on a backend and says in words what differs from the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from tests.conformance import tolerance
from tests.conformance.corpus import Case, Inputs, Unknown

import wgsl_kernels as wk
from wgsl_kernels.testing import bounds

Array = np.ndarray
BACKENDS = ("cpu", "webgpu")


@contextmanager
def on(backend: str, values: Any = ()) -> Iterator[None]:
    """Run a block on ``backend``, where nothing but strings may fall back to another."""
    fallback = "silent" if _has_strings(values) else "error"
    with wk.use_backend(backend), wk.config.using(fallback=fallback):
        yield


def tensors_of(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs as tensors of the recorded dtypes."""
    return {
        name: [_tensor(one) for one in value] if isinstance(value, list) else _tensor(value)
        for name, value in inputs.items()
    }


def outputs_of(result: wk.Tensor | tuple[wk.Tensor, ...]) -> tuple[wk.Tensor, ...]:
    """Return what a kernel gave as a tuple."""
    return (result,) if isinstance(result, wk.Tensor) else tuple(result)


def replay(case: Case, backend: str) -> list[Array]:
    """Return what the kernel of a case gives on ``backend``."""
    inputs, attrs = case.inputs, case.attrs
    with on(backend, [*inputs.values(), *attrs.values()]):
        result = wk.engine().run_kernel(case.kernel, tensors_of(inputs), attrs)
        return [np.asarray(one.numpy()) for one in outputs_of(result)]


def difference(
    case: Case, actual: Sequence[Array], wanted: Sequence[Array | Unknown | None]
) -> str | None:
    """Return the first difference of a kernel's outputs from those wanted, or None."""
    if len(actual) != len(wanted):
        return f"{len(actual)} outputs, want {len(wanted)}"
    for index, (ours, theirs) in enumerate(zip(actual, wanted, strict=True)):
        problem = _compare(case, ours, theirs)
        if problem is not None:
            return f"output {index}: {problem}"
    return None


def outside(actual: Array, expected: Array, interval: bounds.Interval | None) -> str | None:
    """Return the worst element outside the interval (outside equality, where there is none)."""
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, want {expected.shape}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, want {expected.dtype}"
    right = (actual == expected) if interval is None else bounds.contains(interval, actual)
    if np.all(right):
        return None
    place = tuple(int(one) for one in np.argwhere(~np.asarray(right))[0])
    count = int(np.sum(~np.asarray(right)))
    return (
        f"{count} of {actual.size} elements differ, first at {list(place)}: "
        f"{actual[place]!r}, want {expected[place]!r}"
    )


def _compare(case: Case, ours: Array, theirs: Array | Unknown | None) -> str | None:
    if theirs is None:
        return None
    if isinstance(theirs, Unknown):
        given = _named(ours)
        return None if given == theirs else f"{given}, want {theirs}"
    interval = None
    if theirs.dtype.kind in "fc" and ours.shape == theirs.shape:
        interval = tolerance.interval(case.kernel, case.inputs, case.attrs, theirs)
    return outside(ours, theirs, interval)


def _named(array: Array) -> Unknown:
    return Unknown(array.shape, "string" if array.dtype == object else str(array.dtype))


def _tensor(array: Array) -> wk.Tensor:
    return wk.tensor(array, dtype="string" if array.dtype == object else array.dtype)


def _has_strings(values: Any) -> bool:
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return any(_has_strings(one) for one in values)
    if isinstance(values, np.ndarray):
        return bool(values.dtype == object)
    return isinstance(values, str) and values == "string"
