"""A network learns the right side of a differential equation from its solution, a spiral."""

import numpy as np
from scipy.integrate import odeint

import wgsl_kernels as wk

STEPS_AHEAD = 8


def main(steps: int = 230) -> None:
    """Train on short paths, and print the error of paths from all places."""
    matrix = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    times = np.linspace(0, 6, 61)
    h, starts = float(times[1]), len(times) - STEPS_AHEAD
    spiral = wk.tensor(odeint(lambda y, t: y**3 @ matrix, [2.0, 0.0], times))
    f = wk.nn.sequential(lambda y: y**3, wk.nn.dense(2, 32), wk.tanh, wk.nn.dense(32, 2))
    rmsprop = wk.train.RMSProp(3e-3)

    def runge_kutta(y: wk.Tensor, _: None) -> tuple[wk.Tensor, wk.Tensor]:
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    def error(first: wk.Tensor) -> wk.Tensor:
        _, path = wk.scan(runge_kutta, spiral[first], length=STEPS_AHEAD)
        later = spiral[first + wk.arange(1, STEPS_AHEAD + 1)[:, None]]
        return wk.absolute_difference(later, path)

    @wk.capture
    def step() -> wk.Tensor:
        first = wk.random.randint(0, starts, (20,))
        return rmsprop.minimize(lambda: error(first), f)

    print(f"before  error {error(wk.arange(starts)):.3f}")
    for _ in range(steps):
        step()
    print(f"after  error {error(wk.arange(starts)):.3f}")
