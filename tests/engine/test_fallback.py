"""A kernel that the active backend lacks runs on cpu: warned of once, counted, or forbidden."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.observe.coverage import coverage

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _a_kernel_on_cpu_alone() -> Iterator[None]:
    wk.signature("CpuOnly")(lambda x, /: x)
    wk.cpu_kernel("CpuOnly")(lambda x: x + 1)
    with wk.use_backend("webgpu"):
        yield


def run(x: Any) -> wk.Tensor:
    found = wk.engine().run_kernel("CpuOnly", {"x": x})
    assert isinstance(found, wk.Tensor)
    return found


def test_it_warns_once_and_gives_the_result() -> None:
    with pytest.warns(RuntimeWarning, match="CpuOnly: no kernel on backend 'webgpu'") as caught:
        y = run(wk.tensor([1.0]))
    assert caught[0].filename == __file__
    assert (y.backend, y.tolist()) == ("cpu", [2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(wk.tensor([1.0, 2.0])).tolist() == [2.0, 3.0]


def test_the_result_goes_on_on_the_active_backend() -> None:
    with wk.config.using(fallback="silent"):
        y = run(wk.tensor([1.0])) * 2.0
    assert (y.backend, y.tolist()) == ("webgpu", [4.0])


def test_silent_says_nothing_but_counts() -> None:
    with warnings.catch_warnings(), wk.config.using(fallback="silent"):
        warnings.simplefilter("error")
        run(wk.tensor([1.0]))
        run(wk.tensor([1.0]))
    row = next(row for row in coverage() if row.name == "CpuOnly")
    assert row.fallbacks == {"webgpu": 2}


def test_error_forbids_it_and_lists_who_has_the_kernel() -> None:
    with (
        wk.config.using(fallback="error"),
        pytest.raises(wk.KernelNotFound, match=r"found on cpu\. Use use_backend\(\"cpu\"\)"),
    ):
        run(wk.tensor([1.0]))


def test_error_forbids_it_also_after_it_was_allowed() -> None:
    with wk.config.using(fallback="silent"):
        run(wk.tensor([1.0]))
    with wk.config.using(fallback="error"), pytest.raises(wk.KernelNotFound):
        run(wk.tensor([1.0]))


def test_profile_shows_where_it_ran() -> None:
    with wk.config.using(fallback="silent"):
        rows = wk.profile(lambda: run(wk.tensor([1.0])) * 2.0).kernels
    assert [(row.name, row.backend) for row in rows] == [("CpuOnly", "cpu"), ("Multiply", "webgpu")]


def test_strings_fall_back_without_a_word() -> None:
    with warnings.catch_warnings(), wk.config.using(fallback="error"):
        warnings.simplefilter("error")
        parts = wk.string_split(wk.tensor(["a b"]), " ")
    assert parts is not None


def test_a_dtype_that_a_shader_does_not_take_falls_back() -> None:
    wk.wgsl_kernel("CpuOnly", "fn op(x: T) -> T {\n  return x + 1.0;\n}", dtypes=["float32"])
    assert run(wk.tensor([1.0])).backend == "webgpu"
    with wk.config.using(fallback="silent"):
        assert run(wk.tensor([1])).backend == "cpu"


def test_a_dtype_that_the_backend_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = find_driver("webgpu")
    wk.wgsl_kernel("CpuOnly", "fn op(x: T) -> T {\n  return x;\n}", dtypes=["float32", "float16"])
    x = wk.tensor([1.0], dtype="float16")
    monkeypatch.setattr(driver, "supports", lambda dtype: dtype != "float16")
    with pytest.warns(wk.FallbackWarning, match="CpuOnly: backend 'webgpu' has no float16 here; "):
        assert run(x).backend == "cpu"
    words = r"CpuOnly: backend 'webgpu' has no float16 here\."
    with wk.config.using(fallback="error"), pytest.raises(wk.KernelNotFound, match=words):
        run(x)
