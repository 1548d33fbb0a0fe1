"""The plugin of pytest: two lines of settings check a project's kernels; a failure repairs."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import wgsl_kernels_pytest
from wgsl_kernels.cli.new import text_of, wanted

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


def test_a_setting_that_names_no_file_is_refused(tmp_path: Path) -> None:
    asked: Any = SimpleNamespace(rootpath=tmp_path, getini=lambda _: ["nowhere.py"])

    with pytest.raises(pytest.UsageError, match="there is no file"):
        wgsl_kernels_pytest.pytest_configure(asked)
