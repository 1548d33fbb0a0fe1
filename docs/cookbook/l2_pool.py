"""L2 pooling: a reduction over windows of an image, channel by channel."""

import numpy as np

import wgsl_kernels as wk


def l2_pool(x, *, filter_size=2, strides=2):
    """Return the root of the sum of squares in each window of [batch, height, width, channels]."""
    attrs = {"filter_size": filter_size, "strides": strides}
    return wk.engine().run_kernel("L2Pool", {"x": x}, attrs)


@wk.signature("L2Pool")
def _signature(x, /, *, filter_size=2, strides=2):
    batch, height, width, channels = x.shape
    high, wide = ((one - filter_size) // strides + 1 for one in (height, width))
    return x.like(shape=(batch, high, wide, channels))


@wk.cpu_kernel("L2Pool")
def _cpu(x, *, filter_size, strides):
    windows = np.lib.stride_tricks.sliding_window_view(x, (filter_size, filter_size), axis=(1, 2))
    return np.sqrt(np.sum(windows[:, ::strides, ::strides] ** 2, axis=(-2, -1)))


SHADER = """
fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return f32(x) * f32(x); }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(total: f32) -> T_y { return T_y(sqrt(total)); }
"""
wk.wgsl_kernel("L2Pool", SHADER, form="window", dtypes=("float32", "float16"))

S = wk.testing.Sample("L2Pool", l2_pool, ((2, 6, 6, 3),), low=0.1, rtol=1e-5, atol=1e-6)
wk.testing.add_samples("L2Pool", S)
