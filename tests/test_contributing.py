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
    "pyproject.toml",
    "README.md",
)
SUITES = (
    "numerics",
    "test_captured_samples.py",
    "test_coverage.py",
    "test_edges.py",
    "test_fused_samples.py",
    "test_names.py",
    "test_odd_arguments.py",
    "test_recorded_bits.py",
    "test_samples.py",
    "webgpu/test_wgsl_grammar.py",
)
"""What has a test for every kernel or public function; to collect all else takes 5 s."""
SHADERS = "src/wgsl_kernels/shaders"
BUILT = shutil.ignore_patterns("_build", "__pycache__")
BLOCK = re.compile(r"^(`src/[^\n]*)\n\n```(?:wgsl|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A line that names the files, and what the page has written there."""
# The page shows Exp, which exists; the copy gets the same op under a name that is free.
RENAMED = {
    '"Exp"': '"ExpCopy"',
    "def exp(": "def exp_copy(",
    "/exp.wesl": "/exp_copy.wesl",
    "import exp as exp": "import exp_copy as exp_copy",
    "wk.exp,": "wk.exp_copy,",
}


def _scratch_copy(folder: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=BUILT)
        else:
            shutil.copy(ROOT / name, folder / name)


def _steps() -> dict[str, str]:
    """Return what the page has written, renamed, by the files in which it says so."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    for old, new in RENAMED.items():
        page = page.replace(old, new)
    steps: dict[str, str] = {}
    for line, block in BLOCK.findall(page):
        files = re.findall(r"`(src/[^`]+)`", line)
        pieces = [block] if len(files) == 1 else [one for one in block.splitlines() if one]
        steps.update(zip(files, pieces, strict=True))
    return steps


@pytest.mark.gpu
def test_add_an_op_followed_to_the_letter_gives_an_op_that_passes(tmp_path: Path) -> None:
    _scratch_copy(tmp_path)
    steps = _steps()
    assert len(steps) == 4

    for file, text in steps.items():
        path = tmp_path / file
        if "/samples/" in file:
            before = path.read_text()
            table, found = re.subn(r"^(SAMPLES\b.*\n)", rf"\1{text}\n", before, flags=re.M)
            assert found == 1
            path.write_text(table)
        elif path.exists():
            path.write_text(f"{path.read_text()}\n\n{text}\n")
        else:
            path.write_text(text)  # the shader, which is read under no other name
    (shader,) = (tmp_path / one for one in steps if "/shaders/" in one)
    assert f'"{shader.relative_to(tmp_path / SHADERS).as_posix()}"' in "".join(steps.values())

    command = [sys.executable, "-m", "pytest", "-q", "-k", "ExpCopy", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, *(() if ALL_MODES else (f"tests/{one}" for one in SUITES))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
