"""Files of tensors: where they may go, what a killed save leaves, and damage of every kind."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import wgsl_kernels as wk
from wgsl_kernels.engine.environment import files

ONE = {"x": wk.tensor(1.0)}
TWO = {"x": wk.tensor(2.0)}


def value(path: Path | str) -> Any:
    """Return the number in a file."""
    return wk.load(path)["x"].item()


def hidden(folder: Path) -> list[str]:
    """Return what in a folder is no file of a test."""
    return [one.name for one in folder.iterdir() if one.name.startswith(".")]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, chain = tmp_path / "latest", tmp_path / "chain"
    link.symlink_to(Path("far", "epoch-1"))
    chain.symlink_to(link)
    for number, saved in enumerate((ONE, TWO), start=1):  # the link leads nowhere at first
        wk.save(chain, saved)
        assert link.is_symlink()
        assert chain.is_symlink()
        assert value(tmp_path / "far" / "epoch-1") == value(chain) == number
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match="symbolic links"):
        wk.save(circle, ONE)
    assert circle.is_symlink()


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path) -> None:
    fifo, folder, link = tmp_path / "fifo", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(fifo)
    folder.mkdir()
    link.symlink_to(fifo)
    kinds = {fifo: "a pipe", folder: "a folder", link: "a pipe", Path("/dev/null"): "a device"}
    for path, kind in kinds.items():
        before = path.lstat()
        with pytest.raises(wk.ArgumentError, match=f"save: {path} is {kind}; want a file's path"):
            wk.save(path, ONE)
        with pytest.raises(wk.ArgumentError, match=f"load: {path} is {kind}; want a file's path"):
            wk.load(path)
        after = path.lstat()
        assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert hidden(tmp_path) == []


def test_a_full_disk_is_told_with_the_file_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    wk.save(path, ONE)
    before, limit = resource.getrlimit(resource.RLIMIT_FSIZE), 4096
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            wk.save(path, {"x": wk.zeros((limit,))})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(path)
    assert value(path) == 1
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("path", [5, None, 1.5, ["a"], "a\0b", b"a\0b", "\ud800"])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(wk.ArgumentError, match=r"save: .* is no path"):
        wk.save(path, ONE)
    with pytest.raises(wk.ArgumentError, match=r"load: .* is no path"):
        wk.load(path)


def test_paths_that_cannot_be_are_errors_of_the_system(tmp_path: Path) -> None:
    for path in (tmp_path / ("n" * 300), tmp_path / "missing" / "x", tmp_path / "file" / "x"):
        (tmp_path / "file").write_bytes(b"")
        for call in (lambda at: wk.save(at, ONE), wk.load):
            with pytest.raises(OSError, match=r".+"):
                call(path)
    wk.save(tmp_path / ("n" * 255), ONE)
    assert value(tmp_path / ("n" * 255)) == 1.0


def test_a_replaced_file_keeps_its_mode_and_a_new_one_takes_the_umask(tmp_path: Path) -> None:
    path, new = tmp_path / "private", tmp_path / "new"
    before = os.umask(0o027)
    try:
        for mode in (0o600, 0o666, 0o444, 0o640):
            path.write_bytes(b"old")
            path.chmod(mode)
            wk.save(path, ONE)
            assert stat.S_IMODE(path.stat().st_mode) == mode
            path.unlink()
        wk.save(new, ONE)
        assert stat.S_IMODE(new.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_file_and_folder_are_flushed_around_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    flush, move = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        told.append(f"{kind} of {os.fstat(descriptor).st_size > 0}")
        flush(descriptor)

    def replace(self: Path, target: Path) -> Path:
        told.append("moved")
        return move(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    wk.save(tmp_path / "file", ONE)
    assert told == ["file of True", "moved", "folder of True"]


KILLED = """
import os, signal, sys
import wgsl_kernels as wk
from pathlib import Path
move = Path.replace
def die(self, target):
    if target.name == "file":  # a cache may write files of its own before
        os.kill(os.getpid(), signal.SIGKILL)
    return move(self, target)
Path.replace = die
wk.save(sys.argv[1], {"x": wk.tensor(1.0)})
"""


def test_what_killed_saves_leave_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, folder / "file"], check=False, timeout=100
    )
    assert killed.returncode == -signal.SIGKILL
    (left,) = hidden(folder)
    assert left.startswith(files.PREFIX)
    assert left.endswith(files.SUFFIX)
    elsewhere = f".wgsl-kernels-00000000-{'0' * 16}.part"  # of another machine
    others = [".file.0123456789abcdef", ".hidden", elsewhere, files.PREFIX]
    for name in others:
        (folder / name).write_bytes(b"kept")
    at_work = folder / f"{files.PREFIX}{'1' * 16}{files.SUFFIX}"
    fifo = folder / f"{files.PREFIX}{'2' * 16}{files.SUFFIX}"
    os.mkfifo(fifo)
    with at_work.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as a save that is under way has
        wk.save(folder / "other", ONE)
        assert sorted(hidden(folder)) == sorted([*others, at_work.name, fifo.name])
    wk.save(folder / "other", ONE)
    assert sorted(hidden(folder)) == sorted([*others, fifo.name])


def test_saves_at_once_leave_one_of_them_whole(tmp_path: Path) -> None:
    path, failed = tmp_path / "file", []

    def saves(number: int) -> None:
        try:
            for _ in range(20):
                wk.save(path, {"x": wk.tensor(np.full(5000, number, np.float32))})
                found = wk.load(path)["x"].numpy()
                assert (found == found[0]).all()
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=saves, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert list(tmp_path.iterdir()) == [path]


def test_mappings_that_hold_themselves_and_odd_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    circle: dict[str, Any] = {"x": wk.tensor(1.0)}
    circle["inner"] = {"again": circle}
    deep: dict[str, Any] = {"x": wk.tensor(1.0)}
    for _ in range(5000):
        deep = {"d": deep}
    wrong: list[tuple[Any, str]] = [
        (circle, "the model holds itself, under 'inner/again'"),
        (deep, "the model is nested more than 100 deep"),
        ({"\ud800": wk.tensor(1.0)}, r"'\\ud800' is no name: it has half a character in it"),
        ({"__metadata__": wk.tensor(1.0)}, "'__metadata__' is kept for the format"),
        ({"": wk.tensor(1.0)}, "'' is no name"),
        (5, "stands a int; want a tensor"),
        (None, "stands a NoneType; want a tensor"),
    ]
    for obj, message in wrong:
        with pytest.raises(wk.ArgumentError, match=f"save: {message}"):
            wk.save(path, obj)
    wk.save(path, ONE)
    for obj in (circle, deep):
        obj.pop("x", None)
        with pytest.raises(wk.ArgumentError, match="load: "):
            wk.load(path, into=obj)
    twice = {"x": wk.tensor(1.0)}
    wk.save(path, {"a": twice, "b": twice, "\0": wk.tensor(2.0), "ü/é": wk.tensor(3.0)})
    assert set(wk.load(path)) == {"a/x", "b/x", "\0", "ü/é"}


@pytest.mark.parametrize("key", ["complex", "by_path"])
@pytest.mark.parametrize(
    "text", ["[", "5", "null", "{}", '"x"', "[1]", "[[]]", "[" * 100_000, "", "[NaN]", "\0"]
)
def test_damaged_metadata_is_named(key: str, text: str, tmp_path: Path) -> None:
    save_file({"x": np.zeros(2, np.float32)}, tmp_path / "file", {key: text})
    with pytest.raises(wk.ArgumentError, match=f"file is damaged: its metadata says .*'{key}'"):
        wk.load(tmp_path / "file")


@pytest.mark.parametrize("name", ["odd", "scalar", "whole", "half", "none", "absent"])
def test_a_tensor_that_cannot_be_complex_is_named(name: str, tmp_path: Path) -> None:
    arrays: dict[str, np.ndarray] = {
        "odd": np.zeros((2, 3), np.float32),
        "scalar": np.array(1.0, np.float32),
        "whole": np.zeros(2, np.int32),
        "half": np.zeros(2, np.float16),
        "none": np.zeros((2, 0), np.float32),
    }
    save_file(arrays, tmp_path / "file", {"complex": json.dumps([name])})
    with pytest.raises(wk.ArgumentError, match=f"is damaged: .*says that '{name}' is complex; "):
        wk.load(tmp_path / "file")


def test_numbers_beyond_every_tensor_name_the_tensor(tmp_path: Path) -> None:
    save_file({"wide": np.array([2**40])}, tmp_path / "file")
    with pytest.raises(wk.ArgumentError, match=r"load: 'wide' of .*file makes no tensor: "):
        wk.load(tmp_path / "file")


def test_flipped_bits_and_cut_files_raise_errors_of_ours_or_load(tmp_path: Path) -> None:
    path, random = tmp_path / "file", np.random.default_rng(17)
    with wk.use_backend("cpu"):
        w, z = wk.variable(np.ones((2, 3), np.float32)), wk.variable(np.ones(4, np.complex64))
        flags, adam = wk.variable([True, False]), wk.train.Adam(0.1)
        adam.minimize(lambda: wk.sum(w * w))
        into = {"model": {"w": w, "z": z, "flags": flags}, "adam": adam}
        wk.save(path, into)
        content = path.read_bytes()
        header = 8 + int.from_bytes(content[:8], "little")

        def present() -> list[Any]:
            state = {"w": w, "z": z, "flags": flags, **adam.state_dict({w: "it"})}
            return [(name, one.numpy().tobytes()) for name, one in state.items()]

        outcomes = {"raised": 0, "loaded": 0}
        for turn in range(600):
            damaged = bytearray(content)
            if turn % 3 == 0:
                damaged = damaged[: int(random.integers(len(content)))]
            else:
                for place in random.integers(header, size=turn % 3):
                    damaged[place] ^= 1 << int(random.integers(8))
            path.write_bytes(damaged)
            for target in (None, into):
                before = present()
                try:
                    wk.load(path, into=target)
                except (wk.WgslKernelsError, OSError):
                    outcomes["raised"] += 1
                    assert present() == before
                else:
                    outcomes["loaded"] += 1
    assert outcomes["raised"] > 800, outcomes
