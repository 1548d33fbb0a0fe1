"""The commands that the server runs in processes of their own, so that no file can end it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING

from wgsl_kernels.lsp.findings import finding_from

if TYPE_CHECKING:
    from pathlib import Path

    from wgsl_kernels.wgsl.errors.findings import Finding

CHECK_SECONDS = 60.0
"""How long a file may run at a save before it is ended."""
_SECTIONS = ("--section", "compiles", "--section", "portable", "--section", "right")


async def checked(path: Path) -> list[Finding] | None:
    """Return what ``check --quick`` finds in a saved file; None where it says nothing in time."""
    code, out, _ = await _run(path, "check", str(path), "--json", "--quick", *_SECTIONS)
    if code not in (0, 1):
        return None
    return [finding_from(row) for row in json.loads(out)["findings"]]


async def shown(path: Path, kernel: str) -> str:
    """Return what ``show`` prints for a kernel of a Python file, or for a shader file."""
    target = f"{path}:{kernel}" if kernel else str(path)
    _, out, errors = await _run(path, "show", target)
    return out or errors


async def _run(path: Path, *arguments: str) -> tuple[int | None, str, str]:
    """Run a command where a file is; it ends where whoever asks does not wait any more."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "wgsl_kernels", *arguments,
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
        return None, "", f"{arguments[0]}: no answer in {CHECK_SECONDS:.0f} s."
    return process.returncode, out.decode(errors="replace"), errors.decode(errors="replace")
