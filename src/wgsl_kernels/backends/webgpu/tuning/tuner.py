"""Choosing among a kernel's variants: by measured time where that is known, else by its own rule.

Within a process a choice never changes: what is measured along the way takes force in the next one.
See docs/decisions/0037-measured-choices-hold-from-the-next-process-on.md.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.tuning.tuning_file import (
    Entries,
    TuningFile,
    entries_in,
    file_for,
    words_of,
)
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.context import current
from wgsl_kernels.engine.environment.errors import DeviceLostError, WgslKernelsError
from wgsl_kernels.engine.environment.progress import busy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.tuning.choice import Choice, Key

ROUNDS = 5
GAIN = 0.95
"""A variant replaces the static one if it takes at most this part of its time."""

HOPELESS = 2.0
"""A variant that takes this many times the best after one round is not measured again."""

WORTH = 1 << 18
"""Multiply-adds or elements below which nothing is measured: the dispatch itself costs more."""

SECONDS = 0.5
"""The most that measuring for one choice takes, the first runs apart."""

LATER = 20.0
"""Seconds from the first use of a choice to its measuring, so that a program's first steps, and a
program that is soon done, wait for nothing."""

ALONG_THE_WAY = 3.0
"""Seconds that a process measures at most along the way, the compiling of variants included. What
it has no time for is left to the next one, for which many drivers keep what was compiled."""

_logger = logging.getLogger("wgsl_kernels")
_forced: dict[str, str] = {}
_watching: list[dict[str, set[str]]] = []


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured for one choice.

    Attributes:
        chosen: The variant that is taken from now on, or by the next process.
        seconds: The least time of each variant that ran.
    """

    choice: Choice
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
    """The choices for one adapter."""

    open: Callable[[], Device]
    measured: list[Measurement] = field(default_factory=list[Measurement])
    _chosen: dict[Key, str] = field(default_factory=dict["Key", str])
    _asked_for: dict[Key, Choice] = field(default_factory=dict["Key", "Choice"])
    _loaded: dict[str, Entries] = field(default_factory=dict[str, Entries])
    _tried: set[Key] = field(default_factory=set["Key"])
    _later: dict[Key, float] = field(default_factory=dict["Key", float])
    _due: float = math.inf
    _file: TuningFile | None = None
    _is_measuring: bool = False
    _asked: _TuningRequest | None = None
    _decided: int = 0
    _spent: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def choose(self, choice: Choice, run: Callable[[str], object]) -> str:
        """Return the variant to run, for one choice always the same.

        That costs one look in a dictionary. Where measuring is on and nothing is known, the choice
        is measured for the next process, `LATER` and within bounds: see `SECONDS` and `WORTH`.

        Args:
            choice: The variants, and what the choice among them holds for.
            run: Runs a variant on the arrays at hand, into new arrays, without another effect.
        """
        kernel, names = choice.kernel, choice.names
        for seen in _watching:
            seen.setdefault(kernel, set()).update(names)
        if _forced and _forced.get(kernel) in names:
            return _forced[kernel]
        if len(names) == 1 or config.deterministic or config.tuning == "off":
            return choice.static
        found = self._chosen.get(choice.key)
        if found is None or self._asked is not None:
            found = self._decide(choice, run)
        elif self._later and choice.key in self._later:
            self._measure_for_the_next(choice, run)
        return found

    def has_decided(self, choice: Choice) -> bool:
        """Say whether `choose` answers at once, without a run of any variant."""
        if len(choice.names) == 1 or config.deterministic or config.tuning == "off":
            return True
        if self._asked is not None:
            return False
        return self._later.get(choice.key, math.inf) > time.monotonic()

    def choices(self) -> dict[str, Entries]:
        """Return what was chosen in this process, and what was loaded, by adapter and label."""
        device = self.open()
        with device.lock, self._lock:
            found = {adapter: dict(entries) for adapter, entries in self._loaded.items()}
            own = found.setdefault(words_of(device.info), {})
            own |= {
                choice.label: choice.entries[self._chosen[key]]
                for key, choice in self._asked_for.items()
            }
        return found

    def load_choices(self, choices: Mapping[str, Any]) -> None:
        """Take over choices that `choices` has returned, for what is not chosen yet."""
        with self._lock:
            for adapter, entries in choices.items():
                self._loaded.setdefault(adapter, {}).update(entries_in(entries))

    def state(self) -> Hashable:
        """Return what is equal while `choose` need not be asked again; None where it is to be."""
        if _watching or self._asked is not None:
            return None
        if self._later and time.monotonic() >= self._due:
            self._decided += 1  # so that it is asked, and can measure
            self._wait()
        switches = config.switches(current())
        forced = tuple(_forced.items())
        return (self._decided, switches["deterministic"], switches["tuning"], forced)

    def renewing(self, seconds: float) -> AbstractContextManager[None]:
        """Measure in this block whatever is asked for, known or not, ``seconds`` at most for each.

        What is measured takes force at once.
        """
        return self._asking(_TuningRequest(seconds, is_for_all=True))

    def tuning(self) -> AbstractContextManager[None]:
        """Measure in this block what is worth it and not known, with as much time as it takes.

        It takes force at once where nothing was chosen before.
        """
        return self._asking(_TuningRequest(SECONDS, is_for_all=False))

    @contextmanager
    def _asking(self, asked: _TuningRequest) -> Iterator[None]:
        before, self._asked = self._asked, asked
        try:
            yield
        finally:
            self._asked = before

    def _decide(self, choice: Choice, run: Callable[[str], object]) -> str:
        device, asked = self.open(), self._asked
        key, static = choice.key, choice.static
        with device.lock, self._lock:  # in this order: who makes a pending array has the device's
            is_renewed = asked is not None and asked.is_for_all
            before = self._chosen.get(key)
            known = None if is_renewed else self._known(device, choice)
            found = before or known
            if self._is_measuring:
                return found or static
            is_new = choice.work >= WORTH and known is None and key not in self._tried
            if asked is not None and (is_renewed or is_new) and not _is_watched(device):
                self._tried.add(key)
                measured = self._measure(device, choice, run, asked.seconds, math.inf)
                found = measured if is_renewed else before or measured
            elif found is None and choice.work >= WORTH and self._is_on(device):
                self._later[key] = time.monotonic() + LATER
                self._wait()
            chosen = self._chosen[key] = found or static
            self._asked_for[key] = choice
            if before is not None and chosen != before:
                self._decided += 1
            return chosen

    def _known(self, device: Device, choice: Choice) -> str | None:
        """Return the variant that was loaded, or that the adapter's file has, if it can run."""
        loaded = self._loaded.get(words_of(device.info), {}).get(choice.label)
        kept = self._file_of(device).find(choice.label)
        return choice.named(loaded, logging.WARNING) or choice.named(kept)

    def _file_of(self, device: Device) -> TuningFile:
        if self._file is None:
            self._file = TuningFile(file_for(device.info))
        return self._file

    def _is_on(self, device: Device) -> bool:
        wanted = config.tuning
        is_on = wanted == "on" or (wanted == "auto" and device.policy.measures_while_working)
        return is_on and self._spent <= ALONG_THE_WAY

    def _wait(self) -> None:
        """Have `state` tell when the next choice is to be measured."""
        now = time.monotonic()
        self._due = min((one for one in self._later.values() if one > now), default=math.inf)

    def _measure_for_the_next(self, choice: Choice, run: Callable[[str], object]) -> None:
        """Measure a choice if it is time to; the file has the result for the next process.

        Nothing is measured while dispatches are profiled or captured, nor within a measurement.
        """
        if self._later[choice.key] > time.monotonic():
            return
        device = self.open()
        with device.lock, self._lock:
            if self._is_measuring or _is_watched(device):
                return
            if self._later.pop(choice.key, None) is None or not self._is_on(device):
                return
            start = time.perf_counter()
            with busy("measuring"):
                self._measure(device, choice, run, SECONDS, start + ALONG_THE_WAY - self._spent)
            self._spent += time.perf_counter() - start

    def _measure(
        self,
        device: Device,
        choice: Choice,
        run: Callable[[str], object],
        seconds: float,
        end: float,
    ) -> str:
        """Return the fastest variant, and keep it; what is cut short is not kept.

        Other variants have to beat the static one. Comparing takes ``seconds`` at most, first runs
        apart; no further first run, which may compile, begins after ``end`` by ``perf_counter``.
        """
        static = choice.static
        self._is_measuring = True
        try:
            ready: list[str] = []
            for name in (static, *(name for name in choice.names if name != static)):
                if time.perf_counter() > end:
                    return static
                if seconds_of(device, run, name) is not None:
                    ready.append(name)
            found = least_seconds(device, ready, run, seconds)
        finally:
            self._is_measuring = False
        chosen = fastest_of(found, static)
        if len(found) > 1:
            self.measured.append(Measurement(choice, chosen, found))
            self._file_of(device).keep(choice.label, choice.entries[chosen], found)
            _logger.info("%s runs as %s (of %s)", choice.label, chosen, found)
        return chosen


@dataclass(frozen=True, slots=True)
class _TuningRequest:
    """That choices are to be measured here and now: all, or those that are worth it and unknown."""

    seconds: float
    is_for_all: bool


def _is_watched(device: Device) -> bool:
    return device.is_profiling or device.notes is not None


# Comparing variants by the device's clock.


def least_seconds(
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
            took = seconds_of(device, run, name)
            if took is not None:
                spent += took
                seconds[name] = min(took, seconds.get(name, took))
        least = min(seconds.values(), default=0.0)
        left = [name for name in left if seconds.get(name, least) <= HOPELESS * least]
    return seconds


def seconds_of(device: Device, run: Callable[[str], object], name: str) -> float | None:
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


def fastest_of(seconds: Mapping[str, float], static: str) -> str:
    """Return the fastest variant, but the static one where that is almost as fast."""
    if static not in seconds:
        return static
    fastest = min(seconds, key=lambda name: seconds[name])
    return fastest if seconds[fastest] <= GAIN * seconds[static] else static
