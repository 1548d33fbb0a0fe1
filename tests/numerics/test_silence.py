"""CPU kernels carry infinities and NaN without a warning of NumPy's."""

import contextlib

import numpy as np
import pytest
from tests.modes import rows

import wgsl_kernels as wk
from wgsl_kernels.testing import Sample
from wgsl_kernels.testing.inputs import arrays_for

SAMPLES = {sample.id: sample for sample in rows()}
ODD = np.array([3e38, -3e38, np.inf, -np.inf, np.nan, 0.0, 1e-45, 1.0])


def odd_inputs(sample: Sample, only: float | None) -> list[wk.Tensor]:
    draw = np.random.default_rng(0)
    found = []
    for array in arrays_for(sample):
        values = array
        if array.dtype.kind == "f":
            odd = draw.choice(ODD, array.shape) if only is None else np.full(array.shape, only)
            with np.errstate(all="ignore"):
                values = np.asarray(odd, array.dtype)
        found.append(wk.tensor(values))
    return found


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_no_kernel_warns_of_odd_numbers(sample: Sample) -> None:
    with wk.use_backend("cpu"):
        for only in (None, 3e38, np.inf, 0.0):
            with contextlib.suppress(wk.WgslKernelsError):  # some refuse such numbers
                sample.f(*odd_inputs(sample, only), **sample.attrs)
