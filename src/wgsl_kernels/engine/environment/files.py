"""Files that are whole or not there: written beside their place, flushed, put there in one step.

A file that is being written is called ``.wgsl-kernels-<machine>-<random>.part``, and is locked by
who writes it. A process that is killed leaves it; the lock goes with the process, so whoever writes
into the folder next can tell it from one that is being written, and removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedWriter

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_UNFLUSHED = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EBADF}
"""How a file system says that it flushes no folder."""

_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
PREFIX, SUFFIX = f".wgsl-kernels-{_MACHINE}-", ".part"


@contextmanager
def naming_damage(said: str) -> Iterator[None]:
    """Turn whatever a reader of some format raises of a damaged file into an `ArgumentError`.

    Errors of ours stay as they are, and those of the system, which have a number.

    Args:
        said: What the message says before the reason: who reads which file, and what it is not.
    """
    try:
        yield
    except WgslKernelsError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ArgumentError(f"{said}: {reason or type(error).__name__}.") from None


def path_of(caller: str, path: Any) -> Path:
    """Return where a file that a user names is, links followed.

    Raises:
        ArgumentError: ``path`` is none, or leads to something else than a regular file.
        OSError: Its links lead round in circles, or a name is too long.
    """
    try:
        if not os.fsdecode(path):
            raise ValueError("it is empty")
        place = Path(os.path.realpath(os.fsdecode(path)))
        mode = place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(os.fsdecode(path)))
    except (TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise ArgumentError(f"{caller}: {path!r} is no path: {reason}; want a string.") from None
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise ArgumentError(f"{caller}: {os.fsdecode(path)} is {kind}; want a file's path.")
    return place


def write_whole(path: Path, parts: Iterable[bytes | memoryview], mode: int | None = None) -> None:
    """Replace the file at ``path``, or make it: whoever reads sees all of it, or the old one.

    It keeps its mode, and where the system allows it its owner. When this returns, the content
    has been flushed to the disk, and so has the folder.

    Args:
        path: Where.
        parts: The content.
        mode: The mode that the file gets in place of its own, whatever the umask.

    Raises:
        OSError: It cannot be written; the old file is as it was.
    """
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    try:
        _remove_leavings(path.parent)
        with _file_beside(path, 0o666 if before is None and mode is None else 0o600) as made:
            beside, file = made
            file.writelines(parts)
            file.flush()
            if mode is not None:
                beside.chmod(mode)
            elif before is not None:
                _take_after(beside, before)
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()  # an open file cannot be moved there
            beside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        if error.errno is not None:  # else of a descriptor, or of a file that nobody has named
            error.filename = str(path)
        raise


@contextmanager
def _file_beside(path: Path, mode: int) -> Iterator[tuple[Path, BufferedWriter]]:
    """Make a locked file in the folder of ``path``; it is removed unless it was moved away."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        beside = path.with_name(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
        with open(os.open(beside, flags, mode), "wb") as file:  # noqa: PTH123  of a descriptor
            try:
                _lock(file.fileno(), wait=True)
                if os.name != "nt" and os.fstat(file.fileno()).st_nlink == 0:
                    continue  # taken for a leaving in the moment before it was locked
                yield beside, file
                return
            finally:
                beside.unlink(missing_ok=True)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock a file as long as its descriptor is open; say whether that could be done."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def _take_after(path: Path, before: os.stat_result) -> None:
    """Give a file the owner, if that is allowed, and the mode of another."""
    own = path.stat()
    if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError, AttributeError):
            os.chown(path, before.st_uid, before.st_gid)
    path.chmod(stat.S_IMODE(before.st_mode))


def _remove_leavings(folder: Path) -> None:
    """Remove what killed processes of this machine have left in ``folder``."""
    with suppress(OSError), os.scandir(folder) as found:
        for one in found:
            if one.name.startswith(PREFIX) and one.name.endswith(SUFFIX):
                with suppress(OSError):
                    _remove_if_left(Path(one))


def _remove_if_left(path: Path) -> None:
    if os.name == "nt":
        path.unlink()  # which fails while somebody has it open
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor, wait=False):
            path.unlink()
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _UNFLUSHED:
            raise
