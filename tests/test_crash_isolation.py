"""A driver that kills the process costs one test, which is named, and not the run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SUITE = """
import os

def test_that_runs_before() -> None: ...

def test_whose_driver_aborts() -> None:
    os.abort()

def test_that_runs_after() -> None: ...
"""


def test_a_crash_names_its_test_and_the_run_goes_on(tmp_path: Path) -> None:
    suite = tmp_path / "test_crash.py"
    suite.write_text(SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--numprocesses=1",
        "-p",
        "tests.sharing",
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    run = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-p", "no:cacheprovider", str(suite)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1, run.stdout + run.stderr
    assert "test_crash.py::test_whose_driver_aborts" in run.stdout
    assert "1 failed, 2 passed" in run.stdout
