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
BUILT = shutil.ignore_patterns("_build", "__pycache__")
BLOCK = re.compile(r"^```(?:wgsl|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The page shows Exp, which exists; the copy gets the same op under a name that is free.
RENAMED = {
    '"Exp"': '"ExpCopy"',
    "def exp(": "def exp_copy(",
    "_exp_": "_exp_copy_",
    "exp.wgsl": "exp_copy.wgsl",
    "import exp as exp": "import exp_copy as exp_copy",
    "wk.exp,": "wk.exp_copy,",
}


def _scratch_copy(folder: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=BUILT)
        else:
            shutil.copy(ROOT / name, folder / name)
    # The environment knows where this checkout's shaders are; the copy must find its own.
    (folder / "src/wgsl_kernels/shaders").symlink_to("../../shaders")


def _steps() -> tuple[str, str, str, str]:
    """Return the page's shader, module text, public name and sample, renamed."""
    blocks = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())
    for old, new in RENAMED.items():
        blocks = [block.replace(old, new) for block in blocks]
    shader, module, lines = blocks
    public, sample = (line for line in lines.splitlines() if line)
    return shader, module, public, sample


@pytest.mark.gpu
def test_add_an_op_followed_to_the_letter_gives_an_op_that_passes(tmp_path: Path) -> None:
    _scratch_copy(tmp_path)
    shader, module, public, sample = _steps()

    (tmp_path / "shaders/unary/exp_copy.wgsl").write_text(shader)
    for file, text in {"ops/exponential.py": f"\n\n{module}", "__init__.py": f"{public}\n"}.items():
        path = tmp_path / "src/wgsl_kernels" / file
        path.write_text(path.read_text() + text)
    samples = tmp_path / "src/wgsl_kernels/testing/samples/exponential.py"
    table, found = re.subn(r"^(SAMPLES\b.*\n)", rf"\1{sample}\n", samples.read_text(), flags=re.M)
    assert found == 1
    samples.write_text(table)

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
