"""Every recorded run of an optimizer, on both backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.conformance import tolerance
from tests.conformance.choices import OPTIMIZER_CHOICES
from tests.conformance.corpus import array_of, optimizer_runs
from tests.conformance.replay import BACKENDS, on, outside

import wgsl_kernels as wk
from wgsl_kernels import train
from wgsl_kernels.engine.registry.public_names import snake_case

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNS = optimizer_runs()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("run", RUNS, ids=lambda one: one["id"])
def test_a_recorded_optimizer_moves_its_variables_alike(
    run: Mapping[str, Any], backend: str
) -> None:
    config = {snake_case(name): value for name, value in run["config"].items()}
    with on(backend):
        optimizer = getattr(train, run["optimizer"])(**config)
        variables = {
            name: wk.variable(array_of(raw), name=name)
            for name, raw in run["steps"][0]["before"].items()
        }
        largest = dict.fromkeys(variables, 0.0)
        chosen = OPTIMIZER_CHOICES[run["id"]](run) if run["id"] in OPTIMIZER_CHOICES else None
        for number, step in enumerate(run["steps"], start=1):
            optimizer.learning_rate = step["learningRate"]
            optimizer.apply_gradients(
                [(wk.tensor(array_of(raw)), variables[name]) for name, raw in step["grads"].items()]
            )
            for name, raw in step["expected" if run["quirks"] else "after"].items():
                right = array_of(raw) if chosen is None else chosen[number - 1][name]
                before = array_of(step["before"][name])
                sizes = np.abs([before, right])
                largest[name] = max(largest[name], float(np.max(sizes, initial=0)))
                lost = number * step["learningRate"] * _digits_lost(config)
                interval = tolerance.steps_interval(right, number, largest[name], lost)
                problem = outside(variables[name].numpy(), right, interval)
                assert problem is None, f"{run['id']}: step {number}, {name}: {problem}"


def _digits_lost(config: Mapping[str, Any]) -> float:
    """Return how far a record's update may be off, in learning rates.

    TensorFlow.js takes 1 - beta^step in single precision, where beta^step is close to 1.
    """
    return tolerance.EPS / (1 - float(config.get("beta2", 0)))
