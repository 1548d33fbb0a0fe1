"""CONTRIBUTING's "Add an op", followed to the letter on a scratch copy, gives an op that passes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.modes import ALL_MODES

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "benchmarks",
    "src",
    "shaders",
    "tests",
    "docs",
    "examples",
    "scripts",
    "pyproject.toml",
    "README.md",
)
SUITES = (
    "numerics",
    "test_coverage.py",
    "test_documents.py",
    "test_names.py",
    "test_odd_arguments.py",
    "test_public_api.py",
    "test_samples.py",
    "webgpu/test_wgsl_grammar.py",
)
"""What has a test for every kernel or public function; to collect all else takes 5 s."""
CASES = "ExpCopy or test_names or test_public_api or every_public_op"
"""Tests of the kernel, and those of what is public."""
SHADERS = "src/wgsl_kernels/shaders"
BUILT = shutil.ignore_patterns("_build", "*.pyc.*")
"""Not the bytecode, which would be compiled again, but for what a process is just writing."""
BLOCK = re.compile(r"^`(src/[^`]+)`[^\n]*\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A line that names a file, and what the page has written there."""
COMMAND = re.compile(r"^\d\. python (.+?)  ", re.MULTILINE)
USE = """
import numpy as np
import wgsl_kernels as wk
x = wk.tensor([0.0])
y = [f(x).tolist() for f in (wk.exp_copy, wk.Tensor.exp_copy, wk.tfjs.exp_copy, np.spacing)]
assert y == [[1.0]] * 4, y
assert {row.name: row.ours for row in wk.ledger()}["expCopy"] == "exp_copy"
try:
    wk.spacing
except AttributeError as error:
    assert "Use wk.exp_copy(x)." in str(error)
else:
    raise AssertionError("wk.spacing is there")
"""
"""All that follows from the line in which the op says what it is called."""
# The page shows Exp, which exists; the copy gets the same op under a name that is free.
RENAMED = {
    '"Exp"': '"ExpCopy"',
    '(numpy="exp", tfjs="exp", ': '(numpy="spacing", tfjs="expCopy", ',
    "def exp(": "def exp_copy(",
    "/exp.wesl": "/exp_copy.wesl",
    "wk.exp": "wk.exp_copy",
}


def _scratch_copy(folder: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=BUILT)
        else:
            shutil.copy(ROOT / name, folder / name)


def _page() -> str:
    """Return the page, with names that are free."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    for old, new in RENAMED.items():
        assert old in page
        page = page.replace(old, new)
    return page


def _run(folder: Path, *arguments: str) -> None:
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.gpu
def test_add_an_op_followed_to_the_letter_gives_an_op_that_passes(tmp_path: Path) -> None:
    _scratch_copy(tmp_path)
    page = _page()
    files = dict(BLOCK.findall(page))
    assert len(files) == 3  # and CHANGELOG.md

    for file, text in files.items():
        path = tmp_path / file
        if "/samples/" in file:
            before = path.read_text()
            table, found = re.subn(
                r"^(SAMPLES\b.*\n)", rf"\1    {text.strip()},\n", before, flags=re.M
            )
            assert found == 1
            path.write_text(table)
        elif path.exists():
            path.write_text(f"{path.read_text()}\n\n{text}")
        else:
            path.write_text(text)  # the shader, which is read under no other name
    (shader,) = (tmp_path / one for one in files if "/shaders/" in one)
    assert f'"{shader.relative_to(tmp_path / SHADERS).as_posix()}"' in "".join(files.values())

    commands = COMMAND.findall(page)
    assert len(commands) == 2
    for command in commands:
        _run(tmp_path, *command.split())
    _run(tmp_path, "-c", USE)
    suites = () if ALL_MODES else (f"tests/{one}" for one in SUITES)
    _run(tmp_path, "-m", "pytest", "-q", "-k", CASES, "-p", "no:cacheprovider", *suites)
