"""Functions with full control that promise to do the same for all arrays of the same layouts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.tuning.tuner import forced
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng(11)
SHADER = """
struct Params { y_size: u32 }

override FACTOR: f32 = 1.0;

@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) {
    store_y(id.x, load_a(id.x) - FACTOR * load_b(id.x));
  }
}
"""
NAME = "TestDifference"


class Difference:
    """a - b, or a - 2 b as another variant; counts how often its function is called."""

    def __init__(self) -> None:
        self.calls = 0
        self.promises = True

    def __call__(self, gpu: Any, a: Any, b: Any) -> Any:
        """Run the kernel."""
        self.calls += 1
        if self.promises:
            gpu.repeats()
        a, b = (gpu.view(one, one.shape, one.strides, one.offset) for one in (a, b))

        def run(name: str) -> Any:
            y = gpu.empty(a.shape, a.dtype)
            constants = {"FACTOR": 2.0 if name == "double" else 1.0}
            gpu.dispatch(SHADER, {"a": a, "b": b, "y": y}, constants=constants)
            return y

        return run(gpu.choose((), ("single", "double"), "single", run, 1))


@pytest.fixture(name="difference")
def _difference() -> Iterator[Difference]:
    @wk.signature(NAME)
    def _(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        return a.like()

    made = Difference()

    @wk.wgsl_kernel(NAME)
    def _(gpu: Any, a: Any, b: Any) -> Any:
        return made(gpu, a, b)

    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        yield made
    wk.unregister_kernel(NAME, "webgpu")


def _some() -> tuple[wk.Tensor, np.ndarray[Any, Any]]:
    x = wk.abs(wk.tensor(RNG.random((4, 25), np.float32)))
    return x, x.numpy()


def _run(a: wk.Tensor, b: wk.Tensor) -> np.ndarray[Any, Any]:
    y = wk.engine().run_kernel(NAME, {"a": a, "b": b})
    assert isinstance(y, wk.Tensor)
    return y.numpy()


def test_one_that_promised_is_called_no_more(difference: Difference) -> None:
    for _ in range(8):
        (a, have_a), (b, have_b) = _some(), _some()
        assert np.array_equal(_run(a, b), have_a - have_b)
    assert difference.calls < 6


def test_one_that_promised_nothing_is_called_each_time(difference: Difference) -> None:
    difference.promises = False
    (a, _), (b, _) = _some(), _some()
    for _ in range(8):
        _run(a, b)
    assert difference.calls == 8


def test_arrays_that_are_one_and_others_that_are_two_are_told_apart(
    difference: Difference,
) -> None:
    (a, have_a), (b, have_b) = _some(), _some()
    for _ in range(5):
        assert not _run(a, a).any()
        assert np.array_equal(_run(a, b), have_a - have_b)
        assert np.array_equal(_run(b, a), have_b - have_a)


def test_views_are_told_from_arrays_in_order(difference: Difference) -> None:
    (a, have_a), (b, have_b) = _some(), _some()
    for _ in range(5):
        assert np.array_equal(_run(a, wk.flip(b, axis=1)), have_a - have_b[:, ::-1])
        assert np.array_equal(_run(wk.flip(a, axis=0), b), have_a[::-1] - have_b)
        assert np.array_equal(_run(a, b), have_a - have_b)


def test_another_choice_of_variant_is_heard(difference: Difference) -> None:
    (a, have_a), (b, have_b) = _some(), _some()
    for _ in range(5):
        assert np.array_equal(_run(a, b), have_a - have_b)
        with forced(NAME, "double"):
            assert np.array_equal(_run(a, b), have_a - 2 * have_b)
        with wk.config.using(deterministic=True):
            assert np.array_equal(_run(a, b), have_a - have_b)


def test_a_new_device_is_told_from_the_one_before(difference: Difference) -> None:
    (a, have_a), (b, have_b) = _some(), _some()
    for _ in range(5):
        _run(a, b)
    backend: Any = find_driver("webgpu")
    backend.close()
    a, b = wk.tensor(have_a), wk.tensor(have_b)
    for _ in range(5):
        assert np.array_equal(_run(a, b), have_a - have_b)


def test_host_values_are_uploaded_before_they_are_read(difference: Difference) -> None:
    (a, have_a), (b, _) = _some(), _some()
    for _ in range(5):
        _run(a, b)
    values = RNG.random((4, 25), np.float32)
    assert np.array_equal(_run(a, wk.tensor(values)), have_a - values)


@pytest.mark.parametrize("fusion", ["never", "auto"])
def test_views_that_lie_alike_in_buffers_of_unlike_sizes_can_be_multiplied(fusion: str) -> None:
    large, small = RNG.random((512, 100), np.float32), RNG.random((8, 100), np.float32)
    with wk.use_backend("webgpu"), wk.config.using(fusion=fusion):
        one = wk.abs(wk.tensor(np.eye(6, dtype=np.float32)))
        for values in (large, large, large, small, small, large):
            x = wk.abs(wk.tensor(values))
            wk.evaluate(x)
            assert np.array_equal((x[:6, :6] @ one).numpy(), values[:6, :6])


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize("name", ["single", "double"])
def test_what_a_function_has_chosen_is_told_in_its_program_however_it_runs(
    difference: Difference, name: str, promises: bool
) -> None:
    difference.promises = promises
    x, _ = _some()
    with forced(NAME, name):
        captured = wk.capture(_difference_of)
        for _ in range(2):
            _difference_of(x)
            captured(x)
        for run, cause in ((_difference_of, ""), (captured, "it is replayed")):
            seen = wk.explain(partial(run, x))
            (row,) = seen.dispatches
            assert row.program.configuration == (("variant", name),)
            assert row.cause == cause
            assert str(seen).endswith(cause or "it is eager")


def _difference_of(x: wk.Tensor) -> Any:
    return wk.run(NAME, x, x)
