"""Files of what can be computed again, in the user's cache folder.

Any of them may be damaged, written by several processes at once, or impossible to write.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from wgsl_kernels.engine.files import path_of, write_whole

CACHE_VARIABLE = "WGSL_KERNELS_CACHE"


def cache_folder() -> Path:
    """Return the folder for what can be computed again; it may not exist.

    The environment variable WGSL_KERNELS_CACHE names it; without it, it is in the place that the
    platform has for such things.
    """
    own = os.environ.get(CACHE_VARIABLE)
    if own:
        return Path(own)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = _home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or _home() / ".cache"
    return Path(base) / "wgsl-kernels"


def keep_file(path: Path, content: bytes) -> None:
    """Write a file, and its folder, so that a reader sees the old one or the new one, never a part.

    Raises:
        OSError, ArgumentError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path_of("cache", path), [content])


def _home() -> Path:
    """Return the user's folder; where the system knows of none, that for temporary files."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())
