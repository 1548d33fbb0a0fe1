"""What is refused, or answered with None, where going on would be silently wrong."""

from __future__ import annotations

from typing import Any

import pytest

import wgsl_kernels as wk


@pytest.fixture(autouse=True)
def _on_each_backend(backend: str) -> None:
    pass


def test_a_tensor_that_was_not_watched_has_no_gradient() -> None:
    v, x = wk.variable([1.0, 2.0]), wk.tensor([3.0, 4.0])
    with wk.GradientTape() as tape:
        twice = x * 2.0  # not recorded, so a gradient of x would miss this way
        y = wk.sum(v * twice + v * x)
    found, nothing = tape.gradient(y, [v, x])
    assert (found.tolist(), nothing) == ([9.0, 12.0], None)


def test_a_tape_wants_as_many_dy_as_y() -> None:
    x = wk.tensor([1.0])
    with wk.GradientTape() as tape:
        tape.watch(x)
        ys = [x * 2.0, x * 3.0]
    with pytest.raises(wk.ArgumentError, match="dy has 1 tensors, y has 2"):
        tape.gradient(ys, x, [wk.tensor([1.0])])


def test_a_tape_wants_tensors_as_sources() -> None:
    x = wk.tensor([1.0])
    with wk.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    sources: Any = 3.0
    with pytest.raises(wk.ArgumentError, match="got float; want tensors"):
        tape.gradient(y, sources)


def test_a_list_of_tensors_is_no_tensor() -> None:
    x = wk.tensor([1.0])
    with pytest.raises(wk.ArgumentError, match="Relu: got a list of tensors where one"):
        wk.engine().run_kernel("Relu", {"x": [x, x]})


def test_a_disposed_variable_stays_disposed() -> None:
    v = wk.variable([1.0])
    v.dispose()
    with pytest.raises(wk.DisposedTensorError):
        v.assign([2.0])
    assert v.is_disposed


def test_a_fill_that_the_host_cannot_hold_says_what_was_asked() -> None:
    with pytest.raises(wk.OutOfMemoryError, match=r"^asked for 4611686018427387904 bytes \(\["):
        wk.tensor(0.0, shape=(1 << 30, 1 << 30))


@pytest.mark.gpu
def test_a_missing_shader_does_not_hide_the_coverage_of_others() -> None:
    wk.wgsl_kernel("Unfinished", "no_such_file.wgsl")
    row = next(one for one in wk.coverage() if one.name == "Unfinished")
    assert row.dtypes == {"webgpu": ()}


def test_a_cpu_kernel_may_not_write_into_its_input() -> None:
    def grow(x: Any) -> Any:
        x += 1
        return x

    wk.signature("Grow")(lambda x, /: x.like())
    wk.cpu_kernel("Grow")(grow)
    with wk.use_backend("cpu"):
        x = wk.tensor([1.0])
        with pytest.raises(ValueError, match="read-only"):
            wk.engine().run_kernel("Grow", {"x": x})
        assert x.tolist() == [1.0]
