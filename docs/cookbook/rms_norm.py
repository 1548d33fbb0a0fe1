"""RMSNorm: a reduction that also maps the elements it has reduced, in one dispatch."""

import numpy as np

import wgsl_kernels as wk


def rms_norm(x, scale):
    """Return x / sqrt(mean(x²)) · scale along the last axis; scale is [features]."""
    return wk.engine().run_kernel("RmsNorm", {"x": x, "scale": scale}, {"axis": -1})


@wk.signature("RmsNorm")
def _signature(x, scale, /, *, axis=-1):
    if scale.shape != x.shape[-1:]:
        raise wk.ShapeError(f"RmsNorm: scale has shape {scale.shape}; want {x.shape[-1:]}.")
    return x.like()


@wk.cpu_kernel("RmsNorm")
def _cpu(x, scale, *, axis):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


SHADER = """
fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return f32(x) * f32(x); }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn settle(sum: f32, n: u32) -> f32 { return 1.0 / sqrt(sum / f32(n) + 1e-6); }
fn apply(x: T, scale: T, root: f32) -> T_y { return T_y(f32(x) * root * f32(scale)); }
"""
wk.wgsl_kernel("RmsNorm", SHADER, dtypes=("float32", "float16"))


@wk.gradient("RmsNorm")
def _gradient(dy, x, scale):
    def norm(x, scale):  # of ops, whose rules are there
        return x * wk.rsqrt(wk.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale

    return wk.grads(norm)(x, scale, dy=dy)


S = wk.testing.Sample("RmsNorm", rms_norm, ((4, 6), (6,)), rtol=1e-5, domain=(-1e15, 1e15))
wk.testing.add_samples("RmsNorm", S)
