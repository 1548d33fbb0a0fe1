"""The plugin of pytest: two lines of settings check a project's kernels; a failure repairs."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels_pytest
from wgsl_kernels.cli.new import text_of, wanted
from wgsl_kernels.testing.importing import imported_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.gpu
def test_two_lines_put_a_projects_kernels_through_every_section(tmp_path: Path) -> None:
    right = text_of(wanted("Tinted", "map", "", ["alpha=0.5"]))
    wrong = right.replace("Tinted", "Toned").replace("return dy * alpha", "return dy")
    (tmp_path / "pytest.ini").write_text("[pytest]\nwgsl_kernels = right.py wrong.py\n")
    (tmp_path / "right.py").write_text(right)
    (tmp_path / "wrong.py").write_text(wrong.replace("unbroadcast(dy * alpha", "unbroadcast(dy"))
    (tmp_path / "other.py").write_text("raise RuntimeError\n")

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 1, done.stderr
    assert "1 failed, 9 passed" in done.stdout
    assert "error[wrong-gradient]" in done.stdout
    assert "Traceback" not in done.stdout


OPS = """
import builtins
import wgsl_kernels as wk
from {dot}texts import SQUARE

builtins.loads = getattr(builtins, "loads", 0) + 1

@wk.op("OfAProject")
def square(x):
    '''Return x², elementwise.'''

wk.cpu_kernel("OfAProject")(lambda x: x * x)
wk.wgsl_kernel("OfAProject", SQUARE)
wk.testing.add_samples("OfAProject", wk.testing.Sample("OfAProject", square, ((3, 4),)))
"""
TEST = """
import builtins
from package import ops

assert builtins.loads == 1

def test_a_square_is_one():
    assert ops.square([2.0]).tolist() == [4.0]
"""


@pytest.mark.parametrize("order", ["package tests", "tests package"])
@pytest.mark.parametrize("path", ["", "pythonpath = .\n"])
def test_a_projects_tests_import_what_is_checked_and_it_is_loaded_once(
    order: str, path: str, tmp_path: Path
) -> None:
    settings = f"[pytest]\nwgsl_kernels = package/ops.py\n{path}"
    (tmp_path / "pytest.ini").write_text(settings)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "texts.py").write_text('SQUARE = "fn op(x: T) -> T { return x * x; }"')
    (tmp_path / "package" / "ops.py").write_text(OPS.format(dot="."))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_ops.py").write_text(TEST)
    if not path:
        (tmp_path / "conftest.py").touch()  # has the folder be one that is looked in

    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--co"]
    done = subprocess.run(
        [*command, *order.split()], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 0, done.stdout
    assert "6 tests collected" in done.stdout


def test_a_file_whose_name_is_no_modules_is_run_by_itself(tmp_path: Path) -> None:
    for name in ("my-ops.py", "statistics.py"):
        (tmp_path / name).touch()
        assert imported_file(tmp_path / name) is None
    (tmp_path / "ops_of_a_project.py").touch()
    found = imported_file(tmp_path / "ops_of_a_project.py")
    assert found == ("ops_of_a_project", tmp_path)


def test_a_file_is_imported_from_the_nearest_folder_that_is_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src" / "package_of_a_project"
    (package / "inner").mkdir(parents=True)
    for file in (package / "__init__.py", package / "ops.py", package / "inner" / "more.py"):
        file.touch()
    for folder in (tmp_path / "src", tmp_path):
        monkeypatch.syspath_prepend(folder)

    for path, name in (
        (package / "ops.py", "package_of_a_project.ops"),
        (package / "__init__.py", "package_of_a_project"),
        (package / "inner" / "more.py", "package_of_a_project.inner.more"),
    ):
        assert imported_file(path) == (name, tmp_path / "src")


def test_a_setting_that_names_no_file_is_refused(tmp_path: Path) -> None:
    asked: Any = SimpleNamespace(rootpath=tmp_path, getini=lambda _: ["nowhere.py"])

    with pytest.raises(pytest.UsageError, match="there is no file"):
        wgsl_kernels_pytest.pytest_configure(asked)
