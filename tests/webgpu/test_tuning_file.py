"""The file of tuned choices: several writers, and where each platform has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.backends.webgpu.tuning.tuning_file import TuningFile


def test_writers_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "one.json"

    def write(number: int) -> None:
        for turn in range(20):
            TuningFile(KeptFile(path.parent, path.name)).keep(
                f"{number} {turn}", LARGE, {"large": 1e-3}
            )
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


SMALL, LARGE = (
    {"variant": name, "template": "1a2b", "configuration": {"variant": name}}
    for name in ("small", "large")
)
CHOICE = json.dumps({"a": LARGE})
DAMAGED: dict[str, bytes] = {
    "nested": b"[" * 100_000,
    "nested objects": b'{"a":' * 100_000,
    "nested choices": b'{"format": 2, "choices": ' + b"[" * 100_000,
    "nested in a choice": b'{"format": 2, "choices": {"a": {"variant": ' + b"[" * 100_000,
    "cut": b'{"format": 2, "choices": {',
    "no text": bytes(range(256)),
    "empty": b"",
    "a number": b"9" * 5000,
    "another kind": b"[1, 2]",
    "another format": b'{"format": 99, "choices": ' + CHOICE.encode() + b"}",
    "choices of another kind": b'{"format": 2, "choices": [1]}',
    "a choice of another kind": b'{"format": 2, "choices": {"a": 5, "b": {"variant": []}}}',
    "an earlier format": b'{"format": 1, "choices": {"a": {"variant": "large"}}}',
    "a choice without a configuration": b'{"format": 2, "choices": {"a": {"variant": "x"}}}',
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_counts_as_empty_and_is_written_anew(name: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(DAMAGED[name])
    file = TuningFile(KeptFile(path.parent, path.name))
    assert file.find("a") is None
    file.keep("a", SMALL, {"small": 1e-3})
    assert (TuningFile(KeptFile(path.parent, path.name)).find("a") or {}).items() >= SMALL.items()
    assert [one.name for one in tmp_path.iterdir()] == ["one.json"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "link in a circle", "below a file"])
def test_what_is_no_file_is_left_alone_and_remembers_nothing(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "below a file":
        path.write_text("a file")
        path /= "one.json"
    else:
        path.symlink_to(path)
    file = TuningFile(KeptFile(path.parent, path.name))
    assert file.find("a") is None
    file.keep("a", SMALL, {"small": 1e-3})
    assert (file.find("a") or {}).items() >= SMALL.items()
    assert TuningFile(KeptFile(path.parent, path.name)).find("a") is None


def test_without_any_folder_of_the_user_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("WGSL_KERNELS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert cache_folder() is None


MATMUL = """
import numpy as np
import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.tuning import tuning_file
from wgsl_kernels.engine.drivers.backends import find_driver
path = tuning_file.file_for(find_driver("webgpu").open().info).path
path.parent.mkdir(parents=True)
path.write_text("[" * 100_000)
with wk.use_backend("webgpu"):
    x = wk.tensor(np.ones((128, 128), np.float32))
    assert (wk.matmul(x, x).numpy() == 128.0).all()
"""


@pytest.mark.gpu
def test_a_file_of_nested_brackets_stops_no_matmul(tmp_path: Path) -> None:
    tuned = {"WGSL_KERNELS_CACHE": str(tmp_path), "WGSL_KERNELS_TUNING": "known"}
    subprocess.run(
        [sys.executable, "-c", MATMUL], check=True, env={**os.environ, **tuned}, timeout=120
    )


DETERMINISTIC = """
import json
import sys
import numpy as np
import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.tuning import tuner, tuning_file
from wgsl_kernels.engine.drivers.backends import find_driver

wk.config.deterministic = sys.argv[1] == "deterministic"
path = tuning_file.file_for(find_driver("webgpu").open().info).path
with wk.use_backend("webgpu"), tuner.watching() as seen:
    for way in sys.argv[2].split(","):
        draw = np.random.default_rng(3)
        w = wk.variable(draw.standard_normal((300, 70)).astype(np.float32) * 0.1)
        adam = wk.train.Adam(0.01)
        def loss(x):
            return wk.sum(wk.softmax(wk.tanh(x @ w))[:, 0] * wk.sum(x, axis=1))
        def step(x):
            return adam.minimize(lambda: loss(x))
        run = wk.capture(step) if way == "captured" else step
        for _ in range(2):
            run(wk.tensor(draw.standard_normal((200, 300)).astype(np.float32)))
        print(w.numpy().tobytes().hex())
if sys.argv[3] != "-":
    chosen = find_driver("webgpu").tuner
    choices = {}
    for key, one in chosen._asked_for.items():
        choices[one.label] = one.entries[next(n for n in one.names if n != chosen._chosen[key])]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"format": tuning_file.FORMAT, "choices": choices}))
"""


@pytest.mark.gpu
def test_deterministic_holds_across_processes_whatever_was_tuned(tmp_path: Path) -> None:
    def bits(*arguments: str, tuning: str = "known") -> str:
        tuned = {"WGSL_KERNELS_CACHE": str(tmp_path), "WGSL_KERNELS_TUNING": tuning}
        return subprocess.run(
            [sys.executable, "-c", DETERMINISTIC, *arguments],
            check=True,
            env={**os.environ, **tuned},
            timeout=200,
            capture_output=True,
            text=True,
        ).stdout

    before = bits("deterministic", "eager", "-")
    bits("free", "eager", "write", tuning="on")  # another variant than the best, of each kernel
    assert bits("free", "eager", "-") != before
    assert bits("deterministic", "eager,captured", "-") == 2 * before
