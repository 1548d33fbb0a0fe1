"""What the driver of the samples runs: checks by name, each with its rows, backends and layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.testing import all_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wgsl_kernels.testing import Sample


class Case(NamedTuple):
    """A row of the sample tables, the backend that it runs on, and how its inputs are laid out."""

    sample: Sample
    backend: str = "webgpu"
    layout: str = "default"


class Check(NamedTuple):
    """What must hold of a sample.

    Attributes:
        name: Its name, with which ``pytest -k`` selects it.
        run: Runs it on one case, and raises where the case fails.
        cases: What it runs on.
        is_plain: Whether it is one call of a kernel, or its gradient, on its own.
    """

    name: str
    run: Callable[[Case], None]
    cases: tuple[Case, ...]
    is_plain: bool


CHECKS: list[Check] = []


def check(
    cases: Iterable[Case], *, is_plain: bool = False
) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Have the driver run a function on each of ``cases``, under its name."""

    def add(run: Callable[[Case], None]) -> Callable[[Case], None]:
        CHECKS.append(Check(run.__name__, run, tuple(cases), is_plain))
        return run

    return add


def backends_of(sample: Sample) -> tuple[str, ...]:
    """Return where a row runs: float16 on webgpu only where the adapter has it."""
    return ("cpu", "webgpu") if _fits_adapter(sample) else ("cpu",)


def on_backends(samples: Iterable[Sample], *only: str) -> list[Case]:
    """Return the rows on each backend that has them, or on ``only`` some."""
    return [
        Case(sample, backend)
        for sample in samples
        for backend in backends_of(sample)
        if not only or backend in only
    ]


def _fits_adapter(sample: Sample) -> bool:
    if "float16" not in sample.input_dtypes:
        return True
    choice = choose_adapter()
    return choice is None or "shader-f16" in choice.info.features


def on_device() -> list[Sample]:
    """Return the rows that run on the adapter: those of numbers that it has."""
    return [one for one in all_samples() if "string" not in one.input_dtypes and _fits_adapter(one)]
