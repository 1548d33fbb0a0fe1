"""Which kernels a worker had begun when its process died: noted there, read by the scheduler.

A process that a driver ends says nothing more. So a worker under a nanny writes the name of each
kernel into mapped memory before it runs: the system keeps those bytes when the process is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import pickle
import re
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dask.context import thread_state
from distributed import KilledWorker, SchedulerPlugin

from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distributed import Scheduler

    from wgsl_kernels.engine.drivers.driver import Launch

SLOT_BYTES = 2048
SLOTS = 16
"""Threads of a worker that have a note each; more share theirs."""
KERNELS = 4
"""The latest kernels of a task that are kept."""


def note_path(local_directory: str, nanny: str) -> Path:
    """Return where a worker's note is: beside its own folder, which its nanny removes."""
    return (
        Path(local_directory).parent / f"wgsl-kernels-note-{re.sub(r'[^0-9A-Za-z]+', '-', nanny)}"
    )


class KernelNote:
    """A file in which each thread of this process says what kernels its task has begun."""

    def __init__(self, path: Path, worker: str) -> None:
        """Begin an empty note of a worker, by its address."""
        self.path, self._worker = path, worker
        path.write_bytes(bytes(SLOT_BYTES * SLOTS))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 0)
        self._own = threading.local()
        self._threads = 0
        self._lock = threading.Lock()

    def around(self, name: str, specs: Sequence[Any], launch: Launch) -> Launch:
        """Return a launch that is noted before it runs."""
        kernel = _described(name, specs)

        def noted(arrays: list[Any]) -> Sequence[Any]:
            self.begin(kernel)
            return launch(arrays)

        return noted

    def begin(self, kernel: str) -> None:
        """Note a kernel that is about to run, where a task of Dask runs it."""
        key = getattr(thread_state, "key", None)
        if key is None:
            return
        own = self._own
        if not hasattr(own, "offset"):
            with self._lock:
                own.offset = self._threads % SLOTS * SLOT_BYTES
                self._threads += 1
            own.key, own.kernels = None, deque[str](maxlen=KERNELS)
        if own.key != key:
            own.key = key
            own.kernels.clear()
        own.kernels.append(kernel)
        text = "\n".join([self._worker, str(key), *own.kernels])
        data = text.encode()[: SLOT_BYTES - 1].ljust(SLOT_BYTES, b"\0")
        self._bytes[own.offset : own.offset + SLOT_BYTES] = data

    def close(self) -> None:
        """Remove the file; what is noted later reaches nobody."""
        self.path.unlink(missing_ok=True)


def kernels_of(path: Path, worker: str, key: str) -> list[str]:
    """Return the latest kernels that a task began on a worker, in order, if any is noted."""
    try:
        data = path.read_bytes()
    except OSError:  # the worker is on another machine, or keeps no note
        return []
    for start in range(0, len(data), SLOT_BYTES):
        text = data[start : start + SLOT_BYTES].rstrip(b"\0").decode(errors="replace")
        address, _, rest = text.partition("\n")
        if address == worker and rest.startswith(f"{key}\n"):
            return rest[len(key) + 1 :].split("\n")
    return []


class CrashReports(SchedulerPlugin):
    """Adds to a Dask's ``KilledWorker`` which kernels the task had begun.

    It stays Dask's own error, so that clients without this package can read it, too.
    """

    name = "wgsl-kernels-crash-reports"
    idempotent = True

    async def start(self, scheduler: Scheduler) -> None:
        """Take the scheduler whose tasks these are."""
        self._scheduler: Any = scheduler

    def transition(
        self, key: Any, start: str, finish: str, *_: Any, exception: Any = None, **__: Any
    ) -> None:
        """Replace the error of a task that has just failed because workers died."""
        if finish != "erred" or start != "processing" or not isinstance(exception, bytes):
            return
        error = pickle.loads(exception)  # the scheduler's own
        if not isinstance(error, KilledWorker):
            return
        worker = error.last_worker
        if not worker.nanny:
            return
        path = note_path(worker.local_directory, worker.nanny)
        kernels = kernels_of(path, worker.address, str(key))
        if not kernels:
            return
        error.add_note(_explained(kernels))
        task = self._scheduler.tasks[key]
        task.exception, task.exception_text = pickle.dumps(error), _explained(kernels)
        # After Dask's own message about the task, in the same batch: clients read both at once.
        asyncio.get_running_loop().call_soon(self._scheduler.report_on_key, key)


def _explained(kernels: Sequence[str]) -> str:
    *before, last = kernels
    after = f", after {', '.join(before)}" if before else ""
    return (
        f"wgsl-kernels: the last kernel that the task began was {last}{after}. "
        f"Try it alone: wgsl-kernels check {last.partition('(')[0]}."
    )


def _described(name: str, specs: Sequence[Any]) -> str:
    return f"{name}({', '.join(_shapes(specs))})"


def _shapes(specs: Sequence[Any]) -> Iterator[str]:
    for one in specs:
        if isinstance(one, list):
            yield f"[{', '.join(_shapes(one))}]"
        elif one is not None:
            yield f"{one.dtype} {show(one.shape)}"


async def add_reports(scheduler: Any) -> None:
    """Have a scheduler make these reports; one that lacks this package, or takes none, does not."""
    with contextlib.suppress(Exception):
        await scheduler.register_scheduler_plugin(
            plugin=pickle.dumps(CrashReports()), name=CrashReports.name, idempotent=True
        )
