"""Values, gradients, second gradients and leaks of each row, on its own.

Each row runs in the default layout of its inputs, and every second one of a kernel on webgpu in one
other, chosen by a hash of its id, every eighth row in that one on cpu, too; with
WGSL_KERNELS_TEST_MODES=all in every one. Some of each kernel's rows are differentiated and run
again.
"""

from __future__ import annotations

import contextlib
import zlib
from typing import TYPE_CHECKING

import numpy as np
from tests.modes import ALL_MODES, bits, rows, some
from tests.samples.check import Case, backends_of, check, on_backends

import wgsl_kernels as wk
from wgsl_kernels.bench.comparison.checks import (
    check_forward,
    check_gradient_by_numbers,
    check_gradient_parity,
    check_leaks,
    check_second_order,
    has_gradient,
)
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, call_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.testing import Sample

SAMPLES = rows()
SMOOTH = [sample for sample in SAMPLES if has_gradient(sample)]
TWICE = [sample for sample in SMOOTH if sample.second_order]
TURNED = {sample.id for sample in some(SAMPLES, 2, "turned")}
"""Rows that run in another layout, too."""
ODD = np.array([3e38, -3e38, np.inf, -np.inf, np.nan, 0.0, 1e-45, 1.0])


def _layouts(sample: Sample, backend: str) -> tuple[str, ...]:
    first, *others = LAYOUTS
    if ALL_MODES:
        return (first, *others)
    if sample.id not in TURNED:
        return (first,)
    place = zlib.crc32(sample.id.encode())
    chosen = others[place % len(others)]
    return (first, chosen) if backend == "webgpu" or place // len(others) % 4 == 0 else (first,)


def _in_layouts(samples: Iterable[Sample]) -> list[Case]:
    return [
        Case(sample, backend, layout)
        for sample in samples
        for backend in backends_of(sample)
        for layout in _layouts(sample, backend)
    ]


@check(_in_layouts(SAMPLES), is_plain=True)
def results_lie_within_the_bound(case: Case) -> None:
    row = check_forward(*case)
    assert row.passed, str(row)


@check([Case(one, "cpu") for one in some(SMOOTH, 2, "numbers")], is_plain=True)
def the_gradient_agrees_with_numbers(case: Case) -> None:
    row = check_gradient_by_numbers(case.sample)
    assert row.passed, str(row)


@check(_in_layouts(some(SMOOTH, 2, "in float64")), is_plain=True)
def the_gradient_agrees_with_that_in_float64(case: Case) -> None:
    row = check_gradient_parity(*case)
    assert row.passed, str(row)


@check([Case(one, "cpu") for one in some(TWICE, 3, "second")], is_plain=True)
def the_second_gradient_agrees_with_differences(case: Case) -> None:
    row = check_second_order(case.sample)
    assert row.passed, str(row)


@check(on_backends(some(SAMPLES, 6, "alive")), is_plain=True)
def nothing_stays_alive_afterwards(case: Case) -> None:
    row = check_leaks(case.sample, case.backend)
    assert row.passed, str(row)


@check(on_backends(some(SAMPLES, 6, "again"), "webgpu"), is_plain=True)
def a_second_run_gives_the_same_bits(case: Case) -> None:
    arrays, f = arrays_for(case.sample), call_of(case.sample)
    with wk.use_backend(case.backend), wk.config.using(fallback="silent"):
        first, second = (bits(f(*tensors_for(arrays))) for _ in range(2))

    assert first == second


@check([Case(one, "cpu") for one in SAMPLES], is_plain=True)
def the_row_runs_the_kernel_that_it_names(case: Case) -> None:
    names = []

    def note(call: KernelRun, proceed: Proceed) -> Result:
        names.append(call.name)
        return proceed(call)

    with wk.use_backend(case.backend), wk.engine().intercept(note):
        call_of(case.sample)(*tensors_for(arrays_for(case.sample)))

    assert case.sample.kernel in names


@check([Case(one, "cpu") for one in SAMPLES])
def odd_numbers_cause_no_warning(case: Case) -> None:
    with wk.use_backend(case.backend):
        for only in (None, 3e38, np.inf, 0.0):
            with contextlib.suppress(wk.WgslKernelsError):  # some refuse such numbers
                call_of(case.sample)(*_odd_inputs(case.sample, only))


def _odd_inputs(sample: Sample, only: float | None) -> list[wk.Tensor]:
    draw = np.random.default_rng(0)
    found = []
    for array in arrays_for(sample):
        values = array
        if array.dtype.kind == "f":
            odd = draw.choice(ODD, array.shape) if only is None else np.full(array.shape, only)
            with np.errstate(all="ignore"):
                values = np.asarray(odd, array.dtype)
        found.append(wk.tensor(values))
    return found
