"""Timing an op at shapes of one's choice, from Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.tables import html_table
from wgsl_kernels.engine.values.attributes import function, sequence
from wgsl_kernels.engine.values.dtypes import numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.testing.rates import Rates, rates_of
from wgsl_kernels.testing.timing import Timing, timed

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.values.dtypes import DType

Shape: TypeAlias = Sequence[int]


@dataclass(frozen=True)
class BenchRow:
    """An op at certain shapes.

    Attributes:
        shapes: The shape of each input.
        times: How long it takes on each backend, warm.
        rates: What it reaches of what the adapter can do; None without ``webgpu``.
    """

    shapes: tuple[tuple[int, ...], ...]
    times: tuple[Timing, ...]
    rates: Rates | None


class Bench(list[BenchRow]):
    """What `bench` measured; prints as a table."""

    def __str__(self) -> str:
        lines: list[str] = []
        for row in self:
            lines.append(" ".join(map(show, row.shapes)) or "no inputs")
            lines += [
                f"  {one.backend:<8}{1e3 * one.seconds:>10.4g} ms"
                f"{one.gigabytes_per_second:>9.3g} GB/s"
                + (f"  {row.rates}" if row.rates and one is row.rates.timing else "")
                for one in row.times
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (
                " ".join(map(show, row.shapes)),
                one.backend,
                1e3 * one.seconds,
                one.gigabytes_per_second,
                row.rates if row.rates and one is row.rates.timing else "",
            )
            for row in self
            for one in row.times
        ]
        return html_table(("shapes", "backend", "ms", "GB/s", "of the adapter"), rows)


def bench(
    op: Callable[..., Any],
    shapes: Sequence[Shape | Sequence[Shape]],
    *,
    dtype: DType = "float32",
    attrs: dict[str, Any] | None = None,
    backends: Sequence[str] = ("cpu", "webgpu"),
) -> Bench:
    """Return how long an op takes, on numbers between 0 and 1, at each of several shapes.

    Args:
        op: Takes tensors, and ``attrs`` as keywords.
        shapes: A shape, or a tuple of shapes for several inputs, for each row.
        dtype: Of the inputs.
        attrs: Keyword arguments.
        backends: Where. Of ``webgpu`` a row also has which part of the adapter's bandwidth and
            arithmetic is reached, as a large map and a loop of multiplies and adds reach them.

    Raises:
        ArgumentError: ``op`` is no function, a shape is none, there is no shape, or a backend is
            unknown.

    Example:
        >>> found = wk.testing.bench(wk.exp, [(4,), (64, 64)], backends=("cpu",))
        >>> [row.shapes for row in found]
        [((4,),), ((64, 64),)]
    """
    function("bench", "op", op)
    rows = sequence("bench", "shapes", shapes, "shapes")
    if not rows:
        raise ArgumentError("bench: shapes is empty; want a shape, or several.")
    for one in sequence("bench", "backends", backends, "backends' names"):
        find_driver(one)
    draw = np.random.default_rng(0)
    named = getattr(op, "__name__", "op")

    def call(*xs: Any) -> Any:
        return op(*xs, **(attrs or {}))

    found = Bench()
    for given in rows:
        sizes = _several(given)
        arrays = [np.asarray(draw.random(one)).astype(numpy_dtype(dtype)) for one in sizes]
        times = tuple(timed(call, arrays, one, named) for one in backends)
        on_gpu = next((one for one in times if one.backend == "webgpu"), None)
        rates = None if on_gpu is None else rates_of(call, arrays, on_gpu)
        found.append(BenchRow(sizes, times, rates))
    return found


def _several(given: Any) -> tuple[tuple[int, ...], ...]:
    """Return one shape or several as a tuple of them.

    Raises:
        ArgumentError: It is neither.
    """
    try:
        parts = tuple(given)
        if all(isinstance(one, (int, np.integer)) for one in parts):
            return (tuple(map(int, parts)),)
        return tuple(tuple(map(int, one)) for one in parts)
    except (TypeError, ValueError):
        raise ArgumentError(f"bench: shapes has {given!r}; want a shape, or several.") from None
