"""The files that ``wgsl-kernels new`` writes, one for each form; ``@MARKS@`` are filled in."""

from __future__ import annotations

_HEAD = '''
"""@NAME@: @WHAT@.

Try it with: wgsl-kernels check @OP@.py, and --watch while you change it.
"""

import numpy as np

import wgsl_kernels as wk


def @OP@(@TENSORS@@STAR_ALL@):
    """Return @WHAT@."""
    return wk.engine().run_kernel("@NAME@", {@TAKEN@}, {@GIVEN_ALL@})

'''

_MAP = (
    _HEAD.replace("@WHAT@", "@FORMULA@, element by element")
    .replace("@STAR_ALL@", "@STAR@@KEYWORDS@")
    .replace("@GIVEN_ALL@", "@GIVEN@")
    + '''
@wk.signature("@NAME@")
def _signature(@TENSORS@, /@STAR@@KEYWORDS@):
    return @X@.like(shape=np.broadcast_shapes(@SHAPES@))


@wk.cpu_kernel("@NAME@")
def _cpu(@TENSORS@@STAR@@MORE@):
    return @FORMULA@


wk.wgsl_kernel(
    "@NAME@",
    """
// @FORMULA@

@ATTRS@fn op(@PARAMETERS@) -> T {
  return @WGSL_FORMULA@;
}
""",
    dtypes=("float32", "float16"),
)


@wk.gradient("@NAME@")
def _gradient(dy, @KEPT@@MORE@):
    return @SLOPES@


wk.testing.add_samples(
    "@NAME@",
    wk.testing.Sample(
        "@NAME@", @OP@, @SAMPLE_SHAPES@, rtol=1e-5, atol=1e-5
    ),
)
'''
)

_REDUCE = (
    _HEAD.replace("@WHAT@", "the sum of squares along an axis")
    .replace("@STAR_ALL@", ", *, axis=-1@KEYWORDS@")
    .replace("@GIVEN_ALL@", '"axis": axis, @GIVEN@')
    + '''
@wk.signature("@NAME@")
def _signature(@X@, /, *, axis=-1@KEYWORDS@):
    shape = list(@X@.shape)
    del shape[axis]
    return @X@.like(shape=tuple(shape))


@wk.cpu_kernel("@NAME@")
def _cpu(@X@, *, axis@MORE@):
    return np.sum(@X@ * @X@, axis=axis)@SCALE@


wk.wgsl_kernel(
    "@NAME@",
    """
// the sum of squares along an axis

@ATTRS@fn init() -> T_wide {
  return T_wide(0);
}

fn lift(x: T) -> T_wide {
  return T_wide(x) * T_wide(x);
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a + b;
}

fn finish(total: T_wide) -> T_y {
  return T_y(total@WIDE_SCALE@);
}
""",
    dtypes=("float32", "float16"),
)


@wk.gradient("@NAME@")
def _gradient(dy, @X@, axis@MORE@):
    return wk.expand_dims(dy, axis=axis) * 2.0 * @X@@SCALE@


wk.testing.add_samples(
    "@NAME@",
    wk.testing.Sample("@NAME@", @OP@, ((3, 5),), rtol=1e-5, atol=1e-5),
    wk.testing.Sample("@NAME@", @OP@, ((4, 6),), attrs={"axis": 0}, rtol=1e-5, atol=1e-5),
)
'''
)

_SCAN = (
    _HEAD.replace("@WHAT@", "the running sum of squares along an axis")
    .replace("@STAR_ALL@", ", *, axis=-1@KEYWORDS@")
    .replace("@GIVEN_ALL@", '"axis": axis, @GIVEN@')
    + '''
@wk.signature("@NAME@")
def _signature(@X@, /, *, axis=-1@KEYWORDS@):
    return @X@.like()


@wk.cpu_kernel("@NAME@")
def _cpu(@X@, *, axis@MORE@):
    return np.cumsum(@X@ * @X@, axis=axis)@SCALE@


wk.wgsl_kernel(
    "@NAME@",
    """
// the running sum of squares along an axis

@ATTRS@fn init() -> T_wide {
  return T_wide(0);
}

fn lift(x: T) -> T_wide {
  return T_wide(x) * T_wide(x);
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a + b;
}

fn finish(total: T_wide) -> T_y {
  return T_y(total@WIDE_SCALE@);
}
""",
    form="scan",
    dtypes=("float32", "float16"),
)


@wk.gradient("@NAME@")
def _gradient(dy, @X@, axis@MORE@):
    # x[k] is in every sum from k on: what arrives is summed from the end
    return wk.cumulative_sum(dy, axis=axis, reverse=True) * 2.0 * @X@@SCALE@


wk.testing.add_samples(
    "@NAME@",
    wk.testing.Sample("@NAME@", @OP@, ((3, 5),), rtol=1e-5, atol=1e-5),
    wk.testing.Sample("@NAME@", @OP@, ((4, 6),), attrs={"axis": 0}, rtol=1e-5, atol=1e-5),
)
'''
)

_WINDOW = (
    _HEAD.replace("@WHAT@", "the sum of squares in windows over images, channel by channel")
    .replace("@STAR_ALL@", ', *, filter_size=2, strides=2, pad="valid"@KEYWORDS@')
    .replace("@GIVEN_ALL@", '"filter_size": filter_size, "strides": strides, "pad": pad, @GIVEN@')
    + '''
@wk.signature("@NAME@")
def _signature(@X@, /, *, filter_size=2, strides=2, pad="valid"@KEYWORDS@):
    batch, height, width, channels = @X@.shape
    high, wide = ((one - filter_size) // strides + 1 for one in (height, width))
    return @X@.like(shape=(batch, high, wide, channels))


@wk.cpu_kernel("@NAME@")
def _cpu(@X@, *, filter_size, strides, pad@MORE@):
    windows = np.lib.stride_tricks.sliding_window_view(@X@, (filter_size, filter_size), axis=(1, 2))
    return np.sum(windows[:, ::strides, ::strides] ** 2, axis=(-2, -1))@SCALE@


wk.wgsl_kernel(
    "@NAME@",
    """
// the sum of squares in windows over images [batch, height, width, channels]

@ATTRS@fn init() -> T_wide {
  return T_wide(0);
}

fn lift(x: T) -> T_wide {
  return T_wide(x) * T_wide(x);
}

fn combine(a: T_wide, b: T_wide) -> T_wide {
  return a + b;
}

fn finish(total: T_wide) -> T_y {
  return T_y(total@WIDE_SCALE@);
}
""",
    form="window",
    dtypes=("float32", "float16"),
)


@wk.gradient("@NAME@")
def _gradient(dy, @X@, filter_size, strides, pad@MORE@):
    # a sum over windows is their mean times their size, whose gradient is there already
    def means(x):
        return wk.avg_pool(x, filter_size=filter_size, strides=strides, pad=pad)

    return wk.grad(means)(@X@, dy=dy) * float(filter_size**2) * 2.0 * @X@@SCALE@


wk.testing.add_samples(
    "@NAME@",
    wk.testing.Sample("@NAME@", @OP@, ((2, 6, 6, 3),), rtol=1e-5, atol=1e-5),
)
'''
)

_PRODUCT = (
    _HEAD.replace("@WHAT@", "the product of two matrices")
    .replace("@STAR_ALL@", "@STAR@@KEYWORDS@")
    .replace("@GIVEN_ALL@", "@GIVEN@")
    + '''
@wk.signature("@NAME@")
def _signature(@TENSORS@, /@STAR@@KEYWORDS@):
    if @X@.ndim != 2 or @W@.ndim != 2 or @X@.shape[1] != @W@.shape[0]:
        raise wk.ShapeError(f"@NAME@: {@X@.shape} and {@W@.shape} have no product.")
    return @X@.like(shape=(@X@.shape[0], @W@.shape[1]))


@wk.cpu_kernel("@NAME@")
def _cpu(@TENSORS@@STAR@@MORE@):
    return @X@ @ @W@@SCALE@


wk.wgsl_kernel(
    "@NAME@",
    """
fn a_at(batch: u32, row: u32, k: u32) -> T_@X@ {
  return @X@[row * params.depth + k];
}

fn b_at(batch: u32, k: u32, col: u32) -> T_@W@ {
  return @W@[k * params.cols + col];
}

fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {
  return sum@FLOAT_SCALE@;
}
""",
    form="product",
    params=lambda @X@_shape: {"depth": @X@_shape[1]},
    dtypes=("float32", "float16"),
)


@wk.gradient("@NAME@")
def _gradient(dy, @TENSORS@@MORE@):
    return (
        wk.matmul(dy, @W@, transpose_b=True)@SCALE@,
        wk.matmul(@X@, dy, transpose_a=True)@SCALE@,
    )


wk.testing.add_samples(
    "@NAME@",
    wk.testing.Sample("@NAME@", @OP@, ((5, 7), (7, 3)), rtol=1e-5, atol=1e-5),
)
'''
)

_FREE = (
    _HEAD.replace("@WHAT@", "@FORMULA@, by a shader with a main of its own")
    .replace("@STAR_ALL@", "@STAR@@KEYWORDS@")
    .replace("@GIVEN_ALL@", "@GIVEN@")
    + '''
@wk.signature("@NAME@")
def _signature(@TENSORS@, /@STAR@@KEYWORDS@):
    if len({@SHAPES@}) != 1:
        raise wk.ShapeError("@NAME@: want inputs of one shape.")
    return {"@OUT@": @X@.like()}


@wk.cpu_kernel("@NAME@")
def _cpu(@TENSORS@@STAR@@MORE@):
    return (@FORMULA@,)


wk.wgsl_kernel(
    "@NAME@",
    """
// @OUT@ = @FORMULA@

const GROUP = 64u;

@PARAMS@

@BINDINGS@

@compute @workgroup_size(GROUP)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.x + id.y * groups.x * GROUP;
  if (i < params.@OUT@_size) {
    @OUT@[i] = @FREE_FORMULA@;
  }
}
""",
    dtypes=("float32", "float16"),
)


@wk.gradient("@NAME@")
def _gradient(dys@MORE@):
    dy = dys[0]
    return @FREE_SLOPES@


wk.testing.add_samples(
    "@NAME@",
    wk.testing.Sample(
        "@NAME@", @OP@, @LONG_SHAPES@, rtol=1e-5, atol=1e-5
    ),
)
'''
)

STARTERS = {
    "map": _MAP,
    "reduce": _REDUCE,
    "scan": _SCAN,
    "window": _WINDOW,
    "product": _PRODUCT,
    "free": _FREE,
}
"""The text of a file for each form."""
