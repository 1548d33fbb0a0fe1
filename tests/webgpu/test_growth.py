"""A long session of edits, or of new shapes, does not grow; `growing` says what the gate is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.modes import ALL_MODES

FIRST, LAST = (100, 300) if ALL_MODES else (100, 200)
MOST = 0.1 * (LAST - FIRST)
"""MiB: 20 for 200 steps. There it is 8, and was 54 where caches kept what came from older ones."""


@pytest.mark.gpu
@pytest.mark.parametrize("what", ["edits", "shapes"])
def test_a_long_session_does_not_grow(what: str, tmp_path: Path) -> None:
    program = Path(__file__).with_name("growing.py")
    command = [sys.executable, str(program), what, str(tmp_path), str(FIRST), str(LAST)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < MOST
