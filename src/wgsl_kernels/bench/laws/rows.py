"""Rows of a reduction or a scan that show what accumulators forget: of one sign, equal, long."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.derived.host_kernels import Rows
from wgsl_kernels.bench.laws.trials import DRAWN, trials
from wgsl_kernels.engine.environment.parameters import parameters_of
from wgsl_kernels.testing.inputs import arrays_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.bench.laws.combined import Combined
    from wgsl_kernels.testing.sample import Sample

    Array = np.ndarray[Any, Any]

LONG = 3000
"""Elements of a long row: several parts, whatever the adapter."""
MOST_ELEMENTS = 1 << 14
"""Elements of an input with long rows."""
SHORT = 2
"""What other lengths become beside a long one."""
NEAR_ONE = 1 - 2.0**-10
"""A coefficient of a scan that carries far."""
FEW = (-1.0, 0.0, 1.0)
"""Numbers of few kinds: products of many are none that overflow."""


@dataclass(frozen=True)
class PatternedRows:
    """A way to call a kernel.

    Attributes:
        code: What wrong values are called there.
        what: What is special about it.
        sample: The sample, with its shapes and attributes.
        arrays: The inputs.
    """

    code: str
    what: str
    sample: Sample
    arrays: tuple[Array, ...]


def patterned(sample: Sample, combined: Combined) -> Iterator[PatternedRows]:
    """Yield a sample with rows of which most have none: no number is outside of what it states.

    Args:
        sample: A sample whose first tensor is what is combined.
        combined: What it has a kernel combine.
    """
    if sample.make is not None or sample.values is not None or not sample.shapes:
        return
    first, *others = arrays_for(sample)
    if first.dtype not in (np.float32, np.int32) or not first.size:
        return
    found = trials(sample, first, first.size, count=1)
    seen = {DRAWN}
    for column, (what, is_far) in enumerate(zip(found.patterns, found.is_far, strict=True)):
        if not is_far and what not in seen:
            seen.add(what)
            x = found.values[:, column].reshape(first.shape)
            yield PatternedRows("wrong-values", what, sample, (x, *others))
    if combined.form != "window":
        yield from _long(sample, combined)


def _long(sample: Sample, combined: Combined) -> Iterator[PatternedRows]:
    """Yield a sample with long rows of few kinds of numbers, and with coefficients near 1."""
    rows = Rows.of(combined.shader, list(sample.shapes), combined.attrs)
    if len(rows.order) - len(rows.kept) != 1:
        return
    length = rows.shape[rows.order[-1]]
    shapes = tuple([
        tuple([LONG if one == length else min(one, SHORT) for one in shape])
        for shape in sample.shapes
    ])  # fmt: skip
    if max(int(np.prod(one)) for one in shapes) > MOST_ELEMENTS:
        return
    longer = replace(sample, shapes=shapes)
    first, *others = arrays_for(longer)
    low, high = first.min(), first.max()
    kinds = [one for one in FEW if low <= one <= high]
    draw = np.random.default_rng(LONG)
    pool = np.array(kinds if len(kinds) > 1 else draw.choice(first.ravel(), 3), first.dtype)
    few = draw.choice(pool, first.shape)
    yield PatternedRows("wrong-at-size", "of few kinds", longer, (few, *others))
    if combined.form != "scan":
        return
    known = {**parameters_of(inspect.unwrap(sample.f)).defaults, **sample.attrs}
    for name, value in known.items():
        if isinstance(value, float) and 0 < value < 1:
            near = replace(longer, attrs={**sample.attrs, name: NEAR_ONE})
            what = f"{name}={NEAR_ONE:.3g}"
            yield PatternedRows("wrong-for-attribute", what, near, (first, *others))
