"""Warming up: a model's pipelines compiled beside each other, before they are needed."""

from __future__ import annotations

import os
import sys
import threading
import time as clock
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.capture.capture import Captured
from wgsl_kernels.engine.capture.watch import kept_as_before
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import active_driver
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.observe.profile import evaluate, synchronize
from wgsl_kernels.engine.tensors.watched_reads import hidden_from_tapes
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from wgsl_kernels.engine.drivers.abilities import Compilation

    Notify = Callable[[int, int], None]


MOST_RUNS = 4
"""What a function does may differ from run to run, and with it what is fused: a kernel of a user is
seen to hand its result on, a slot of an optimizer is no longer made of zeros."""


@dataclass(frozen=True)
class Warmup:
    """What a warm-up did.

    Attributes:
        pipelines: How many pipelines were compiled; those that were there already do not count.
        seconds: How long it took, the runs of the function included.
        threads: How many threads compiled.
    """

    pipelines: int
    seconds: float
    threads: int


def warmup(
    f: Callable[..., Any],
    *examples: Any,
    threads: int | None = None,
    tune: bool = False,
    progress: bool | Callable[[int, int], None] | None = None,
) -> Warmup:
    """Run ``f`` on examples until nothing is left to compile, so that its use waits for nothing.

    That takes two runs as a rule and four at most. Pipelines are compiled in several threads while
    Python goes on; work that needs them waits. Afterwards variables, optimizers and `wk.random` are
    as before, whatever ``f`` did to them, and its results are dropped. What else it does in Python
    is done, as often as it runs.

    A captured function runs as it does when it is recorded, and is not recorded. On a backend that
    compiles nothing, such as ``cpu``, ``f`` runs once.

    Args:
        f: The function, such as a training step.
        examples: Arguments with the shapes and dtypes that will be used.
        threads: How many compile; by default one for each processor, at most 8.
        tune: Whether to measure kernels' variants too, where that is worth it and nothing is known
            of this adapter. It takes its time, here, and holds for later processes, in this one
            for what was not used before; see `wk.config.tuning`.
        progress: Called as ``progress(done, asked)`` when a pipeline is asked for or done, from
            any thread. Without it there is a bar if standard error is a terminal; True asks for
            one always, False for none.

    Returns:
        How many pipelines that were, and how long it took.

    Raises:
        ArgumentError: ``threads`` is below 1.

    Example:
        >>> warmup(lambda x: wk.sum(x * x), wk.tensor([1.0, 2.0])).threads >= 1
        True
    """
    function("warmup", "f", f)
    count = min(os.cpu_count() or 1, 8) if threads is None else threads
    if count < 1:
        raise ArgumentError(f"warmup: threads is {threads}; want 1 or more.")
    fusion = "always" if config.fusion == "auto" else config.fusion
    settings = {"fusion": fusion, "progress": "off"}
    start = clock.perf_counter()
    with _shown(progress) as notify:
        able = abilities_of(active_driver())
        block: AbstractContextManager[Compilation] = nullcontext(_Nothing())
        if able.compiling is not None:
            block = able.compiling.compiling(count, notify)
        tuning = able.tuning.tuning if tune and able.tuning is not None else nullcontext
        around = kept_as_before(config=settings)
        with block as compiled, tuning(), hidden_from_tapes(), around as watch:
            for number in range(MOST_RUNS):
                before = compiled.asked
                is_plain = tune and not number  # nothing is measured while it is recorded
                if isinstance(f, Captured) and not is_plain:
                    result = f.rehearse(*examples)
                else:
                    result = f(*examples)
                evaluate(result, [value for _, value in watch.changed.values()])
                synchronize()
                if compiled.asked == before and not is_plain:
                    break
    return Warmup(compiled.asked, clock.perf_counter() - start, count)


class _Nothing:
    asked = 0


@contextmanager
def _shown(progress: bool | Callable[[int, int], None] | None) -> Iterator[Notify]:
    """Give what is notified of progress: the caller's, a bar, or nothing."""
    if callable(progress):
        yield progress
        return
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda done, asked: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn()
    lock = threading.Lock()
    console = Console(stderr=True, force_terminal=progress)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling", total=None)

        def tell(done: int, asked: int) -> None:
            with lock:
                bar.update(task, completed=done, total=asked)

        yield tell
