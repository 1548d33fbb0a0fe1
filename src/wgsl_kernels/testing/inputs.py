"""The tensors that a sample is called with: drawn from its facts, in several memory layouts."""

from __future__ import annotations

import functools
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.values.dtypes import INTEGERS, numpy_dtype
from wgsl_kernels.ops.shapes import shape
from wgsl_kernels.testing.sample_facts import made_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.testing.sample import Range, Sample

Array = np.ndarray[Any, Any]

_WORDS = ("", "a", "to be", " or  not", "naïve", "日本 語", "x" * 9)


def call_of(sample: Sample) -> Callable[..., Any]:
    """Return what runs a sample: its function, with the attributes, on tensors."""
    return functools.partial(sample.f, **sample.attrs)


def arrays_for(sample: Sample) -> list[Array]:
    """Return values for each tensor of ``sample``: always the same ones."""
    if sample.make is not None:
        return made_inputs(sample)
    if sample.values is not None:
        pairs = zip(sample.values, sample.shapes, sample.input_dtypes, strict=True)
        return [np.asarray(one, numpy_dtype(dtype)).reshape(shape) for one, shape, dtype in pairs]
    draw = np.random.default_rng(zlib.crc32(sample.id.encode()))
    rows = zip(sample.shapes, sample.input_dtypes, ranges_of(sample), strict=True)
    return [_drawn(draw, *row) for row in rows]


def ranges_of(sample: Sample) -> list[Range]:
    """Return the smallest and the largest value that is drawn, for each tensor."""

    def each(given: float | tuple[float, ...]) -> tuple[float, ...]:
        return given if isinstance(given, tuple) else (given,) * len(sample.shapes)

    return list(zip(each(sample.low), each(sample.high), strict=True))


def _drawn(draw: np.random.Generator, shape: tuple[int, ...], dtype: str, within: Range) -> Array:
    low, high = within
    if dtype == "string":
        words = np.empty(shape, object)
        for index in np.ndindex(shape):
            words[index] = _WORDS[draw.integers(len(_WORDS))]
        return words
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return draw.integers(int(low), int(high), shape).astype(numpy_dtype(dtype))
    real = draw.uniform(low, high, shape)
    values = real + 1j * draw.uniform(low, high, shape) if dtype.startswith("complex") else real
    return np.asarray(values).astype(numpy_dtype(dtype))


def tensors_for(arrays: Sequence[Array], layout: str = "default") -> list[Tensor]:
    """Return tensors of these values on the active backend, in one of `LAYOUTS`."""
    return [LAYOUTS[layout](one) for one in arrays]


def _transposed(values: Array) -> Tensor:
    if values.ndim < 2:
        return tensor(values)
    return shape.permute_dims(tensor(np.ascontiguousarray(values.T)))


def _sliced(values: Array) -> Tensor:
    """Return a view of every second element, what lies between them being poison."""
    lengths = [2 * length + 1 for length in values.shape] or [3]
    wide = np.full(lengths, _poison(values), values.dtype)
    if values.ndim == 0:
        wide[1] = values[()]
        return tensor(wide)[1]
    wide[(slice(1, None, 2),) * values.ndim] = values
    return tensor(wide)[(slice(1, None, 2),) * values.ndim]


def _poison(values: Array) -> Any:
    if values.dtype == object:
        return "poison"
    return np.array(np.nan if values.dtype.kind in "fc" else 77).astype(values.dtype)


def _reversed(values: Array) -> Tensor:
    return shape.flip(tensor(np.flip(values).copy())) if values.ndim else tensor(values)


LAYOUTS: dict[str, Callable[[Array], Tensor]] = {
    "default": tensor,
    "transposed": _transposed,
    "sliced": _sliced,
    "reversed": _reversed,
}
"""Ways in which equal values may lie in memory, by name."""
