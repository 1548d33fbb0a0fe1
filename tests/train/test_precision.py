"""Training in float16 with weights in float32: casts, scaled losses, steps that are left out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DRAW = np.random.default_rng(6)
X = DRAW.standard_normal((32, 4)).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int32)


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run on each backend, where an adapter has no float16 on cpu."""
    has_halves = find_driver(request.param).supports("float16")
    with wk.use_backend(request.param if has_halves else "cpu"):
        yield


def _net() -> Any:
    wk.random.seed(2)
    return wk.nn.sequential(wk.nn.dense(4, 8), wk.nn.batch_norm(8), wk.relu, wk.nn.dense(8, 2))


def _train(dtype: Literal["float16", "float32"], *, is_captured: bool) -> tuple[list[float], Any]:
    net, optimizer = _net(), wk.train.LossScale(wk.train.Adam(0.02), scale=1024.0)

    def step(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        def loss() -> wk.Tensor:
            model = net if dtype == "float32" else wk.train.cast_trainable(net)
            logits = model(x.astype(dtype), train=True)
            assert logits.dtype == dtype
            return wk.sparse_softmax_cross_entropy(y, logits.astype("float32"))

        return optimizer.minimize(loss, net)

    run = wk.capture(step) if is_captured else step
    return [run(wk.tensor(X), wk.tensor(Y)).item() for _ in range(6)], net


def test_a_network_in_halves_learns_as_one_in_float32_does() -> None:
    whole, _ = _train("float32", is_captured=False)
    half, net = _train("float16", is_captured=False)
    captured, other = _train("float16", is_captured=True)
    np.testing.assert_allclose(half, whole, rtol=0.02)
    assert half == captured
    (dense, norm), (other_dense, other_norm) = net.layers[:2], other.layers[:2]
    np.testing.assert_array_equal(dense.weight.numpy(), other_dense.weight.numpy())
    assert dense.weight.dtype == norm.mean.dtype == "float32"
    assert norm.mean.tolist() == other_norm.mean.tolist() != [0.0] * 8


def test_a_scale_keeps_gradients_that_float16_would_lose() -> None:
    model = {"w": wk.variable([1.0, 2.0])}

    def loss() -> wk.Tensor:
        half = wk.train.cast_trainable(model)
        return wk.sum(half["w"].astype("float32") * 1e-9)

    scale = wk.train.LossScale(wk.train.SGD(1.0))
    lost = wk.variable_grads(loss, model)[1]["w"]
    kept = wk.variable_grads(lambda: scale.scaled(loss()), model)[1]
    assert lost.tolist() == [0.0, 0.0]
    wk.testing.assert_close(scale.unscaled(kept)["w"], np.full(2, 1e-9, np.float32), rtol=1e-3)


@pytest.mark.parametrize("is_captured", [False, True])
def test_steps_that_are_not_finite_change_nothing_but_the_scale(is_captured: bool) -> None:
    w = wk.variable([1.0, 2.0])
    adam = wk.train.Adam(wk.train.ExponentialDecay(0.1, 1, 0.5))
    optimizer = wk.train.LossScale(adam, scale=8.0, growth_interval=2)

    def step(factor: wk.Tensor) -> wk.Tensor:
        return optimizer.minimize(lambda: wk.sum(w * w * factor))

    run = wk.capture(step) if is_captured else step
    seen = []
    for factor in (1.0, np.inf, np.nan, 1.0, 1.0, 1.0):
        before = w.tolist(), adam.step.item(), adam.learning_rate.item()
        state = [one.tolist() for one in adam.state_dict().values()]
        run(wk.tensor(np.float32(factor)))
        if not np.isfinite(factor):
            assert before == (w.tolist(), adam.step.item(), adam.learning_rate.item())
            if len(state) == 4:
                assert state == [one.tolist() for one in adam.state_dict().values()]
        seen.append((optimizer.scale.item(), optimizer.good_steps.item()))
    assert seen == [(8.0, 1), (4.0, 0), (2.0, 0), (2.0, 1), (4.0, 0), (4.0, 1)]
    assert adam.step.item() == 4


def test_a_first_step_that_is_not_finite_leaves_slots_at_their_start() -> None:
    w = wk.variable([1.0])
    optimizer = wk.train.LossScale(wk.train.Momentum(0.1, 0.9), scale=2.0)
    optimizer.apply_gradients([(wk.tensor([np.nan]), w)])
    optimizer.apply_gradients([(wk.tensor([1.0]), w)])
    assert w.item() == pytest.approx(0.9)


def test_it_works_with_groups_clipping_sums_and_files(tmp_path: Path) -> None:
    net = _net()
    groups = wk.train.ParameterGroups(
        {"first": (wk.train.SGD(0.1), net.layers[0]), "rest": (wk.train.Adam(0.01), None)}
    )
    optimizer, total = wk.train.LossScale(groups), wk.train.GradientAccumulator(net)

    def scaled_loss(x: Any, y: Any) -> wk.Tensor:
        return optimizer.scaled(wk.sparse_softmax_cross_entropy(y, net(x)))

    for rows in (slice(0, 16), slice(16, 32)):
        total.update(wk.variable_grads(functools.partial(scaled_loss, X[rows], Y[rows]), net)[1])
    clipped, _ = wk.train.clip_by_global_norm(optimizer.unscaled(total.result()), 1.0)
    optimizer.apply_gradients(clipped, net)
    assert groups.optimizers["first"].step.item() == 1
    wk.save(tmp_path / "run.safetensors", {"net": net, "optimizer": optimizer})
    optimizer.scale.assign(1.0)
    wk.load(tmp_path / "run.safetensors", into={"net": net, "optimizer": optimizer})
    assert optimizer.scale.item() == 2.0**15
    assert repr(optimizer).startswith("LossScale(ParameterGroups({'first': SGD(")


def test_what_cannot_be_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(wk.DTypeError, match="cast_trainable: dtype is int32; want a float"):
        wk.train.cast_trainable(_net(), "int32")
    with pytest.raises(wk.ArgumentError, match="LossScale: optimizer is 3; want an optimizer"):
        wk.train.LossScale(3)  # type: ignore[arg-type]  # as a user might
    for scale in (0, 1e-46, 1e39, np.inf, np.nan):  # which would be 0 or infinite for ever
        with pytest.raises(wk.ArgumentError, match=r"LossScale: scale is .* float32 has"):
            wk.train.LossScale(wk.train.SGD(0.1), scale=scale)
    with pytest.raises(wk.ArgumentError, match="growth_interval is 0"):
        wk.train.LossScale(wk.train.SGD(0.1), growth_interval=0)
    net = _net()
    driver = find_driver(wk.get_backend())
    monkeypatch.setattr(driver, "supports", lambda dtype: dtype != "float16")
    with pytest.raises(wk.DTypeError, match=r"has no float16 here: .*shader-f16"):
        wk.train.cast_trainable(net)
