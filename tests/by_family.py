"""Run the samples' tests in a process per family of kernels: ``python -m tests.by_family``.

For drivers that keep memory for each pipeline, or may die of one. Arguments go to pytest; WORKERS
says how many processes run at a time. What a family printed is shown where it failed.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from wgsl_kernels.testing import samples

if TYPE_CHECKING:
    from wgsl_kernels.testing import Sample

LIMIT_SECONDS = 1800
"""After so long a family has failed: the longest took 150 s on two cores."""


def arguments() -> dict[str, list[str]]:
    """Return what pytest is given for each family, and for the driver's known defects."""
    found: dict[str, list[str]] = {"quirks": ["tests/test_quirks.py"]}
    names = (one.name for one in pkgutil.walk_packages(samples.__path__, f"{samples.__name__}."))
    for name in names:
        rows: tuple[Sample, ...] = getattr(importlib.import_module(name), "SAMPLES", ())
        if rows:
            words = " or ".join(f"[{kernel}-" for kernel in sorted({one.kernel for one in rows}))
            family = name.removeprefix(f"{samples.__name__}.")
            found[family] = ["tests/test_samples.py", "-m", "plain", "-k", words]
    return found


def run(family: str, given: list[str]) -> tuple[str, int, str]:
    """Return a family, how its tests ended, and what they printed."""
    command = [sys.executable, "-m", "pytest", "--quiet", *given, *sys.argv[1:]]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return family, 1, f"{late.stdout!r}\nnot done after {LIMIT_SECONDS} s"
    return family, done.returncode, done.stdout


def main() -> int:
    """Return how many families failed."""
    families = arguments()
    failed = 0
    with ThreadPoolExecutor(int(os.environ.get("WORKERS", "2"))) as pool:
        for family, code, text in pool.map(run, families.keys(), families.values()):
            failed += code != 0
            print(f"{family}: {text.strip().splitlines()[-1]}" if not code else f"{family}\n{text}")
    print(f"{len(families) - failed} of {len(families)} families passed")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
