"""Fourteen small programs as users write them: each returns what one call of it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[[], Any]


def _normal(*shape: int, seed: int = 0, scale: float = 0.3) -> Any:
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def _weights(*shape: int, seed: int = 0) -> wk.Variable:
    return wk.variable(_normal(*shape, seed=seed))


def gaussian_process() -> Call:
    x = wk.tensor(_normal(24, 1, scale=1.0))
    y = wk.sin(x * 3.0)
    theta = wk.variable(np.array([0.1, 0.2, -2.0], np.float32))
    optimizer = wk.train.Adam(0.05)

    def loss() -> wk.Tensor:
        length, amplitude, noise = wk.exp(theta[0]), wk.exp(theta[1]), wk.exp(theta[2])
        distance = (x - wk.permute_dims(x, (1, 0))) ** 2
        kernel = amplitude * wk.exp(-0.5 * distance / (length * length)) + noise * wk.eye(24)
        factor = wk.linalg.cholesky(kernel)
        weights = wk.linalg.solve(kernel, y)
        return 0.5 * (y * weights).sum() + wk.log(wk.diag(factor)).sum()

    return lambda: optimizer.minimize(loss).item()


def logistic_regression() -> Call:
    x = wk.tensor(_normal(64, 5))
    y = wk.tensor((_normal(64, 1, seed=1) > 0).astype(np.float32))
    w = wk.tensor(_normal(5, 1, seed=2))

    def loss(w: wk.Tensor) -> wk.Tensor:
        scores = x @ w
        return (wk.softplus(scores) - y * scores).mean() + 0.01 * (w * w).sum()

    value_and_grad = wk.value_and_grad(loss)

    def call() -> Any:
        value, gradient = value_and_grad(w)
        return value.item(), gradient.numpy()

    return call


def autoencoder() -> Call:
    x = wk.tensor(np.random.default_rng(0).random((16, 20)).astype(np.float32))
    w1, b1 = _weights(20, 16), _weights(16, seed=1)
    mean, spread = _weights(16, 2, seed=2), _weights(16, 2, seed=3)
    w2, b2 = _weights(2, 16, seed=4), _weights(16, seed=5)
    w3, b3 = _weights(16, 20, seed=6), _weights(20, seed=7)
    optimizer = wk.train.Adam(0.01)

    def loss() -> wk.Tensor:
        hidden = wk.tanh(x @ w1 + b1)
        mu, log_variance = hidden @ mean, hidden @ spread
        z = mu + wk.exp(0.5 * log_variance) * wk.random_normal((16, 2))
        scores = wk.tanh(z @ w2 + b2) @ w3 + b3
        fit = (wk.softplus(scores) - x * scores).sum(axis=1)
        divergence = -0.5 * (1.0 + log_variance - mu**2 - wk.exp(log_variance)).sum(axis=1)
        return (fit + divergence).mean()

    return lambda: optimizer.minimize(loss).item()


def residual_block() -> Call:
    x = wk.tensor(_normal(4, 8, 8, 3))
    y = wk.tensor(np.eye(4, dtype=np.float32))
    first, second = _weights(3, 3, 3, 6), _weights(3, 3, 6, 6, seed=1)
    skip, last = _weights(1, 1, 3, 6, seed=2), _weights(6, 4, seed=3)
    scale, shift = wk.variable(np.ones(6, np.float32)), wk.variable(np.zeros(6, np.float32))
    running = wk.variable(np.zeros(6, np.float32), trainable=False)
    optimizer = wk.train.Adam(0.01)

    def loss() -> wk.Tensor:
        h = wk.conv2d(x, first, strides=1, pad="same")
        mean, variance = wk.moments(h, axis=(0, 1, 2))
        running.assign(0.9 * running + 0.1 * wk.stop_gradient(mean))
        h = wk.relu((h - mean) * wk.rsqrt(variance + 1e-3) * scale + shift)
        h = wk.conv2d(h, second, strides=1, pad="same")
        h = wk.relu(h + wk.conv2d(x, skip, strides=1, pad="same"))
        return -(wk.log_softmax(h.mean(axis=(1, 2)) @ last) * y).sum(axis=1).mean()

    return lambda: optimizer.minimize(loss).item()


def gated_units() -> Call:
    steps, width = 5, 8
    x = wk.tensor(_normal(steps, 4, 6))
    y = wk.tensor(_normal(4, width, seed=9))
    gates, new = _weights(6 + width, 2 * width), _weights(6 + width, width, seed=1)
    bias = _weights(2 * width, seed=2)
    optimizer = wk.train.Adam(0.01)

    def loss() -> wk.Tensor:
        h = wk.zeros((4, width))
        for t in range(steps):
            both = wk.sigmoid(wk.concat([x[t], h], axis=1) @ gates + bias)
            reset, update = both[:, :width], both[:, width:]
            candidate = wk.tanh(wk.concat([x[t], reset * h], axis=1) @ new)
            h = update * h + (1.0 - update) * candidate
        return ((h - y) ** 2).mean()

    return lambda: optimizer.minimize(loss).item()


def diffusion() -> Call:
    clean = wk.tensor(_normal(32, 2, scale=1.0))
    w1, b1 = _weights(3, 16), _weights(16, seed=1)
    w2, b2 = _weights(16, 2, seed=2), _weights(2, seed=3)
    optimizer = wk.train.Adam(0.01)

    def loss() -> wk.Tensor:
        time = wk.random_uniform((32, 1))
        noise = wk.random_normal((32, 2))
        level = wk.cos(time * 1.5)
        noisy = level * clean + wk.sqrt(1.0 - level * level + 1e-4) * noise
        h = wk.concat([noisy, time], axis=1) @ w1 + b1
        found = (h * wk.sigmoid(h)) @ w2 + b2
        return ((found - noise) ** 2).mean()

    return lambda: optimizer.minimize(loss).item()


def attention_with_cache() -> Call:
    width, room = 8, 12
    w = wk.tensor(_normal(width, 3 * width))
    out = wk.tensor(_normal(width, width, seed=1))
    keys, values = wk.zeros((room, width)), wk.zeros((room, width))
    state: list[Any] = [wk.tensor(_normal(1, width, seed=2)), keys, values, 0]

    def call() -> Any:
        x, keys, values, at = state
        q, k, v = wk.split(wk.layer_norm(x) @ w, 3, axis=1)
        place = wk.tensor([at % room])
        keys, values = keys.at[place].set(k), values.at[place].set(v)
        scores = (q @ wk.permute_dims(keys, (1, 0))) * width**-0.5
        seen = wk.arange(room) <= place
        weights = wk.softmax(wk.where(seen, scores, -1e9))
        state[:] = [wk.tanh(x + (weights @ values) @ out), keys, values, at + 1]
        return state[0].numpy()

    return call


def navier_stokes() -> Call:
    size = 16
    numbers = np.fft.fftfreq(size, 1 / size).astype(np.float32)
    kx, ky = wk.tensor(numbers[:, None]), wk.tensor(numbers[None, :])
    square = wk.tensor(np.maximum(numbers[:, None] ** 2 + numbers[None, :] ** 2, 1).astype("f"))
    state = [wk.tensor(_normal(size, size))]

    def call() -> Any:
        spectrum = wk.fft.fftn(state[0] + 0j)
        stream = spectrum / square
        u = wk.real(wk.fft.ifftn(1j * ky * stream))
        v = wk.real(wk.fft.ifftn(-1j * kx * stream))
        wx = wk.real(wk.fft.ifftn(1j * kx * spectrum))
        wy = wk.real(wk.fft.ifftn(1j * ky * spectrum))
        change = wk.fft.fftn(-(u * wx + v * wy) + 0j)
        after = (spectrum + 0.01 * change) / (1.0 + 0.01 * 1e-3 * square)
        state[0] = wk.real(wk.fft.ifftn(after))
        return state[0].numpy()

    return call


def informed_network() -> Call:
    x = wk.tensor(np.linspace(0, 1, 24, dtype=np.float32)[:, None])
    right = wk.sin(x * np.pi) * -(np.pi**2)
    w1, b1 = _weights(1, 12), _weights(12, seed=1)
    w2, b2 = _weights(12, 12, seed=2), _weights(12, seed=3)
    w3 = _weights(12, 1, seed=4)
    optimizer = wk.train.Adam(0.01)

    def u(x: wk.Tensor) -> wk.Tensor:
        return wk.tanh(wk.tanh(x @ w1 + b1) @ w2 + b2) @ w3

    def slope(x: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grad(lambda x: u(x).sum())(x)
        return found

    def loss() -> wk.Tensor:
        bend: wk.Tensor = wk.grad(lambda x: slope(x).sum())(x)
        ends = u(wk.tensor([[0.0], [1.0]]))
        return ((bend - right) ** 2).mean() + (ends**2).sum()

    return lambda: optimizer.minimize(loss).item()


def neural_equation() -> Call:
    start = wk.tensor(_normal(8, 2, scale=1.0))
    w1, b1 = _weights(2, 8), _weights(8, seed=1)
    w2 = _weights(8, 2, seed=2)
    optimizer = wk.train.Adam(0.01)
    h = 0.1

    def f(z: wk.Tensor) -> wk.Tensor:
        return wk.tanh(z @ w1 + b1) @ w2

    def turn(z: wk.Tensor, _: Any) -> tuple[wk.Tensor, wk.Tensor]:
        k1 = f(z)
        k2 = f(z + 0.5 * h * k1)
        k3 = f(z + 0.5 * h * k2)
        k4 = f(z + h * k3)
        z = z + h / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return z, z

    def loss() -> wk.Tensor:
        last: wk.Tensor = wk.scan(turn, start, wk.arange(4))[0]
        return ((last - 0.5) ** 2).mean()

    return lambda: optimizer.minimize(loss).item()


def mel_coefficients() -> Call:
    signal = wk.tensor(np.sin(np.arange(1024, dtype=np.float32) * 0.3))
    bank = wk.tensor(np.abs(_normal(65, 12)))
    angles = np.pi / 12 * (np.arange(12)[:, None] + 0.5) * np.arange(6)[None, :]
    transform = wk.tensor(np.cos(angles).astype(np.float32))

    def call() -> Any:
        emphasised = wk.concat([signal[:1], signal[1:] - 0.97 * signal[:-1]])
        power = wk.abs(wk.stft(emphasised, 128, 64)) ** 2
        mel = wk.log(power @ bank + 1e-6)
        mel = mel - mel.mean(axis=0, keepdims=True)
        return mel.numpy(), (mel @ transform).numpy()

    return call


def nearest_neighbours() -> Call:
    x = wk.tensor(_normal(40, 6))
    labels = wk.tensor((np.arange(40) % 3).astype(np.int32))
    queries = wk.tensor(_normal(10, 6, seed=1))

    def call() -> Any:
        centre = x.mean(axis=0, keepdims=True)
        _, sizes, right = wk.linalg.svd(x - centre, full_matrices=False)
        axes = wk.permute_dims(right[:2], (1, 0))
        a, b = (x - centre) @ axes, (queries - centre) @ axes
        cross = b @ wk.permute_dims(a, (1, 0))
        distance = (b**2).sum(axis=1, keepdims=True) + (a**2).sum(axis=1) - 2.0 * cross
        _, places = wk.topk(-distance, 5)
        votes = wk.one_hot(wk.take(labels, places), 3).sum(axis=1)
        return sizes.numpy(), wk.argmax(votes, axis=1).numpy()

    return call


def policy_gradient() -> Call:
    w1, w2 = _weights(4, 16), _weights(16, 2, seed=1)
    optimizer = wk.train.Adam(0.01)

    def scores(states: wk.Tensor) -> wk.Tensor:
        return wk.tanh(states @ w1) @ w2

    def call() -> Any:
        state, states, actions = _normal(8, 4, seed=3), [], []
        for _ in range(3):
            chances = wk.softmax(scores(wk.tensor(state))).numpy()
            action = (chances[:, 1] > 0.5).astype(np.int32)
            states.append(state)
            actions.append(action)
            state = state + 0.02 * np.roll(state, 1, 1) + 0.1 * (2 * action[:, None] - 1)
            state = state.astype(np.float32)
        x = wk.tensor(np.concatenate(states))
        chosen = wk.one_hot(wk.tensor(np.concatenate(actions)), 2)
        returns = wk.tensor(np.repeat([3.0, 2.0, 1.0], 8).astype(np.float32))

        def loss() -> wk.Tensor:
            chance = (wk.log_softmax(scores(x)) * chosen).sum(axis=1)
            advantage = (returns - returns.mean()) / (wk.std(returns) + 1e-6)
            return -(chance * advantage).mean()

        return optimizer.minimize(loss).item()

    return call


def deblurring() -> Call:
    grid = np.exp(-0.5 * (np.arange(5) - 2) ** 2)
    blur = wk.tensor((np.outer(grid, grid) / grid.sum() ** 2).astype("f").reshape(5, 5, 1, 1))
    sharp = wk.tensor(_normal(1, 16, 16, 1))
    seen = wk.conv2d(sharp, blur, strides=1, pad="same")
    image = wk.variable(np.zeros((1, 16, 16, 1), np.float32))
    optimizer = wk.train.Adam(0.05)

    def loss() -> wk.Tensor:
        found = wk.conv2d(image, blur, strides=1, pad="same")
        down, across = image[:, 1:] - image[:, :-1], image[:, :, 1:] - image[:, :, :-1]
        variation = wk.sqrt(down**2 + 1e-4).sum() + wk.sqrt(across**2 + 1e-4).sum()
        return ((found - seen) ** 2).sum() + 0.01 * variation

    return lambda: optimizer.minimize(loss).item()


PROGRAMS = (
    gaussian_process,
    logistic_regression,
    autoencoder,
    residual_block,
    gated_units,
    diffusion,
    attention_with_cache,
    navier_stokes,
    informed_network,
    neural_equation,
    mel_coefficients,
    nearest_neighbours,
    policy_gradient,
    deblurring,
)
