"""An activation with two inputs and a gradient for both, trained with Adam through a tape."""

import argparse
from collections.abc import Callable

import numpy as np

import wgsl_kernels as wk

SHARPNESS = 4.0  # of the soft threshold: the gate opens over about 1 / SHARPNESS around it


def custom_relu(x: wk.Tensor, threshold: wk.Tensor) -> wk.Tensor:
    """Return x where it is greater than the threshold, else zero."""
    return wk.engine().run_kernel("CustomRelu", {"x": x, "threshold": threshold})


@wk.signature("CustomRelu")
def _custom_relu_signature(x: wk.Spec, threshold: wk.Spec, /) -> wk.Spec:
    if threshold.shape != ():
        raise wk.ShapeError(f"CustomRelu: threshold has shape {threshold.shape}; want a scalar.")
    return x.like()


@wk.cpu_kernel("CustomRelu")
def _custom_relu_cpu(x: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    return np.where(x > threshold, x, np.zeros_like(x))


wk.wgsl_kernel(
    "CustomRelu",
    """
fn op(x: T, threshold: T) -> T {
  return select(T(0.0), x, x > threshold);
}
""",
)


@wk.gradient("CustomRelu")
def _custom_relu_grad(
    dy: wk.Tensor, x: wk.Tensor, threshold: wk.Tensor
) -> tuple[wk.Tensor, wk.Tensor]:
    # Moving the threshold a little lets nothing more through, so its gradient is zero.
    return dy * wk.astype(x > threshold, dy.dtype), wk.zeros_like(threshold)


def soft_relu(x: wk.Tensor, threshold: wk.Tensor) -> wk.Tensor:
    """Return x · sigmoid(SHARPNESS · (x - threshold)): a gate whose threshold can be trained."""
    inputs = {"x": x, "threshold": threshold}
    return wk.engine().run_kernel("SoftRelu", inputs, {"sharpness": SHARPNESS})


@wk.signature("SoftRelu")
def _soft_relu_signature(x: wk.Spec, threshold: wk.Spec, /, *, sharpness: float) -> wk.Spec:
    if threshold.shape != ():
        raise wk.ShapeError(f"SoftRelu: threshold has shape {threshold.shape}; want a scalar.")
    return x.like()


@wk.cpu_kernel("SoftRelu")
def _soft_relu_cpu(x: np.ndarray, threshold: np.ndarray, *, sharpness: float) -> np.ndarray:
    y: np.ndarray = x / (1.0 + np.exp(-sharpness * (x - threshold)))
    return y


wk.wgsl_kernel(
    "SoftRelu",
    """
struct Attrs { sharpness: T }

fn op(x: T, threshold: T) -> T {
  return x / (1.0 + exp(-attrs.sharpness * (x - threshold)));
}
""",
)


@wk.gradient("SoftRelu")
def _soft_relu_grad(
    dy: wk.Tensor, x: wk.Tensor, threshold: wk.Tensor, sharpness: float
) -> tuple[wk.Tensor, wk.Tensor]:
    gate = wk.sigmoid(sharpness * (x - threshold))
    slope = sharpness * x * gate * (1.0 - gate)
    return dy * (gate + slope), wk.sum(dy * -slope)


def train(relu: Callable[[wk.Tensor, wk.Tensor], wk.Tensor]) -> wk.Variable:
    """Run 100 steps that draw relu(x, threshold) towards 1, and return the threshold."""
    values = np.random.default_rng(0).uniform(-1.0, 1.0, (10, 10))
    x = wk.variable(values, name="x")
    threshold = wk.variable(0.2, name="threshold")
    adam = wk.train.Adam(0.01)
    for step in range(1, 101):
        with wk.GradientTape() as tape:
            loss = wk.sum(wk.square(relu(x, threshold) - 1.0))
        adam.apply_gradients(zip(tape.gradient(loss, [x, threshold]), [x, threshold], strict=True))
        if step % 10 == 0:
            print(f"step {step:3}  loss {loss.item():.9g}")
    return threshold


def wrong_grad(dy: wk.Tensor, x: wk.Tensor, threshold: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
    """A rule with a mistake in it: it forgets the threshold."""
    return dy * wk.astype(x > 0.0, dy.dtype), wk.zeros_like(threshold)


def main() -> None:
    """Train with both thresholds, and check their gradients by numbers."""
    print("custom_relu, whose threshold gets no gradient:")
    print(f"threshold {train(custom_relu).item():.7g}")
    print("soft_relu, whose threshold is trained:")
    print(f"threshold {train(soft_relu).item():.7g}")

    at = [np.array([-1.5, 0.1, 0.5, 2.0]), np.array(0.3)]
    error = wk.testing.compute_gradient_error
    print(f"gradient error of custom_relu {error(custom_relu, at):.2g}")
    print(f"gradient error of soft_relu {error(soft_relu, at):.2g}")
    with wk.override_gradient("CustomRelu", wrong_grad):
        print(f"gradient error of the wrong rule {error(custom_relu, at):.2g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    wk.set_backend(parser.parse_args().backend)
    main()
