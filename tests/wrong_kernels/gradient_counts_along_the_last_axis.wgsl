// Its gradient divides by the last length, whatever the axis; in the sample both are equal.
// finds: wrong-gradient
// cpu: x.mean(axis=axis)
// sig: lambda x, /, *, axis=-1: x.like(shape=np.delete(x.shape, axis).tolist()) if len(x.shape) == 2 and min(x.shape) else 1 / 0
// attrs: axis=-1
// shapes: (4, 4)
// rtol: 1e-4
// atol: 1e-4
// f: lambda x, *, axis=-1: wk.run("gradient_counts_along_the_last_axis", x, axis=axis)
// grad: lambda dy, x_shape, axis: wk.broadcast_to(wk.expand_dims(dy, axis=axis), x_shape) / x_shape[-1]

fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(sum: f32, count: u32) -> T { return T(sum / f32(count)); }
