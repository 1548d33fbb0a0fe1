"""Values that follow from the package's own code and shaders, kept for the next process.

What is known of the package's shaders, and the texts that are composed of them, are the same in
each process. They are records of one file, each with a key and a digest: what is damaged is found
anew. Every key has in it what tells the code and the shaders from those of any other time.
"""

from __future__ import annotations

import hashlib
import logging
import marshal
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.engine.environment.errors import ArgumentError

MOST = 4 << 20
"""Bytes of the file; beyond, the older half is dropped."""

_DIGEST = 16
_HEAD = struct.Struct(f"<I{_DIGEST}s{_DIGEST}s")
"""Of a record: the bytes that follow, its key, their digest."""
_PACKAGE = Path(__file__).resolve().parents[3]
_DECIDING = ("backends/webgpu", "engine/values", "shaders", "wgsl")
"""The folders whose files decide what is kept."""
_ENDINGS = (".py", ".wesl", ".wgsl")
_logger = logging.getLogger("wgsl_kernels")


class KeptValues:
    """Values by what they follow from, each of plain types."""

    def __init__(self, file: KeptFile, state: bytes) -> None:
        """Read nothing yet; ``state`` is what all values follow from."""
        self._file = file
        self._state = state
        self._records: dict[bytes, tuple[bytes, bytes]] | None = None
        self._is_damaged = False

    def find(self, *what: object) -> Any:
        """Return the value for some words and numbers, None where it is not known."""
        digest, packed = self._read().get(self._key(what), (b"", b""))
        if not digest or _digest(packed) != digest:
            return None
        try:
            return marshal.loads(packed)
        except (EOFError, TypeError, ValueError):
            return None

    def keep(self, value: Any, *what: object) -> None:
        """Keep a value."""
        records, key = self._read(), self._key(what)
        packed = marshal.dumps(value)
        digest = _digest(packed)
        records[key] = digest, packed
        try:
            if self._is_damaged:
                self._write(records)
            elif self._file.add(_HEAD.pack(len(packed), key, digest) + packed) > MOST:
                for one in [*records][: len(records) // 2]:
                    del records[one]
                self._write(records)
        except (OSError, ArgumentError) as error:
            _logger.info("What is known of the shaders is not kept: %s", error)

    def _read(self) -> dict[bytes, tuple[bytes, bytes]]:
        if self._records is None:
            content, at = self._file.read() or b"", 0
            self._records = {}
            while at + _HEAD.size <= len(content):
                count, key, digest = _HEAD.unpack_from(content, at)
                at += _HEAD.size + count
                if at <= len(content):
                    self._records[key] = digest, content[at - count : at]
            self._is_damaged = at != len(content)
        return self._records

    def _write(self, records: dict[bytes, tuple[bytes, bytes]]) -> None:
        every = [
            _HEAD.pack(len(packed), key, digest) + packed
            for key, (digest, packed) in records.items()
        ]
        self._file.write(b"".join(every))
        self._is_damaged = False

    def _key(self, what: tuple[object, ...]) -> bytes:
        return _digest(self._state + repr(what).encode(errors="surrogatepass"))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


_BEGAN = time.time_ns()
_values: list[KeptValues | None] = []


def kept_values() -> KeptValues | None:
    """Return what is known of the package's files; None where they were changed since it runs."""
    if not _values:
        files = sorted(one for name in _DECIDING for one in _files(str(_PACKAGE / name)))
        is_old = all(changed < _BEGAN for *_, changed in files)
        words = repr((str(_PACKAGE), sys.version, files)).encode(errors="surrogatepass")
        file = KeptFile(cache_folder(), "composed.bin")
        _values.append(KeptValues(file, _digest(words)) if is_old else None)
    return _values[0]


def look_again() -> None:
    """Look at the package's files when they are next asked about."""
    _values.clear()


def _files(folder: str) -> list[tuple[str, int, int, int]]:
    found: list[tuple[str, int, int, int]] = []
    with os.scandir(folder) as entries:
        for one in entries:
            if one.name.endswith(_ENDINGS):
                of = one.stat()
                found.append((one.path, of.st_size, of.st_mtime_ns, of.st_ctime_ns))
            elif one.is_dir(follow_symlinks=False) and one.name != "__pycache__":
                found += _files(one.path)
    return found
