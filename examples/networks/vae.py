"""A variational autoencoder learns handwritten digits: 64 pixels through eight random numbers."""

from typing import Any

from sklearn.datasets import load_digits

import wgsl_kernels as wk

dense = wk.nn.dense


def main(steps: int = 216) -> None:
    """Train, and print the mean loss of each epoch and that of held-out digits."""
    net = {
        "encoder": wk.nn.sequential(dense(64, 64), wk.relu, dense(64, 16)),
        "decoder": wk.nn.sequential(dense(8, 64), wk.relu, dense(64, 64)),
    }
    adam = wk.train.Adam(2e-3)
    found: Any = load_digits()
    digits = found.data / 16

    def negative_elbo(x: wk.Tensor) -> wk.Tensor:
        mean, log_variance = wk.split(net["encoder"](x), 2, 1)
        z = mean + wk.exp(log_variance / 2) * wk.random_normal(mean.shape)
        pixels = wk.sigmoid_cross_entropy(x, net["decoder"](z), reduction="none").sum(1)
        divergence = (mean**2 + wk.exp(log_variance) - log_variance - 1).sum(1) / 2
        return (pixels + divergence).mean()

    step = wk.capture(lambda x: adam.minimize(lambda: negative_elbo(x), net))
    data = wk.data.batches(digits[:1728], None, 64, shuffle=True)
    mean_loss = wk.metrics.mean()
    for number, x in enumerate(data.steps(steps), 1):
        mean_loss.update(step(x))
        if number % len(data) == 0:
            print(f"epoch {number // len(data)}  loss {mean_loss.result():.2f}")
            mean_loss.reset()
    print(f"held out {negative_elbo(wk.tensor(digits[1728:])):.2f}")
