"""Files of what can be computed again, in the user's cache folder.

Any of them may be damaged, written by several processes at once, or impossible to write. What
others could have written is not used: a folder or file counts only if the effective user or root
owns it and nobody else may write to it. Where that is not so, or the user has no folder, the
process keeps what it makes in memory. See docs/decisions/0099-kept-files-are-the-users-own.md.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from wgsl_kernels.engine.environment.files import path_of, write_whole

CACHE_VARIABLE = "WGSL_KERNELS_CACHE"
NAME = "wgsl-kernels"
OURS = stat.S_IRWXU  # 0700: of folders; 0600 of files
SHARED = stat.S_IRWXG | stat.S_IRWXO
WRITABLE = stat.S_IWGRP | stat.S_IWOTH

_logger = logging.getLogger("wgsl_kernels")
_memory: dict[tuple[Path | None, tuple[str, ...]], bytes] = {}
_refused: set[str] = set()


def cache_folder() -> Path | None:
    """Return the folder for what can be computed again; it may not exist.

    The environment variable WGSL_KERNELS_CACHE names it; without it, it is in the place that the
    platform has for such things. None where the system knows of no folder of the user.
    """
    own = os.environ.get(CACHE_VARIABLE)
    if own:
        return Path(own)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / NAME


class KeptFile:
    """A file in the cache folder, or in memory where there is no folder to be trusted.

    Args:
        folder: The cache folder, None where there is none.
        parts: The path in it.
    """

    def __init__(self, folder: Path | None, *parts: str) -> None:
        self._folder = folder
        self._parts = parts

    def __str__(self) -> str:
        return "memory" if self.path is None else str(self.path)

    @property
    def path(self) -> Path | None:
        return None if self._folder is None else self._folder.joinpath(*self._parts)

    def read(self) -> bytes | None:
        """Return what is kept, or None where nothing is, or nothing that can be trusted."""
        path = self._path(is_to_be_made=False)
        if path is None:
            return _memory.get((self._folder, self._parts))
        descriptor = _opened(path, os.O_RDONLY)
        if descriptor is None:
            return None
        try:
            with os.fdopen(descriptor, "rb") as file:
                return file.read()
        except OSError:
            return None

    def write(self, content: bytes) -> None:
        """Keep something; a reader sees the old content or the new one, never a part.

        Raises:
            OSError, ArgumentError: It cannot be written.
        """
        path = self._path(is_to_be_made=True)
        if path is None:
            _memory[self._folder, self._parts] = content
        elif path.is_symlink():
            raise OSError(f"{path} is a link; want a file.")
        else:
            write_whole(path_of("cache", path), [content], OURS & ~stat.S_IXUSR)

    def add(self, content: bytes) -> int:
        """Append a few bytes, that nobody minds to lose, and return the size.

        Raises:
            OSError: It cannot be written.
        """
        path = self._path(is_to_be_made=True)
        descriptor = None if path is None else _opened(path, os.O_WRONLY | os.O_APPEND)
        if descriptor is None:
            before = (self.read() if path is None else None) or b""
            self.write(before + content)
            return len(before) + len(content)
        with os.fdopen(descriptor, "ab", 0) as file:  # whole, where others append as well
            file.write(content)
            return file.tell()

    def _path(self, *, is_to_be_made: bool) -> Path | None:
        """Return where it is, all folders looked at and tightened, or None: then it is in memory.

        Raises:
            OSError: A folder cannot be made.
        """
        if self._folder is None:
            _say("the system knows of no folder of the user")
            return None
        folders = [self._folder.joinpath(*self._parts[:at]) for at in range(len(self._parts))]
        for one in folders:
            if is_to_be_made:
                _make(one)
            if not _is_own_folder(one, is_named_here=one != self._folder or one.name == NAME):
                return None
        return self._folder.joinpath(*self._parts)


def _opened(path: Path, how: int) -> int | None:
    """Return a descriptor of a file that only this user, or root, can have written, or None."""
    flags = how | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and _is_trusted(found):
            if _has_owners() and found.st_mode & SHARED and found.st_uid == os.geteuid():
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode) & ~SHARED)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _make(folder: Path) -> None:
    """Make a folder, and those that it is in, for this user alone whatever the umask."""
    if not folder.exists():
        if folder.parent != folder:
            _make(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(OURS)
            folder.chmod(OURS)


def _is_own_folder(folder: Path, *, is_named_here: bool) -> bool:
    """Say whether a folder can be trusted, or is not there.

    Ours that is looser is tightened if we have named it: a folder that the user names may serve
    other ends, too.
    """
    try:
        link, found = folder.lstat(), folder.stat()
    except (OSError, ValueError):
        return True  # what is not there, or cannot be reached, is not read either
    if not _has_owners():
        return True
    is_ours = is_named_here and found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    if is_ours and found.st_mode & SHARED:
        with suppress(OSError):
            folder.chmod(stat.S_IMODE(found.st_mode) & ~SHARED)
            found = folder.stat()
    is_trusted = link.st_uid in _owners() and _is_trusted(found)
    if not is_trusted:
        _say(f"others own {folder}, or can write to it")
    return is_trusted


def _is_trusted(found: os.stat_result) -> bool:
    """Say whether only this user, or root, can have written something."""
    return not _has_owners() or (found.st_uid in _owners() and not found.st_mode & WRITABLE)


def _has_owners() -> bool:
    """Say whether files have owners and modes; not so on Windows."""
    return hasattr(os, "geteuid")


def _owners() -> tuple[int, ...]:
    return (os.geteuid(), 0)


def _say(why: str) -> None:
    """Tell once for each reason that nothing is kept."""
    if why not in _refused:
        _refused.add(why)
        _logger.warning(
            "Nothing is kept from one process to the next: %s. The environment variable %s names "
            "another folder.",
            why,
            CACHE_VARIABLE,
        )
