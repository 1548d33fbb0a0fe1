"""The commands that the server runs in processes of their own, so that no file can end it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING

from wgsl_kernels.lsp.documents import path_of
from wgsl_kernels.lsp.findings import finding_from

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.wgsl.errors.findings import Finding

CHECK_SECONDS = 60.0
"""How long a file may run at a save before it is ended."""
_SECTIONS = ("--section", "compiles", "--section", "portable", "--section", "right")


async def checked(path: Path) -> list[Finding] | None:
    """Return what ``check --quick`` finds in a saved file; None where it says nothing in time."""
    command = ("wgsl_kernels", "check", str(path), "--json", "--quick", *_SECTIONS)
    code, out, _ = await _run(path, *command)
    if code not in (0, 1):
        return None
    begin = f"\n{out}".rindex("\n{\n")  # the file may have printed before
    return [finding_from(row) for row in json.loads(out[begin:])["findings"]]


async def bounded(path: Path) -> dict[Path, dict[tuple[int, int], tuple[float, float]]]:
    """Return what names in the shaders of a Python file may be, by file, line and column."""
    code, out, _ = await _run(path, "wgsl_kernels.lsp.bounds", str(path))
    found: dict[Path, dict[tuple[int, int], tuple[float, float]]] = {}
    for one in json.loads(out.strip().rpartition("\n")[2]) if code == 0 else ():
        file = path_of(one["file"], path.parent)
        found.setdefault(file, {})[one["line"], one["column"]] = (one["low"], one["high"])
    return found


async def shown(path: Path, kernel: str) -> str:
    """Return what ``show`` prints for a kernel of a Python file, or for a shader file."""
    target = f"{path}:{kernel}" if kernel else str(path)
    _, out, errors = await _run(path, "wgsl_kernels", "show", target)
    return out or errors


async def _run(path: Path, *arguments: str) -> tuple[int | None, str, str]:
    """Run a module where a file is; it ends where whoever asks does not wait any more."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments,
        cwd=path.parent,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, errors = await asyncio.wait_for(process.communicate(), CHECK_SECONDS)
    except (TimeoutError, asyncio.CancelledError) as error:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if isinstance(error, asyncio.CancelledError):
            raise
        return None, "", f"{arguments[1]}: no answer in {CHECK_SECONDS:.0f} s."
    return process.returncode, out.decode(errors="replace"), errors.decode(errors="replace")
