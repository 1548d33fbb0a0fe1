"""GELU, the activation of transformers: a map is one function, the loop around it is supplied."""

import numpy as np

import wgsl_kernels as wk


def gelu(x):
    """Return x · Φ(x) by the formula with tanh (Hendrycks and Gimpel, 2016)."""
    return wk.engine().run_kernel("Gelu", {"x": x})


@wk.cpu_kernel("Gelu")
def _gelu_cpu(x):
    return x / 2 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


SHADER = """
import wgsl_kernels::lib::hyperbolic::safe_tanh;

fn op(x: T) -> T {
  let z = f32(x);
  return T(0.5 * z * (1.0 + safe_tanh(0.7978845608 * (z + 0.044715 * z * z * z))));
}
"""
wk.wgsl_kernel("Gelu", SHADER, dtypes=("float32", "float16"))


@wk.gradient("Gelu")
def _gelu_grad(dy, x):
    t = wk.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
    slope = 0.7978845608 * (1.0 + 0.134145 * x * x)
    return dy * 0.5 * (1.0 + t + x * (1.0 - t * t) * slope)


Sample = wk.testing.Sample
wk.testing.add_samples("Gelu", Sample("Gelu", gelu, ((4, 5),), rtol=1e-5, atol=1e-5))
