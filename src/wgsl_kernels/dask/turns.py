"""Whose turn it is on workers that several programs want."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from distributed import Semaphore

from wgsl_kernels.dask.answers import LOOK, workers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distributed import Client


@contextmanager
def turn_of(client: Client, addresses: Sequence[str]) -> Iterator[None]:
    """Wait until each of these workers has a thread for one more program, and take it meanwhile.

    Of two programs that had begun on some of the workers each, both would wait for the other's end.
    All programs take workers in one order; Dask gives back what a client held that is gone.
    """
    known = workers_of(client)
    threads = {one: known[one]["nthreads"] for one in sorted(addresses) if one in known}
    wanted = [
        Semaphore(count, f"wgsl-kernels program {one} {count}", client.scheduler, client.loop)
        for one, count in threads.items()
    ]
    held: list[Semaphore] = []
    is_over = False
    taking: asyncio.Task[None] | None = None

    async def take_each() -> None:
        await asyncio.gather(*wanted)
        for one in wanted:
            while not is_over and one not in held:
                if await one.acquire(LOOK):
                    held.append(one)

    async def take() -> None:
        nonlocal taking
        taking = asyncio.ensure_future(take_each())
        await asyncio.shield(taking)  # Ctrl-C would leave a turn to nobody, for half a minute

    async def give_back() -> None:
        nonlocal is_over
        is_over = True
        if taking is not None:
            await asyncio.wait([taking])
        for one in wanted:
            if hasattr(one, "refresh_callback"):  # there is none where nothing is taken back
                one.refresh_callback.stop()
        await asyncio.gather(*[one.release() for one in held])

    try:
        client.sync(take)
        yield
    finally:
        client.sync(give_back)
