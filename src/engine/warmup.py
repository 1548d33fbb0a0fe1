"""Warming up: a model's pipelines compiled beside each other, before they are needed."""

from __future__ import annotations

import os
import sys
import threading
import time as clock
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine import context
from wgsl_kernels.engine.backends import active_driver
from wgsl_kernels.engine.config import config
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.profile import evaluate, synchronize
from wgsl_kernels.engine.tape import hidden_from_tapes
from wgsl_kernels.engine.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Warmup:
    """What a warm-up did.

    Attributes:
        pipelines: How many pipelines were compiled; those that were there already do not count.
        seconds: How long it took, the run of the function included.
        threads: How many threads compiled.
    """

    pipelines: int
    seconds: float
    threads: int


def warmup(
    f: Callable[..., Any],
    *examples: Any,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
) -> Warmup:
    """Run ``f`` once on examples, so that its pipelines are compiled when it is used.

    Pipelines are compiled in several threads while Python goes on; work that needs them waits.
    Afterwards variables, optimizers and `wk.random` are as before, whatever ``f`` did to them, and
    its results are dropped. What else it does in Python is done.

    A captured function runs without being recorded. On a backend that compiles nothing, such as
    ``cpu``, ``f`` just runs.

    Args:
        f: The function, such as a training step.
        examples: Arguments with the shapes and dtypes that will be used.
        threads: How many compile; by default one for each processor, at most 8.
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
    count = min(os.cpu_count() or 1, 8) if threads is None else threads
    if count < 1:
        raise ArgumentError(f"warmup: threads is {threads}; want 1 or more.")
    driver: Any = active_driver()
    watch = Watch()
    fusion = "always" if config.fusion == "auto" else config.fusion
    settings = {**context.current().config, "fusion": fusion}
    start = clock.perf_counter()
    with _shown(progress) as told:
        parallel = getattr(driver, "compiling", None)
        block = nullcontext(_Nothing()) if parallel is None else parallel(count, told)
        around = context.changed(watch=watch, config=settings)
        try:
            with block as compiled, hidden_from_tapes(), around:
                result = f(*examples)
                evaluate(result, [value for _, value in watch.changed.values()])
                synchronize()
            watch.put_back()
        except BaseException:
            around.leave()
            watch.put_back()
            raise
    return Warmup(compiled.asked, clock.perf_counter() - start, count)


class _Nothing:
    asked = 0


@contextmanager
def _shown(progress: bool | Callable[[int, int], None] | None) -> Iterator[Told]:
    """Give what is told of progress: the caller's, a bar, or nothing."""
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
