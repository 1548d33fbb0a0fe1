"""The library's functions with full control: each layout of their inputs has one program.

Their samples run as programs here, and by calls, every third of a kernel or with
WGSL_KERNELS_TEST_MODES=all every one; a user's function runs at every call.
"""

from __future__ import annotations

import dataclasses
import gc
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.modes import bits, some
from tests.samples.check import on_device

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu import backend
from wgsl_kernels.backends.webgpu.control.symbolic import lower_function
from wgsl_kernels.engine.registry.registry import add_kernel, announce_change
from wgsl_kernels.testing.inputs import arrays_for, tensors_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.runtime.function import FunctionProgram
    from wgsl_kernels.testing import Sample

pytestmark = pytest.mark.gpu

BY_KERNEL = {
    name: list(rows)
    for name, rows in groupby(
        sorted(on_device(), key=lambda one: one.kernel), lambda one: one.kernel
    )
    if (kernel := wk.get_kernel(name, "webgpu")) is not None and kernel.repeats
}
Pair = tuple["FunctionProgram | None", "FunctionProgram | None"]


@pytest.fixture(name="lowered")
def _lowered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Pair]]:
    """Have each function that is run symbolically run so twice; give what came of it."""
    found: list[Pair] = []

    def twice(*args: Any, **options: Any) -> FunctionProgram | None:
        one, two = (lower_function(*args, **options) for _ in range(2))
        found.append((one, two))
        return one

    monkeypatch.setattr(backend, "lower_function", twice)
    announce_change()
    yield found
    monkeypatch.undo()
    announce_change()


def _results(sample: Sample, layout: str) -> Any:
    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        return bits(sample.f(*tensors_for(arrays_for(sample), layout), **sample.attrs))


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", BY_KERNEL)
def test_a_function_depends_on_layouts_and_attributes_alone(name: str, lowered: list[Pair]) -> None:
    samples, kernel = some(BY_KERNEL[name], 3, "symbolic"), wk.get_kernel(name, "webgpu")
    assert kernel is not None
    rows = [(one, layout) for one in samples for layout in ("default", "transposed")]

    as_programs = [_results(*row) for row in rows]

    assert lowered
    for one, two in lowered:
        assert one is not None
        assert two is not None
        assert one.program == two.program
        assert one.results == two.results
    add_kernel(dataclasses.replace(kernel, repeats=False), override=True)
    try:
        assert [_results(*row) for row in rows] == as_programs
    finally:
        add_kernel(kernel, override=True)


@pytest.mark.parametrize("fusion", ["never", "auto", "always"])
def test_a_users_function_runs_at_every_call(fusion: str) -> None:
    count = 0

    @wk.signature("CallsOfIt")
    def _(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    @wk.wgsl_kernel("CallsOfIt")
    def _(gpu: Any, x: Any) -> Any:
        nonlocal count
        count += 1
        return gpu.full(x.shape, x.dtype, count)

    x = wk.tensor(np.zeros(3, np.float32))
    with wk.use_backend("webgpu"), wk.config.using(fusion=fusion):
        found = [wk.engine().run_kernel("CallsOfIt", {"x": x}) * 2.0 for _ in range(4)]

    assert [one.tolist() for one in found] == [[2.0 * n] * 3 for n in (1, 2, 3, 4)]


def test_a_function_that_is_registered_to_repeat_is_called_for_its_program_alone() -> None:
    calls = 0

    @wk.signature("CalledForOne")
    def _(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    @wk.wgsl_kernel("CalledForOne", repeats=True)
    def _(gpu: Any, x: Any) -> Any:
        nonlocal calls
        calls += 1
        return gpu.full(x.shape, x.dtype, 7)

    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        for _turn in range(3):
            found = wk.engine().run_kernel("CalledForOne", {"x": wk.tensor([1.0, 2.0])})
            assert found.tolist() == [7.0, 7.0]

    assert calls == 1


def test_an_index_that_the_host_knows_is_refused_at_every_call() -> None:
    x = wk.tensor(np.arange(6, dtype=np.float32))
    good, bad = ([1, 2], [1, 6])
    with wk.use_backend("webgpu"):
        for given in (good, bad, good, bad):
            indices = wk.tensor(np.array(given, np.int32))
            if given is good:
                assert wk.take(x, indices).tolist() == [1.0, 2.0]
                continue
            with pytest.raises(wk.IndexOutOfRange, match="6"):
                wk.take(x, indices)


def test_many_values_that_a_function_makes_do_not_stay_on_the_device() -> None:
    """A transform of a length that is no power of two multiplies by values made on the host."""
    wave = np.exp(2j * np.pi * np.arange(20011) / 20011).astype(np.complex64)
    with wk.use_backend("webgpu"):
        x = wk.tensor(wave)
        first = wk.fft.fft(x).numpy()
        before = wk.memory().num_bytes
        for _turn in range(3):
            np.testing.assert_array_equal(wk.fft.fft(x).numpy(), first)
        assert wk.memory().num_bytes == before
        np.testing.assert_allclose(np.abs(first[:3]), [0, 20011, 0], atol=2)
        del x
        gc.collect()
        assert wk.memory().num_bytes < wave.nbytes


def test_a_function_is_lowered_once_where_the_tuner_may_measure(lowered: list[Pair]) -> None:
    """Sort asks it for itself, and for the scan in it, which is too little to be measured."""
    x = wk.tensor(np.arange(4096, dtype=np.float32)[::-1].copy())
    with wk.use_backend("webgpu"), wk.config.using(tuning="auto", fusion="never"):
        for _turn in range(3):
            assert wk.sort(x).numpy()[0] == 0.0

    assert len(lowered) == 1


def test_a_deprecated_promise_warns() -> None:
    with pytest.warns(DeprecationWarning, match="want repeats=True"):
        wk.wgsl_kernel("NeverRegistered", accepts_epilogue=True)
