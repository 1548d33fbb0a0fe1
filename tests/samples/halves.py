"""Each kernel takes float16 alike on both backends: for all of its floats, and for one of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.modes import some
from tests.samples.check import Case, backends_of, check

import wgsl_kernels as wk
from wgsl_kernels.testing import all_samples
from wgsl_kernels.testing.inputs import arrays_for, call_of, tensors_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.testing import Sample

BACKENDS = backends_of(next(one for one in all_samples() if "float16" in one.input_dtypes))
ROWS = some((one for one in all_samples() if "float32" in one.input_dtypes), 6, "halves")


def _gives(sample: Sample, arrays: Sequence[Any], backend: str) -> list[str]:
    """Return the dtypes of the results, or which error there is."""
    with wk.use_backend(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call_of(sample)(*tensors_for(arrays, "default"))
            each = [found] if isinstance(found, wk.Tensor) else list(found)
            return [str(one.numpy().dtype) for one in each]
        except wk.WgslKernelsError as error:
            return [type(error).__name__]


@check([Case(one) for one in ROWS])
def halves_are_taken_alike(case: Case) -> None:
    arrays = arrays_for(case.sample)
    floats = [at for at, one in enumerate(arrays) if one.dtype == np.float32]
    with np.errstate(over="ignore"):
        halves = [one.astype(np.float16) if at in floats else one for at, one in enumerate(arrays)]
    for chosen in {tuple(floats), *((at,) for at in floats)}:
        given = [(halves if at in chosen else arrays)[at] for at in range(len(arrays))]
        gives = {backend: _gives(case.sample, given, backend) for backend in BACKENDS}
        assert len({tuple(one) for one in gives.values()}) == 1, (chosen, gives)
