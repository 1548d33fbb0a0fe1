"""Certificates of parity from every worker of a cluster."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from distributed import KilledWorker, wait
from rich.console import Console
from rich.progress import Progress

from wgsl_kernels.bench.parity.certificates import ParityRecord, lost
from wgsl_kernels.bench.parity.certify import certified_kernels, certify, machine_in_use, today
from wgsl_kernels.bench.parity.differences import ParityReport, joined
from wgsl_kernels.dask.answers import workers_of
from wgsl_kernels.dask.arguments import check_client
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from distributed import Client, Future

    from wgsl_kernels.bench.parity.certificates import Machine

TRIES = 2
"""How often a kernel runs whose worker dies."""
LOOK = 0.5
"""Seconds between two looks at which workers are there."""
RETURN = 30.0
"""Seconds in which a nanny brings its worker back."""


def parity(client: Client, only: Sequence[str] = ()) -> ParityReport:
    """Certify on every worker how far kernels are from float64.

    Each worker runs a kernel at a time, a task each, so what ends a worker is known: that kernel
    runs once more where a nanny brings the worker back, and then has the failure "the worker died".
    The adapter of a worker is what `WorkerSetup` chose.

    Args:
        client: Of the cluster; each worker has the package, and an adapter.
        only: The kernels, all that have samples on a worker where it is empty. Those of a module of
            yours are there by ``WorkerSetup(modules=…)``; this process needs none.

    Returns:
        A record per kind of machine: workers whose adapter, driver, system and versions are equal
        share one, and what differs among them is in ``contradictions``.

    Raises:
        ArgumentError: There are no workers, or one has no adapter.
        KernelNotFound: A kernel has no samples on a worker.

    Example:
        ``parity(client, ["Exp"]).to_json()`` is what ``wgsl-kernels parity --merge`` reads.
    """
    if isinstance(only, str):
        raise ArgumentError(f"parity: only is {only!r}; want a list: [{only!r}].")
    check_client("parity", client)
    addresses = _addresses(client)
    if not addresses:
        raise ArgumentError("parity: the cluster has no workers; want at least one.")
    machines = _asked(client, machine_in_use, addresses)
    names = _asked(client, certified_kernels, addresses, list(only))
    workers = [_Worker(client, one, machines[at], names[at]) for one, at in addresses.items()]
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = bar.add_task("kernels", total=sum(map(len, names.values())))
        looked = time.monotonic()
        while busy := [one for one in workers if one.left]:
            futures = [one.future for one in busy if one.future is not None]
            with suppress(TimeoutError):
                wait(futures, timeout=LOOK, return_when="FIRST_COMPLETED")
            if time.monotonic() - looked > LOOK:
                addresses, looked = _addresses(client), time.monotonic()
            for one in busy:
                one.go_on(addresses)
            bar.update(shown, completed=sum(len(one.records) for one in workers))
    return joined(record for one in workers for record in one.records)


def _asked(
    client: Client, ask: Callable[..., Any], addresses: Mapping[str, str], *args: Any
) -> dict[str, Any]:
    """Return what each worker answers, by address.

    Raises:
        ArgumentError, KernelNotFound: One cannot say.
    """
    found: Any = client.run(ask, *args, workers=list(addresses.values()), on_error="return")
    for address, one in found.items():
        if isinstance(one, KernelNotFound):
            said = str(one).removeprefix("parity: ")
            raise KernelNotFound(
                f"parity: worker {address}: {said} WorkerSetup(modules=...) brings a module's."
            ) from one
        if isinstance(one, BaseException):
            raise ArgumentError(f"parity: worker {address}: {one}") from one
    return dict(found)


def _addresses(client: Client) -> dict[str, str]:
    """Return the workers' addresses by what stays when a worker comes back: its nanny's address."""
    workers = workers_of(client)
    return {facts.get("nanny") or address: address for address, facts in workers.items()}


class _Worker:
    """A worker of the cluster: what it is to certify, and what it has."""

    def __init__(self, client: Client, name: str, machine: Machine, names: Sequence[str]) -> None:
        self.left = deque(names)
        self.records: list[ParityRecord] = []
        self.future: Future[Any] | None = None
        self._client, self._name, self._machine = client, name, machine
        self._address = ""
        self._tries = 0
        self._gone_since = time.monotonic()

    def go_on(self, addresses: Mapping[str, str]) -> None:
        """Take a result, or note that the worker died; have the next kernel run where it can."""
        if self.future is None:
            self._begin(addresses.get(self._name))
        elif self.future.done():
            error = self.future.exception()
            if error is None:
                self._end(self.future.result())
            elif isinstance(error, KilledWorker):
                self._died()
            else:
                self._fail(f"{type(error).__name__}: {error}")
        elif addresses.get(self._name) != self._address:
            self.future.cancel()
            self._died()

    def _begin(self, address: str | None) -> None:
        if address is not None:
            self._address = address
            self._tries += 1
            self.future = self._client.submit(
                certify, [self.left[0]], workers=[address], pure=False, retries=1
            )
        elif time.monotonic() - self._gone_since > RETURN or self._name == self._address:
            while self.left:
                self._fail("the worker died")

    def _died(self) -> None:
        self.future, self._gone_since = None, time.monotonic()
        if self._tries == TRIES:
            self._fail("the worker died")

    def _fail(self, why: str) -> None:
        self._end(ParityRecord(self._machine, today(), (lost(self.left[0], why),)))

    def _end(self, record: ParityRecord) -> None:
        self.records.append(record)
        self.left.popleft()
        self.future, self._tries = None, 0
