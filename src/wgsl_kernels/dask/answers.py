"""Which workers there are, and which answer, also while their threads have work to do."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Client

LOOK = 0.25
"""Seconds after which one who waits looks whether the others are still there."""


def workers_of(client: Client) -> dict[str, dict[str, Any]]:
    """Return the facts of the workers that the scheduler knows, by address.

    ``client.scheduler_info()`` may give none of them: what it has just asked for lies where Dask
    puts, every two seconds, an answer without workers.
    """
    scheduler: Any = client.scheduler
    found: Any = client.sync(scheduler.identity, n_workers=-1)
    workers: dict[str, dict[str, Any]] = found["workers"]
    return workers


def who_answers(
    client: Client, addresses: Sequence[str], seconds: float, function: Any, *args: Any
) -> set[str]:
    """Call a function on the event loops of workers; return those that have answered in time.

    A worker whose thread has work to do answers, too. One that the scheduler knows no longer is not
    waited for: Dask tries to reach it for half a minute.
    """
    answered: set[str] = set()

    def ask(address: str) -> None:
        with contextlib.suppress(Exception):  # it is gone
            client.run(function, *args, workers=[address])
            answered.add(address)

    asking = {one: threading.Thread(target=ask, args=(one,), daemon=True) for one in addresses}
    for thread in asking.values():
        thread.start()
    end = time.monotonic() + seconds
    for address, thread in asking.items():
        while thread.is_alive() and time.monotonic() < end:
            thread.join(min(LOOK, max(0.0, end - time.monotonic())))
            if thread.is_alive() and address not in workers_of(client):
                break
    return set(answered)


def answer() -> None:
    """Show that a worker is there."""
