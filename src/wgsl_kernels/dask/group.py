"""The same program on every worker at once, and what the workers of one say to each other.

The bytes go over the workers' own server, by a handler of a plugin; Dask's scheduler places the
programs and notices workers that go.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import WorkerPlugin, get_worker
from distributed.protocol.serialize import to_serialize
from distributed.utils import sync

from wgsl_kernels.dask.answers import LOOK, answer, who_answers, workers_of
from wgsl_kernels.dask.arguments import check_client, check_seconds
from wgsl_kernels.dask.tree import joined, leaves_of, part_of, root_of, shares
from wgsl_kernels.dask.turns import turn_of
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from distributed import Client, Worker

    from wgsl_kernels.dask.tree import Array, Nodes

PLUGIN = "wgsl-kernels-group"
GONE = "is gone"
ENDED = 256
"""Runs that a worker knows to have ended."""
END = 2.0
"""Seconds in which workers are told that a run has ended."""
DIRECT = 8
"""Workers up to which each sends to each; more halve and double."""


class PeerLost(WgslKernelsError, RuntimeError):  # noqa: N818  the name that is called
    """Another worker of a group is gone, or does not answer.

    Attributes:
        address: Its address.
    """

    def __init__(self, address: str, why: str = GONE) -> None:
        """Say who, and why it is taken for lost."""
        super().__init__(address, why)
        self.address, self.why = address, why

    def __str__(self) -> str:
        return f"The worker at {self.address} {self.why}; run the program again on the others."


class PeerDiffers(ArgumentError):  # noqa: N818  as `PeerLost`
    """Another worker of a group has ended, or is in another call: it will not send what is due."""


class GroupPlugin(WorkerPlugin):
    """Takes what other workers send to this one."""

    name = PLUGIN
    idempotent = True

    def setup(self, worker: Worker) -> None:
        """Have the worker take what others send."""
        self.worker = worker
        self.box: dict[tuple[Any, ...], Any] = {}
        self.kept: dict[str, Any] = {}
        self.news = asyncio.Event()
        self.running: dict[str, asyncio.Task[Any]] = {}
        self.calls: dict[str, tuple[int, str]] = {}
        self.ended: deque[str] = deque(maxlen=ENDED)
        worker.handlers["wgsl_kernels_put"] = self.put
        worker.handlers["wgsl_kernels_call"] = self.call_of

    async def put(self, key: Sequence[Any], data: Any) -> str:
        """Take data that another worker sends under a key."""
        self.box[tuple(key)] = data
        self.news.set()
        return "OK"

    async def call_of(self, run: str) -> tuple[int, str, bool]:
        """Return number and name of the call that a run is in here, and whether it has ended."""
        number, name = self.calls.get(run, (0, ""))
        return number, name, run in self.ended

    async def send(self, to: str, key: tuple[Any, ...], data: Any, seconds: float) -> None:
        """Send data to a worker.

        Raises:
            PeerLost: It is gone, or does not answer.
        """
        if to == self.worker.address:
            await self.put(key, data)
            return
        sending = self.worker.rpc(to).wgsl_kernels_put(key=list(key), data=to_serialize(data))
        try:
            await asyncio.wait_for(sending, seconds)
        except TimeoutError:
            raise PeerLost(to, f"did not answer within {seconds:g} s") from None
        except OSError as error:
            raise PeerLost(to) from error

    async def take(self, senders: Mapping[tuple[Any, ...], str], seconds: float) -> dict[Any, Any]:
        """Return what comes under keys from their senders.

        Raises:
            PeerLost: One is gone, or sends nothing.
            PeerDiffers: One has ended, or is past the call, or in another.
        """
        end = time.monotonic() + seconds
        while True:
            missing = [key for key in senders if key not in self.box]
            if not missing:
                return {key: self.box.pop(key) for key in senders}
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), LOOK)
            except TimeoutError:
                missed = {senders[key] for key in missing}
                for key in missing:
                    await self._look_at(senders[key], key, seconds)
                if time.monotonic() > end:
                    why = f"sent nothing for {seconds:g} s"
                    raise PeerLost(missed.pop(), why) from None

    def note_end(self, run: str) -> None:
        """Know that the program of a run here has ended, and forget a run of long ago."""
        if len(self.ended) == self.ended.maxlen:
            self.calls.pop(self.ended[0], None)
        self.ended.append(run)
        for key in [one for one in list(self.box) if one[0] == run]:
            self.box.pop(key, None)

    def end(self, run: str) -> None:
        """Have a program that waits for others of its run wait no longer."""
        if run in self.running:
            self.running[run].cancel()

    async def _look_at(self, sender: str, key: tuple[Any, ...], seconds: float) -> None:
        run = key[0]
        try:
            asked = self.worker.rpc(sender).wgsl_kernels_call(run=run)
            answer: Any = await asyncio.wait_for(asked, seconds)
        except TimeoutError:
            raise PeerLost(sender, f"did not answer within {seconds:g} s") from None
        except OSError as error:
            raise PeerLost(sender) from error
        number, name, has_ended = answer
        own, mine = self.calls[run]
        if key in self.box:  # it came meanwhile
            return
        if has_ended or number > own or (number == own and name != mine):
            ended = f"has ended after {number} call{'' if number == 1 else 's'}"
            does = ended if has_ended else f"is in its call {number}, {name}"
            raise PeerDiffers(
                f"{mine}: the worker at {sender} {does}, and this one, in call {own}, waits for "
                "it; all workers must call the same functions in the same order."
            )


@dataclass
class WorkerGroup:
    """The workers that run one program; each has its own.

    All of them must call the same functions in the same order.

    Attributes:
        rank: This worker's number, from 0.
        size: How many there are.
        addresses: Their addresses, by rank.
        timeout: Seconds after which one that says nothing is taken for lost.
        waited: Seconds that this worker has waited for what others send.
    """

    rank: int
    size: int
    addresses: tuple[str, ...] = ()
    timeout: float = 60.0
    _run: str = ""
    _number: int = 0
    waited: float = 0.0

    def all_reduce(self, values: Any, *, pieces: int | None = None) -> Any:
        """Return the sum of all workers' values, with the same bits for any number of workers.

        Args:
            values: This worker's array; with ``pieces`` the arrays of its share of them, of one
                shape and dtype: those from ``pieces * rank // size`` on.
            pieces: Of how many arrays the sum is made; it is added along a tree over them. By
                default one for each worker.

        Raises:
            ArgumentError: There are more or fewer arrays than this worker's share, or they are of
                several shapes or dtypes, here or on other workers, or no numbers.
            PeerLost: Another worker is gone.
        """
        count = self.size if pieces is None else pieces
        given = [np.asarray(values)] if pieces is None else [np.asarray(one) for one in values]
        bounds = shares(count, self.size)
        first, end = bounds[self.rank], bounds[self.rank + 1]
        if len(given) != end - first:
            raise ArgumentError(
                f"all_reduce: got {len(given)} arrays; want {end - first}, the share of rank "
                f"{self.rank} of {self.size} in {count} pieces."
            )
        if count < self.size:
            raise ArgumentError(f"all_reduce: {count} pieces for {self.size} workers; want more.")
        shape, dtype = given[0].shape, given[0].dtype
        other = next((one for one in given if (one.shape, one.dtype) != (shape, dtype)), given[0])
        if other is not given[0] or dtype.kind not in "biufc":
            raise ArgumentError(
                f"all_reduce: got arrays of shape {list(shape)}, {dtype}, and {list(other.shape)}, "
                f"{other.dtype}; want numbers of one shape and dtype."
            )
        nodes = joined(leaves_of([one.reshape(-1) for one in given], first), count)
        if self.size == 1:
            return np.reshape(root_of(nodes, count), shape)
        return np.reshape(self._sync("all_reduce", self._reduced(nodes, count)), shape)

    def exchange(self, arrays: Mapping[int, Any]) -> dict[int, Any]:
        """Send an array to each of some ranks, and return what these have sent, by rank.

        Raises:
            ArgumentError: There is no such rank.
            PeerLost: One of them is gone.
        """
        for rank in arrays:
            self._check_rank("exchange", rank)
        found: dict[int, Any] = self._sync("exchange", self._swapped("exchange", dict(arrays)))
        return found

    def broadcast(self, values: Any, root: int = 0) -> Any:
        """Return what the worker of rank ``root`` gave.

        Raises:
            ArgumentError: There is no such rank.
            PeerLost: It is gone, or another that waits for it is.
        """
        self._check_rank("broadcast", root)
        if self.size == 1:
            return values
        return self._sync("broadcast", self._broadcast(values, root))

    def _check_rank(self, caller: str, rank: Any) -> None:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < self.size:
            raise ArgumentError(f"{caller}: got rank {rank!r}; want 0 to {self.size - 1}.")

    # On the worker's event loop. Each step of an operation has a word, so that those who take part
    # in other steps of it still mean the same ones.

    async def _reduced(self, nodes: Nodes, count: int) -> Array:
        if self.size <= DIRECT:
            return await self._direct(nodes, count)
        return await self._halved(nodes, count)

    async def _direct(self, nodes: Nodes, count: int) -> Array:
        """Have each add up a slice of the array, and send that to all."""
        length = next(iter(nodes.values())).size
        cuts = shares(length, self.size)
        parts = {at: part_of(nodes, cuts[at], cuts[at + 1]) for at in range(self.size)}
        kind = length, next(iter(nodes.values())).dtype.str
        swapped = await self._swapped("parts", {at: (kind, one) for at, one in parts.items()})
        for at, (theirs, _) in swapped.items():
            if theirs != kind:
                raise ArgumentError(
                    f"all_reduce: rank {self.rank} gave {kind[0]} elements of {kind[1]} and rank "
                    f"{at} {theirs[0]} of {theirs[1]}; want one shape and dtype on all workers."
                )
        got = {at: part for at, (_, part) in swapped.items()}
        mine = root_of({n: one for part in got.values() for n, one in part.items()}, count)
        sums = await self._swapped("sums", dict.fromkeys(range(self.size), mine))
        return np.concatenate([sums[at] for at in range(self.size)])

    async def _halved(self, nodes: Nodes, count: int) -> Array:
        """Halve the array with one partner after the other, then double it again.

        Workers beyond a power of two give theirs to a partner, and get the result from it.
        """
        whole = 1 << (self.size.bit_length() - 1)
        if self.rank >= whole:
            partner = self.rank - whole
            await self._swapped("first", {partner: nodes}, ())
            sent: Array = (await self._swapped("last", {}, (partner,)))[partner]
            return sent
        partner = self.rank + whole
        if partner < self.size:
            more = (await self._swapped("first", {}, (partner,)))[partner]
            nodes = joined({**nodes, **more}, count)
        length = next(iter(nodes.values())).size
        masks = [1 << at for at in range(whole.bit_length() - 1)]
        for mask in masks:
            other, half = self.rank ^ mask, length // 2
            low, high = part_of(nodes, 0, half), part_of(nodes, half, length)
            mine, theirs = (low, high) if self.rank < other else (high, low)
            got = (await self._swapped(f"halves {mask}", {other: theirs}))[other]
            nodes = joined({**mine, **got}, count)
            length = half if self.rank < other else length - half
        found = root_of(nodes, count)
        for mask in reversed(masks):
            other = self.rank ^ mask
            got = (await self._swapped(f"doubles {mask}", {other: found}))[other]
            found = np.concatenate([found, got] if self.rank < other else [got, found])
        if partner < self.size:
            await self._swapped("last", {partner: found}, ())
        return found

    async def _broadcast(self, values: Any, root: int) -> Any:
        if self.rank == root:
            others = dict.fromkeys([at for at in range(self.size) if at != root], values)
            await self._swapped("broadcast", others, ())
            return values
        return (await self._swapped("broadcast", {}, (root,)))[root]

    async def _swapped(
        self, step: str, sent: Mapping[int, Any], wanted: Sequence[int] | None = None
    ) -> dict[int, Any]:
        """Send to some ranks and take from some, those that are sent to where nothing is said."""
        plugin = _plugin()
        await asyncio.gather(
            *[
                plugin.send(self.addresses[to], self._key(step, self.rank), data, self.timeout)
                for to, data in sent.items()
            ]
        )
        sources = tuple(sent) if wanted is None else wanted
        keys = {self._key(step, one): self.addresses[one] for one in sources}
        begin = time.perf_counter()
        got = await plugin.take(keys, self.timeout)
        self.waited += time.perf_counter() - begin
        return {one: got[self._key(step, one)] for one in sources}

    def _key(self, step: str, sender: int) -> tuple[Any, ...]:
        return self._run, self._number, step, sender

    def _sync(self, name: str, awaited: Any) -> Any:
        plugin, here = _plugin(), self.addresses[self.rank]

        async def run() -> Any:
            task = plugin.running[self._run] = asyncio.ensure_future(awaited)
            try:
                return await task
            except asyncio.CancelledError:
                raise PeerLost(here, "was told that others have ended") from None
            finally:
                del plugin.running[self._run]

        self._number += 1  # as all others do
        plugin.calls[self._run] = self._number, name
        return sync(plugin.worker.loop, run)


def run_on_workers(
    client: Client,
    program: Callable[..., Any],
    *args: Any,
    workers: int | Sequence[str] | None = None,
    timeout: float = 60.0,
) -> list[Any]:
    """Run a function on every worker at once, and return what each returns, by rank.

    Programs that want the same workers run one after the other, whichever clients they are of.

    Args:
        client: The client of a cluster.
        program: Called as ``program(group, *args)``, ``group`` being a `WorkerGroup`. It takes a
            thread of each worker until it returns.
        *args: More arguments.
        workers: How many workers, or which, by address; all by default.
        timeout: Seconds after which a worker that says nothing to the others is taken for lost.

    Raises:
        ArgumentError: There are fewer workers than asked for, or an argument is of another kind.
        PeerLost: A worker went meanwhile; the programs of the others have ended.
    """
    check_client("run_on_workers", client)
    function("run_on_workers", "program", program)
    check_seconds("run_on_workers", "timeout", timeout)
    addresses = _chosen(client, workers)
    client.register_plugin(GroupPlugin())
    run = uuid.uuid4().hex
    with turn_of(client, addresses):
        futures = [
            client.submit(
                _run_program, program, rank, addresses, run, timeout, args,
                workers=[one], allow_other_workers=False, pure=False, retries=0,
                key=f"{getattr(program, '__name__', 'program')}-{run}-{rank}",
            )
            for rank, one in enumerate(addresses)
        ]  # fmt: skip
        try:
            return _gathered(client, futures, addresses, timeout)
        except BaseException:
            who_answers(client, addresses, END, _end, run)
            raise
        finally:
            client.cancel(futures)


def _chosen(client: Client, workers: int | Sequence[str] | None) -> tuple[str, ...]:
    known = sorted(workers_of(client))
    if workers is None or isinstance(workers, int):
        wanted = known if workers is None else known[: max(workers, 0)]
    elif isinstance(workers, (list, tuple)):
        wanted = list(workers)
    else:
        raise ArgumentError(
            f"run_on_workers: workers is {workers!r}; want a number, a list of addresses, or None."
        )
    if len(set(wanted)) < len(wanted):
        raise ArgumentError(f"run_on_workers: workers has an address twice: {wanted}.")
    missing = sorted(set(wanted) - set(known))
    short = isinstance(workers, int) and not 0 < workers <= len(known)
    if missing or short or not wanted:
        asked = f"{workers}" if short else ", ".join(missing) or "any"
        raise ArgumentError(f"run_on_workers: asked for workers {asked}; there are {known}.")
    return tuple(wanted)


def _end(run: str, dask_worker: Worker) -> None:
    plugin = dask_worker.plugins[PLUGIN]
    assert isinstance(plugin, GroupPlugin)
    plugin.end(run)


def _gathered(
    client: Client, futures: Sequence[Any], addresses: Sequence[str], timeout: float
) -> list[Any]:
    """Wait for all programs, and look meanwhile whether their workers are there, and answer."""
    look = time.monotonic() + LOOK
    pause, limit = timeout / 4, 3 * timeout / 4
    ask = time.monotonic() + pause
    while True:
        failed = [
            future.exception() if future.status == "error" else PeerLost(address)
            for address, future in zip(addresses, futures, strict=True)
            if future.status in ("error", "cancelled", "lost")
        ]
        if failed:
            raise min(failed, key=_is_consequence)
        if all(one.status == "finished" for one in futures):
            found: Any = client.gather(list(futures))
            return list(found)
        if time.monotonic() > look:
            there = workers_of(client)
            for address, one in zip(addresses, futures, strict=True):
                if address not in there and one.status != "finished":
                    raise PeerLost(address)
            look = time.monotonic() + LOOK
        if time.monotonic() > ask:  # peers notice only those that they wait for
            asked = [a for a, f in zip(addresses, futures, strict=True) if f.status == "pending"]
            answered = who_answers(client, asked, limit, answer)
            there = workers_of(client)
            for address in asked:
                if address in there and address not in answered:
                    raise PeerLost(address, f"did not answer within {limit:g} s")
            ask = time.monotonic() + pause
        time.sleep(0.02)


def _is_consequence(error: BaseException) -> int:
    """Sort the errors of one run: a worker that is gone, then what programs raise of their own."""
    return 0 if isinstance(error, PeerLost) else 2 if isinstance(error, PeerDiffers) else 1


def _run_program(
    program: Callable[..., Any],
    rank: int,
    addresses: tuple[str, ...],
    run: str,
    timeout: float,
    args: tuple[Any, ...],
) -> Any:
    group = WorkerGroup(rank, len(addresses), addresses, timeout, run)
    try:
        return program(group, *args)
    finally:
        _plugin().note_end(run)


def _plugin() -> GroupPlugin:
    found = get_worker().plugins.get(PLUGIN)
    assert isinstance(found, GroupPlugin)
    return found
