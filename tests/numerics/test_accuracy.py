"""Functions over every exponent of float32 against mpmath, within what each promises.

A thin sample of what `make accuracy` tries; with WGSL_KERNELS_TEST_MODES=all as many numbers.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.special
from benchmarks.accuracy import (
    FUNCTIONS,
    MANTISSAS,
    RECORDED,
    Function,
    errors,
    exact_values,
    points,
)
from tests.modes import ALL_MODES

import wgsl_kernels as wk


@pytest.mark.gpu
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_a_function_keeps_its_promise_at_every_exponent(function: Function) -> None:
    inputs = points(function, MANTISSAS if ALL_MODES else 2)
    exact = exact_values(function, inputs)
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            off = errors(function, inputs, exact)
        worst = int(np.argmax(off))
        assert off[worst] <= function.limit, (backend, [float(one[worst]) for one in inputs])


def test_what_is_recorded_is_within_what_is_promised() -> None:
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))["functions"]
    promised = {one.name: one.limit for one in FUNCTIONS}

    assert kept.keys() == promised.keys()
    for name, row in kept.items():
        assert max(row[backend]["ulp"] for backend in ("cpu", "webgpu")) <= promised[name], name


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_rows_of_logarithms_agree_with_scipy(backend: str) -> None:
    draw = np.random.default_rng(3)  # so that SciPy keeps its digits, too
    x = (draw.normal(size=(64, 9)) * 10.0 ** draw.uniform(-3, 0.6, (64, 1))).astype(np.float32)
    wide = x.astype(np.float64)
    with wk.use_backend(backend):
        logs = wk.log_softmax(x).numpy()
        for axis in (0, 1):
            total = wk.logsumexp(x, axis=axis).numpy()
            np.testing.assert_allclose(
                total, scipy.special.logsumexp(wide, axis=axis), rtol=2e-6, atol=1e-6
            )
    np.testing.assert_allclose(logs, scipy.special.log_softmax(wide, axis=-1), rtol=3e-6)
