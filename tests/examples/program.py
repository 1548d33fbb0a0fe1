"""Runs an example as a user would: in a process of its own, where a warning is an error."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def output_of(
    name: str, *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> str:
    """Return what the example ``name`` prints; it must end well, within two minutes."""
    run = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def numbers_after(label: str, output: str) -> list[float]:
    """Return the numbers in the line of ``output`` that begins with ``label``, brackets aside."""
    line = next(line for line in output.splitlines() if line.strip().startswith(label))
    words = line.strip().removeprefix(label).translate(str.maketrans("[],", "   ")).split()
    return [float(word) for word in words]
