"""A sample: one row of facts about a kernel, from which the suites are driven."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Bound = Callable[[Sequence[np.ndarray], np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Sample:
    """One row: how a kernel is called and what its results may be.

    Attributes:
        kernel: The kernel's name.
        f: Runs it: tensors positionally, ``attrs`` as keywords.
        shapes: A shape per tensor.
        dtypes: The tensors' dtype, or one per tensor.
        attrs: Keyword arguments of ``f``.
        low: Smallest value drawn, or one per tensor.
        high: Largest value drawn, or one per tensor (exclusive for integers).
        bound: ``bound(inputs, expected) -> (low, high)``, float64 arrays: the interval that each
            element must lie in; ``None`` for 4 ULP of the result.
        second_order: Whether the gradient is differentiated again.
    """

    kernel: str
    f: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: str | tuple[str, ...] = "float32"
    attrs: Mapping[str, Any] = field(default_factory=dict)
    low: float | tuple[float, ...] = -2.0
    high: float | tuple[float, ...] = 2.0
    bound: Bound | None = None
    second_order: bool = True

    @property
    def input_dtypes(self) -> tuple[str, ...]:
        """The dtype of each tensor."""
        if isinstance(self.dtypes, str):
            return (self.dtypes,) * len(self.shapes)
        return self.dtypes

    @property
    def id(self) -> str:
        """The row's name in reports: kernel, shapes, dtypes other than float32, attributes."""
        shapes = "_".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        dtypes = "" if set(self.input_dtypes) <= {"float32"} else "-" + "_".join(self.input_dtypes)
        attrs = "".join(f"-{name}={value}" for name, value in self.attrs.items())
        return f"{self.kernel}-{shapes}{dtypes}{attrs}".replace(" ", "")
