"""Facts about the machine that this process runs on."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 4 << 30


HALF_OF_MEMORY = _half_of_memory()
"""Half of the machine's memory in bytes: the default limit of what shares it."""
