"""The demo's own operation, whole: signature, NumPy kernel, WGSL kernel and gradient.

Squareplus is a smooth ReLU made of a square root only:

    y = (x + sqrt(x² + smoothness)) / 2

Source: Barron, Squareplus: A Softplus-Like Algebraic Rectifier, 2021.
"""

import numpy as np

import wgsl_kernels as wk

ULP = 10
"""What either kernel may be off: four roundings, a square root and a division, by WGSL's table."""


def squareplus(x: wk.Tensor, *, smoothness: float = 0.1) -> wk.Tensor:
    """Return ``x`` rectified smoothly; its height at 0 is sqrt(smoothness) / 2."""
    return wk.engine().run_kernel("Squareplus", {"x": x}, {"smoothness": smoothness})


@wk.signature("Squareplus")
def _squareplus_signature(x: wk.Spec, /, *, smoothness: float) -> wk.Spec:
    if smoothness <= 0:
        raise wk.ArgumentError(f"Squareplus: smoothness is {smoothness}; want a number above 0.")
    return x.like()


@wk.cpu_kernel("Squareplus")
def _squareplus_cpu(x: np.ndarray, *, smoothness: float) -> np.ndarray:
    size: np.ndarray = np.abs(x) + np.sqrt(x * x + smoothness)
    return np.where(x > 0, 0.5 * size, 0.5 * smoothness / size)


wk.wgsl_kernel(
    "Squareplus",
    """
// y = (x + sqrt(x² + smoothness)) / 2. Below 0 the sum would cancel, so there it is the quotient
// that equals it.

struct Attrs { smoothness: T }

fn op(x: T) -> T {
  let smoothness = attrs.smoothness;
  let size = abs(x) + sqrt(x * x + smoothness);
  return select(0.5 * smoothness / size, 0.5 * size, x > 0);
}
""",
)


@wk.gradient("Squareplus")
def _squareplus_grad(dy: wk.Tensor, y: wk.Tensor, smoothness: float) -> wk.Tensor:
    square = y * y  # dy/dx = y² / (y² + smoothness / 4): the tape need not keep x
    return dy * square / (square + 0.25 * smoothness)
