"""Calls that an interrupt must not come into the middle of.

Python raises `KeyboardInterrupt` in the main thread, wherever its next line happens to be: also in
a Python function that C calls back, where nobody can take it, so that it is printed and forgotten,
and with it what the callback was to tell. It raises none in other threads, and none while C code
runs that does not call Python functions. See decisions/0025.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from operator import call
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def in_thread(f: Callable[[], T], start: Callable[[Callable[[], None]], None] = call) -> T:
    """Return what ``f`` gives in a thread of its own; an interrupt ends the wait only.

    Args:
        f: What the thread does.
        start: Calls what starts the thread.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(f())
        except BaseException as error:
            future.set_exception(error)

    start(threading.Thread(target=run, daemon=True, name="wgsl-kernels-call").start)
    return future.result()


def in_one(*calls: Callable[[], Any]) -> None:
    """Make the calls one after the other; no interrupt comes between functions written in C."""
    deque(map(call, calls), maxlen=0)
