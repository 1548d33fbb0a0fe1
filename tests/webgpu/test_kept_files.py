"""The cache folder: nobody but the user can have written what is used from it."""

from __future__ import annotations

import hashlib
import logging
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wgsl_kernels.backends.webgpu.kept import kept_files
from wgsl_kernels.backends.webgpu.kept.declarations import is_table
from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every test begin with nothing in memory and nothing said."""
    monkeypatch.setattr(kept_files, "_memory", {})
    monkeypatch.setattr(kept_files, "_refused", set())


def mode(path: Path) -> int:
    """Return who may do what with a file."""
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_folders_and_files_are_the_users_own_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "wgsl-kernels"
    before = os.umask(umask)
    try:
        KeptFile(folder, "kind", "file").write(b"one")
        assert KeptFile(folder, "kind", "file").add(b"two") == 6
    finally:
        os.umask(before)
    assert KeptFile(folder, "kind", "file").read() == b"onetwo"
    assert [mode(one) for one in (folder.parent, folder, folder / "kind")] == [0o700] * 3
    assert mode(folder / "kind" / "file") == 0o600


def test_what_is_ours_and_looser_is_tightened(tmp_path: Path) -> None:
    folder = tmp_path / "wgsl-kernels"
    file = KeptFile(folder, "kind", "file")
    file.write(b"one")
    for path, loose in ((folder, 0o777), (folder / "kind", 0o755)):
        path.chmod(loose)
    (folder / "kind" / "file").chmod(0o644)
    assert file.read() == b"one"
    assert [mode(one) for one in (folder, folder / "kind")] == [0o700, 0o700]
    assert mode(folder / "kind" / "file") == 0o600


def test_a_file_that_others_could_write_is_not_used(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "wgsl-kernels", "kind", "file")
    file.write(b"forged")
    assert file.path is not None
    file.path.chmod(0o666)
    assert file.read() is None
    file.write(b"made anew")
    assert file.read() == b"made anew"
    assert mode(file.path) == 0o600


@pytest.mark.parametrize("kind", ["owner", "mode", "link"])
def test_a_folder_of_others_is_not_used_and_that_is_said_once(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "named"
    KeptFile(folder, "kind", "file").write(b"forged")
    if kind == "mode":
        folder.chmod(0o777)
    elif kind == "link":
        (tmp_path / "link").symlink_to(folder)
        folder = tmp_path / "link"
        os.lchown(folder, 54321, 54321) if os.geteuid() == 0 else None
    if kind == "owner" or (kind == "link" and os.geteuid() != 0):
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
        monkeypatch.setattr(kept_files, "_owners", lambda: (54321,))
    file = KeptFile(folder, "kind", "file")
    with caplog.at_level(logging.WARNING, "wgsl_kernels"):
        assert file.read() is None
        file.write(b"own")
        assert KeptFile(folder, "kind", "file").read() == b"own"
        assert file.add(b"more") == 7
    assert len(caplog.records) == 1
    assert "Nothing is kept from one process to the next: others own" in caplog.text
    assert (tmp_path / "named" / "kind" / "file").read_bytes() == b"forged"
    assert mode(tmp_path / "named") == (0o777 if kind == "mode" else 0o700)


def test_without_a_home_nothing_is_on_the_disk(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("WGSL_KERNELS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert cache_folder() is None
    file = KeptFile(cache_folder(), "kind", "file")
    with caplog.at_level(logging.WARNING, "wgsl_kernels"):
        file.write(b"x")
        assert file.read() == b"x"
    assert (str(file), file.path, len(caplog.records)) == ("memory", None, 1)
    assert "knows of no folder of the user" in caplog.text


def test_where_files_have_no_owners_nothing_is_asked_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = KeptFile(tmp_path / "wgsl-kernels", "kind", "file")
    file.write(b"x")
    assert file.path is not None
    file.path.chmod(0o666)
    monkeypatch.delattr(os, "geteuid")
    assert file.read() == b"x"


USE = "import wgsl_kernels.backends.webgpu.kept.declarations as d; d.import_wgpu()"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the table that a first process has made."""
    folder = tmp_path_factory.mktemp("cache")
    environment = {**os.environ, "WGSL_KERNELS_CACHE": str(folder)}
    subprocess.run([sys.executable, "-c", USE], check=True, env=environment, timeout=100)
    (found,) = folder.glob("declarations/*.bin")
    return found


@pytest.fixture(scope="module")
def key(table: Path) -> bytes:
    """Give what the digest of a table begins with that a process of this version would want."""
    probe = "from wgsl_kernels.backends.webgpu.kept import declarations as d\n"
    program = f"import sys\n{probe}d._read = lambda file, key: print(key)\nd.import_wgpu()"
    environment = {**os.environ, "WGSL_KERNELS_CACHE": str(table.parents[1])}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, check=True, env=environment, capture_output=True, timeout=100)
    return said.stdout.split()[0]


@pytest.mark.gpu
@pytest.mark.parametrize("forgery", ["none", "short", "changed", "list", "of another version"])
def test_a_forged_table_is_made_anew(forgery: str, table: Path, key: bytes) -> None:
    whole = table.read_bytes()
    content = marshal.loads(whole[32:])
    assert is_table(content)
    if forgery == "none":
        del content["_types"]
    elif forgery == "short":
        content["_types"] = content["_types"][:8]
    elif forgery == "changed":
        content["_types"] = bytes(len(content["_types"]))
    elif forgery == "list":
        content["_globals"] = content["_globals"][::-1]
    else:
        content["_version"] = 1
    assert not is_table(content)
    packed = marshal.dumps(content)
    environment = {**os.environ, "WGSL_KERNELS_CACHE": str(table.parents[1])}
    digest = hashlib.sha256(key + packed).digest()
    table.write_bytes(digest + packed)
    subprocess.run([sys.executable, "-c", USE], check=True, env=environment, timeout=100)
    assert table.read_bytes() == whole
