"""Every function of the array API standard against array-api-strict, on both backends."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import array_api_strict
import numpy as np
import pytest
from tests.standard.cases import ALL, CASES, arrays

import wgsl_kernels as wk
from wgsl_kernels.ops.names.deviations import DEVIATIONS, Deviation
from wgsl_kernels.ops.names.standards import ARRAY_API, REASONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WIDE = ("int64", "uint64")
BYTES = ("uint8",)
"""Dtypes that are given what int32 is given."""
DEFAULTS = {"float64": "float32", "complex128": "complex64", **dict.fromkeys(WIDE, "int32")}
"""The default dtypes of array-api-strict, and ours."""
BACKENDS = ("cpu", "webgpu")


def _names(space: Any, values: Mapping[str, Any], device: Any) -> dict[str, Any]:
    """Return what an expression may use, with arrays of one namespace."""
    found = {name: getattr(space, name) for name in dir(space) if not name.startswith("__")}
    found |= {name: getattr(space, name, name) for name in (*ALL.split(), "int32")}
    found |= {"linalg": space.linalg, "fft": space.fft}
    found["to_another_device"] = lambda x: x.to_device(device)
    found["unique_sorted"] = lambda parts: [space.take(x, space.argsort(parts[0])) for x in parts]
    return found | {name: space.asarray(one) for name, one in values.items()}


def _parts(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from _parts(one)
    else:
        yield result


def _values(result: Any) -> list[tuple[str, Any]]:
    """Return dtype and values of each array in a result."""
    found = []
    for one in _parts(result):
        values = np.asarray(one.numpy() if isinstance(one, wk.Tensor) else one)
        found.append((DEFAULTS.get(values.dtype.name, values.dtype.name), values))
    return found


def _theirs(expression: str, dtype: str) -> list[tuple[str, Any]]:
    other = array_api_strict.Device("device1")
    names = _names(array_api_strict, arrays(dtype), other)
    return _values(eval(expression, names))


def _ours(expression: str, dtype: str, backend: str) -> list[tuple[str, Any]]:
    other = "webgpu" if backend == "cpu" else "cpu"
    with wk.use_backend(backend), wk.config.using(fallback="error"):
        return _values(eval(expression, _names(wk, arrays(dtype), other)))


def _are_alike(ours: list[tuple[str, Any]], theirs: list[tuple[str, Any]]) -> bool:
    return [(name, x.shape) for name, x in ours] == [(name, x.shape) for name, x in theirs] and all(
        np.allclose(a, b, rtol=2e-5, atol=1e-5, equal_nan=True)
        for (_, a), (_, b) in zip(ours, theirs, strict=True)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [*ALL.split(), *BYTES])
@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_agree_with_the_referee(backend: str, dtype: str) -> None:
    wrong = [
        expression
        for expression, of in CASES
        if of == ("int32" if dtype in BYTES else dtype)
        and not _are_alike(_ours(expression, dtype, backend), _theirs(expression, dtype))
    ]
    assert wrong == []


@pytest.mark.gpu
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("row", DEVIATIONS, ids=lambda row: row.name)
def test_what_deviates_still_does(row: Deviation, backend: str) -> None:
    for dtype in row.dtypes:
        theirs = _theirs(row.probe, dtype)
        try:
            ours = _ours(row.probe, dtype, backend)
        except wk.WgslKernelsError:
            continue
        assert not _are_alike(ours, theirs), dtype


def _functions() -> list[tuple[str, Any, Any]]:
    found = []
    for space, names in ARRAY_API.items():
        theirs = getattr(array_api_strict, space) if space else array_api_strict
        ours = getattr(wk, space) if space else wk
        for name in names:
            f = getattr(theirs, name)
            if callable(f) and not inspect.isclass(f) and name not in REASONS:
                found.append((f"{space}.{name}", f, getattr(ours, name)))
    return found


def test_every_function_is_called_by_a_case() -> None:
    text = " ".join([*(called for called, _ in CASES), *(one.probe for one in DEVIATIONS)])
    apart = {"__array_namespace_info__", "from_dlpack", "unique_all", "unique_inverse"}
    missing = [name for name, _, _ in _functions() if f"{name.rpartition('.')[2]}(" not in text]
    assert {name.strip(".") for name in missing} <= apart


@pytest.mark.parametrize(
    ("name", "theirs", "ours"), [pytest.param(*one, id=one[0]) for one in _functions()]
)
def test_a_function_takes_the_parameters_that_the_standard_names(
    name: str, theirs: Any, ours: Any
) -> None:
    have = inspect.signature(ours).parameters
    for one in inspect.signature(theirs).parameters.values():
        if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD):
            assert one.name in have, f"{name} lacks {one.name}"
        if one.default is not one.empty and one.name in have:
            assert have[one.name].default is not one.empty, f"{name}: {one.name} has no default"
