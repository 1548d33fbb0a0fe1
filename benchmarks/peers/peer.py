"""What a peer written in Python gives the worker that drives it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.items.item import Array, Item, Work


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

    def time(self, calls: int) -> float:
        """Return milliseconds of one call, over ``calls`` calls and one wait at the end."""
        start = time.perf_counter()
        for _ in range(calls):
            self.call()
        self.finish()
        return (time.perf_counter() - start) * 1e3 / calls


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
