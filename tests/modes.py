"""The modes in which the whole suite runs; an environment variable of each run says which.

WGSL_KERNELS_TEST_ENGINE is how kernels run where a test does not say so itself: "auto", "unfused",
"fused" (from the first time on), or "captured": what rows of the sample tables compute outside a
tape is a replay, compared with the eager run bit for bit.

WGSL_KERNELS_TEST_MODES=all has every row of the tables run in each layout of its inputs, where it
otherwise runs in some.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.engine.scopes import tensors_in
from wgsl_kernels.testing import Sample, all_samples

ALL_MODES = os.environ.get("WGSL_KERNELS_TEST_MODES") == "all"
ENGINE = os.environ.get("WGSL_KERNELS_TEST_ENGINE", "auto")
FUSION = {"auto": "auto", "unfused": "never", "fused": "always", "captured": "auto"}[ENGINE]


def rows() -> tuple[Sample, ...]:
    """Return the sample tables' rows; their functions replay themselves in the captured mode."""
    samples = all_samples()
    if ENGINE != "captured":
        return samples
    return tuple(dataclasses.replace(one, f=_Replayed(one.f)) for one in samples)


def bits(result: Any) -> list[tuple[tuple[int, ...], str, Any]]:
    """Return shape, dtype and bytes of every tensor in a result; of strings the words."""
    return [
        (one.shape, one.dtype, one.tolist() if one.dtype == "string" else one.numpy().tobytes())
        for one in tensors_in(result)
    ]


@dataclasses.dataclass(frozen=True)
class _Replayed:
    """A row's function, which returns what a replay gives, where one is possible."""

    f: Any

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        fast = wk.capture(lambda *given: self.f(*given, **attrs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = fast(*inputs)
        if fast.why is not None:
            return first
        again = fast(*inputs)
        assert bits(again) == bits(first)
        fast.dispose()
        return again
