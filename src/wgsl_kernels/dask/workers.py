"""What a worker has before its first kernel: a backend, an adapter, the user's kernels."""

from __future__ import annotations

import importlib
import os
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dask.sizeof import sizeof
from distributed import WorkerPlugin

from wgsl_kernels.backends.webgpu.devices.adapters import ADAPTER_VARIABLE, choose_adapter
from wgsl_kernels.dask.crashes import KernelNote, add_reports, note_path
from wgsl_kernels.dask.group import PeerLost
from wgsl_kernels.dask.memory import trim_when_full
from wgsl_kernels.dask.sizes import register_tensors
from wgsl_kernels.engine.drivers.backends import get_backend, running_drivers, set_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.plans import wrap_launches
from wgsl_kernels.engine.registry.registry import say_where_else

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributed import Client, Worker

LOST = "DeviceLostError"
ENDED = 70
"""With what a worker ends whose device is lost."""


class WorkerSetup(WorkerPlugin):
    """Sets workers up: ``client.register_plugin(WorkerSetup(modules=["my_kernels"]))``.

    A worker that a nanny starts again is set up again. Where a task finds that the device is lost,
    a worker under a nanny ends itself: what it held is computed again elsewhere, from the graph,
    and the nanny starts another. A worker without one (``processes=False``) goes on in the user's
    process, and its tasks raise ``DeviceLostError`` until that is restarted; use
    ``processes=True``.

    Args:
        backend: The backend of the workers' tasks.
        adapters: The adapter of each worker: names or parts of them, taken in turn by the workers
            of a host; a dictionary of such by host; one for all; by default what each would take.
        modules: Modules that register the user's kernels, imported on each worker.

    Raises:
        ArgumentError: ``modules`` is one string, or ``adapters`` has an empty list or others.
    """

    name = "wgsl-kernels-setup"

    def __init__(
        self,
        backend: str = "webgpu",
        adapters: str | Sequence[str | int] | Mapping[str, Any] | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        if isinstance(modules, str):
            raise ArgumentError(f"WorkerSetup: modules is {modules!r}; want a list: [{modules!r}].")
        given: Any = adapters
        for one in given.values() if hasattr(given, "values") else [given]:
            is_list = isinstance(one, (list, tuple)) and len(one) > 0
            if not is_list and not (one is None or isinstance(one, (str, int))):
                raise ArgumentError(
                    f"WorkerSetup: adapters has {one!r}; want a name, an index, or a list of them."
                )
        self.backend, self.adapters, self.modules = backend, adapters, tuple(modules)
        self._note: KernelNote | None = None

    async def setup(self, worker: Worker) -> None:
        """Set a worker up.

        Raises:
            ArgumentError: It has a device already, of another adapter than is asked for.
        """
        self.worker = worker
        wanted = _adapter_for(worker, self.adapters)
        if wanted is not None and os.environ.get(ADAPTER_VARIABLE) != wanted:
            if any(one.name == "webgpu" for one in running_drivers()):
                raise ArgumentError(
                    f"WorkerSetup: the worker at {worker.address} has a device already, and "
                    f"adapter {wanted!r} is asked for. Call client.restart(), then register the "
                    "plugin before anything runs."
                )
            os.environ[ADAPTER_VARIABLE] = wanted
        register_tensors(sizeof)
        say_where_else("A worker knows those of WorkerSetup(modules=[...]).")
        for one in self.modules:
            importlib.import_module(one)
        set_backend(self.backend)
        trim_when_full(worker)
        if worker.nanny:  # else the process that would end is the user's
            path = note_path(worker.local_directory, str(worker.nanny))
            self._note = KernelNote(path, worker.address)
            wrap_launches(self._note.around)
            await add_reports(worker.scheduler)

    def teardown(self, worker: Worker) -> None:
        """Keep no note of kernels any more."""
        del worker
        if self._note is not None:
            wrap_launches(None)
            self._note.close()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End the worker where a task has found that its device is lost."""
        if finish != "error":
            return
        said = getattr(self.worker.state.tasks.get(key), "exception_text", "") or ""
        if LOST in said and self.worker.nanny:
            os._exit(ENDED)


def _adapter_for(worker: Worker, adapters: Any) -> str | None:
    """Return the adapter that a worker shall have."""
    host = worker.address.rpartition("://")[2].rpartition(":")[0]
    given = adapters.get(host) if hasattr(adapters, "get") else adapters
    if given is None or isinstance(given, (str, int)):
        return None if given is None else str(given)
    number = worker.name if isinstance(worker.name, int) else os.getpid()
    return str(given[number % len(given)])


def facts() -> dict[str, str]:
    """Return what of this process decides about bits: versions, and the adapter."""
    found = {one: version(one) for one in ("wgsl-kernels", "wgpu", "numpy")}
    found["python"], found["backend"] = platform.python_version(), get_backend()
    found["process"], found["adapter"] = f"{platform.node()} {os.getpid()}", "none"
    if found["backend"] == "webgpu":
        choice = choose_adapter()
        if choice is not None:
            found["adapter"] = f"{choice.info.name}, {choice.info.backend}, {choice.info.driver}"
    return found


def compared(client: Client, addresses: Sequence[str]) -> list[str]:
    """Return the adapters of workers, by rank.

    Raises:
        ArgumentError: They have other versions, or another backend, or two share a process.
        PeerLost: One does not answer.
    """
    found: Any = client.run(facts, workers=list(addresses), on_error="return")
    for address in addresses:
        one = found.get(address)
        if one is None or isinstance(one, OSError):
            raise PeerLost(address)
        if isinstance(one, BaseException):
            raise one
    if len({one["process"] for one in found.values()}) < len(addresses):
        raise ArgumentError(
            "workers share a process, where random numbers and devices are shared, too; start the "
            "cluster with processes=True."
        )
    first = found[addresses[0]]
    for address in addresses:
        for what in ("wgsl-kernels", "wgpu", "numpy", "backend"):
            one, other = first[what], found[address][what]
            if one != other:
                raise ArgumentError(
                    f"workers differ: {what} is {one} at {addresses[0]} and {other} at {address}; "
                    "install the same there, or register one WorkerSetup for all."
                )
    return [found[one]["adapter"] for one in addresses]
