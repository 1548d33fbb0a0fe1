"""Files of what can be computed again, in the user's cache folder.

Any of them may be damaged, written by several processes at once, or impossible to write.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

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
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wgsl-kernels"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
