"""Work on large arrays in parts, done by as many threads as there are cores.

NumPy lets other threads run while it computes. What a part is depends on the arrays alone, and no
part on another, so that results are the same on any number of cores.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from contextvars import copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.engine.environment.machine import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Part = TypeVar("Part")


@functools.cache
def _asked() -> tuple[SimpleQueue[Callable[[], None]], int]:
    """Return the queue from which the threads take what they are asked to run, and their number."""
    asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
    started = 0
    for number in range(1, max(cores(), 2)):
        name = f"wgsl-kernels-cpu-{number}"
        try:
            threading.Thread(target=_serve, args=(asked,), name=name, daemon=True).start()
        except RuntimeError:  # the interpreter is shutting down, or the system has no more
            break
        started += 1
    return asked, started


def _serve(asked: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        job = asked.get()
        job()
        del job  # and the arrays that it knows


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_asked.cache_clear)  # a child has none of the threads


def each(work: Callable[[Part], None], parts: Iterable[Part]) -> None:
    """Call ``work`` with each part, in no order and several at a time.

    A thread takes up to 100 µs to wake; until then the caller does what there is to do, and it does
    not wait for a thread that has no part. The first error is raised when no part is worked on.
    """
    left = deque(parts)
    count = len(left)
    ended: SimpleQueue[None] = SimpleQueue()
    errors: list[BaseException] = []

    def run() -> None:
        while True:
            try:
                part = left.popleft()
            except IndexError:
                return
            try:
                if not errors:  # after one nobody begins another part
                    work(part)
            except BaseException as error:  # to be raised where `each` was called
                errors.append(error)
            ended.put(None)

    if min(count, cores()) > 1:
        asked, threads = _asked()
        for _ in range(min(count - 1, cores() - 1, threads)):
            asked.put(functools.partial(copy_context().run, run))
    run()
    for _ in range(count):
        ended.get()
    if errors:
        raise errors[0]
