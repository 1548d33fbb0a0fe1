"""The running maximum: a scan, which combines everything up to each element."""

import numpy as np

import wgsl_kernels as wk


def running_maximum(x, *, axis=-1, reverse=False):
    """Return the largest element so far along an axis; NaN wins."""
    attrs = {"axis": axis, "reverse": reverse}
    return wk.engine().run_kernel("RunningMaximum", {"x": x}, attrs)


@wk.signature("RunningMaximum")
def _signature(x, /, *, axis=-1, reverse=False):
    return x.like()


@wk.cpu_kernel("RunningMaximum")
def _cpu(x, *, axis, reverse):
    if reverse:
        return np.flip(np.maximum.accumulate(np.flip(x, axis), axis), axis)
    return np.maximum.accumulate(x, axis)


SHADER = """
import wgsl_kernels::lib::safe_math::safe_max;

fn init() -> f32 { return -wk_inf(); }
fn lift(x: T) -> f32 { return f32(x); }
fn combine(a: f32, b: f32) -> f32 { return safe_max(a, b); } // max may drop a NaN
fn finish(most: f32) -> T_y { return T_y(most); }
"""
wk.wgsl_kernel("RunningMaximum", SHADER, form="scan", dtypes=("float32", "float16"))

Sample = wk.testing.Sample
backwards = Sample("RunningMaximum", running_maximum, ((4, 5),), attrs={"axis": 0, "reverse": True})
wk.testing.add_samples(
    "RunningMaximum", Sample("RunningMaximum", running_maximum, ((3, 70),)), backwards
)
