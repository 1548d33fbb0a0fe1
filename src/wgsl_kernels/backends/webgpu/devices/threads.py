"""Threads of our own: with a large stack, kept, and left behind by what takes too long.

Compilers recurse as deep as a text is nested, and a thread that runs out of stack ends the process.
How much the calling thread has cannot be asked, and programs make threads with little. No call of a
driver can be interrupted either; waiting for a thread that makes it can. All are daemons, which do
not hold up the interpreter's exit.
"""

from __future__ import annotations

import os
import threading
import time as clock
from collections import deque
from functools import partial
from sys import is_finalizing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wgsl_kernels.engine.environment.errors import DeviceLostError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

STACK = 32 << 20
"""Bytes, of which only those take memory that are used; see ``wgsl.limits`` for what crashed."""

_starting = threading.Lock()
_idle: list[_Thread] = []
_all: list[_Thread] = []


def are_at_work() -> bool:
    """Say whether a thread makes a call: one that nobody waits for any more, at the end."""
    return len(_idle) < len(_all)


def python_ends() -> DeviceLostError:
    """Return what is raised where Python shuts down: who waits for a thread then would not end."""
    return DeviceLostError(
        "Python is shutting down, and with it the threads that a device needs. Read values before: "
        "in a function that atexit calls, or at the end of a with block."
    )


class TooLong(Exception):  # noqa: N818  not an error before somebody says so
    """A call has not ended in the time that it was given; its thread is left behind."""


class ThreadCall(Generic[T]):
    """A call that a thread makes; one other thread waits for it.

    What it was made with and what it returned are the waiting thread's alone to let go of. A driver
    of one context ends the process where a thread releases what is a driver's while a long call of
    another has that context.

    Attributes:
        began: When, by `time.monotonic`; None before.
    """

    __slots__ = ("_ended", "_error", "_f", "_result", "began", "is_done")

    def __init__(self, f: Callable[[], T]) -> None:
        self._f: Callable[[], T] | None = f
        self._ended = threading.Lock()
        self._ended.acquire()
        self._error: BaseException | None = None
        self._result: Any = None
        self.began: float | None = None
        self.is_done = False

    def run(self, at_end: Callable[[], None] | None = None) -> None:
        """Make the call, then ``at_end``, then let the waiting thread go on."""
        self.began = clock.monotonic()
        f, self._f = self._f, None
        try:
            self._result = None if f is None else f()
        except BaseException as error:
            self._error = error
        del f
        if at_end is not None:
            at_end()
        self.is_done = True  # before the lock: an interrupt may end a wait that has it
        self._ended.release()

    def wait(self, seconds: float | None = None) -> bool:
        if not self.is_done:
            if is_finalizing():
                raise python_ends()
            self._ended.acquire(timeout=-1 if seconds is None else max(0.0, seconds))
        return self.is_done

    def wait_once_begun(self, seconds: float | None) -> None:
        """Wait for its end, so long after its beginning; raise TooLong where it has not come."""
        left = seconds
        while not self.wait(left):
            if self.began is not None and seconds is not None:
                left = self.began + seconds - clock.monotonic()
                if left <= 0:
                    raise TooLong

    @property
    def failed(self) -> bool:
        return self._error is not None

    def take_result(self) -> T:
        """Return, once, what a call that has ended returned; what it raised is raised."""
        if self._error is not None:
            raise self._error
        found: T = self._result
        self._result = None
        return found


def begin(f: Callable[[], T]) -> ThreadCall[T]:
    """Have a thread call ``f``, and return without waiting."""
    if is_finalizing():
        raise python_ends()
    call = ThreadCall(f)
    try:
        thread = _idle.pop()
    except IndexError:
        _Thread(call)
    else:
        thread.take(call)
    return call


def in_thread(f: Callable[[], T], seconds: float | None = None) -> T:
    """Return what ``f`` gives in a thread; an interrupt ends the wait only.

    It raises TooLong where that has not ended after so many seconds.
    """
    call = begin(f)
    if not call.wait(seconds):
        raise TooLong
    return call.take_result()


class Crew:
    """At most so many threads that make calls in the order in which they were asked for."""

    def __init__(self, threads: int) -> None:
        self._lock = threading.Lock()
        self._wanted: deque[ThreadCall[Any]] = deque()
        self._missing = threads

    def add(self, f: Callable[[], T]) -> ThreadCall[T]:
        """Have ``f`` called when its turn comes."""
        call = ThreadCall(f)
        in_thread(partial(self._add, call))  # whole, where no interrupt comes
        return call

    def go_on(self) -> None:
        """Have another thread, since one of them is left behind."""
        begin(self._work)

    def _add(self, call: ThreadCall[Any]) -> None:
        with self._lock:
            self._wanted.append(call)
            needs_thread = self._missing > 0
            self._missing -= needs_thread
        if needs_thread:
            begin(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._missing += 1
                    return
                call = self._wanted.popleft()
            call.run()


class _Thread:
    """A thread that makes one call after another."""

    def __init__(self, call: ThreadCall[Any]) -> None:
        self._call: ThreadCall[Any] | None = call
        self._given = threading.Lock()
        thread = threading.Thread(target=self._work, daemon=True, name="wgsl-kernels-call")
        _all.append(self)
        with _starting:  # a thread that the program starts now may get such a stack too
            before = threading.stack_size(STACK)
            try:
                thread.start()
            finally:
                threading.stack_size(before)

    def take(self, call: ThreadCall[Any]) -> None:
        self._call = call
        self._given.release()

    def _work(self) -> None:
        while True:
            self._given.acquire()
            call, self._call = self._call, None
            if call is not None:
                call.run(partial(_idle.append, self))  # so that whoever waited finds it idle
            del call


def _forget() -> None:
    _idle.clear()
    _all.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget)
