"""Compiling pipelines in threads while Python goes on, as a warm-up does."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.devices.deadlines import compile_seconds, not_compiled
from wgsl_kernels.backends.webgpu.devices.native import is_loss
from wgsl_kernels.backends.webgpu.devices.threads import Crew, TooLong
from wgsl_kernels.engine.environment.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.threads import ThreadCall


class Background:
    """Pipelines that are being compiled; whoever submits waits for them.

    wgpu-py lets other threads run while the driver compiles, and keeps errors apart by thread.

    Attributes:
        asked: How many there were.
        compiling: Those that nobody has waited for.
    """

    def __init__(self, threads: int, notify: Callable[[int, int], None]) -> None:
        """Start no thread yet; any thread calls ``notify(done, asked)`` with each pipeline."""
        self.asked = 0
        self._done = 0
        self._notify = notify
        self._lock = threading.Lock()
        self._crew = Crew(threads)
        self.compiling: list[tuple[Pipeline, ThreadCall[Any]]] = []

    def add(self, pipeline: Pipeline, make: Callable[[], Any]) -> None:
        """Have ``make`` called in a thread; it returns wgpu's pipeline."""
        self._count(asked=1)
        self.compiling.append((pipeline, self._crew.add(partial(self._made, make))))

    def note(self) -> None:
        """Count a pipeline that was compiled at once, not in a thread."""
        self._count(asked=1, done=1)

    def finish(self, handle_of: Callable[[Any], Any]) -> Exception | None:
        """Wait for all pipelines and complete them; return why the first was refused, if one was.

        A refused one stays without handle, so that a batch with it is taken apart.
        """
        first: Exception | None = None
        while self.compiling:
            pipeline, call = self.compiling[0]
            seconds = compile_seconds()
            try:
                call.wait_once_begun(seconds)
                pipeline.owner = call.take_result()
            except TooLong:
                self._crew.go_on()
                late = not_compiled(pipeline.label, seconds)
                pipeline.refuse(late, call)
                first = first or late
            except Exception as error:
                if is_loss(error):
                    self.compiling.clear()
                    raise
                wrong = ShaderError(f"{pipeline.label}: refused by wgpu: {error}")
                pipeline.refuse(wrong)
                first = first or wrong
            else:
                pipeline.handle = handle_of(pipeline.owner)
            del self.compiling[0]  # not sooner: an interrupt leaves it waited for
        return first

    def _made(self, make: Callable[[], Any]) -> Any:
        made = make()
        self._count(done=1)
        return made

    def _count(self, *, asked: int = 0, done: int = 0) -> None:
        with self._lock:
            self.asked += asked
            self._done += done
            counts = self._done, self.asked
        self._notify(*counts)
