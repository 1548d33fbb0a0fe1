"""Work on large arrays in parts, done by as many threads as there are cores.

NumPy lets other threads run while it computes. What a part is depends on the arrays alone, and no
part on another, so that results are the same on any number of cores.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Part = TypeVar("Part")


@functools.cache
def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(cores() - 1, 1), thread_name_prefix="wgsl-kernels-cpu")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of the threads


def each(work: Callable[[Part], None], parts: Iterable[Part]) -> None:
    """Call ``work`` with each part, in no order and several at a time.

    Each should take 100 µs or more, since to wake a thread takes that long. The first error of a
    part is raised when all threads have ended.
    """
    left = deque(parts)
    helpers = min(len(left), cores()) - 1

    def run() -> None:
        while left:
            try:
                part = left.popleft()
            except IndexError:  # another thread took the last one
                return
            work(part)

    started: list[Future[None]] = []
    for _ in range(helpers):
        try:
            started.append(_pool().submit(copy_context().run, run))
        except RuntimeError:  # the interpreter is shutting down: no more threads
            break
    try:
        run()
    finally:
        left.clear()  # after an error nobody begins another part
        errors = [one.exception() for one in started]
    for error in errors:
        if error is not None:
            raise error
