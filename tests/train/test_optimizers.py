"""Optimizers: their rules against NumPy, what they refuse, and what they leave behind."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.train import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Momentum,
    Optimizer,
    RMSProp,
)

BACKENDS = ["cpu", "webgpu"]
Rule = Callable[[np.ndarray, list[np.ndarray]], np.ndarray]


def sgd(value: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Return what SGD with a rate of 0.1 makes of ``value``."""
    return np.asarray(value - 0.1 * np.sum(gradients, axis=0))


def momentum(value: np.ndarray, gradients: list[np.ndarray], nesterov: bool = False) -> np.ndarray:
    """Return what Momentum with 0.1 and 0.9 makes of ``value``."""
    total = np.zeros_like(value)
    for gradient in gradients:
        total = 0.9 * total + gradient
        value = value - 0.1 * (gradient + 0.9 * total if nesterov else total)
    return value


def adam(value: np.ndarray, gradients: list[np.ndarray], beta1: float = 0.9) -> np.ndarray:
    """Return what Adam with 0.1, beta1, 0.999 and 1e-7 makes of ``value``."""
    m, v = np.zeros_like(value), np.zeros_like(value)
    for step, gradient in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * gradient
        v = 0.999 * v + 0.001 * gradient**2
        root = np.sqrt(v / (1 - 0.999**step)) + 1e-7
        value = value - 0.1 * m / (1 - beta1**step) / root
    return value


def adamw(value: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Return what AdamW with 0.1 and a decay of 0.2 makes of ``value``."""
    m, v = np.zeros_like(value), np.zeros_like(value)
    for step, gradient in enumerate(gradients, start=1):
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        value = value * (1 - 0.1 * 0.2)
        value = value - 0.1 * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-7)
    return value


def adamax(value: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Return what Adamax with 0.1 and a decay of 0.01 makes of ``value``."""
    m, largest = np.zeros_like(value), np.zeros_like(value)
    for step, gradient in enumerate(gradients):
        m = 0.9 * m + 0.1 * gradient
        largest = np.maximum(0.999 * largest, np.abs(gradient))
        rate = 0.1 / (1 + 0.01 * step) / (1 - 0.9 ** (step + 1))
        value = value - rate * m / (largest + 1e-7)
    return value


def adagrad(value: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Return what Adagrad with 0.8, started at 0.25, makes of ``value``."""
    total = np.full_like(value, 0.25)
    for gradient in gradients:
        total = total + gradient**2
        value = value - 0.8 * gradient / np.sqrt(total + 1e-7)
    return value


def adadelta(value: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Return what Adadelta with 1, 0.9 and 1e-2 makes of ``value``."""
    square, steps = np.zeros_like(value), np.zeros_like(value)
    for gradient in gradients:
        square = 0.9 * square + 0.1 * gradient**2
        step = gradient * np.sqrt(steps + 1e-2) / np.sqrt(square + 1e-2)
        steps = 0.9 * steps + 0.1 * step**2
        value = value - step
    return value


def rmsprop(value: np.ndarray, gradients: list[np.ndarray], centered: bool) -> np.ndarray:
    """Return what RMSProp with 0.05, 0.9, a momentum of 0.5 and 1e-3 makes of ``value``."""
    square, mean, step = np.zeros_like(value), np.zeros_like(value), np.zeros_like(value)
    for gradient in gradients:
        square = 0.9 * square + 0.1 * gradient**2
        mean = 0.9 * mean + 0.1 * gradient
        below = square - mean**2 if centered else square
        step = 0.5 * step + 0.05 * gradient / np.sqrt(below + 1e-3)
        value = value - step
    return value


RULES: dict[str, tuple[Callable[[], Optimizer], Rule]] = {
    "sgd": (lambda: SGD(0.1), sgd),
    "momentum": (lambda: Momentum(0.1, 0.9), momentum),
    "nesterov": (
        lambda: Momentum(0.1, 0.9, use_nesterov=True),
        lambda value, gradients: momentum(value, gradients, nesterov=True),
    ),
    "adam": (lambda: Adam(0.1), adam),
    "adam without memory": (
        lambda: Adam(0.1, beta1=0.0),
        lambda value, gradients: adam(value, gradients, beta1=0.0),
    ),
    "adamw": (lambda: AdamW(0.1, weight_decay=0.2), adamw),
    "adamax": (lambda: Adamax(0.1, decay=0.01), adamax),
    "adagrad": (lambda: Adagrad(0.8, 0.25), adagrad),
    "adadelta": (lambda: Adadelta(1.0, 0.9, 1e-2), adadelta),
    "rmsprop": (
        lambda: RMSProp(0.05, 0.9, 0.5, 1e-3),
        lambda value, gradients: rmsprop(value, gradients, centered=False),
    ),
    "centered rmsprop": (
        lambda: RMSProp(0.05, 0.9, 0.5, 1e-3, centered=True),
        lambda value, gradients: rmsprop(value, gradients, centered=True),
    ),
}
WITHOUT_DECAY = pytest.mark.parametrize("rule", [one for one in RULES if one != "adamw"])
ALL = pytest.mark.parametrize("rule", RULES)
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)


def drawn(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@EVERYWHERE
@ALL
def test_steps_follow_the_published_rule(rule: str, backend: str) -> None:
    make, expected = RULES[rule]
    gradients = [drawn((3, 2), seed) for seed in range(1, 6)]
    with wk.use_backend(backend):
        optimizer, v = make(), wk.variable(drawn((3, 2)))
        for gradient in gradients:
            optimizer.apply_gradients([(wk.tensor(gradient), v)])
        wide = [one.astype(np.float64) for one in gradients]
        np.testing.assert_allclose(
            v.numpy(), expected(drawn((3, 2)).astype(np.float64), wide), rtol=2e-6, atol=2e-6
        )
        assert optimizer.step.item() == 5


@EVERYWHERE
@WITHOUT_DECAY
def test_minimize_returns_the_loss_and_finds_the_minimum(rule: str, backend: str) -> None:
    with wk.use_backend(backend):
        v = wk.variable([3.0, -2.0])
        optimizer = RULES[rule][0]()
        losses = [optimizer.minimize(lambda: wk.sum((v - 1.0) ** 2.0)).item() for _ in range(120)]
        assert losses[0] == 13.0
        assert losses[-1] < 0.01


def test_minimize_leaves_other_variables_alone() -> None:
    v, other, fixed = wk.variable(1.0), wk.variable(1.0), wk.variable(1.0, trainable=False)
    SGD(0.5).minimize(lambda: v * other * fixed, [v])
    assert (v.item(), other.item(), fixed.item()) == (0.5, 1.0, 1.0)
    SGD(0.5).minimize(lambda: v * fixed)
    assert (v.item(), fixed.item()) == (0.0, 1.0)


def test_minimize_says_when_the_loss_depends_on_nothing() -> None:
    with pytest.raises(wk.GradientNotFound, match=r"SGD.minimize: the loss depends on no trai"):
        SGD(0.1).minimize(lambda: wk.tensor(1.0))


def test_a_mapping_of_gradients_by_variable_is_taken() -> None:
    v = wk.variable([1.0, 2.0])
    SGD(1.0).apply_gradients({v: wk.tensor([1.0, 1.0])})
    assert v.tolist() == [0.0, 1.0]


def test_a_missing_gradient_is_skipped_with_one_warning() -> None:
    v, w = wk.variable(1.0, name="v"), wk.variable(1.0, name="w")
    optimizer = SGD(1.0)
    with pytest.warns(UserWarning, match="SGD: no gradient for 'w'; left as they are"):
        optimizer.apply_gradients([(wk.tensor(1.0), v), (None, w)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.apply_gradients([(wk.tensor(1.0), v), (None, w)])
    assert (v.item(), w.item()) == (-1.0, 1.0)


def test_a_gradient_of_the_wrong_shape_changes_nothing() -> None:
    v, w = wk.variable([1.0], name="v"), wk.variable([1.0], name="w")
    optimizer = Momentum(1.0, 0.5)
    with pytest.raises(wk.ShapeError, match=r"gradient of 'w' has shape \[2\], the variable \[1\]"):
        optimizer.apply_gradients([(wk.tensor([1.0]), v), (wk.tensor([1.0, 2.0]), w)])
    assert (v.tolist(), optimizer.step.item()) == ([1.0], 0)


def test_variables_of_one_name_are_told_apart_by_an_error() -> None:
    v, w, one = wk.variable(1.0, name="w"), wk.variable(1.0, name="w"), wk.tensor(1.0)
    optimizer = Adam()
    with pytest.raises(wk.ArgumentError, match="'w' is given for two variables"):
        optimizer.apply_gradients([(one, v), (one, w)])
    with pytest.raises(wk.ArgumentError, match="'w' is given twice"):
        optimizer.apply_gradients([(one, v), (one, v)])
    optimizer.apply_gradients([(one, v)])
    with pytest.raises(wk.ArgumentError, match="two variables are called 'w'"):
        optimizer.apply_gradients([(one, w)])
    del v
    optimizer.apply_gradients([(one, w)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Momentum(0.1, 1.0), r"Momentum: momentum is 1.0; want a number in \[0, 1\)"),
        (lambda: Adam(beta1=-0.1), r"Adam: beta1 is -0.1"),
        (lambda: Adam(beta2=1.5), r"Adam: beta2 is 1.5"),
        (lambda: Adam(epsilon=-1.0), r"Adam: epsilon is -1.0"),
        (lambda: AdamW(weight_decay=-1.0), r"AdamW: weight_decay is -1.0"),
        (lambda: Adamax(decay=-1.0), r"Adamax: decay is -1.0"),
        (lambda: Adagrad(0.1, -1.0), r"Adagrad: initial_accumulator_value is -1.0"),
        (lambda: Adadelta(rho=1.0), r"Adadelta: rho is 1.0"),
        (lambda: RMSProp(0.1, decay=2.0), r"RMSProp: decay is 2.0"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.ArgumentError, match=message):
        make()


@EVERYWHERE
def test_the_learning_rate_can_be_changed_between_steps(backend: str) -> None:
    with wk.use_backend(backend):
        v, one = wk.variable(1.0), wk.tensor(1.0)
        optimizer = SGD(0.5)
        optimizer.apply_gradients([(one, v)])
        optimizer.learning_rate = 0.25
        optimizer.apply_gradients([(one, v)])
        assert v.item() == 0.25
        assert optimizer.learning_rate.item() == 0.25


@EVERYWHERE
@ALL
def test_training_on_after_loading_gives_the_same_values(rule: str, backend: str) -> None:
    def trained(optimizer: Optimizer, v: wk.Variable, seeds: range) -> None:
        for seed in seeds:
            optimizer.apply_gradients([(wk.tensor(drawn((4,), seed)), v)])

    with wk.use_backend(backend):
        first, v = RULES[rule][0](), wk.variable(drawn((4,)), name="v")
        trained(first, v, range(3))
        state = first.state_dict()
        middle = wk.variable(v, name="v")
        trained(first, v, range(3, 6))

        second = RULES[rule][0]()
        second.load_state_dict(state)  # before it has seen the variable: state waits
        assert second.state_dict().keys() == state.keys()
        trained(second, middle, range(3, 6))
        assert middle.tolist() == v.tolist()

        first.load_state_dict(state)  # what it has seen already takes the state at once
        assert first.step.item() == 3


def test_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    v = wk.variable([1.0, 2.0], name="v")
    optimizer = Adam()
    optimizer.apply_gradients([(wk.tensor([1.0, 1.0]), v)])
    before = {name: one.tolist() for name, one in optimizer.state_dict().items()}
    state = optimizer.state_dict()
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({**state, "v/m": [1.0]}, wk.ShapeError, r"'v/m' has shape \[1\]; want \[2\]"),
        ({**state, "v/m": [1, 2]}, wk.DTypeError, "'v/m' is int32; want float32"),
        ({**state, "w/m": [1.0]}, wk.ArgumentError, "'w/m' is no state of this optimizer, or not"),
        ({**state, "extra": 1.0}, wk.ArgumentError, "'extra' is no state"),
        ({"step": 1}, wk.ArgumentError, "the state has no 'learning_rate'"),
    ]
    for given, kind, message in wrong:
        with pytest.raises(kind, match=message):
            optimizer.load_state_dict({"step": 7, **given} if kind is wk.ShapeError else given)
    assert {name: one.tolist() for name, one in optimizer.state_dict().items()} == before


def test_waiting_state_of_another_shape_names_the_variable() -> None:
    donor, v = Adam(), wk.variable([1.0, 2.0], name="v")
    donor.apply_gradients([(wk.tensor([1.0, 1.0]), v)])
    optimizer = Adam()
    optimizer.load_state_dict(donor.state_dict())
    longer = wk.variable([1.0, 2.0, 3.0], name="v")
    with pytest.raises(wk.ShapeError, match=r"the state 'v/m' has shape \[2\]; want \[3\]"):
        optimizer.apply_gradients([(wk.tensor([1.0, 1.0, 1.0]), longer)])
    assert longer.tolist() == [1.0, 2.0, 3.0]


@EVERYWHERE
def test_steps_leave_no_tensors_behind(backend: str) -> None:
    with wk.use_backend(backend):
        v = wk.variable(drawn((5, 5)))
        optimizer = Adam()

        def step() -> wk.Tensor:
            return optimizer.minimize(lambda: wk.sum(v * v))

        step()
        gc.collect()
        before = wk.memory()
        for _ in range(3):
            step()
        gc.collect()
        after = wk.memory()
        assert (after.num_tensors, after.num_bytes) == (before.num_tensors, before.num_bytes)


def test_an_outer_tape_does_not_see_the_optimizer() -> None:
    v = wk.variable(2.0)
    with wk.GradientTape() as tape:
        optimizer = Adam()
        optimizer.apply_gradients([(wk.tensor(1.0), v)])
        y = v * v
    assert tape.gradient(y, v).item() == pytest.approx(2 * v.item())


def test_variables_of_float16_and_float32_share_an_optimizer() -> None:
    with wk.use_backend("cpu"):
        narrow, wide = wk.variable([1.0], dtype="float16"), wk.variable([1.0])
        optimizer = Momentum(0.5, 0.5)
        gradients = [wk.tensor([1.0], dtype="float16"), wk.tensor([1.0])]
        optimizer.apply_gradients(list(zip(gradients, (narrow, wide), strict=True)))
        assert (narrow.dtype, narrow.tolist(), wide.tolist()) == ("float16", [0.5], [0.5])


def test_variables_are_no_learning_rate() -> None:
    w: Any = wk.variable([1.0, 2.0])
    wrong: list[Any] = [w, [w], {"w": w}.values()]
    for given in wrong:
        with pytest.raises(wk.ArgumentError, match=r"SGD: learning_rate is .*want a number or a s"):
            wk.train.SGD(given)
