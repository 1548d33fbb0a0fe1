"""Learning rates that follow a schedule, and gradients clipped by their joint norm."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels import train

BACKENDS = ["cpu", "webgpu"]
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)


@EVERYWHERE
def test_a_captured_step_follows_the_schedule(backend: str) -> None:
    rate = train.LinearWarmup(2, train.PiecewiseConstant([2, 3], [1.0, 0.5, 0.25]))
    with wk.use_backend(backend):
        v = wk.variable(0.0)
        optimizer = train.SGD(rate)
        assert optimizer.learning_rate.item() == 0.5

        @wk.capture
        def step() -> wk.Tensor:
            return optimizer.minimize(lambda: -v)

        seen = []
        for _ in range(7):
            step()
            seen.append((optimizer.learning_rate.item(), v.item()))
    assert [one for one, _ in seen] == [0.5, 1.0, 1.0, 1.0, 0.5, 0.25, 0.25]
    assert seen[-1][1] == 4.5


def test_any_function_of_the_step_is_a_schedule() -> None:
    v = wk.variable(0.0)
    optimizer = train.Momentum(lambda step: 1.0 / (wk.astype(step, "float32") + 1.0), 0.0)
    for _ in range(3):
        optimizer.apply_gradients({v: wk.tensor(-6.0)})
    assert v.item() == pytest.approx(11.0)


def test_a_scheduled_rate_is_not_assigned_and_a_schedule_gives_a_scalar() -> None:
    optimizer = train.SGD(train.CosineDecay(1.0, 10))
    with pytest.raises(wk.ArgumentError, match="SGD: learning_rate follows a schedule"):
        optimizer.learning_rate = 0.5
    with pytest.raises(wk.ShapeError, match=r"SGD: the schedule gave shape \[2\]; want a scalar"):
        train.SGD(lambda _: wk.tensor([1.0, 2.0]))


def test_a_scheduled_optimizer_goes_on_after_loading_copying_and_pickling() -> None:
    def stepped(one: train.Optimizer) -> float:
        v = wk.variable(0.0, name="scheduled")
        one.apply_gradients({v: wk.tensor(-1.0)})
        return float(v.item())

    first = train.SGD(train.ExponentialDecay(1.0, 1, 0.5))
    stepped(first)
    second = train.SGD(train.ExponentialDecay(1.0, 1, 0.5))
    second.load_state_dict(first.state_dict())
    copies = [second, copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
    assert [stepped(one) for one in copies] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: train.CosineDecay(1.0, 0), "CosineDecay: steps is 0; want 1 or more"),
        (lambda: train.ExponentialDecay(1.0, 1, -0.5), "ExponentialDecay: factor is -0.5"),
        (lambda: train.PolynomialDecay(1.0, 1, power=0), "PolynomialDecay: power is 0"),
        (lambda: train.LinearWarmup(0, 1.0), "LinearWarmup: steps is 0"),
        (lambda: train.PiecewiseConstant([1], [1.0]), "there are 1 rates for 1 boundaries"),
        (lambda: train.PiecewiseConstant([2, 1], [1.0] * 3), r"boundaries is \(2, 1\)"),
    ],
)
def test_a_schedule_out_of_range_is_refused(make: Any, message: str) -> None:
    with pytest.raises(wk.ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("schedule", "given", "message"),
    [
        (train.CosineDecay, ("1", 1), "CosineDecay: initial is '1'; want a number"),
        (train.PolynomialDecay, (1.0, 1, None), "PolynomialDecay: final is None; want a number"),
        (train.ExponentialDecay, (1.0, 1, 1.0, "no"), "staircase is 'no'; want True or False"),
        (train.PiecewiseConstant, ([1], ["1", 2.0]), "rates is '1'; want a number"),
        (train.LinearWarmup, (1, "0.1"), "LinearWarmup: then is '0.1'; want a number"),
    ],
)
def test_what_is_no_number_is_refused(schedule: Any, given: Any, message: str) -> None:
    with pytest.raises(wk.ArgumentError, match=message):
        schedule(*given)


@EVERYWHERE
def test_gradients_are_clipped_together(backend: str) -> None:
    with wk.use_backend(backend):
        a, b = wk.tensor([3.0, 0.0]), wk.tensor([[4.0]])
        clipped, norm = train.clip_by_global_norm([a, None, b], 2.5)
        assert norm.item() == 5.0
        assert clipped[1] is None
        found = [one.numpy().ravel() for one in clipped if one is not None]
        np.testing.assert_allclose(np.concatenate(found), [1.5, 0.0, 2.0], rtol=1e-6)
        v = wk.variable(1.0)
        by_variable, _ = train.clip_by_global_norm({v: wk.tensor(-2.0)}, 3.0)
        assert by_variable[v].item() == -2.0
        zeros, none = train.clip_by_global_norm([wk.zeros((2,))], 1.0)
        assert (zeros[0].tolist(), none.item()) == ([0.0, 0.0], 0.0)
        bad, _ = train.clip_by_global_norm([wk.tensor([math.inf, 1.0])], 1.0)
        assert math.isnan(bad[0].tolist()[0])


def test_clipping_refuses_what_is_no_gradient_or_no_norm() -> None:
    with pytest.raises(wk.ArgumentError, match="max_norm is 0; want a number above 0"):
        train.clip_by_global_norm([wk.tensor(1.0)], 0)
    with pytest.raises(wk.ArgumentError, match=r"gradients holds 1\.0; want tensors or None"):
        train.clip_by_global_norm([1.0], 1.0)
