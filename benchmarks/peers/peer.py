"""What a peer written in Python gives the worker that drives it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.items.item import Array, Item, Work


@dataclass(frozen=True)
class Cost:
    """Milliseconds of one call.

    Attributes:
        ms: Of the clock.
        cpu_ms: Of processor time, the driver's threads included.
        thread_ms: Of the calling thread's own processor time.
    """

    ms: float
    cpu_ms: float
    thread_ms: float


@dataclass(frozen=True)
class Running:
    """An item on a peer, ready to be run.

    Attributes:
        call: Runs it once, or hands it to the device, and returns the result.
        finish: Waits for all that was handed over.
        fetch: Returns a result's arrays on the host.
    """

    call: Callable[[], Any]
    finish: Callable[[], None]
    fetch: Callable[[Any], list[Array]]

    def time(self, calls: int) -> Cost:
        """Return what one call costs, over ``calls`` calls and one wait at the end."""
        start = _clocks()
        for _ in range(calls):
            self.call()
        self.finish()
        spent = (after - before for before, after in zip(start, _clocks(), strict=True))
        return Cost(*(seconds * 1e3 / calls for seconds in spent))


def _clocks() -> tuple[float, float, float]:
    return time.perf_counter(), time.process_time(), time.thread_time()


class Peer(ABC):
    """A library that runs the items."""

    def settle(self) -> None:
        """Take the process over: called once, by the worker, before anything else."""
        return

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """Return versions, and adapter and driver where there are any."""

    @abstractmethod
    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return ``work`` ready to run, its arrays in place; several where there are variants."""
