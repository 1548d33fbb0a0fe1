"""What some drivers can do besides: protocols, and which of them a running driver meets.

A driver is asked once, when it starts; whoever needs an ability then finds it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wgsl_kernels.engine.drivers.driver import Driver

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from contextlib import AbstractContextManager

    from wgsl_kernels.engine.drivers.driver import Noted, Recording
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Spec


@runtime_checkable
class LimitedDriver(Driver, Protocol):
    """Says that an array would be too large before the host makes its values."""

    def check_size(self, spec: Spec) -> None:
        """Refuse an array beyond the limit.

        Raises:
            OutOfMemoryError: It is.
        """


@runtime_checkable
class HostReadableDriver(Driver, Protocol):
    """Has the values of some arrays on the host."""

    def known(self, array: Any) -> Array | None:
        """Return the values, never to be written; None where the device must be asked."""


@runtime_checkable
class DirectDriver(Driver, Protocol):
    """Has memory of its own, to which the host's values can be copied at once."""

    def upload_now(self, values: Array, spec: Spec) -> Any:
        """Return a new array with a copy of ``values``, of which the host keeps none."""


@runtime_checkable
class RecordingDriver(Driver, Protocol):
    """Takes notes of a run, so that it can be replayed."""

    def record(self, scratch: Any) -> Recording:
        """Return a recording that has not begun; it may take over an earlier one's ``scratch``."""

    def layout_key(self, array: Any) -> Hashable:
        """Return what is equal for arrays of one spec where kernels do the same with them."""


class Compilation(Protocol):
    """A block in which shaders are compiled.

    Attributes:
        asked: How many were asked for so far.
    """

    asked: int


@runtime_checkable
class CompilingDriver(Driver, Protocol):
    """Compiles shaders in threads."""

    def compiling(
        self, threads: int, notify: Callable[[int, int], None]
    ) -> AbstractContextManager[Compilation]:
        """Compile the block's shaders in threads; ``notify(done, asked)`` is called with each."""


@runtime_checkable
class TuningDriver(Driver, Protocol):
    """Chooses among variants of kernels by measuring."""

    def tuning(self) -> AbstractContextManager[None]:
        """Measure in the block what is worth it and not known."""

    def choices(self) -> dict[str, Any]:
        """Return what was chosen in this process, as JSON can hold it."""

    def load_choices(self, choices: Mapping[str, Any]) -> None:
        """Take over what `choices` has returned, for what is not chosen yet."""


@runtime_checkable
class ProfilingDriver(Driver, Protocol):
    """Counts its dispatches, and notes them while it is profiled.

    Attributes:
        recorded: How many dispatches there were so far.
        peak_bytes: The most bytes that live arrays had since profiling began.
    """

    @property
    def recorded(self) -> int:
        """How many dispatches there were so far."""

    @property
    def peak_bytes(self) -> int:
        """The most bytes that live arrays had since profiling began."""

    def profile(self, on: bool) -> None:
        """Begin or end to take notes of dispatches."""

    def take_timings(self) -> list[Noted]:
        """Return each dispatch's kernels, cause, milliseconds and program, where they are known."""


@runtime_checkable
class PoolingDriver(Driver, Protocol):
    """A backend that keeps freed memory for reuse."""

    def trim(self) -> int:
        """Give it back; return how many bytes that was."""
        ...


@dataclass(frozen=True, slots=True)
class Abilities:
    """One driver by what it can do: itself where it can, else None."""

    limited: LimitedDriver | None = None
    host_readable: HostReadableDriver | None = None
    direct: DirectDriver | None = None
    recording: RecordingDriver | None = None
    compiling: CompilingDriver | None = None
    tuning: TuningDriver | None = None
    profiling: ProfilingDriver | None = None
    pooling: PoolingDriver | None = None


_running: dict[Driver, Abilities] = {}
_NONE = Abilities()


def abilities_of(driver: Driver) -> Abilities:
    """Return what a running driver can do; of one that was closed, nothing."""
    return _running.get(driver, _NONE)


def driver_started(driver: Driver) -> None:
    """Find out what ``driver`` can do."""
    _running[driver] = Abilities(
        limited=driver if isinstance(driver, LimitedDriver) else None,
        host_readable=driver if isinstance(driver, HostReadableDriver) else None,
        direct=driver if isinstance(driver, DirectDriver) else None,
        recording=driver if isinstance(driver, RecordingDriver) else None,
        compiling=driver if isinstance(driver, CompilingDriver) else None,
        tuning=driver if isinstance(driver, TuningDriver) else None,
        profiling=driver if isinstance(driver, ProfilingDriver) else None,
        pooling=driver if isinstance(driver, PoolingDriver) else None,
    )


def driver_closing(driver: Driver) -> None:
    """Forget ``driver``."""
    _running.pop(driver, None)
