"""First derivatives over every exponent of float32 against mpmath, within what each promises.

A thin sample of what `make accuracy` tries; with WGSL_KERNELS_TEST_MODES=all as many numbers.
"""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from benchmarks.accuracy import MANTISSAS, errors, exact_values, points
from benchmarks.gradient_accuracy import (
    LIMIT,
    PER_CONDITION,
    SLOPES,
    SLOPES_RECORDED,
    Slope,
    allowed,
)
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.gradients import gradient_rules
from wgsl_kernels.engine.registry.registry import get_kernel

ELEMENTWISE = (
    "activation",
    "binary",
    "exponential",
    "float_pairs",
    "hyperbolic",
    "logarithms",
    "special",
    "trigonometry",
    "unary",
)
"""Modules of elementwise ops, which are folders of their shaders."""
FLAT = {"Ceil", "Floor", "FloorDiv", "Round", "Sign", "Step"}
"""Rules that give zeros."""
COPIES = {"Add", "CopySign", "Neg", "NextAfter", "Sub"}
"""Rules that give the upstream gradient, or its negative."""
OF_RESULTS = {"EluGrad"}
"""TensorFlow.js's kernel of the gradient and the result; `fused_mat_mul, elu` runs it."""


@pytest.mark.gpu
@pytest.mark.parametrize("slope", SLOPES, ids=lambda one: one.name)
def test_a_derivative_keeps_its_promise_at_every_exponent(slope: Slope) -> None:
    inputs = points(slope, MANTISSAS if ALL_MODES else 2)
    exact = exact_values(slope, inputs)
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            off = errors(slope, inputs, exact)
        for place in np.flatnonzero(off > LIMIT):
            at = [float(one[place]) for one in inputs]
            assert off[place] <= allowed(slope, at), (backend, at)


def test_what_is_recorded_is_within_what_is_promised() -> None:
    kept = json.loads(SLOPES_RECORDED.read_text(encoding="utf-8"))["derivatives"]
    reasons = {one.name: one.why for one in SLOPES}

    assert kept.keys() == reasons.keys()
    for name, row in kept.items():
        for found in (row["cpu"], row["webgpu"]):
            limit = LIMIT
            if reasons[name]:
                limit = max(LIMIT, PER_CONDITION * found["condition"])
            assert found["ulp"] <= limit, name


def test_every_elementwise_rule_is_measured() -> None:
    rules = {name for name, rule in gradient_rules().items() if rule.func and _is_elementwise(name)}
    ran: set[str] = set()
    with wk.use_backend("cpu"):
        for slope in SLOPES:
            x = wk.tensor([1.5 if slope.low == 1 else 0.5])
            inputs = (x,) if slope.second is None else (x, x)
            seen = wk.profile(functools.partial(slope.ours, *inputs))
            ran |= {row.name for row in seen.kernels}

    assert rules - FLAT - COPIES - OF_RESULTS <= ran


def _is_elementwise(kernel: str) -> bool:
    found = get_kernel(kernel, "webgpu")
    given = getattr(getattr(found, "func", None), "given", "")
    return str(given).startswith(ELEMENTWISE)
