"""Run the tests of the samples in a process per family: ``python -m tests.by_family``.

For drivers that keep memory for each pipeline, or may die of one. Arguments go to pytest; WORKERS
says how many processes run at a time. What a family printed is shown where it failed.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from wgsl_kernels.testing import samples

TESTS = ("tests/test_samples.py", "tests/test_quirks.py")
LIMIT_SECONDS = 1800
"""After so long a family has failed: the longest took 150 s on two cores."""


def run(family: str) -> tuple[str, int, str]:
    """Return a family, how its tests ended, and what they printed."""
    command = [sys.executable, "-m", "pytest", "--quiet", *TESTS, *sys.argv[1:]]
    environment = {**os.environ, "WGSL_KERNELS_TEST_FAMILY": family}
    try:
        done = subprocess.run(
            command,
            env=environment,
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
    families = sorted(one.name for one in pkgutil.iter_modules(samples.__path__))
    failed = 0
    with ThreadPoolExecutor(int(os.environ.get("WORKERS", "2"))) as pool:
        for family, code, text in pool.map(run, families):
            failed += code != 0
            print(f"{family}: {text.strip().splitlines()[-1]}" if not code else f"{family}\n{text}")
    print(f"{len(families) - failed} of {len(families)} families passed")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
