"""A dispatch on intervals: its text, parameters and buffers, run by the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals.compiling import IntervalModule, intervals
from wgsl_kernels.bench.intervals.library import LIBRARY
from wgsl_kernels.bench.intervals.memory import IntervalWords
from wgsl_kernels.bench.intervals.numbers import OutOfReachError, rounded
from wgsl_kernels.bench.intervals.run import IntervalRun
from wgsl_kernels.simulator.dispatch import compile_entry
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.syntax.known import once_per_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.simulator.dispatch import EntryPoint
    from wgsl_kernels.wgsl.syntax.places import Text

MOST_INVOCATIONS = 1 << 14
"""Invocations of a dispatch that is computed on intervals."""


@once_per_text
def _compile(
    text: Text, entry: str, constants: tuple[tuple[str, float], ...], library: frozenset[str]
) -> EntryPoint:
    """Return what runs, compiled for intervals.

    Raises:
        OutOfReachError: It does what is not simulated.
    """
    try:
        return compile_entry(text, entry, dict(constants), intervals(library), IntervalModule)
    except RefusedError as error:
        raise OutOfReachError(error.message) from None


def run_on_intervals(
    dispatch: Dispatch,
    params: bytes,
    groups: tuple[int, int, int],
    buffers: Sequence[tuple[IntervalWords, int, int]],
    noted: dict[int, tuple[float, float]] | None = None,
    lanes: int = 0,
) -> bool:
    """Compute a dispatch on intervals, which changes its buffers.

    Args:
        dispatch: What runs.
        params: The bytes of its parameters.
        groups: Workgroups along x, y and z.
        buffers: Of each storage binding the words, the first byte and the bytes that it sees.
        noted: Gets what names may be, by where they begin in the text.
        lanes: Invocations of a subgroup, 0 where that is unknown.

    Returns:
        Whether values were taken apart as bits: then they are not those of the formula alone.

    Raises:
        OutOfReachError: It does something of which no interval is known.
    """
    composed = dispatch.module.composed
    x, y, z = composed.workgroup_size
    count = groups[0] * groups[1] * groups[2] * x * y * z
    if count > MOST_INVOCATIONS:
        raise OutOfReachError(f"{count} invocations")
    library = composed.shared_functions().intersection(LIBRARY)
    constants = tuple(dispatch.module.constants)
    entry = _compile(composed.source_map.composed, composed.entry, constants, library)
    bound: dict[tuple[int, int], IntervalWords] = {}
    slots = [one for one in composed.bindings if one.role != "params"]
    for slot, (words, first, nbytes) in zip(slots, buffers, strict=True):
        bound[0, slot.number] = words.part(first // 4, first // 4 + nbytes // 4)
    for slot in composed.bindings:
        if slot.role == "params":
            bound[0, slot.number] = _params(dispatch, params)
    runs: list[IntervalRun] = []

    def make(*given: Any) -> IntervalRun:
        runs.append(IntervalRun(*given))
        runs[-1].noted = noted
        return runs[-1]

    try:
        entry.run(groups, bound, runs=make, subgroup_size=lanes or 32)
    except ShaderError as error:
        raise OutOfReachError(str(error)) from None
    return any(one.is_refined for one in runs)


def _params(dispatch: Dispatch, params: bytes) -> IntervalWords:
    """Return parameters, of which floats may be what Python had or that as an f32."""
    words = IntervalWords(np.frombuffer(params, np.uint32))
    facts: Mapping[str, Any] = dispatch.params.facts
    for field in dispatch.module.composed.fields:
        value = facts.get(field.offer.fact)
        if field.scalar != "f32" or field.slots != 1 or type(value) is not float:
            continue
        at = np.array([field.offset // 4])
        words.see_as("f32", at)
        near = rounded(np.asarray(value), np.asarray(value), np.asarray(value))
        if not near.is_exact and np.isfinite(value) and np.isfinite(words.v[at]).all():
            words.set("f32", at, value, near.low, near.high)
    return words
