"""Choosing among a kernel's variants: by measured time where that is known, else by its own rule.

See docs/decisions/0012-measure-at-first-use.md.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.tuning.tuning_file import TuningFile, file_for
from wgsl_kernels.engine.config import config
from wgsl_kernels.engine.context import current
from wgsl_kernels.engine.errors import DeviceLostError, WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from wgsl_kernels.backends.webgpu.devices.device import Device

WORTH = 1 << 18
"""Multiply-adds or elements below which nothing is measured: the dispatch itself costs more."""

SECONDS = 0.5
"""The most that measuring for one choice takes, the first runs apart."""

FIRST_RUNS = 3.0
"""Seconds that the first runs of variants, which compile them, take of a process at most. What it
has no time for is left to the next one, for which many drivers keep what was compiled."""

ROUNDS = 5
GAIN = 0.95
"""A variant replaces the static one if it takes at most this part of its time."""

HOPELESS = 2.0
"""A variant that takes this many times the best after one round is not measured again."""

ShapeClass = tuple[object, ...]
Key = tuple[str, ShapeClass, tuple[str, ...]]

_logger = logging.getLogger("wgsl_kernels")
_forced: dict[str, str] = {}
_watching: list[dict[str, set[str]]] = []


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured for one choice.

    Attributes:
        kernel: The kernel's name.
        shape_class: What the choice holds for.
        static: The variant that is taken without measuring.
        chosen: The one that is taken now.
        seconds: The least time of each variant that ran.
    """

    kernel: str
    shape_class: ShapeClass
    static: str
    chosen: str
    seconds: Mapping[str, float]


@contextmanager
def forced(kernel: str, name: str) -> Iterator[None]:
    """Have ``kernel`` run as the variant ``name``, wherever it can, for a block of this process."""
    before = _forced.get(kernel)
    _forced[kernel] = name
    try:
        yield
    finally:
        if before is None:
            del _forced[kernel]
        else:
            _forced[kernel] = before


@contextmanager
def watching() -> Iterator[dict[str, set[str]]]:
    """Give a dictionary that fills with the variants that each kernel could run as."""
    seen: dict[str, set[str]] = {}
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def is_asked() -> bool:
    """Say whether somebody forces variants or watches which there are: then every kernel asks."""
    return bool(_forced or _watching)


@dataclass
class Tuner:
    """The choices for one adapter.

    Attributes:
        open: Returns the device.
        measured: What was measured in this process, in order.
    """

    open: Callable[[], Device]
    measured: list[Measurement] = field(default_factory=list[Measurement])
    _chosen: dict[Key, str] = field(default_factory=dict[Key, str])
    _file: TuningFile | None = None
    _is_measuring: bool = False
    _renewing: float | None = None
    _decided: int = 0
    _first_runs: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def choose(
        self,
        kernel: str,
        shape_class: ShapeClass,
        names: tuple[str, ...],
        static: str,
        run: Callable[[str], object],
        work: float,
    ) -> str:
        """Return the variant to run.

        What is known costs one look in a dictionary. What is not is measured here, once per
        machine, within bounds: see `SECONDS` and `WORTH`.

        Args:
            kernel: The kernel's name.
            shape_class: Small numbers and short words that tell apart what may want another
                variant; see `variants.size_class`.
            names: The variants that can run here.
            static: The one of them to take without measuring.
            run: Runs a variant on the arrays at hand, into new arrays, without another effect.
            work: Multiply-adds or elements of one run, about.
        """
        for seen in _watching:
            seen.setdefault(kernel, set()).update(names)
        if _forced and _forced.get(kernel) in names:
            return _forced[kernel]
        if len(names) == 1 or config.deterministic or config.tuning == "off":
            return static
        key = (kernel, shape_class, names)
        found = self._chosen.get(key)
        if found is None or self._renewing is not None:
            found = self._decide(key, static, run, work)
        return found

    def state(self) -> Hashable:
        """Return what is equal while `choose` answers as it did; None where it is to be asked.

        An answer that may differ next time changes it.
        """
        if _watching or _forced or self._renewing is not None:
            return None
        switches = config.switches(current())
        return (self._decided, switches["deterministic"], switches["tuning"])

    @contextmanager
    def renewing(self, seconds: float) -> Iterator[None]:
        """Measure again in this block, whatever is remembered, ``seconds`` at most for each."""
        before, self._renewing = self._renewing, seconds
        try:
            yield
        finally:
            self._renewing = before

    def _decide(self, key: Key, static: str, run: Callable[[str], object], work: float) -> str:
        device = self.open()
        with device.lock, self._lock:  # in this order: who makes a pending array has the device's
            if self._file is None:
                self._file = TuningFile(file_for(device.info))
            label = _label(key)
            known = None if self._renewing is not None else self._file.find(label)
            if known is not None and known in key[2]:
                self._decided += 1
                return self._chosen.setdefault(key, known)
            if config.tuning != "on":
                return static  # while the switch stays, of which `state` tells
            self._decided += 1
            is_watched = device.is_profiling or device.notes is not None  # or being captured
            if self._is_measuring or is_watched:
                return static
            is_hasty = self._renewing is None and device.pipelines.background is None
            is_small = work < WORTH and self._renewing is None
            if is_small or (is_hasty and self._first_runs > FIRST_RUNS):
                return self._chosen.setdefault(key, static)
            names = (static, *(name for name in key[2] if name != static))
            self._is_measuring = True
            try:
                ready, is_whole = self._compiled(device, names, run, is_hasty=is_hasty)
                budget = SECONDS if self._renewing is None else self._renewing
                seconds = _measured(device, ready, run, budget)
            finally:
                self._is_measuring = False
            chosen = _best(seconds, static)
            self._chosen[key] = chosen
            if len(seconds) > 1:
                self.measured.append(Measurement(key[0], key[1], static, chosen, seconds))
                if is_whole:
                    self._file.keep(label, chosen, seconds)
                _logger.info("%s runs as %s (of %s)", label, chosen, seconds)
            return chosen

    def _compiled(
        self,
        device: Device,
        names: tuple[str, ...],
        run: Callable[[str], object],
        *,
        is_hasty: bool,
    ) -> tuple[list[str], bool]:
        """Run each variant once, in haste only as long as there is time.

        Returns:
            Those that can run, and whether all were tried.
        """
        ready: list[str] = []
        for name in names:
            if is_hasty and self._first_runs > FIRST_RUNS:
                return ready, False
            start = time.perf_counter()
            if _time(device, run, name) is not None:
                ready.append(name)
            if is_hasty and name != names[0]:  # which the caller runs in any case
                self._first_runs += time.perf_counter() - start
        return ready, True


def _measured(
    device: Device, names: list[str], run: Callable[[str], object], budget: float
) -> dict[str, float]:
    """Return the least seconds of each variant; none where they take too long to compare.

    Each ran before: a driver may compile within the first run.
    """
    seconds: dict[str, float] = {}
    spent = 0.0
    left = names
    for turn in range(ROUNDS):
        for name in left:
            if spent > budget:
                return seconds if turn else {}
            took = _time(device, run, name)
            if took is not None:
                spent += took
                seconds[name] = min(took, seconds.get(name, took))
        least = min(seconds.values(), default=0.0)
        left = [name for name in left if seconds.get(name, least) <= HOPELESS * least]
    return seconds


def _time(device: Device, run: Callable[[str], object], name: str) -> float | None:
    """Return the seconds of one run by the device's clock, else by ours; None where it fails."""
    try:
        device.wait()
        start = time.perf_counter()
        device.profile(on=True)
        try:
            run(name)
            nanoseconds = sum(row.nanoseconds or 0 for row in device.take_timings())
        finally:
            device.profile(on=False)
        device.wait()
        wall = time.perf_counter() - start
    except DeviceLostError:
        raise
    except WgslKernelsError as error:
        _logger.info("variant %s cannot run: %s", name, error)
        return None
    return nanoseconds / 1e9 if nanoseconds else wall


def _best(seconds: Mapping[str, float], static: str) -> str:
    """Return the fastest variant, but the static one where that is almost as fast."""
    if static not in seconds:
        return static
    fastest = min(seconds, key=lambda name: seconds[name])
    return fastest if seconds[fastest] <= GAIN * seconds[static] else static


def _label(key: Key) -> str:
    kernel, shape_class, names = key
    return f"{kernel} {' '.join(map(str, shape_class))}: {', '.join(names)}"
