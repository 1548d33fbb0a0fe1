"""The file of tuned choices: several writers, and where each platform has it."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from wgsl_kernels.backends.webgpu.devices.kept_files import cache_folder
from wgsl_kernels.backends.webgpu.tuning.tuning_file import TuningFile


def test_writers_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "one.json"

    def write(number: int) -> None:
        for turn in range(20):
            TuningFile(path).keep(f"{number} {turn}", "large", {"large": 1e-3})
            json.loads(path.read_text(encoding="utf-8"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(json.loads(path.read_text(encoding="utf-8"))) == {"format", "choices"}
    assert [one.name for one in tmp_path.iterdir()] == ["one.json"]


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/far"}, "/far/wgsl-kernels"),
        ("linux", {}, "/home/me/.cache/wgsl-kernels"),
        ("darwin", {}, "/home/me/Library/Caches/wgsl-kernels"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/wgsl-kernels"),
        ("win32", {}, "/home/me/AppData/Local/wgsl-kernels"),
    ],
)
def test_the_cache_is_where_the_platform_has_it(
    platform: str, variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WGSL_KERNELS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert cache_folder() == Path(folder)
