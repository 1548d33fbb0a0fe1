"""Log-sum-exp along an axis: a reduction whose accumulator is a struct, so nothing overflows."""

import numpy as np

import wgsl_kernels as wk


def row_log_sum_exp(x, *, axis=-1):
    """Return log(sum(e^x)) along an axis."""
    return wk.engine().run_kernel("RowLogSumExp", {"x": x}, {"axis": axis})


wk.signature("RowLogSumExp")(lambda x, /, *, axis=-1: x.like(shape=np.delete(x.shape, axis)))
wk.cpu_kernel("RowLogSumExp")(lambda x, *, axis: np.logaddexp.reduce(x, axis))

SHADER = """
struct Total { largest: f32, sum: f32 } // sum of e^(x - largest)
fn init() -> Total { return Total(-3e38, 0.0); }
fn lift(x: T) -> Total {
  if (f32(x) < -3e38) { return init(); } // -Inf, which may come first, adds nothing
  return Total(f32(x), 1.0);
}
fn combine(a: Total, b: Total) -> Total {
  if (a.largest == b.largest) { return Total(a.largest, a.sum + b.sum); } // Inf - Inf is NaN
  let less = exp(-abs(a.largest - b.largest));
  if (a.largest < b.largest) { return Total(b.largest, b.sum + a.sum * less); }
  return Total(a.largest, a.sum + b.sum * less);
}
fn finish(total: Total) -> T_y { return T_y(total.largest + log(total.sum)); }
"""
wk.wgsl_kernel("RowLogSumExp", SHADER, dtypes=("float32", "float16"))


@wk.gradient("RowLogSumExp")
def _grad(dy, x, axis):
    return wk.expand_dims(dy, axis=axis) * wk.softmax(x, axis=axis)


S = wk.testing.Sample("RowLogSumExp", row_log_sum_exp, ((4, 5),), rtol=1e-5, atol=1e-5)
wk.testing.add_samples("RowLogSumExp", S)
