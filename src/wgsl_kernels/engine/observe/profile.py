"""Profiling: which kernels ran, on what, for how long."""

from __future__ import annotations

import time as clock
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.autodiff.tape import flat
from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import running_drivers
from wgsl_kernels.engine.drivers.memory import memory
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.tables import html_table
from wgsl_kernels.engine.tensors.scopes import tensors_in
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.engine.drivers.driver import Driver, Noted
    from wgsl_kernels.engine.execution.execute import KernelRun, Proceed, Result
    from wgsl_kernels.engine.values.spec import Shape


@dataclass
class KernelRow:
    """One kernel run.

    Attributes:
        wall_ms: Milliseconds that the caller waited for the run to be recorded (webgpu) or done.
        device_ms: Milliseconds on the device, where it can tell, else None. The last kernel of a
            fused dispatch has all its time.
        bytes: Bytes of the outputs.
        dispatches: How many dispatches end with it; 0 for one fused into a later kernel's.
        is_replay: Whether it is the replay of a captured function, called by that one's name.
    """

    name: str
    backend: str
    input_shapes: tuple[Shape, ...]
    output_shapes: tuple[Shape, ...]
    wall_ms: float
    device_ms: float | None
    bytes: int
    dispatches: int = 0
    is_replay: bool = False


@dataclass(frozen=True)
class DispatchRow:
    """One dispatch on a device: the kernels in it and its milliseconds there.

    Attributes:
        kernels: Several where they were fused.
        device_ms: None where the device cannot tell.
        cause: Why pending work ran then; empty where the op was eager, "it is replayed" where it
            was a captured function that ran.
        program: The program that it belongs to, None where the backend has none; see `explain`.
        dispatch: Which dispatch of the program it is: its text, grid, bindings and parameters.
    """

    backend: str
    kernels: tuple[str, ...]
    device_ms: float | None
    cause: str = ""
    program: Any = field(default=None, repr=False)
    dispatch: Any = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """The kernels, as one text."""
        return " + ".join(self.kernels)


@dataclass
class Profile:
    """What `profile` saw.

    Attributes:
        kernels: A row per kernel run, in order.
        dispatches: A row per dispatch, in order.
        peak_bytes: Most bytes that live arrays held at any time.
        result: What the function returned.
    """

    kernels: list[KernelRow] = field(default_factory=list)
    dispatches: list[DispatchRow] = field(default_factory=list)
    peak_bytes: int = 0
    result: Any = None

    def by_kernel(self) -> dict[tuple[str, str], tuple[int, float, float | None]]:
        """Return calls, wall and device milliseconds by (kernel, backend)."""
        sums: dict[tuple[str, str], tuple[int, float, float | None]] = {}
        for row in self.kernels:
            calls, wall, device = sums.get((row.name, row.backend), (0, 0.0, None))
            if row.device_ms is not None:
                device = (device or 0.0) + row.device_ms
            sums[row.name, row.backend] = (calls + 1, wall + row.wall_ms, device)
        return sums

    def __str__(self) -> str:
        lines = [f"{'kernel':<24}{'backend':<10}{'calls':>6}{'wall ms':>11}{'device ms':>11}"]
        rows = sorted(self.by_kernel().items(), key=lambda item: -item[1][1])
        for (name, backend), (calls, wall, device) in rows:
            shown = "-" if device is None else f"{device:.3f}"
            lines.append(f"{name:<24}{backend:<10}{calls:>6}{wall:>11.3f}{shown:>11}")
        return "\n".join([*lines, self._last_line])

    @property
    def _last_line(self) -> str:
        return f"{len(self.dispatches)} dispatches, peak {self.peak_bytes:,} bytes"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row per kernel and backend, the slowest first."""
        found = sorted(self.by_kernel().items(), key=lambda item: -item[1][1])
        rows = [(*named, *numbers) for named, numbers in found]
        head = ("kernel", "backend", "calls", "wall ms", "device ms")
        return html_table(head, rows, self._last_line)


@dataclass(frozen=True)
class Times:
    """Milliseconds of a call: by the clock, and on the device where that can tell."""

    wall_ms: float
    device_ms: float | None


class _Watcher:
    """The interceptor behind `profile`."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.spans: list[tuple[int, int]] = []

    def __call__(self, call: KernelRun, proceed: Proceed) -> Result:
        counts = {driver.name: _recorded(driver) for driver in running_drivers()}
        start = clock.perf_counter()
        result = proceed(call)
        wall = (clock.perf_counter() - start) * 1e3
        outputs = result if isinstance(result, tuple) else (result,)
        ran_on = call.plan.driver if call.plan is not None else None
        name = "" if ran_on is None else ran_on.name
        last = 0 if ran_on is None else _recorded(ran_on)
        self.spans.append((counts.get(name, 0), last))
        self.profile.kernels.append(
            KernelRow(
                name=call.name,
                backend=name,
                input_shapes=tuple(one.shape for one in flat(call.inputs)),
                output_shapes=tuple(one.shape for one in outputs),
                wall_ms=wall,
                device_ms=None,
                bytes=sum(one.spec.nbytes for one in outputs),
            )
        )
        self.profile.peak_bytes = max(self.profile.peak_bytes, memory().num_bytes)
        return result

    def replayed(
        self,
        name: str,
        driver: Driver,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        wall_ms: float,
        dispatches: int,
    ) -> None:
        """Hear of a captured function that was replayed, so that no kernel ran by name."""
        last = _recorded(driver)
        self.spans.append((last - dispatches, last))
        self.profile.kernels.append(
            KernelRow(
                name=name,
                backend=driver.name,
                input_shapes=tuple(one.shape for one in inputs),
                output_shapes=tuple(one.shape for one in outputs),
                wall_ms=wall_ms,
                device_ms=None,
                bytes=sum(one.spec.nbytes for one in outputs),
                is_replay=True,
            )
        )
        self.profile.peak_bytes = max(self.profile.peak_bytes, memory().num_bytes)


def profile(f: Callable[[], Any]) -> Profile:
    """Run ``f`` and return which kernels ran and for how long; forces all work at the end."""
    function("profile", "f", f)
    seen = Profile(peak_bytes=memory().num_bytes)
    watcher = _Watcher(seen)
    begun = {driver.name: _recorded(driver) for driver in running_drivers()}
    with _timing() as timings:
        with context.intercepted(watcher):
            seen.result = _returned("profile", f)
        evaluate(seen.result)
        synchronize()
    for driver in running_drivers():
        profiling = abilities_of(driver).profiling
        if profiling is not None:
            seen.peak_bytes = max(seen.peak_bytes, profiling.peak_bytes)
    for name, noted in timings.items():
        ran = _running(seen.kernels, watcher.spans, name, begun.get(name, 0))
        for at, (kernels, why, ms, origin) in enumerate(noted):
            is_replay = not why and at in ran and ran[at].is_replay
            cause = "it is replayed" if is_replay else why
            seen.dispatches.append(DispatchRow(name, kernels, ms, cause, *(origin or ())))
        _attribute(seen.kernels, name, noted, ran)
    return seen


def time(f: Callable[[], Any]) -> Times:
    """Run ``f``, force its work, and return how long that took."""
    function("time", "f", f)
    synchronize()
    with _timing() as timings:
        start = clock.perf_counter()
        evaluate(_returned("time", f))
        synchronize()
        wall = (clock.perf_counter() - start) * 1e3
    device = [ms for noted in timings.values() for _, _, ms, _ in noted if ms is not None]
    return Times(wall, sum(device) if device else None)


def evaluate(*tensors: Any) -> None:
    """Force the pending work of these tensors and submit it, without waiting."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        array, driver = tensors[0]._array_and_driver()
        driver.evaluate([array])
        return
    by_driver: dict[Driver, list[Any]] = {}
    for one in tensors_in(tensors):
        array, driver = one._array_and_driver()
        by_driver.setdefault(driver, []).append(array)
    for driver, arrays in by_driver.items():
        driver.evaluate(arrays)


def flush() -> None:
    """Submit what is recorded on every backend, forcing nothing."""
    for driver in running_drivers():
        driver.submit()


def synchronize() -> None:
    """Wait for all that was submitted, on every backend."""
    for driver in running_drivers():
        driver.submit()
        driver.wait()


def _returned(what: str, f: Callable[[], Any]) -> Any:
    """Return what ``f`` gives.

    Raises:
        ArgumentError: It is a generator or a coroutine, so that nothing of ``f`` ran.
    """
    result = f()
    if isinstance(result, (Generator, AsyncGenerator, Coroutine)):
        if not isinstance(result, AsyncGenerator):
            result.close()
        message = f"{what}: f gave a {type(result).__name__}, of which nothing ran"
        raise ArgumentError(f"{message}; want a function that returns its results.")
    return result


_open: ContextVar[tuple[dict[str, list[Noted]], ...]] = ContextVar("_open", default=())
"""What the blocks around have found that are being timed, the outermost first."""


@contextmanager
def _timing() -> Iterator[dict[str, list[Noted]]]:
    """Note the dispatches of a block, by backend; those of a block in it are its own, too."""
    found: dict[str, list[Noted]] = {}
    around = _open.get()
    able = [abilities_of(one).profiling for one in running_drivers()]
    timed = [one for one in able if one is not None]
    first = {one.name for one in timed if not any(one.name in outer for outer in around)}
    for driver in timed:
        driver.wait()
        if driver.name in first:
            driver.profile(True)
        else:
            noted = driver.take_timings()
            for outer in around:
                outer.setdefault(driver.name, []).extend(noted)
        found[driver.name] = []
    token = _open.set((*around, found))
    try:
        yield found
    finally:
        _open.reset(token)
        for driver in timed:
            try:
                noted = driver.take_timings()
                for block in (*around, found):
                    block.setdefault(driver.name, []).extend(noted)
            finally:
                if driver.name in first:
                    driver.profile(False)


def _recorded(driver: Driver) -> int:
    profiling = abilities_of(driver).profiling
    return 0 if profiling is None else profiling.recorded


def _running(
    rows: list[KernelRow], spans: list[tuple[int, int]], backend: str, begun: int
) -> dict[int, KernelRow]:
    """Return which kernel was running when a backend's dispatches were recorded, by number."""
    return {
        at: row
        for row, (first, last) in zip(rows, spans, strict=True)
        if row.backend == backend
        for at in range(first - begun, last - begun)
    }


def _attribute(
    rows: list[KernelRow], backend: str, noted: list[Noted], ran: dict[int, KernelRow]
) -> None:
    """Give kernel rows the times of their dispatches.

    A dispatch without a cause belongs to the kernel that was running; a deferred one to the
    earliest kernels of its names that have none yet.
    """
    unmatched: dict[str, list[KernelRow]] = {}
    for row in rows:
        if row.backend == backend:
            unmatched.setdefault(row.name, []).append(row)
    for at, (kernels, cause, ms, _) in enumerate(noted):
        owner = ran.get(at)
        if cause:
            owners = [unmatched[name].pop(0) for name in kernels if unmatched.get(name)]
            owner = owners[-1] if owners else owner
        if owner is not None:
            owner.dispatches += 1
            if ms is not None:
                owner.device_ms = (owner.device_ms or 0.0) + ms
