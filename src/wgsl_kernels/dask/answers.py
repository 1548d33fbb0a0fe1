"""Which workers answer, also while their threads have work to do."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Client


def who_answers(
    client: Client, addresses: Sequence[str], seconds: float, function: Any, *args: Any
) -> set[str]:
    """Call a function on the event loops of workers; return those that have answered in time.

    A worker whose thread has work to do answers, too.
    """
    answered: set[str] = set()

    def ask(address: str) -> None:
        with contextlib.suppress(Exception):  # it is gone
            client.run(function, *args, workers=[address])
            answered.add(address)

    threads = [threading.Thread(target=ask, args=(one,), daemon=True) for one in addresses]
    for one in threads:
        one.start()
    end = time.monotonic() + seconds
    for one in threads:
        one.join(max(0.0, end - time.monotonic()))
    return set(answered)


def answer() -> None:
    """Show that a worker is there."""
