"""Which shaders the driver keeps machine code of: their hashes, in the user's cache folder.

It only saves asking: where the driver knows a shader, compiling it ahead would cost its reading
twice. A wrong entry, of a damaged file or of code that the driver has dropped since, means that a
shader is compiled when it first runs.
"""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo

DIGEST = 16  # bytes of a hash
MOST = 8192
"""Hashes in a file; beyond, the older half is dropped."""

_NO = ("0", "n", "no", "f", "false", "")
_logger = logging.getLogger("wgsl_kernels")


def mesa_cache() -> Path | None:
    """Return the folder in which Mesa's drivers keep code, or None where they keep none.

    Source: https://docs.mesa3d.org/envvars.html, MESA_SHADER_CACHE_DISABLE and the next ones.
    """
    environment = os.environ
    for name in ("MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"):
        if environment.get(name, "").lower() not in _NO:
            return None
    given = environment.get("MESA_SHADER_CACHE_DIR") or environment.get("MESA_GLSL_CACHE_DIR")
    given = given or environment.get("XDG_CACHE_HOME")
    try:
        base = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        return None
    there = next(one for one in (base, *base.parents) if one.exists())
    return base if os.access(there, os.W_OK) else None


class Compiled:
    """The hashes of one adapter's shaders.

    Several processes may add to the file at once; each sees what was there when it first asked.
    """

    def __init__(self, info: AdapterInfo, cache: Path) -> None:
        """Take the adapter and the folder of its driver's code; read nothing yet."""
        self._facts = (info.name, info.driver, info.backend)
        self._cache = cache
        self._found: set[bytes] | None = None

    def __contains__(self, digest: bytes) -> bool:
        """Say whether the driver is known to have compiled a shader."""
        if self._found is None:
            self._found = set(_read(self._file()))
        return digest in self._found

    def note(self, digests: Iterable[bytes]) -> None:
        """Add the hashes of shaders that the driver has compiled."""
        new = [one for one in dict.fromkeys(digests) if one not in self]
        if not new or self._found is None:
            return
        self._found.update(new)
        file = self._file()
        try:
            if file.add(b"".join(new)) > MOST * DIGEST:
                file.write(b"".join(_read(file)[-MOST // 2 :]))
        except (OSError, ArgumentError) as error:
            _logger.info("What the driver has compiled is not kept: %s", error)

    def _file(self) -> KeptFile:
        """Return the file for this adapter and for the folder as it is there now.

        A folder that was removed and made again has another number, and nothing in it.
        """
        folders = (self._cache / name for name in ("mesa_shader_cache", "mesa_shader_cache_db"))
        numbers = [one.stat().st_ino for one in folders if one.is_dir()]
        words = "\n".join((*self._facts, str(self._cache), *map(str, numbers)))
        name = hashlib.sha256(words.encode()).hexdigest()[:24]
        return KeptFile(cache_folder(), "compiled", f"{name}.bin")


def _read(file: KeptFile) -> list[bytes]:
    content = file.read() or b""
    return [content[at : at + DIGEST] for at in range(0, len(content) - DIGEST + 1, DIGEST)]
