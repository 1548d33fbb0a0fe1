"""Noting what the dispatches of a block read and write."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.runtime.watching import with_methods
from wgsl_kernels.simulator.accesses import AccessLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.backends.simulator.gpu import SimulatedDispatch
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.simulator.accesses import AccessFault
    from wgsl_kernels.simulator.dispatch import EntryPoint
    from wgsl_kernels.simulator.module import AccessSite

MOST_ROUNDS = 1 << 16
"""Rounds after which a loop is taken for one that does not end, as software adapters take it."""


@dataclass(frozen=True, slots=True)
class WrongAccess:
    """An access that is wrong, and where.

    Attributes:
        access: What is wrong.
        dispatch: The dispatch.
        site: The place in its text.
        other: The place of the access before, None where there was none.
    """

    access: AccessFault
    dispatch: Dispatch
    site: AccessSite
    other: AccessSite | None


@contextmanager
def noting(device: Device) -> Iterator[list[WrongAccess]]:
    """Have a block's dispatches on a simulated device noted; at its end the list has all."""
    found: list[WrongAccess] = []
    noted: list[tuple[Dispatch, EntryPoint, AccessLog]] = []

    def log(dispatch: Dispatch, launch: SimulatedDispatch) -> AccessLog:
        noted.append((dispatch, launch.entry, AccessLog(most_rounds=MOST_ROUNDS)))
        return noted[-1][-1]

    with following(device, log):
        yield found
    for dispatch, entry, one in noted:
        sites = entry.module.sites
        found.extend(
            WrongAccess(
                access,
                dispatch,
                sites[access.site],
                None if access.other_site < 0 else sites[access.other_site],
            )
            for access in one.found.values()
        )


@contextmanager
def following(
    device: Device, log: Callable[[Dispatch, SimulatedDispatch], AccessLog | None]
) -> Iterator[None]:
    """Have a block's dispatches on a simulated device noted by what ``log`` returns for each."""
    simulated, plain = device._device, device.run
    before = simulated.log

    def run(ready: Ready, storages: Sequence[Storage]) -> None:
        if ready.origin is None or not ready.work:
            plain(ready, storages)
            return
        device.flush()
        simulated.log = partial(log, ready.origin[1])
        try:
            plain(ready, storages)
            device.flush()
        finally:
            simulated.log = before

    with with_methods(device, run=run):
        yield


@contextmanager
def having(device: Device, name: str, value: Any) -> Iterator[None]:
    """Have an attribute of the simulated device be another for a block's dispatches.

    That is the order of invocations, the size of subgroups, or the rounds that loops may have.
    """
    simulated = device._device
    device.flush()
    before = getattr(simulated, name)
    setattr(simulated, name, value)
    try:
        yield
    finally:
        device.flush()
        setattr(simulated, name, before)
