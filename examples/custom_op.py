"""An op of your own, whole: y = x + sin²(a·x) / a, with an attr, on both backends, and checked."""

import argparse
from collections.abc import Sequence

import numpy as np

import wgsl_kernels as wk


def snake(x: wk.Tensor, *, frequency: float = 1.0) -> wk.Tensor:
    """Return x + sin²(frequency · x) / frequency (Liu, Hartwig and Ueda, 2020)."""
    return wk.engine().run_kernel("Snake", {"x": x}, {"frequency": frequency})


@wk.signature("Snake")
def _snake_signature(x: wk.Spec, /, *, frequency: float) -> wk.Spec:
    return x.like()


@wk.cpu_kernel("Snake")
def _snake_cpu(x: np.ndarray, *, frequency: float) -> np.ndarray:
    return x + np.sin(frequency * x) ** 2 / frequency


SHADER = """
struct Attrs { frequency: T }

fn op(x: T) -> T {
  let wave = sin(attrs.frequency * x);
  return x + wave * wave / attrs.frequency;
}
"""
wk.wgsl_kernel("Snake", SHADER)


@wk.gradient("Snake")
def _snake_grad(dy: wk.Tensor, x: wk.Tensor, frequency: float) -> wk.Tensor:
    return dy * (1.0 + wk.sin(2.0 * frequency * x))


def _bound(inputs: Sequence[np.ndarray], y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return y - 2.0**-9, y + 2.0**-9  # WGSL promises sin to 2^-11; squaring and halving add up


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("cpu", "webgpu"), default=wk.get_backend())
    wk.set_backend(parser.parse_args().backend)

    print(snake(wk.tensor([-1.0, 0.0, 0.5]), frequency=2.0).numpy())
    wk.testing.check_gradient(snake, [np.array([-1.0, 0.0, 0.5])])
    sample = wk.testing.Sample("Snake", snake, ((2, 3),), attrs={"frequency": 0.5}, bound=_bound)
    print(wk.testing.check_kernel("Snake", [sample]))
