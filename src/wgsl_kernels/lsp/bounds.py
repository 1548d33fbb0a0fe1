"""``python -m wgsl_kernels.lsp.bounds FILE``: what names in a file's shaders may be, as JSON.

The samples of its kernels run on intervals. The server has this run in a process of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.bench.intervals.running import on_intervals
from wgsl_kernels.engine.drivers.backends import find_driver, use_backend
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.observe.profile import evaluate
from wgsl_kernels.testing.inputs import arrays_for, tensors_for
from wgsl_kernels.testing.program import KernelScript
from wgsl_kernels.testing.registered import samples_of

MOST = 4
"""Samples of a kernel that run."""


def bounds_of(path: Path) -> list[dict[str, Any]]:
    """Return rows of a file, a line, a column, and the least and the most that a name may be."""
    program = KernelScript.at(path)
    program.run()
    driver = find_driver("webgpu")
    assert isinstance(driver, WebGpuBackend)
    samples = [one for name in program.kernels for one in samples_of(name)[:MOST]]
    with (
        use_backend("webgpu"),
        config.using(fusion="never", small_ops="device"),
        on_intervals(driver.open(), names=True) as ranges,
    ):
        for sample in samples:
            try:
                evaluate(sample.f(*tensors_for(arrays_for(sample)), **sample.attrs))
            except Exception:  # said by the check, whatever a kernel raises
                continue
    ranges.compute()
    rows = (ranges.names or {}).items()
    return [
        {"file": at.file, "line": at.line, "column": at.column, "low": low, "high": high}
        for at, (low, high) in rows
        if low <= high
    ]


if __name__ == "__main__":
    print(json.dumps(bounds_of(Path(sys.argv[1]))))
