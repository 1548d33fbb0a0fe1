"""A network solves u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0, by its second derivative: sin(pi x)."""

import wgsl_kernels as wk

dense = wk.nn.dense


def main(steps: int = 960) -> None:
    """Train, and print how far the network is from the solution."""
    u = wk.nn.sequential(dense(1, 32), wk.tanh, dense(32, 32), wk.tanh, dense(32, 1))
    du = wk.grad(lambda x: u(x).sum())
    d2u = wk.grad(lambda x: du(x).sum())
    x, ends = wk.linspace(-1.0, 1.0, 64)[:, None], wk.tensor([[-1.0], [1.0]])
    solution = wk.sin(wk.pi * x)
    adam = wk.train.Adam(5e-3)

    def loss() -> wk.Tensor:
        residual: wk.Tensor = d2u(x) + wk.pi**2 * solution
        return (residual**2).mean() + 10 * (u(ends) ** 2).mean()

    step = wk.capture(lambda: adam.minimize(loss, u))
    for number in range(1, steps + 1):
        value = step()
        if number % 80 == 0:
            error = abs(u(x) - solution).max()
            print(f"step {number}  loss {value:.4f}  error {error:.1e}")
