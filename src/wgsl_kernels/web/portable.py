"""A device that stands for every browser's: programs are lowered for it, and nothing runs."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from wgsl_kernels.backends.simulator.gpu import CALLS, NumpyBuffer, NumpyDevice
from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
from wgsl_kernels.backends.webgpu.devices.adapters import AdapterChoice
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.engine.drivers.abilities import driver_closing, driver_started
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.origin import user_line
from wgsl_kernels.engine.registry.registrations import announce_change
from wgsl_kernels.engine.registry.registry import lend_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.pipeline import Pipeline
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes

NAME = "portable"
_turn = threading.Lock()


class Stage(NamedTuple):
    """What a pipeline is made of: WGSL, its entry point, and values of its overrides."""

    text: str
    entry: str
    constants: Mapping[str, float]


def stage_of(pipeline: Pipeline) -> Stage:
    """Return what a pipeline of this device is made of."""
    return cast("Stage", pipeline.handle)


class PortableBuffer(NumpyBuffer):
    """A buffer.

    Attributes:
        is_computed: Whether a dispatch writes it, so that its values are not known here.
    """

    is_computed = False


class TracingDevice(NumpyDevice):
    """A device that compiles and runs nothing, and has only the values that the host wrote."""

    def create_buffer(self, *, label: str, size: int, usage: int) -> PortableBuffer:
        """Return a buffer of zeros."""
        return PortableBuffer(size)

    def create_compute_pipeline(  # type: ignore[override]  # what stands for a pipeline here
        self, *, label: str, layout: object, compute: Mapping[str, Any]
    ) -> Stage:
        """Return what would be compiled."""
        return Stage(compute["module"], compute["entry_point"], dict(compute["constants"]))

    def create_bind_group(  # type: ignore[override]  # of a group only what it writes
        self, *, label: str, layout: Any, entries: Sequence[Mapping[str, Any]]
    ) -> list[PortableBuffer]:
        """Return the buffers that a dispatch writes."""
        written = {one["binding"] for one in layout if one["buffer"]["type"] == "storage"}
        return [one["resource"]["buffer"] for one in entries if one["binding"] in written]


class _PortablePass:
    """A compute pass, of which only what it writes is kept."""

    group: Sequence[PortableBuffer] = ()

    def dispatch(self, x: int, y: int, z: int) -> None:
        for one in self.group:
            one.is_computed = True


def _submit(
    device: Any, fill: Callable[[Any], None] | None, copies: Any, sent: Callable[[], Any]
) -> int:
    if fill is not None:
        fill(_PortablePass())
    sent()
    return 0


_CALLS = replace(
    CALLS,
    set_pipeline=lambda target, pipeline: None,
    set_group=lambda target, index, group, count, offsets: setattr(target, "group", group),
    dispatch=_PortablePass.dispatch,
    submit=_submit,
)


@dataclass(frozen=True)
class PortableAdapter:
    """The adapter: a GPU of which nothing is known but these limits and features."""

    info: AdapterInfo

    def request_device_sync(
        self, *, required_features: Sequence[str], required_limits: Mapping[str, int]
    ) -> TracingDevice:
        """Return a device of these features."""
        return TracingDevice(self.info.limits, frozenset(required_features), 0)


class PortableDevice(Device):
    """The device, which refuses to read what only a browser will compute."""

    def read(self, storage: Storage, offset: int, nbytes: int) -> Bytes:
        """Refuse to.

        Raises:
            ArgumentError: There are bytes to read.
        """
        if nbytes:
            raise ArgumentError(
                f"export: values are read on the host at {user_line()}; in a browser nothing of "
                "Python runs. Return the tensor, or decide on the device, as wk.where does."
            )
        return super().read(storage, offset, nbytes)


class PortableBackend(WebGpuBackend):
    """Lowers and fuses as the WebGPU backend does, for an adapter that nobody knows."""

    name = NAME
    counts_host_values = False
    choices = None  # type: ignore[assignment]  # nothing is measured

    def __init__(self, limits: Mapping[str, int], features: frozenset[str]) -> None:
        self._info = AdapterInfo(
            index=0,
            name="any browser's",
            vendor="",
            driver="",
            backend="WebGPU",
            type="Unknown",
            limits=limits,
            features=features,
            is_software=False,
        )
        super().__init__()

    def new_device(self, memory_limit: Callable[[], int | None]) -> Device:
        """Return a device on which nothing runs."""
        choice = AdapterChoice(self._info, "export", PortableAdapter(self._info))
        return PortableDevice(choice, memory_limit, _CALLS)


@contextmanager
def portable_backend(
    limits: Mapping[str, int], features: frozenset[str]
) -> Iterator[PortableBackend]:
    """Start a backend for a block; it has the kernels of ``webgpu``. Blocks take turns."""
    with _turn:
        lend_kernels(NAME, "webgpu")
        driver = PortableBackend(limits, features)
        driver_started(driver)
        try:
            yield driver
        finally:
            driver_closing(driver)
            driver.close()
            lend_kernels(NAME, None)
            announce_change(("backend", NAME))  # plans are found by the name, and hold the driver
