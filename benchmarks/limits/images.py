"""Raw convolutions, pooling and batch normalization; channels last."""

from collections.abc import Mapping
from functools import partial

from benchmarks.items.item import Array
from benchmarks.limits.matrix import PRODUCTS, WORTH_WHILE
from benchmarks.limits.raw import (
    GLOBAL,
    Builder,
    Limit,
    Output,
    Raw,
    divide,
    each,
    head,
    main,
)

Arrays = Mapping[str, Array]


def _sizes(x: Array, filter: Array, stride: int) -> dict[str, int]:
    reach = len(filter) // 2
    height, width = ((side + 2 * reach - len(filter)) // stride + 1 for side in x.shape[1:3])
    return {
        "IN_HEIGHT": x.shape[1],
        "IN_WIDTH": x.shape[2],
        "HEIGHT": height,
        "WIDTH": width,
        "SIZE": len(filter),
        "REACH": reach,
        "STRIDE": stride,
    }


def _direct(raw: Raw, arrays: Arrays, *, pixels: int, stride: int) -> Limit:
    """``pixels`` neighbours by four output channels an invocation; input channels four by four."""
    x, filter = arrays["x"], arrays["filter"]
    sizes = _sizes(x, filter, stride)
    inputs, outputs = filter.shape[2:]
    sizes |= {"INPUTS": divide(inputs, 4), "OUTPUTS": divide(outputs, 4), "PIXELS": pixels}
    divide(sizes["WIDTH"], pixels)
    sums = each("c{i} = fma(vec4f(x{i}[{q}]), f{q}, c{i});", q=4, i=pixels)
    body = f"""
  let pixel = id.y * PIXELS;
  let left = i32(pixel % WIDTH * STRIDE) - i32(REACH);
  let top = i32(pixel / WIDTH % HEIGHT * STRIDE) - i32(REACH);
  let image = pixel / (WIDTH * HEIGHT);
  {each("var c{i} = vec4f();", i=pixels)}
  for (var r = 0u; r < SIZE; r++) {{
    let row = top + i32(r);
    let inside = row >= 0 && row < i32(IN_HEIGHT);
    let line = (image * IN_HEIGHT + u32(clamp(row, 0, i32(IN_HEIGHT) - 1))) * IN_WIDTH;
    for (var s = 0u; s < SIZE; s++) {{
      let column = left + i32(s);
      {each(SEEN, i=pixels)}
      let weight = (r * SIZE + s) * INPUTS * 4u;
      for (var k = 0u; k < INPUTS; k++) {{
        {each("let x{i} = select(vec4f(), x[at{i} * INPUTS + k], in{i});", i=pixels)}
        {each("let f{q} = filter_[(weight + k * 4u + {q}u) * OUTPUTS + id.x];", q=4)}
        {sums}
      }}
    }}
  }}
  {each("y[(pixel + {i}u) * OUTPUTS + id.x] = c{i};", i=pixels)}"""
    text = head(sizes, {"x": "vec4f", "filter_": "vec4f"}, {"y": "vec4f"})
    return _convolved(raw, arrays, sizes, text, body, pixels, outputs)


SEEN = """let p{i} = column + {i} * i32(STRIDE);
      let in{i} = inside && p{i} >= 0 && p{i} < i32(IN_WIDTH);
      let at{i} = line + u32(clamp(p{i}, 0, i32(IN_WIDTH) - 1));"""


def _few_channels(raw: Raw, arrays: Arrays, *, pixels: int, stride: int) -> Limit:
    """As above for input channels that no four divides: one by one."""
    x, filter = arrays["x"], arrays["filter"]
    sizes = _sizes(x, filter, stride)
    inputs, outputs = filter.shape[2:]
    sizes |= {"INPUTS": inputs, "OUTPUTS": divide(outputs, 4), "PIXELS": pixels}
    divide(sizes["WIDTH"], pixels)
    body = f"""
  let pixel = id.y * PIXELS;
  let left = i32(pixel % WIDTH * STRIDE) - i32(REACH);
  let top = i32(pixel / WIDTH % HEIGHT * STRIDE) - i32(REACH);
  let image = pixel / (WIDTH * HEIGHT);
  {each("var c{i} = vec4f();", i=pixels)}
  for (var r = 0u; r < SIZE; r++) {{
    let row = top + i32(r);
    let inside = row >= 0 && row < i32(IN_HEIGHT);
    let line = (image * IN_HEIGHT + u32(clamp(row, 0, i32(IN_HEIGHT) - 1))) * IN_WIDTH;
    for (var s = 0u; s < SIZE; s++) {{
      let column = left + i32(s);
      {each(SEEN, i=pixels)}
      for (var k = 0u; k < INPUTS; k++) {{
        let f = filter_[((r * SIZE + s) * INPUTS + k) * OUTPUTS + id.x];
        {each("c{i} = fma(vec4f(select(0.0, x[at{i} * INPUTS + k], in{i})), f, c{i});", i=pixels)}
      }}
    }}
  }}
  {each("y[(pixel + {i}u) * OUTPUTS + id.x] = c{i};", i=pixels)}"""
    text = head(sizes, {"x": "f32", "filter_": "vec4f"}, {"y": "vec4f"})
    return _convolved(raw, arrays, sizes, text, body, pixels, outputs)


def _convolved(
    raw: Raw, arrays: Arrays, sizes: dict[str, int], text: str, body: str, pixels: int, outputs: int
) -> Limit:
    x, filter = arrays["x"], arrays["filter"]
    shape = (len(x), sizes["HEIGHT"], sizes["WIDTH"], outputs)
    y = raw.empty(len(x) * sizes["HEIGHT"] * sizes["WIDTH"] * outputs * 4)
    groups = (
        divide(outputs, 64),
        divide(len(x) * sizes["HEIGHT"] * sizes["WIDTH"], 4 * pixels),
    )
    buffers = [raw.place(x), raw.place(filter), y]
    source = text + main("16, 4", [GLOBAL], body)
    return Limit([raw.dispatch(source, buffers, *groups)], [Output(y, shape)])


def _by_product(raw: Raw, arrays: Arrays, *, product: str) -> Limit:
    """A window's pixels laid out as a row, then a matrix product; a 1x1 filter needs no laying."""
    x, filter = arrays["x"], arrays["filter"]
    sizes = _sizes(x, filter, 1)
    inputs, outputs = filter.shape[2:]
    rows = x.size // inputs
    taps = len(filter) ** 2
    seen = x.reshape(rows, inputs)
    laid = []
    if taps > 1:
        sizes |= {"INPUTS": divide(inputs, 4), "TAPS": taps}
        body = """
  let pixel = id.y;
  let row = i32(pixel / WIDTH % HEIGHT + id.z / SIZE) - i32(REACH);
  let column = i32(pixel % WIDTH + id.z % SIZE) - i32(REACH);
  var v = vec4f();
  if (row >= 0 && row < i32(HEIGHT) && column >= 0 && column < i32(WIDTH)) {
    let image = pixel / (WIDTH * HEIGHT);
    v = x[((image * HEIGHT + u32(row)) * WIDTH + u32(column)) * INPUTS + id.x];
  }
  seen[(pixel * TAPS + id.z) * INPUTS + id.x] = v;"""
        source = head(sizes, {"x": "vec4f"}, {"seen": "vec4f"}) + main("16, 4", [GLOBAL], body)
        seen = x.repeat(taps, -1).reshape(rows, taps * inputs)
        groups = divide(inputs, 64), divide(rows, 4), taps
        laid = [raw.dispatch(source, [raw.place(x), raw.place(seen)], *groups)]
    product_of = {"a": seen, "b": filter.reshape(-1, outputs)}
    limit = PRODUCTS[product](raw, product_of)
    shape = (*x.shape[:3], outputs)
    return Limit([*laid, *limit.dispatches], [Output(limit.outputs[0].buffer, shape)])


def _depthwise(raw: Raw, arrays: Arrays, *, pixels: int) -> Limit:
    """Four channels of ``pixels`` neighbours an invocation."""
    x, filter = arrays["x"], arrays["filter"]
    channels = x.shape[-1]
    sizes = {**_sizes(x, filter, 1), "CHANNELS": divide(channels, 4), "PIXELS": pixels}
    divide(sizes["WIDTH"], pixels)
    body = f"""
  let pixel = id.y * PIXELS;
  let left = i32(pixel % WIDTH) - i32(REACH);
  let top = i32(pixel / WIDTH % HEIGHT) - i32(REACH);
  let image = pixel / (WIDTH * HEIGHT);
  {each("var c{i} = vec4f();", i=pixels)}
  for (var r = 0u; r < SIZE; r++) {{
    let row = top + i32(r);
    if (row < 0 || row >= i32(HEIGHT)) {{ continue; }}
    let line = (image * HEIGHT + u32(row)) * WIDTH;
    for (var s = 0u; s < SIZE; s++) {{
      let f = filter_[(r * SIZE + s) * CHANNELS + id.x];
      let column = left + i32(s);
      {each(TAP, i=pixels)}
    }}
  }}
  {each("y[(pixel + {i}u) * CHANNELS + id.x] = c{i};", i=pixels)}"""
    text = head(sizes, {"x": "vec4f", "filter_": "vec4f"}, {"y": "vec4f"})
    return _convolved(raw, arrays, sizes, text, body, pixels, channels)


TAP = """let p{i} = column + {i};
      if (p{i} >= 0 && p{i} < i32(WIDTH)) {
        c{i} = fma(x[(line + u32(p{i})) * CHANNELS + id.x], f, c{i});
      }"""


def _max_pool(raw: Raw, arrays: Arrays) -> Limit:
    """Four channels of one window of 2x2 an invocation."""
    x = arrays["x"]
    batch, height, width, channels = x.shape
    sizes = {"WIDTH": divide(width, 2), "CHANNELS": divide(channels, 4)}
    body = """
  let i = (id.y / WIDTH * WIDTH * 4u + id.y % WIDTH * 2u) * CHANNELS + id.x;
  let below = i + WIDTH * 2u * CHANNELS;
  let upper = max(x[i], x[i + CHANNELS]);
  y[id.y * CHANNELS + id.x] = max(upper, max(x[below], x[below + CHANNELS]));"""
    source = head(sizes, {"x": "vec4f"}, {"y": "vec4f"}) + main("16, 4", [GLOBAL], body)
    shape = (batch, height // 2, width // 2, channels)
    y = raw.empty(x.nbytes // 4)
    groups = divide(channels, 64), divide(batch * shape[1] * shape[2], 4)
    return Limit([raw.dispatch(source, [raw.place(x), y], *groups)], [Output(y, shape)])


def _pool_volumes(raw: Raw, arrays: Arrays, *, join: str, finish: str) -> Limit:
    """Four channels of one window of 2x2x2 an invocation."""
    x = arrays["x"]
    batch, depth, height, width, channels = x.shape
    sizes = {
        "HEIGHT": divide(height, 2),
        "WIDTH": divide(width, 2),
        "CHANNELS": divide(channels, 4),
    }
    lines = [f"x[i + {plane}u * deep + {row}u * down" for plane in (0, 1) for row in (0, 1)]
    pairs = [join.format(f"{one}]", f"{one} + CHANNELS]") for one in lines]
    total = join.format(join.format(*pairs[:2]), join.format(*pairs[2:]))
    body = f"""
  let line = id.y / WIDTH;
  let corner = (line / HEIGHT * HEIGHT * 4u + line % HEIGHT * 2u) * WIDTH * 2u + id.y % WIDTH * 2u;
  let i = corner * CHANNELS + id.x;
  let down = WIDTH * 2u * CHANNELS;
  let deep = down * HEIGHT * 2u;
  y[id.y * CHANNELS + id.x] = {finish.format(total)};"""
    source = head(sizes, {"x": "vec4f"}, {"y": "vec4f"}) + main("8, 8", [GLOBAL], body)
    shape = (batch, divide(depth, 2), height // 2, width // 2, channels)
    y = raw.empty(x.nbytes // 8)
    groups = divide(channels, 32), divide(batch * shape[1] * shape[2] * shape[3], 8)
    return Limit([raw.dispatch(source, [raw.place(x), y], *groups)], [Output(y, shape)])


def _batch_norm(raw: Raw, arrays: Arrays, *, per: int) -> Limit:
    """Four channels an invocation, of ``per`` pixels; the channels' factor once for all of them."""
    x = arrays["x"]
    names = ("mean", "variance", "offset", "scale")
    channels = x.shape[-1]
    sizes = {"CHANNELS": divide(channels, 4), "PER": per}
    body = """
  let factor = scale[id.x] * inverseSqrt(variance[id.x] + 1e-5);
  let rest = offset[id.x] - mean[id.x] * factor;
  for (var j = 0u; j < PER; j++) {
    let i = (id.y * PER + j) * CHANNELS + id.x;
    y[i] = fma(x[i], factor, rest);
  }"""
    reads = {"x": "vec4f", **dict.fromkeys(names, "vec4f")}
    source = head(sizes, reads, {"y": "vec4f"}) + main("16, 4", [GLOBAL], body)
    y = raw.empty(x.nbytes)
    buffers = [raw.place(x), *(raw.place(arrays[name]) for name in names), y]
    groups = divide(channels, 64), divide(x.size // channels, 4 * per)
    return Limit([raw.dispatch(source, buffers, *groups)], [Output(y, x.shape)])


DIRECT: dict[str, Builder] = {
    f"direct, {pixels} pixels": partial(_direct, pixels=pixels, stride=1) for pixels in (1, 4, 8)
}
VARIANTS: dict[str, dict[str, Builder]] = {
    "conv-3x3": {
        **DIRECT,
        **{
            f"laid out, {name}": partial(_by_product, product=name)
            for name in ("registers 4x8", "shared 16x4", "shared 32x4")
        },
    },
    "conv-1x1": {
        **DIRECT,
        **{name: partial(_by_product, product=name) for name in WORTH_WHILE},
    },
    "conv-depthwise": {
        f"{pixels} pixels": partial(_depthwise, pixels=pixels) for pixels in (1, 4, 7)
    },
    "conv-7x7-stride-2": {
        f"{pixels} pixels": partial(_few_channels, pixels=pixels, stride=2) for pixels in (1, 4, 8)
    },
    "max-pool": {"vec4": _max_pool},
    "max-pool-3d": {"vec4": partial(_pool_volumes, join="max({}, {})", finish="{}")},
    "avg-pool-3d": {"vec4": partial(_pool_volumes, join="({} + {})", finish="{} * 0.125")},
    "batch-norm": {f"{per} pixels": partial(_batch_norm, per=per) for per in (1, 4, 16)},
}
