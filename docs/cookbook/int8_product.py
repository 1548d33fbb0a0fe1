"""A product with weights of eight bits, four to a word, which are unpacked as they are loaded."""

import numpy as np

import wgsl_kernels as wk


def int8_product(x, weights, scale):
    """Return x Wᵀ · scale: x [rows, depth], weights [cols, depth / 4] of packed int32."""
    given = {"x": x, "weights": weights, "scale": scale}
    return wk.engine().run_kernel("PackedProduct", given)


@wk.signature("PackedProduct")
def _signature(x, weights, scale, /):
    if weights.shape != (*scale.shape, x.shape[1] // 4) or x.shape[1] % 4:
        raise wk.ShapeError(f"PackedProduct: x {x.shape} does not fit weights {weights.shape}.")
    return x.like(shape=(x.shape[0], *scale.shape))


@wk.cpu_kernel("PackedProduct")
def _cpu(x, weights, scale):
    whole = np.ascontiguousarray(weights).view(np.int8)
    return x @ whole.T.astype(x.dtype) * scale


SHADER = """
fn a_at(batch: u32, row: u32, k: u32) -> T_x { return x[row * params.depth + k]; }
fn b_vec4(batch: u32, k: u32, col: u32) -> vec4<f32> {
  return vec4<f32>(unpack4xI8(bitcast<u32>(weights[(col * params.depth + k) / 4u])));
}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 { return sum * f32(scale[col]); }
"""
depth = {"params": lambda x_shape: {"depth": x_shape[1]}}
wk.wgsl_kernel("PackedProduct", SHADER, form="product", dtypes=("float32",), **depth)

row: dict = {"shapes": ((3, 8), (5, 2), (5,)), "dtypes": ("float32", "int32", "float32")}
row |= {"low": (-1.0, -(2**31), 0.0), "high": (1.0, 2**31 - 1, 1.0), "atol": 1e-3}
wk.testing.add_samples("PackedProduct", wk.testing.Sample("PackedProduct", int8_product, **row))
