"""checkpoint: the same bits in less memory, with state, in second order, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

X = np.random.default_rng(5).standard_normal((64, 8)).astype(np.float32)


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


def _layers(depth: int) -> list[Any]:
    wk.random.seed(3)
    return [
        wk.nn.sequential(wk.nn.dense(8, 8), wk.nn.batch_norm(8), wk.sin, wk.nn.dropout(0.3))
        for _ in range(depth)
    ]


def _steps(around: Callable[..., Any], is_captured: bool) -> list[Any]:
    """Return what three steps leave: losses, variables and the stream's place."""
    layers, stream = _layers(3), wk.random.Generator(1)
    adam = wk.train.Adam(0.05)

    def step(x: wk.Tensor) -> wk.Tensor:
        def loss() -> wk.Tensor:
            h = x
            for layer in layers:
                h = h + around(layer)(h, train=True, generator=stream)
            return (h * h).mean()

        return adam.minimize(loss, layers)

    run = wk.capture(step) if is_captured else step
    losses = [run(wk.tensor(X)).numpy() for _ in range(3)]
    norms = [layer.layers[1] for layer in layers]
    state = [one for norm in norms for one in (norm.mean, norm.variance, norm.scale)]
    return [*losses, *[one.numpy() for one in (*state, stream.key)]]


@pytest.mark.parametrize("is_captured", [False, True])
def test_steps_leave_the_same_bits_with_random_draws_and_running_means(is_captured: bool) -> None:
    for a, b in zip(_steps(_plain, is_captured), _steps(wk.checkpoint, is_captured), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_deep_network_holds_the_intermediates_of_one_block_at_a_time() -> None:
    weights = [wk.variable(np.eye(64, dtype=np.float32)) for _ in range(8)]

    def peak(around: Callable[..., Any]) -> int:
        def block(h: wk.Tensor, w: wk.Variable) -> wk.Tensor:
            return h + wk.tanh(wk.sin(h @ w))

        def loss() -> wk.Tensor:
            h = wk.ones((256, 64))
            for w in weights:
                h = around(block)(h, w)
            return h.mean()

        step = wk.train.SGD(0.1).minimize
        step(loss)
        return wk.profile(lambda: step(loss)).peak_bytes

    assert peak(wk.checkpoint) < 0.6 * peak(_plain)


def test_nested_functions_of_trees_have_the_same_gradients_of_both_orders() -> None:
    scale = wk.variable(1.5)

    def net(around: Callable[..., Any]) -> Callable[..., wk.Tensor]:
        inner = around(lambda p, x: {"y": wk.exp(p["w"] * x) * scale, "n": x.argmax()})
        outer = around(lambda p, x: (inner(p, wk.sin(inner(p, x)["y"]))["y"], x))
        return lambda p, x: wk.add_n([wk.sum(one) for one in outer(p, x)])

    p, x = {"w": wk.tensor([0.3, -0.2])}, wk.tensor([0.5, 2.0])
    plain, nested = net(_plain), net(wk.checkpoint)
    firsts = wk.grad(plain, (0, 1))(p, x), wk.grad(nested, (0, 1))(p, x)
    seconds = wk.hvp(plain, (p, x), (p, x)), wk.hvp(nested, (p, x), (p, x))
    for a, b in (firsts, seconds):
        wk.testing.assert_close(b[0]["w"], a[0]["w"])  # sums are of another order
        wk.testing.assert_close(b[1], a[1])
    expected = wk.variable_grads(lambda: plain(p, x))[1]
    wk.testing.assert_close(wk.variable_grads(lambda: nested(p, x))[1][scale], expected[scale])


def test_the_second_run_sees_what_the_first_saw() -> None:
    frozen, w, x = wk.variable(2.0, trainable=False), wk.variable(3.0), wk.tensor(1.0)

    @wk.checkpoint
    def f() -> wk.Tensor:
        y = (w * frozen * x if frozen.item() > 1 else w) * 1.0
        frozen.assign(frozen * 0.25)
        return y

    with wk.GradientTape() as tape, wk.override_gradient("Multiply", _tenfold):
        y = f() + f()
    w.assign(7.0)
    x.dispose()
    assert frozen.item() == 0.125
    assert tape.gradient(y, w).item() == pytest.approx(2000.0 + 10.0)
    assert frozen.item() == 0.125


def _tenfold(dy: wk.Tensor, a: wk.Tensor, b: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
    return dy * b * 10.0, dy * a * 10.0


def test_nothing_is_held_once_a_step_is_done() -> None:
    w = wk.variable(X)
    block = wk.checkpoint(lambda h: wk.sin(h * w))

    def step() -> None:
        wk.variable_grads(lambda: wk.sum(block(block(w))))

    step()
    before = wk.memory().num_tensors
    step()
    assert wk.memory().num_tensors == before


def test_what_loses_gradients_or_differs_is_refused() -> None:
    w, x = wk.variable([1.0, 2.0]), wk.tensor([1.0, 2.0])
    with pytest.raises(wk.ArgumentError, match="assigns the trainable variable"):
        wk.grad(lambda x: wk.checkpoint(lambda: w.assign(x) * x)())(x)
    assert w.tolist() == [1.0, 2.0]
    with pytest.raises(wk.ArgumentError, match="f is not to be run again: it returns a object"):
        wk.grad(lambda x: wk.checkpoint(lambda: (x * x, object()))()[0])(x)

    def loop(x: wk.Tensor) -> wk.Tensor:
        for _ in range(2):
            x = wk.checkpoint(lambda: x * x)()  # noqa: B023  which is what is found
        return x

    with pytest.raises(
        wk.ArgumentError, match=r"not do the same in its second run, .*is read that"
    ):
        wk.grad(loop)(x)
    lengths = iter((2, 1))
    with pytest.raises(wk.ArgumentError, match=r"not do the same in its second run.*its results"):
        wk.grad(lambda x: wk.checkpoint(lambda: x[: next(lengths)] * 2.0)())(x)
    with pytest.raises(wk.ArgumentError, match="checkpoint: f is 3; want a function"):
        wk.checkpoint(3)  # type: ignore[arg-type]  # as a user might
