"""What every row of the sample tables drives: values, gradients, second gradients, leaks.

Each row runs in the default mode, and every second one of a kernel on webgpu in one other, chosen
by a hash of its id, every eighth row in that one on cpu, too; with WGSL_KERNELS_TEST_MODES=all in
every one. A mode is a layout of the inputs in memory. Some of each kernel's rows are differentiated
and run again. What else the suite's modes change is said in tests/modes.py.
"""

import zlib
from collections.abc import Sequence

import pytest
from tests.modes import ALL_MODES, rows, some

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.bench.comparison.checks import (
    check_forward,
    check_gradient_by_numbers,
    check_gradient_parity,
    check_leaks,
    check_second_order,
    has_gradient,
)
from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.testing import Sample
from wgsl_kernels.testing.inputs import LAYOUTS, arrays_for, tensors_for

SAMPLES = rows()
SMOOTH = [sample for sample in SAMPLES if has_gradient(sample)]
TWICE = [sample for sample in SMOOTH if sample.second_order]
TURNED = {sample.id for sample in some(SAMPLES, 2, "turned")}
"""Rows that run in another layout, too."""


def _modes(sample: Sample, backend: str) -> tuple[str, ...]:
    first, *others = LAYOUTS
    if ALL_MODES:
        return (first, *others)
    if sample.id not in TURNED:
        return (first,)
    place = zlib.crc32(sample.id.encode())
    chosen = others[place % len(others)]
    return (first, chosen) if backend == "webgpu" or place // len(others) % 4 == 0 else (first,)


def _backends(sample: Sample) -> tuple[str, ...]:
    """Return where the row runs: float16 only where the adapter has it."""
    if "float16" not in sample.input_dtypes:
        return ("cpu", "webgpu")
    choice = choose_adapter()
    lacking = choice is not None and "shader-f16" not in choice.info.features
    return ("cpu",) if lacking else ("cpu", "webgpu")


def _in_modes(samples: list[Sample] | tuple[Sample, ...]) -> list[object]:
    return [
        pytest.param(sample, backend, mode, id=f"{sample.id}-{backend}-{mode}")
        for sample in samples
        for backend in _backends(sample)
        for mode in _modes(sample, backend)
    ]


def _on_backends(samples: Sequence[Sample], only: str = "") -> list[object]:
    return [
        pytest.param(sample, backend, id=f"{sample.id}-{backend}")
        for sample in samples
        for backend in _backends(sample)
        if only in ("", backend)
    ]


@pytest.mark.parametrize(("sample", "backend", "mode"), _in_modes(SAMPLES))
def test_results_lie_within_the_bound(sample: Sample, backend: str, mode: str) -> None:
    row = check_forward(sample, backend, mode)
    assert row.passed, str(row)


@pytest.mark.parametrize("sample", some(SMOOTH, 2, "numbers"), ids=lambda sample: sample.id)
def test_the_gradient_agrees_with_numbers(sample: Sample) -> None:
    row = check_gradient_by_numbers(sample)
    assert row.passed, str(row)


@pytest.mark.parametrize(("sample", "backend", "mode"), _in_modes(some(SMOOTH, 2, "in float64")))
def test_the_gradient_agrees_with_that_in_float64(sample: Sample, backend: str, mode: str) -> None:
    row = check_gradient_parity(sample, backend, mode)
    assert row.passed, str(row)


@pytest.mark.parametrize("sample", some(TWICE, 2, "second"), ids=lambda sample: sample.id)
def test_the_second_gradient_agrees_with_differences(sample: Sample) -> None:
    row = check_second_order(sample)
    assert row.passed, str(row)


@pytest.mark.parametrize(("sample", "backend"), _on_backends(some(SAMPLES, 3, "alive")))
def test_nothing_stays_alive_afterwards(sample: Sample, backend: str) -> None:
    row = check_leaks(sample, backend)
    assert row.passed, str(row)


@pytest.mark.parametrize(
    ("sample", "backend"), _on_backends(some(SAMPLES, 3, "again"), only="webgpu")
)
def test_a_second_run_gives_the_same_bits(sample: Sample, backend: str) -> None:
    arrays = arrays_for(sample)
    runs = []
    with wk.use_backend(backend), wk.config.using(fallback="silent"):
        for _ in range(2):
            ys = tensors_in(sample.f(*tensors_for(arrays), **sample.attrs))
            runs.append([y.numpy().tolist() if y.dtype == "string" else bits(y) for y in ys])

    assert runs[0] == runs[1]


def bits(tensor: wk.Tensor) -> bytes:
    return tensor.numpy().tobytes()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_a_row_runs_the_kernel_that_it_names(sample: Sample) -> None:
    names = []

    def note(call: KernelRun, proceed: Proceed) -> Result:
        names.append(call.name)
        return proceed(call)

    with wk.use_backend("cpu"), wk.engine().intercept(note):
        sample.f(*tensors_for(arrays_for(sample)), **sample.attrs)

    assert sample.kernel in names
