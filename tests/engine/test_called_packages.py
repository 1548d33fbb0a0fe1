"""``wk.engine`` and ``wk.backends`` are packages that can be called, to Python and to checkers."""

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from typing import assert_type

import wgsl_kernels as wk
import wgsl_kernels.backends as backends_package
import wgsl_kernels.backends.webgpu as webgpu_package
import wgsl_kernels.backends.webgpu.backend as webgpu_backend
import wgsl_kernels.engine as engine_package
from wgsl_kernels import backends, engine
from wgsl_kernels.engine.observe import facade


def test_the_packages_are_called_as_functions() -> None:
    assert_type(wk.engine(), facade.Engine)
    assert_type(wk.backends(), list[str])
    assert_type(engine(), facade.Engine)
    assert_type(backends(), list[str])
    assert wk.engine() is engine() is facade.engine()
    assert wk.backends()[:2] == backends()[:2] == ["cpu", "webgpu"]


def test_the_packages_are_imported_as_packages() -> None:
    modules = (engine_package, backends_package, webgpu_package, facade, webgpu_backend)
    assert all(inspect.ismodule(one) for one in modules)
    assert engine_package is sys.modules["wgsl_kernels.engine"]
    assert vars(engine_package)["observe"].facade is facade
    assert webgpu_package.__name__ == "wgsl_kernels.backends.webgpu"
    assert webgpu_backend.WebGpuBackend.__module__ == webgpu_backend.__name__


def test_each_order_of_imports_gives_package_and_function() -> None:
    orders = (
        "import wgsl_kernels.backends.webgpu as b; import wgsl_kernels as wk",
        "import wgsl_kernels as wk; import wgsl_kernels.backends.webgpu as b",
        "import wgsl_kernels.engine as e; from wgsl_kernels.backends import webgpu as b\n"
        "import wgsl_kernels as wk; assert e is wk.engine",
    )
    for order in orders:
        program = f"{order}\nassert 'cpu' in wk.backends() and wk.engine().memory()\nb.__path__"
        subprocess.run([sys.executable, "-c", program], check=True)


def test_a_reload_leaves_them_callable() -> None:
    before = wk.engine()
    for package in (engine_package, backends_package):
        assert importlib.reload(package) is package
    assert wk.engine() is before
    assert "cpu" in wk.backends()


def test_packages_and_functions_pickle_by_name() -> None:
    for one in (wk.engine, wk.backends, wk.add, wk.get_backend, facade.engine):
        assert pickle.loads(pickle.dumps(one)) is one
        assert copy.deepcopy(one) is one


def test_help_names_what_a_call_gives() -> None:
    assert str(inspect.signature(wk.backends)) == "() -> list[str]"
    assert "Engine" in str(inspect.signature(wk.engine))
    assert wk.engine.__doc__ is not None
    assert "wk.engine()" in wk.engine.__doc__
