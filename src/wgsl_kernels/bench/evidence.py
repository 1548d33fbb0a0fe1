"""What was found of kernels last, kept from one process to the next: a JSON file per adapter.

The file may be damaged or impossible to write: then there is no evidence, and nothing else happens.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.engine.registry.registry import get_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.testing.report import Report


def last_evidence(kernels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the last verdict on kernels as registered, on the adapter in use, by their names."""
    found = _kept()
    return {one: found[key] for one in kernels if (key := _key(one)) in found}


def _key(kernel: str) -> str:
    """Return what a verdict is kept under: another file may have a kernel of the same name."""
    found = get_kernel(kernel, "webgpu") or get_kernel(kernel, "cpu")
    if found is None or found.origin.is_ours:
        return kernel
    return f"{kernel} {Path(found.origin.file).resolve()}"


def _kept() -> dict[str, dict[str, Any]]:
    file = _file()
    content = None if file is None else file.read()
    try:
        found = json.loads((content or b"{}").decode())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def keep_evidence(reports: Iterable[Report]) -> None:
    """Remember verdicts, beside those on other kernels."""
    file = _file()
    if file is None:
        return
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    own = {
        _key(one.kernel): {
            "verdict": "ok" if one.passed else "FAILED",
            "date": today,
            "checks": len(one.rows),
            "worst_ulp": max(
                (row.worst_ulp for row in one.rows if row.check == "forward"), default=0
            ),
        }
        for one in reports
    }
    text = json.dumps({**_kept(), **own}, indent=1, sort_keys=True)
    with contextlib.suppress(OSError, WgslKernelsError):
        file.write(text.encode())


def _file() -> KeptFile | None:
    choice = choose_adapter()
    if choice is None:
        return None
    info = choice.info
    slug = re.sub("[^a-z0-9]+", "-", f"{info.name} {info.backend} {info.driver}".lower())
    return KeptFile(cache_folder(), "evidence", f"{slug.strip('-')[:100]}.json")
