"""Is it fast: times, and rates against what the adapter reaches, beside the CPU kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.testing.inputs import arrays_for, call_of
from wgsl_kernels.testing.rates import Rates, rates_of
from wgsl_kernels.testing.timing import Timing, timed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.testing.sample import Sample


def sample_timings(sample: Sample, backends: Sequence[str]) -> list[Timing]:
    """Return how long a sample takes on each backend."""
    run, arrays = call_of(sample), arrays_for(sample)
    return [timed(run, arrays, one, sample.id, rounds=3) for one in backends]


def sample_rates(sample: Sample, timing: Timing) -> Rates:
    """Return what a sample reaches on ``webgpu``."""
    return rates_of(call_of(sample), arrays_for(sample), timing)
