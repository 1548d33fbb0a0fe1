"""Samples of the random kernels, which are functions of a key."""

from typing import Any

from wgsl_kernels.testing.bounds import absolute, exact, ulp
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

# Both backends lie near Box and Muller's formula: 4 ULP of the result on cpu, 10 on webgpu. A
# deviate is below 8, where a ULP is 2^-21.
_NORMAL = ulp(14)
_MOVED_NORMAL = absolute(2.0 * 14 * 2**-21)


def _sample(kernel: str, bound: Any = None, **attrs: Any) -> Sample:
    """Return a row for keys of any bits."""
    low, high = -(2.0**31), 2.0**31
    return Sample(
        kernel, run_of(kernel, "key"), ((4,),), "int32", attrs, low=low, high=high, bound=bound
    )


def _drawn(rows: int, outcomes: int, num_samples: int, normalized: bool = False) -> Sample:
    attrs = {"num_samples": num_samples, "normalized": normalized}
    low, high = (0.05 if normalized else -3.0, -(2.0**31)), (1.0 if normalized else 3.0, 2.0**31)
    shapes, dtypes = ((rows, outcomes), (4,)), ("float32", "int32")
    return Sample(
        "Multinomial", run_of("Multinomial", "logits", "key"), shapes, dtypes, attrs, low, high
    )


SAMPLES = [
    _sample("AdvanceKey", blocks=3),
    _sample("AdvanceKey", blocks=2**32 - 1),
    _drawn(1, 2, 20),
    _drawn(3, 4, 5),
    _drawn(2, 300, 9),
    _drawn(2, 7, 66, normalized=True),
    _drawn(1, 257, 1),
    _drawn(2, 3, 0),
    _sample("RandomNormal", _NORMAL, shape=(2, 3)),
    _sample("RandomNormal", _NORMAL, shape=(65,)),
    _sample("RandomNormal", _MOVED_NORMAL, shape=(7,), mean=3.0, std_dev=2.0),
    _sample("RandomUniform", exact(), shape=(2, 3)),
    _sample("RandomUniform", exact(), shape=(65,), minval=-2.0, maxval=3.0),
    _sample("RandomUniform", shape=(9,), dtype="int32", minval=-5, maxval=100),
    _sample("RandomUniform", shape=(9,), dtype="bool"),
]
