"""Is it fast: times, and rates against what the adapter reaches, beside the CPU kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.testing.inputs import arrays_for
from wgsl_kernels.testing.rates import Rates, rates_of
from wgsl_kernels.testing.timing import Timing, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.testing.sample import Sample


def sample_timings(sample: Sample, backends: Sequence[str]) -> list[Timing]:
    """Return how long a sample takes on each backend."""
    run, arrays = called(sample), arrays_for(sample)
    return [timed(run, arrays, one, sample.id, rounds=3) for one in backends]


def sample_rates(sample: Sample, timing: Timing) -> Rates:
    """Return what a sample reaches on ``webgpu``."""
    return rates_of(called(sample), arrays_for(sample), timing)


def called(sample: Sample) -> Callable[..., Any]:
    """Return the sample's function with its attributes."""

    def run(*xs: Any) -> Any:
        return sample.f(*xs, **sample.attrs)

    return run
