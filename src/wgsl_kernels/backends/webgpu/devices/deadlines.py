"""Waiting for a device: what takes too long ends the wait, and so does Ctrl-C.

No call of a driver can be interrupted, so what may take long is called in a thread, and the waiting
thread waits for that. See docs/decisions/0097-what-takes-too-long-is-left-behind.md.
"""

from __future__ import annotations

import time as clock
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from weakref import ref

from wgsl_kernels.backends.webgpu.devices.ready import label_of
from wgsl_kernels.backends.webgpu.devices.threads import begin
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.context import current
from wgsl_kernels.engine.environment.errors import DeviceLostError, ShaderError
from wgsl_kernels.engine.environment.progress import busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.recorder import Dispatch
    from wgsl_kernels.backends.webgpu.devices.threads import ThreadCall

T = TypeVar("T")

KEPT_BATCHES = 64
"""Batches under way that are told apart; the last of more."""
SHOWN = 6
"""Kernels that a message names."""
QUIET = 4.0
"""Seconds of a wait for what is compiled, before the progress line is thought of."""
PATIENCE = 1.0
"""Seconds that an interrupt leaves a call during which nothing else may be done with the device."""
SLOW = 1e-3
"""Seconds of a submit beside which those that a thread costs are few."""

GONE = (
    "what was computed on it is gone. The next op gets a new device; variables come back from a "
    "file of wk.save, by wk.load(path, into=...)."
)


def compile_seconds() -> float | None:
    found: float | None = config.value("compile_timeout", current())
    return found


def not_compiled(label: str, seconds: float | None) -> ShaderError:
    return ShaderError(
        f"{label}: not compiled within {seconds:g} s (wk.config.compile_timeout). Its compilation "
        "goes on in a thread that is left behind; make the shader smaller, or allow more."
    )


class Deadlines:
    """How one device is waited for. The caller holds the device's lock.

    Attributes:
        fresh: Pipelines that the driver compiles when they first run, and that nothing waited for.
        give_up: Has the device lost, for a reason; set by the device.
        watches_submits: Whether a batch runs inside of the call that submits it.
        under_way: The batches that were submitted, each with its number.
    """

    def __init__(self, policy: Policy) -> None:
        self.fresh: dict[ref[Pipeline], None] = {}
        self.give_up: Callable[[DeviceLostError], None] = _nobody
        self._policy = policy
        self._auto_seconds = policy.dispatch_timeout
        self.watches_submits = policy.runs_in_submit
        self.under_way: deque[tuple[int, Sequence[Dispatch]]] = deque(maxlen=KEPT_BATCHES)
        self._last_submit = 0.0

    @property
    def dispatch_seconds(self) -> float | None:
        found: float | str | None = config.value("dispatch_timeout", current())
        return self._auto_seconds if isinstance(found, str) else found

    def compile(self, f: Callable[[], T], label: str) -> T:
        """Return what ``f`` makes, which calls a compiler."""
        call = begin(f)
        seconds = compile_seconds()
        try:
            if call.wait(seconds):
                return call.take_result()
        except BaseException:
            self._interrupted(call)
            raise
        error = not_compiled(label, seconds)
        if self._policy.has_one_context:
            with suppress(DeviceLostError):
                self._lose(str(error))
        raise error

    def submit(self, f: Callable[[], int], records: Sequence[Dispatch]) -> None:
        """Submit a batch that runs inside of the call, which ``f`` does and returns its number."""
        start = clock.perf_counter()
        is_short = self._last_submit < SLOW and not self.fresh
        # `dispatch_seconds` without its two calls: each evaluation on such an adapter comes here
        found = current().config.get("dispatch_timeout", config.process["dispatch_timeout"])
        seconds = self._auto_seconds if found == "auto" else found
        if is_short and seconds is None:
            number = f()
        else:
            number = self._watched(f, [records], [clock.monotonic()])
        self._last_submit = clock.perf_counter() - start
        if records:
            self.under_way.append((number, records))

    def until_done(self, poll: Callable[[int | None], None]) -> None:
        """Wait until the device is done with all that was submitted.

        ``poll`` waits for a submission by its number, or for all. What takes too long raises
        ShaderError or DeviceLostError, as in all that waits here.
        """
        batches = list(self.under_way)
        times: list[float] = []

        def wait() -> None:
            for number, _ in batches:
                times.append(clock.monotonic())
                poll(number)
            poll(None)

        self._watched(wait, [records for _, records in batches], times)

    def is_made(self, pipeline: Pipeline) -> None:
        if self._policy.compiles_when_run:
            self.fresh[ref(pipeline, self.fresh.pop)] = None

    def are_compiled(self, pipelines: Iterable[Pipeline]) -> None:
        for one in pipelines:
            self.fresh.pop(ref(one), None)

    @property
    def compiles_separately(self) -> bool:
        """Whether compiling is waited for before dispatches run, which may take less long."""
        return bool(self.fresh) and self.dispatch_seconds is not None

    def are_done(self) -> None:
        self.under_way.clear()
        self.fresh.clear()

    def _watched(
        self, f: Callable[[], T], batches: Sequence[Sequence[Dispatch]], times: list[float]
    ) -> T:
        """Return what ``f`` gives, which takes as long as some batches.

        ``times`` has when each of the batches began, as far as that is known; it grows meanwhile.
        """
        fresh = self._fresh_in(batches)
        seconds = [self._seconds(batch) for batch in batches]
        call = begin(f)
        try:
            quiet = min([QUIET, *(one for one in seconds if one is not None)])
            if fresh or not call.wait(quiet):
                what = "compiling" if fresh else "running"
                with busy(what, _names(fresh or [one for some in batches for one in some])):
                    while not call.wait(_left(seconds, times)):
                        at = max(len(times), 1) - 1
                        left = _left(seconds, times)
                        if left is not None and left <= 0:
                            self._too_long(batches[at], seconds[at])
        except (ShaderError, DeviceLostError):
            raise
        except BaseException:
            self._interrupted(call)
            raise
        return call.take_result()

    def _fresh_in(self, batches: Sequence[Sequence[Dispatch]]) -> list[Dispatch]:
        """Return the dispatches whose shaders the driver compiles before they run."""
        fresh = self.fresh
        return [one for some in batches for one in some if ref(one[0]) in fresh] if fresh else []

    def _seconds(self, batch: Sequence[Dispatch]) -> float | None:
        return compile_seconds() if self._fresh_in([batch]) else self.dispatch_seconds

    def _too_long(self, batch: Sequence[Dispatch], seconds: float | None) -> NoReturn:
        fresh = self._fresh_in([batch])
        if fresh:
            compiling = ShaderError(
                f"{_names(fresh)}: neither compiled nor run within {seconds:g} s "
                "(wk.config.compile_timeout)."
            )
            with suppress(DeviceLostError):
                self._lose(str(compiling))
            raise compiling
        self._lose(
            f"{_names(batch)}: a dispatch did not end within {seconds:g} s "
            "(wk.config.dispatch_timeout)."
        )

    def _interrupted(self, call: ThreadCall[Any]) -> None:
        """Give the device up if an interrupt leaves it with a call that excludes all others."""
        if self._policy.has_one_context and not call.wait(PATIENCE):
            with suppress(DeviceLostError):
                self._lose("A call of the driver was interrupted.")

    def _lose(self, why: str) -> NoReturn:
        """Give the device up, and raise that it is lost."""
        lost = DeviceLostError(f"{why} The device is given up, and {GONE}")
        self.give_up(lost)
        raise lost


def _nobody(reason: DeviceLostError) -> None:
    """Stand for who is told, before there is a device."""


def _left(seconds: Sequence[float | None], times: Sequence[float]) -> float | None:
    """Return how long to wait for the batch that runs, or a second where only later ones end."""
    if all(one is None for one in seconds):
        return None
    limit = seconds[max(len(times), 1) - 1]
    if limit is None:
        return 1.0
    return limit if not times else times[-1] + limit - clock.monotonic()


def _names(records: Sequence[Dispatch]) -> str:
    """Return the names of kernels as messages have them."""
    names = list(dict.fromkeys(map(label_of, records)))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    said = ", ".join(names[:SHOWN]) + more
    return f"one of {said}" if len(names) > 1 else said
