"""A long session of edits, or of new shapes, does not grow; `growing` says what the gate is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOST = 20.0
"""MiB. It is 8; where caches kept what came from older texts and shapes, it was 54."""


@pytest.mark.gpu
@pytest.mark.parametrize("what", ["edits", "shapes"])
def test_a_long_session_does_not_grow(what: str, tmp_path: Path) -> None:
    program = Path(__file__).with_name("growing.py")
    command = [sys.executable, str(program), what, str(tmp_path), "100", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < MOST
