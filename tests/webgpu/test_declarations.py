"""wgpu-py's C declarations come from a table on disk, so that nothing is parsed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

COUNTING = """
import sys
import cffi.cparser
parsed = []
parse = cffi.cparser.Parser._parse
def counted(self, text):
    parsed.append(text)
    return parse(self, text)
cffi.cparser.Parser._parse = counted
"""
WORK = """
import numpy as np
import wgsl_kernels as wk
with wk.use_backend("webgpu"):
    x = wk.tensor(np.arange(1024, dtype="float32"))
    assert wk.sum(x * 2).item() == 1023 * 1024
    wk.warmup(lambda: wk.exp(x) + 1)
from wgpu.backends.wgpu_native import ffi
print(len(parsed), type(ffi).__module__)
"""


def _run(folder: Path, before: str = "") -> list[str]:
    """Return how often a process that opened a device parsed, and whose its FFI is."""
    command = [sys.executable, "-c", COUNTING + before + WORK]
    environment = {**os.environ, "WGSL_KERNELS_CACHE": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _table(folder: Path) -> Path:
    (found,) = (folder / "declarations").iterdir()
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Give the cache folder of a first process, and what that process said."""
    folder = tmp_path_factory.mktemp("made")
    return folder, _run(folder)


@pytest.fixture
def copied(made: tuple[Path, list[str]], tmp_path: Path) -> Path:
    """Give a copy of that folder."""
    folder = tmp_path / "copied"
    shutil.copytree(made[0], folder)
    return folder


@pytest.mark.gpu
def test_the_first_process_parses_the_header_once_and_the_next_ones_nothing(
    made: tuple[Path, list[str]], copied: Path
) -> None:
    assert made[1] == ["1", "_cffi_backend"]
    assert _run(copied) == ["0", "_cffi_backend"]


@pytest.mark.gpu
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_table_is_made_again(damage: str, copied: Path) -> None:
    table = _table(copied)
    whole = table.read_bytes()
    changed = {"cut": whole[:-7], "changed": whole[:99] + b"?" + whole[100:], "empty": b""}
    table.write_bytes(changed[damage])

    assert _run(copied) == ["1", "_cffi_backend"]
    assert _table(copied).read_bytes() == whole


@pytest.mark.gpu
def test_a_folder_that_cannot_be_written_costs_one_parsing_each_time(tmp_path: Path) -> None:
    (tmp_path / "declarations").write_text("in the way")
    assert _run(tmp_path) == ["1", "_cffi_backend"]
    assert _run(tmp_path) == ["1", "_cffi_backend"]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "before",
    [
        "import cffi.recompiler; del cffi.recompiler.make_py_source",
        "import _cffi_backend; _cffi_backend.FFI = None",
    ],
    ids=["no table can be written", "no table can be read"],
)
def test_wgpu_parses_by_itself_where_cffi_has_no_tables(before: str, tmp_path: Path) -> None:
    parsed, whose = _run(tmp_path, before + "\n")
    assert int(parsed) > 1
    assert whose == "cffi.api"


@pytest.mark.gpu
def test_a_program_that_has_loaded_wgpu_keeps_its_own(tmp_path: Path) -> None:
    parsed, whose = _run(tmp_path, "import wgpu.backends.wgpu_native\n")
    assert int(parsed) > 1
    assert whose == "cffi.api"
    assert not (tmp_path / "declarations").exists()
