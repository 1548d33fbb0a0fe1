"""Where the package's shaders were before they went beside their ops: those paths are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.packages import is_there
from wgsl_kernels.engine.environment.origin import warn_user

if TYPE_CHECKING:
    from pathlib import Path

_FORMER = {
    "lowering": "copy creation joining matrix",
    "convolution": "conv pool",
    "elementwise": "activation binary cast compare complex logical unary",
    "images": "image",
    "indexing": "count gather scatter segment sort sparse",
    "linear_algebra": "matrix",
    "normalization": "normalization",
    "pooling": "pool",
    "random": "random",
    "reductions": "normalization reduce scan softmax",
    "shapes": "creation joining",
    "signal": "fft",
}
"""The present families, and the former folders of their files, which kept their names."""


def present_path(folder: Path, given: str) -> Path | None:
    """Return where in the package's ``folder`` a shader is now that was at the path ``given``.

    It warns that the path is an old one. None: no shader was there.
    """
    former, _, name = given.partition("/")
    for family, words in _FORMER.items() if name else ():
        if former in words.split():
            inside = sorted(one for one in (folder / family).iterdir() if one.is_dir())
            for found in (folder / family / name, *(one / name for one in inside)):
                if is_there(found):
                    now = found.relative_to(folder).as_posix()
                    message = f"shader {given!r} of wgsl_kernels is {now!r} now; write that."
                    warn_user(message, DeprecationWarning)
                    return found
    return None
