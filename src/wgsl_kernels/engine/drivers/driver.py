"""What the engine asks of a backend, and how a user's simpler `Backend` is brought to that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array

Launch = Callable[[list[Any]], Sequence[Any]]
"""Runs a prepared kernel: arrays in the signature's order (None: absent; a list where the input
is one) to output arrays; to pairs (array, `Spec`) where the specs were not known before."""


@dataclass(frozen=True)
class Usage:
    """What a backend holds now: live arrays and their bytes, and what it keeps for reuse."""

    num_buffers: int
    num_bytes: int
    pool_bytes: int = 0
    captured_bytes: int = 0
    """What captured functions keep for their replays: intermediates and parameters."""


class Backend(Protocol):
    """What the author of a backend writes; arrays are whatever objects the backend likes."""

    def upload(self, values: Array) -> Any:
        """Return a new array with these values."""

    def download(self, array: Any) -> Array:
        """Return the values behind ``array``, waiting for the work that computes them."""

    def free(self, array: Any) -> None:
        """Release ``array``: no tensor holds it any more. Called once for each."""

    def run(
        self, kernel: Kernel, arrays: list[Any], attrs: dict[str, Any], outputs: list[Spec] | None
    ) -> Sequence[Any]:
        """Run ``kernel.func`` and return its output arrays.

        ``outputs`` is ``None`` where the kernel has no signature, or holds specs with unknown
        lengths; the engine then reads the shapes from what `download` gives.
        """

    def memory(self) -> Usage:
        """Return what the backend holds."""

    def close(self) -> None:
        """Release everything."""


class Shown(Protocol):
    """A program of dispatches, or one dispatch, that a backend runs: a value to print and compare.

    What it has besides is the backend's; one of the webgpu backend is a
    `wgsl_kernels.backends.webgpu.programs.program.Program` or ``Dispatch``.
    """

    def show(self) -> str:
        """Return everything, the shaders' texts included, each line with its origin."""


Noted = tuple[tuple[str, ...], str, float | None, tuple[Shown, Shown] | None]
"""Of a dispatch its kernels, its cause, its milliseconds, and its program with itself in it."""


class OtherLayoutError(Exception):
    """An input of a replay has another layout than the one that was recorded."""


class Driver(Protocol):
    """What the engine works with: arrays release themselves when the last reference goes.

    What a driver may be able to do besides is in `wgsl_kernels.engine.drivers.abilities`.
    """

    name: str

    def supports(self, dtype: DType) -> bool:
        """Say whether tensors of ``dtype`` can live here."""

    def serves(self, kernel: Kernel, dtype: DType) -> bool:
        """Say whether ``kernel``, which names no dtypes, takes a first input of ``dtype``."""

    def upload(self, values: Array, spec: Spec) -> Any:
        """Return a new array; ``values`` are the driver's from now on and never written."""

    def download(self, array: Any, spec: Spec) -> Array:
        """Return the values as a new array, waiting for pending work."""

    def prepare(
        self,
        kernel: Kernel,
        inputs: list[Any],
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        output_names: tuple[str, ...],
    ) -> Launch:
        """Return a launch for inputs of these specs.

        ``outputs`` is None where they are not known before the run; ``output_names`` are as
        gradient rules and shaders call them.
        """

    def memory(self) -> Usage: ...

    def submit(self) -> None:
        """Hand over what is recorded, without waiting."""

    def evaluate(self, arrays: list[Any]) -> None:
        """Force the pending work behind ``arrays`` and hand it over, without waiting."""

    def wait(self) -> None:
        """Wait for all that was handed over."""

    def close(self) -> None:
        """Release everything."""


class Recording(Protocol):
    """Takes notes of a run, so that it can be replayed.

    Between ``begin`` and ``end`` it notes what the calling thread has the device do; all of it is
    done as ever. Something that a replay could not repeat sets ``why`` and ends the notes.

    Attributes:
        why: Why there can be no replay; empty while there can.
        scratch: Memory that replays work in; a later recording may take it over.
    """

    why: str
    scratch: Any

    def own(self, array: Any, spec: Spec, shared: bool) -> Any:
        """Return an array of the same values, on the device and nowhere else, in its layout.

        It is ``array`` itself, if that is so and ``shared`` says that nothing else holds it.
        """

    def begin(self) -> None:
        """Begin to take notes of this thread."""

    def end(self) -> None:
        """Take no more notes."""

    def refuse(self, why: str) -> None:
        """Give up, for a reason to tell the user; the first one stays."""

    def replay(self, inputs: list[Any], outputs: list[Any]) -> Replay | None:
        """Return what runs the same work on other inputs, or None: see ``why``.

        Args:
            inputs: Arrays from ``own``.
            outputs: Arrays that the noted work made, or any others.
        """


class Replay(Protocol):
    """A recording, to be run on other arrays of the same specs and layouts.

    Attributes:
        used: For each input whether the work reads it.
        dispatches: How many dispatches it has.
        nbytes: What it keeps for itself, on the host and on the device, about.
    """

    used: tuple[bool, ...]
    dispatches: int
    nbytes: int

    @property
    def is_valid(self) -> bool:
        """Whether its device still is the driver's."""

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """Run on the inputs that are used, in order; return new output arrays.

        Raises:
            OtherLayoutError: One has another layout than the recorded one; nothing was done then.
        """


class SharedArray:
    """One array of a `Backend`, shared by the tensors that hold it; freed with the last."""

    __slots__ = ("array", "backend")

    def __init__(self, array: Any, backend: Backend) -> None:
        self.array = array
        self.backend = backend

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        backend = getattr(self, "backend", None)  # none where an interrupt came into __init__
        if backend is not None and not finalizing():  # when what free calls may be gone already
            backend.free(self.array)


class SimpleDriver:
    """Makes a `Driver` of a user's `Backend`: holds its arrays, and checks what it returns."""

    def __init__(self, name: str, backend: Backend) -> None:
        self.name = name
        self.backend = backend

    def supports(self, dtype: DType) -> bool:
        """Ask the backend where it has an opinion; else take every dtype."""
        ask = getattr(self.backend, "supports", None)
        return True if ask is None else bool(ask(dtype))

    def serves(self, kernel: Kernel, dtype: DType) -> bool:
        """Say yes: a simple backend's kernels say themselves what they take."""
        return True

    def upload(self, values: Array, spec: Spec) -> SharedArray:
        """Upload through the backend."""
        return SharedArray(self.backend.upload(values), self.backend)

    def download(self, array: SharedArray, spec: Spec) -> Array:
        """Download through the backend."""
        return self.backend.download(array.array)

    def prepare(
        self,
        kernel: Kernel,
        inputs: list[Any],
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        output_names: tuple[str, ...],
    ) -> Launch:
        """Return a launch that unwraps the inputs, runs the kernel and holds the outputs."""
        backend = self.backend
        specs = None if outputs is None else list(outputs)
        known = specs is not None and all(spec.is_known for spec in specs)

        def launch(arrays: list[Any]) -> Sequence[Any]:
            results = backend.run(kernel, [_unwrap(one) for one in arrays], attrs, specs)
            held = [SharedArray(one, backend) for one in results]
            return held if known else [(one, self._spec_of(one)) for one in held]

        return launch

    def _spec_of(self, held: SharedArray) -> Spec:
        from wgsl_kernels.engine.values.host import default_dtype

        values = self.backend.download(held.array)
        return Spec(values.shape, default_dtype(values))

    def memory(self) -> Usage:
        return self.backend.memory()

    def submit(self) -> None:
        """Do nothing: a simple backend runs at once."""

    def evaluate(self, arrays: list[Any]) -> None:
        """Do nothing: a simple backend runs at once."""

    def wait(self) -> None:
        """Do nothing: a simple backend runs at once."""

    def close(self) -> None:
        self.backend.close()


def _unwrap(value: Any) -> Any:
    if isinstance(value, list):
        return [one.array for one in value]
    return None if value is None else value.array
