"""The registries: who owns a name, who may replace it, and the hooks of a kernel's life."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import close_backend
from wgsl_kernels.engine.drivers.driver import Usage

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def double(x: Any) -> Any:
    return x * 2


class Listed:
    """A backend whose arrays are one-element lists."""

    def upload(self, values: Any) -> Any:
        """Put the values into a list."""
        return [values]

    def download(self, array: Any) -> Any:
        """Take them out again."""
        return array[0]

    def free(self, array: Any) -> None:
        """Empty the list."""
        array.clear()

    def run(self, kernel: Any, arrays: Any, attrs: Any, outputs: Any) -> Any:
        """Call the kernel on the values."""
        return [[kernel.func(*[one[0] for one in arrays], **attrs)]]

    def memory(self) -> Usage:
        """Count nothing."""
        return Usage(0, 0)

    def close(self) -> None:
        """Do nothing."""


def run(name: str, x: Any, **attrs: Any) -> Any:
    found = wk.engine().run_kernel(name, {"x": x}, attrs)
    return found if isinstance(found, wk.Tensor) else found[0]


def test_a_kernel_is_found_by_name_and_backend() -> None:
    wk.register_kernel("EngineProbe", "cpu", double)

    kernel = wk.get_kernel("EngineProbe", "cpu")
    assert kernel is not None
    assert (kernel.name, kernel.backend, kernel.func) == ("EngineProbe", "cpu", double)
    assert kernel.signature is None
    assert kernel.origin.module == __name__
    assert kernel in wk.kernels_for_backend("cpu")
    assert wk.get_kernel("EngineProbe", "webgpu") is None


def test_a_name_may_contain_anything() -> None:
    for name in ("a_b", "a", "a_b_cpu", "", "Ä ö/ü"):
        wk.register_kernel(name, "cpu", double)
    wk.register_kernel("a", "b_cpu", double)

    assert wk.get_kernel("a_b", "cpu") is not wk.get_kernel("a", "b_cpu")
    with wk.use_backend("cpu"):
        assert run("Ä ö/ü", 3.0).item() == 6.0


def test_a_name_that_is_taken_is_refused_and_its_owner_named() -> None:
    with pytest.raises(
        wk.AlreadyRegistered,
        match=r"kernel 'Add' on backend 'cpu' is already registered by wgsl_.*\.binary:\d+",
    ):
        wk.register_kernel("Add", "cpu", double)
    assert issubclass(wk.AlreadyRegistered, ValueError)


def test_two_lines_of_one_module_do_not_replace_each_other() -> None:
    wk.register_kernel("EngineProbe", "cpu", double)
    with pytest.raises(wk.AlreadyRegistered, match="pass override=True"):
        wk.register_kernel("EngineProbe", "cpu", double)


def test_override_replaces_kernel_signature_and_gradient() -> None:
    wk.register_kernel("Add", "cpu", lambda a, b: a - b, override=True)
    with wk.use_backend("cpu"):
        assert (wk.tensor(5.0) + 3.0).item() == 2.0

    @wk.signature("Square", override=True)
    def _square_signature(x: wk.Spec, /) -> wk.Spec:
        return x.like(shape=(*x.shape, 1))

    @wk.cpu_kernel("Square", override=True)
    def _square_cpu(x: Any) -> Any:
        return (x * x)[..., None]

    with wk.use_backend("cpu"):
        assert wk.square(wk.tensor([3.0])).tolist() == [[9.0]]


def test_the_same_line_run_again_replaces_quietly() -> None:
    for factor in (2, 3):
        wk.register_kernel("EngineProbe", "cpu", lambda x, factor=factor: x * factor)
        wk.register_gradient("EngineProbe", lambda dy: dy)

    with wk.use_backend("cpu"):
        assert run("EngineProbe", 2.0).item() == 6.0


MODULE = """
import wgsl_kernels as wk
{pad}
wk.register_kernel("EngineProbe", "cpu", lambda x: x * {factor})
"""


def load(path: Path, name: str, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_a_reloaded_module_replaces_what_it_registered(tmp_path: Path) -> None:
    file = tmp_path / "probe.py"
    load(file, "engine_probe", MODULE.format(pad="", factor=2))
    load(file, "engine_probe", MODULE.format(pad="\n\n# moved down", factor=5))

    with wk.use_backend("cpu"):
        assert run("EngineProbe", 2.0).item() == 10.0


def test_a_file_that_is_loaded_as_two_modules_replaces_what_it_registered(tmp_path: Path) -> None:
    file = tmp_path / "probe.py"
    load(file, "engine_probe", MODULE.format(pad="", factor=2))
    load(file, "package.engine_probe", MODULE.format(pad="", factor=3))
    file.write_text(MODULE.format(pad="", factor=5))
    runpy.run_path(str(file))

    with wk.use_backend("cpu"):
        assert run("EngineProbe", 2.0).item() == 10.0
    with pytest.raises(wk.AlreadyRegistered, match=r"registered by probe\.py:4"):
        load(file, "engine_probe", MODULE.format(pad="# moved down\n", factor=2))


def test_another_module_does_not(tmp_path: Path) -> None:
    load(tmp_path / "one.py", "engine_probe_one", MODULE.format(pad="", factor=2))
    with pytest.raises(wk.AlreadyRegistered, match=r"registered by engine_probe_one:4"):
        load(tmp_path / "two.py", "engine_probe_two", MODULE.format(pad="", factor=2))


def test_a_cell_that_is_run_again_replaces_what_it_registered() -> None:
    spaces = {"__name__": "__main__", "__spec__": None, "wk": wk}
    for count, factor in enumerate((2, 7)):
        cell = f"\n\nwk.register_kernel('EngineProbe', 'cpu', lambda x: x * {factor})"
        exec(compile(cell, f"<ipython-input-{count}>", "exec"), spaces)

    with wk.use_backend("cpu"):
        assert run("EngineProbe", 2.0).item() == 14.0


def test_an_unregistered_kernel_is_gone() -> None:
    wk.register_kernel("EngineProbe", "cpu", double)
    wk.unregister_kernel("EngineProbe", "cpu")

    assert wk.get_kernel("EngineProbe", "cpu") is None
    with pytest.raises(wk.KernelNotFound, match="no kernel of that name on any backend"):
        wk.unregister_kernel("EngineProbe", "cpu")
    with wk.use_backend("cpu"), pytest.raises(wk.KernelNotFound, match="Check the spelling"):
        run("EngineProbe", 1.0)


def test_a_slip_of_a_kernels_name_is_told() -> None:
    with pytest.raises(wk.KernelNotFound, match=r"Did you mean 'Relu'\? Or register one"):
        run("Reluu", 1.0)


def test_a_kernel_that_ran_and_is_replaced_runs_anew() -> None:
    wk.register_kernel("EngineProbe", "cpu", double)
    with wk.use_backend("cpu"):
        assert run("EngineProbe", 1.0).item() == 2.0
        wk.register_kernel("EngineProbe", "cpu", lambda x: x * 9, override=True)
        assert run("EngineProbe", 1.0).item() == 9.0


def test_a_signature_may_come_with_the_kernel() -> None:
    wk.register_kernel(
        "EngineProbe",
        "cpu",
        lambda x, *, factor: x * np.float32(factor),
        signature=lambda x, /, *, factor=2.0: x,
    )
    with wk.use_backend("cpu"), pytest.raises(wk.ArgumentError, match="'weight' is unknown"):
        run("EngineProbe", 1.0, weight=3.0)


def test_kernels_of_a_backend_are_copied_to_another_but_not_over_its_own() -> None:
    wk.register_backend("listed", Listed, -1)
    wk.register_kernel("Square", "listed", lambda x: x * 100)
    wk.copy_registered_kernels("cpu", "listed")

    assert {kernel.name for kernel in wk.kernels_for_backend("listed")} == {
        kernel.name for kernel in wk.kernels_for_backend("cpu")
    }
    with wk.use_backend("listed"):
        assert wk.square(wk.tensor([2.0])).tolist() == [200.0]
        assert wk.exp(wk.tensor([0.0])).tolist() == [1.0]


def test_hooks_run_when_backend_and_kernel_come_and_go() -> None:
    events: list[str] = []

    def note(what: str) -> Any:
        return lambda backend: events.append(f"{what} {type(backend).__name__}")

    wk.register_backend("listed", Listed, -1)
    wk.register_kernel("Early", "listed", double, setup=note("setup"), dispose=note("dispose"))
    assert events == []
    with wk.use_backend("listed"):
        assert events == ["setup Listed"]
        wk.register_kernel("Late", "listed", double, setup=note("late"), dispose=note("gone"))
        assert events == ["setup Listed", "late Listed"]
        wk.unregister_kernel("Late", "listed")
        assert events[2:] == ["gone Listed"]
    close_backend("listed")
    assert events[3:] == ["dispose Listed"]


def test_unknown_backends_are_refused_with_those_known() -> None:
    with pytest.raises(wk.ArgumentError, match="'cuda' is unknown; registered: cpu, webgpu"):
        wk.set_backend("cuda")
    with pytest.raises(wk.ArgumentError, match="'cuda' is unknown"), wk.use_backend("cuda"):
        pass


@pytest.mark.gpu
def test_use_backend_nests_and_ends() -> None:
    with wk.use_backend("cpu"):
        with wk.use_backend("webgpu"):
            assert wk.get_backend() == "webgpu"
        assert wk.get_backend() == "cpu"


def test_a_gradient_is_found_replaced_and_taken_out() -> None:
    def rule(dy: Any) -> Any:
        return dy

    wk.register_gradient("EngineProbe", rule)
    assert wk.get_gradient("EngineProbe") is rule
    with pytest.raises(wk.AlreadyRegistered, match="gradient 'EngineProbe' is already registered"):
        wk.register_gradient("EngineProbe", rule)
    wk.register_gradient("EngineProbe", double, override=True)
    assert wk.get_gradient("EngineProbe") is double
    wk.unregister_gradient("EngineProbe")
    assert wk.get_gradient("EngineProbe") is None
    with pytest.raises(wk.GradientNotFound, match="EngineProbe: no gradient is registered"):
        wk.unregister_gradient("EngineProbe")
