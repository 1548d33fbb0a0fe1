"""Calling compilers on a stack that is large enough for every text that is let through.

They recurse as deep as a text is nested, and a thread that runs out of stack ends the process. How
much the calling thread has cannot be asked, and programs make threads with little.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.backends.webgpu.devices.uninterrupted import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

STACK = 32 << 20
"""Bytes, of which only those take memory that are used; see ``wgsl.limits`` for what crashed."""

Found = TypeVar("Found")
_starting = threading.Lock()


def on_roomy_stack(call: Callable[[], Found]) -> Found:
    """Return what ``call`` returns, or raise what it raises, from a thread with a large stack."""
    return in_thread(call, start_roomy)


def start_roomy(start: Callable[[], None]) -> None:
    """Call what starts a thread, so that the thread gets a large stack.

    A thread that the program starts at this moment may get one too, which does no harm.
    """
    with _starting:
        before = threading.stack_size(STACK)
        try:
            start()
        finally:
            threading.stack_size(before)
