"""Errors of kernels name the op that the user called, where its name is another one."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ShaderError, WgslKernelsError
from wgsl_kernels.engine.registry.public import public_functions

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = __name__.partition(".")[0]


def name_op(error: WgslKernelsError, kernel: str) -> None:
    """Put the outermost op that led to an error of ``kernel`` before the kernel's name in it.

    ``where`` runs Select: "where (kernel Select): condition has dtype float32; want bool." An op
    with the kernel's own name is not named twice, and a function outside this package not at all.
    """
    head = f"{kernel}: "
    message = str(error)
    if isinstance(error, ShaderError) or len(error.args) != 1 or not message.startswith(head):
        return
    names = _calling_op()
    if names != [] and _plain(kernel) not in [_plain(one) for one in names]:
        error.args = (f"{names[0]} (kernel {kernel}): {message.removeprefix(head)}",)


def _calling_op() -> list[str]:
    """Return the names of the outermost public function in this package's frames, to the user's."""
    known = public_functions()
    found: list[str] = []
    frame: FrameType | None = sys._getframe(3)  # who called `run`
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        if frame.f_code.co_qualname == "call_rule":  # a gradient's ops are not what the user called
            break
        found = known.get(frame.f_code, found)
        frame = frame.f_back
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


def _plain(name: str) -> str:
    """Return a name without what kernels' names and ops' differ in: ``GatherV2`` is ``gather``."""
    return re.sub(r"v\d$", "", name.rpartition(".")[2].replace("_", "").lower())
