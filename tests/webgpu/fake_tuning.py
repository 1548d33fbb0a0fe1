"""A device and a clock that tests of the tuner make up."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
from wgsl_kernels.backends.webgpu.adapter.policy import GPU
from wgsl_kernels.backends.webgpu.devices.timing import Noted
from wgsl_kernels.backends.webgpu.templates.template import hash_of
from wgsl_kernels.backends.webgpu.tuning.choice import Candidate, Choice
from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, Tuner
from wgsl_kernels.backends.webgpu.tuning.tuning_file import file_for

if TYPE_CHECKING:
    from pathlib import Path

INFO = AdapterInfo(
    index=0,
    name="Example 9000",
    vendor="Example Corp",
    driver="example 1.2.3",
    backend="Vulkan",
    type="DiscreteGPU",
    limits={},
    features=frozenset(),
    is_software=False,
)
NAMES = ("small", "large")


def path_for(info: AdapterInfo) -> Path:
    """Return where the choices for an adapter are kept."""
    found = file_for(info).path
    assert found is not None
    return found


class FakeDevice:
    """A device whose clock says what each variant takes."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.info, self.policy = INFO, GPU
        self.seconds = seconds
        self.is_profiling = False
        self.notes: object = None
        self.pipelines = SimpleNamespace(background=None)
        self.runs: list[str] = []
        self.compiling: dict[str, float] = {}  # seconds of a variant's first run
        self.lock = threading.RLock()

    def run(self, name: str) -> None:
        """Note the variant, or refuse it."""
        self.runs.append(name)
        if name not in self.seconds:
            raise wk.ShaderError(f"{name} does not compile")

    def wait(self) -> None:
        """Do nothing: there is no work."""

    def profile(self, on: bool) -> None:
        """Do nothing: the clock always runs."""

    def take_timings(self) -> list[Noted]:
        """Return what the last variant takes."""
        last = self.runs[-1]
        seconds = self.seconds[last] + self.compiling.pop(last, 0.0)
        return [Noted((), "", round(1e9 * seconds))]


class Clock:
    """The tuner's clock, which tests set forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Return the seconds that tests let go by."""
        return self.now

    def perf_counter(self) -> float:
        """Return the same; a test has it stand still while something is measured."""
        return self.now


def tuner_of(device: Any) -> Tuner:
    return Tuner(lambda: device)


def chosen(device: FakeDevice, tuner: Tuner | None = None, **more: Any) -> str:
    """Return what a process chooses; by default one that has just begun."""
    return (tuner or tuner_of(device)).choose(choice_of(**more), device.run)


def choice_of(
    names: tuple[str, ...] = NAMES, template: str = "fn main() {}", work: float = WORTH
) -> Choice:
    candidates = {name: Candidate("sum.wesl") for name in names}
    return Choice("Sum", ("float32", 10), candidates, "small", lambda _: hash_of([template]), work)


def measured(device: FakeDevice, tuner: Tuner | None = None, **more: Any) -> str:
    """Return the same in a block that measures what is not known."""
    tuner = tuner or tuner_of(device)
    with tuner.tuning():
        return chosen(device, tuner, **more)
