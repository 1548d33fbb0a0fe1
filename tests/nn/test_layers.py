"""Layers: what they compute, against NumPy, and that trees of them train and are saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYWHERE = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


def _any(value: Any) -> Any:
    return value


def _drawn(*shape: int, seed: int = 0) -> wk.Tensor:
    return wk.tensor(np.random.default_rng(seed).normal(size=shape), dtype="float32")


@EVERYWHERE
def test_a_dense_layer_multiplies_and_adds(backend: str) -> None:
    with wk.use_backend(backend):
        layer, x = wk.nn.dense(4, 3), _drawn(2, 5, 4)
        layer.bias = wk.variable([1.0, 2.0, 3.0])
        expected = x.numpy() @ layer.weight.numpy() + layer.bias.numpy()
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-5, atol=1e-6)
        assert wk.nn.dense(4, 3, bias=False).bias is None


@EVERYWHERE
def test_an_embedding_gives_rows(backend: str) -> None:
    with wk.use_backend(backend):
        layer = wk.nn.embedding(5, 3)
        np.testing.assert_array_equal(layer([[4, 0]]).numpy()[0], layer.weight.numpy()[[4, 0]])


@EVERYWHERE
@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (lambda: wk.nn.conv(4, 6, (3,), pad="same"), (2, 7, 4), (2, 7, 6)),
        (lambda: wk.nn.conv(4, 6, 3, strides=2, groups=2), (2, 7, 8, 4), (2, 3, 3, 6)),
        (lambda: wk.nn.conv(2, 3, (2, 2, 2)), (1, 3, 4, 5, 2), (1, 2, 3, 4, 3)),
        (lambda: wk.nn.depthwise_conv(4, 3, multiplier=2), (1, 5, 5, 4), (1, 3, 3, 8)),
        (lambda: wk.nn.depthwise_conv(4, (3,)), (1, 5, 4), (1, 3, 4)),
        (
            lambda: wk.nn.conv_transpose(4, 3, 4, strides=2, pad="same"),
            (1, 5, 5, 4),
            (1, 10, 10, 3),
        ),
        (lambda: wk.nn.conv_transpose(4, 3, 3, strides=2, pad=1), (1, 5, 5, 4), (1, 9, 9, 3)),
        (lambda: wk.nn.conv_transpose(4, 3, (3,), strides=2), (1, 5, 4), (1, 11, 3)),
    ],
)
def test_convolutions_give_their_shapes_and_train(
    layer: Callable[[], Any], shape: tuple[int, ...], expected: tuple[int, ...], backend: str
) -> None:
    with wk.use_backend(backend):
        made, x = layer(), _drawn(*shape)
        assert made(x).shape == expected
        slopes: Any = wk.variable_grads(lambda: (made(x) ** 2).sum(), made)[1]
        assert slopes.weight.shape == made.weight.shape
        assert slopes.weight.abs().max().item() > 0


def _normalized(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


@EVERYWHERE
def test_norms_are_those_of_numpy(backend: str) -> None:
    with wk.use_backend(backend):
        x = _drawn(3, 4, 5, 6) * 2 + 1
        given = x.numpy().astype(np.float64)
        layer = wk.nn.layer_norm(6)(x).numpy()
        np.testing.assert_allclose(layer, _normalized(given, (3,), 1e-5), rtol=1e-4, atol=1e-5)
        groups = _normalized(given.reshape(3, 20, 2, 3), (1, 3), 1e-5).reshape(given.shape)
        np.testing.assert_allclose(wk.nn.group_norm(6, 2)(x).numpy(), groups, rtol=1e-4, atol=1e-5)
        rms = given / np.sqrt((given**2).mean(3, keepdims=True) + 1e-6)
        np.testing.assert_allclose(wk.nn.rms_norm(6)(x).numpy(), rms, rtol=1e-4, atol=1e-5)


@EVERYWHERE
@pytest.mark.parametrize("captured", [False, True])
def test_a_batch_norm_keeps_running_numbers(captured: bool, backend: str) -> None:
    with wk.use_backend(backend):
        layer, x = wk.nn.batch_norm(3, momentum=0.5), _drawn(4, 5, 3)
        given = x.numpy().astype(np.float64)

        def train(x: wk.Tensor) -> wk.Tensor:
            return layer(x, train=True)

        step = wk.capture(train) if captured else train
        mean, variance = np.zeros(3), np.ones(3)
        for _ in range(3):
            np.testing.assert_allclose(
                step(x).numpy(), _normalized(given, (0, 1), 1e-5), rtol=1e-4, atol=1e-5
            )
            mean = 0.5 * mean + 0.5 * given.mean((0, 1))
            variance = 0.5 * variance + 0.5 * given.var((0, 1), ddof=1)
        np.testing.assert_allclose(layer.mean.numpy(), mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(layer.variance.numpy(), variance, rtol=1e-5)
        expected = (given - mean) / np.sqrt(variance + 1e-5)
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-4, atol=1e-5)
        before = layer.mean.numpy()
        wk.train.SGD(0.1).minimize(lambda: (layer(x, train=True) ** 3).sum(), layer)
        assert not np.array_equal(before, layer.mean.numpy())  # assigned once, not trained


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@EVERYWHERE
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrent_layers_are_the_loops_of_their_papers(reverse: bool, backend: str) -> None:
    with wk.use_backend(backend):
        x, order = _drawn(2, 4, 3), range(3, -1, -1) if reverse else range(4)
        lstm = wk.nn.lstm(3, 5)
        ys, (last, cell) = lstm(x, reverse=reverse)
        variables = (lstm.input_weight, lstm.hidden_weight, _any(lstm.bias))
        weights = [one.numpy() for one in variables]
        h = c = np.zeros((2, 5))
        for t in order:
            gates = x.numpy()[:, t] @ weights[0] + h @ weights[1] + weights[2]
            i, f, g, o = np.split(gates, 4, axis=1)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(c)
            np.testing.assert_allclose(ys.numpy()[:, t], h, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(last.numpy(), h, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(cell.numpy(), c, rtol=1e-4, atol=1e-5)

        gru = wk.nn.gru(3, 5)
        gru.hidden_bias = wk.variable(_drawn(15))
        ys, last = gru(x, reverse=reverse)
        h = np.zeros((2, 5))
        for t in order:
            r, z, n = np.split(x.numpy()[:, t] @ gru.input_weight.numpy(), 3, axis=1)
            hidden = h @ gru.hidden_weight.numpy() + gru.hidden_bias.numpy()
            a, b, c = np.split(hidden, 3, axis=1)
            n, z = np.tanh(n + _sigmoid(r + a) * c), _sigmoid(z + b)
            h = (1 - z) * n + z * h
            np.testing.assert_allclose(ys.numpy()[:, t], h, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(last.numpy(), h, rtol=1e-4, atol=1e-5)


@EVERYWHERE
def test_a_state_continues_a_sequence(backend: str) -> None:
    with wk.use_backend(backend):
        x = _drawn(2, 6, 3)
        layers: list[Any] = [wk.nn.lstm(3, 4), wk.nn.gru(3, 4)]
        for layer in layers:
            whole, _ = layer(x)
            first, state = layer(x[:, :4])
            rest, _ = layer(x[:, 4:], state)
            found = wk.concat([first, rest], axis=1).numpy()
            np.testing.assert_allclose(found, whole.numpy(), rtol=1e-5, atol=1e-6)


@EVERYWHERE
@pytest.mark.parametrize("captured", [False, True])
def test_a_cache_gives_what_causal_attention_gives(captured: bool, backend: str) -> None:
    with wk.use_backend(backend):
        layer, x = wk.nn.multi_head_attention(8, 4, key_heads=2), _drawn(2, 6, 8)
        expected = layer(x, causal=True).numpy()

        def step(part: wk.Tensor, cache: wk.nn.KeyValueCache) -> Any:
            return layer(part, cache=cache)

        decode = wk.capture(step) if captured else step
        cache, found = layer.make_cache(2, 9), []
        y, cache = layer(x[:, :2], cache=cache)  # a prompt of two
        found.append(y)
        for t in range(2, 6):
            y, cache = decode(x[:, t : t + 1], cache)
            found.append(y)
        np.testing.assert_allclose(wk.concat(found, axis=1).numpy(), expected, rtol=1e-4, atol=1e-5)
        assert cache.position.item() == 6


@EVERYWHERE
def test_a_cache_says_what_it_has_no_room_for(backend: str) -> None:
    with wk.use_backend(backend):
        layer, x = wk.nn.multi_head_attention(8, 2), _drawn(1, 1, 8)
        cache = layer.make_cache(1, 2)
        with pytest.raises(wk.ShapeError, match=r"KeyValueCache: .*want \[1, 2, at most 2, 4\]"):
            layer(_drawn(2, 1, 8), cache=cache)
        for _ in range(2):
            cache = layer(x, cache=cache)[1]
        assert cache.position.item() == 2
        with pytest.raises(wk.IndexOutOfRange, match="a KeyValueCache of 2 positions, which has"):
            layer(x, cache=cache)[0].numpy()


@dataclass
class _Block:
    """A user's own layer."""

    first: wk.nn.Dense
    norm: wk.nn.LayerNorm
    activation: Callable[[wk.Tensor], wk.Tensor] = wk.relu

    def __call__(self, x: wk.Tensor) -> wk.Tensor:
        return x + self.activation(self.first(self.norm(x)))


@EVERYWHERE
def test_a_tree_of_layers_trains_and_is_saved(backend: str, tmp_path: Path) -> None:
    with wk.use_backend(backend):
        generator = wk.random.default_rng(5)

        def model() -> wk.nn.Sequential:
            return wk.nn.sequential(
                wk.nn.dense(4, 8, generator=generator),
                _Block(wk.nn.dense(8, 8, generator=generator), wk.nn.layer_norm(8)),
                wk.nn.dropout(0.1),
                wk.nn.dense(8, 1, generator=generator),
            )

        net, x = model(), _drawn(32, 4)
        wanted, adam = x[:, :1] * 2, wk.train.Adam(0.02)
        losses = [
            adam.minimize(
                lambda: ((net(x, train=True, generator=generator) - wanted) ** 2).mean(), net
            ).item()
            for _ in range(60)
        ]
        assert losses[-1] < 0.3 * losses[0]
        wk.save(tmp_path / "net.safetensors", net)
        other = model()
        wk.load(tmp_path / "net.safetensors", into=other)
        np.testing.assert_array_equal(other(x).numpy(), net(x).numpy())
        assert "layers/1/first/weight" in wk.load(tmp_path / "net.safetensors")


def test_layers_say_what_they_are() -> None:
    text = repr(wk.nn.sequential(wk.nn.dense(2, 3), wk.relu, wk.nn.batch_norm(3)))
    assert text == (
        "Sequential(\n  Dense(weight=float32[2, 3], bias=float32[3]),\n  relu,\n"
        "  BatchNorm(scale=float32[3], offset=float32[3], mean=float32[3], variance=float32[3], "
        "momentum=0.9, epsilon=1e-05),\n)"
    )


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: wk.nn.dense(0, 3), "dense: inputs is 0; want 1 or more"),
        (lambda: wk.nn.dense(_any(2.5), 3), "dense: inputs is 2.5"),
        (
            lambda: wk.nn.conv(4, 6, 3, groups=5),
            "groups is 5; want a number that divides inputs, 4",
        ),
        (lambda: wk.nn.conv(4, 6, (1, 2, 3, 4)), "want one to three lengths"),
        (lambda: wk.nn.conv_transpose(4, 6, 3, pad="full"), "pad is 'full'"),
        (lambda: wk.nn.group_norm(6, 4), "want a number that divides 6"),
        (lambda: wk.nn.batch_norm(6, momentum=2), "momentum is 2; want one in"),
        (lambda: wk.nn.dropout(1.0), "rate is 1.0; want one in"),
        (lambda: wk.nn.sequential(_any([wk.relu])), r"layers\[0\] is .*sequential\(\*layers\)"),
        (lambda: wk.nn.multi_head_attention(10, 4), "want a number that divides 10"),
        (lambda: wk.nn.orthogonal((3,)), "want at least two axes"),
        (lambda: wk.nn.batch_norm(3)(wk.ones((4, 1))), r"want \[..., 3\]"),
        (lambda: wk.nn.batch_norm(3)(wk.ones((1, 3)), train=True), "want two or more in training"),
        (lambda: wk.nn.lstm(3, 4)(wk.ones((2, 5))), r"want \[batch, steps, 3\]"),
        (lambda: wk.nn.gru(3, 4)(wk.ones((2, 5, 3)), wk.ones((3, 4))), r"want 1 of \[2, 4\]"),
        (lambda: wk.nn.gru(3, 4, returns=_any("all")), "returns is 'all'; want 'both'"),
        (lambda: wk.nn.Dense(*_any((3, 2))), r"want variables. Use wk.nn.dense\(3, 2\)"),
        (lambda: wk.nn.GRU(*_any((3, 2))), r"Use wk.nn.gru\(3, 2\)"),
        (lambda: wk.nn.Sequential(*_any((wk.relu,))), r"Use wk.nn.sequential\("),
        (lambda: wk.nn.embedding(4, 2)(wk.ones(3)), "Embedding: ids has dtype float32"),
    ],
)
def test_what_cannot_be_a_layer_is_refused(make: Callable[[], Any], expected: str) -> None:
    with pytest.raises((wk.ArgumentError, wk.ShapeError, wk.DTypeError), match=expected):
        make()
