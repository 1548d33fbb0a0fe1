"""Raw gather, scatter-add, running sum, top ten and Fourier transform."""

import math
from collections.abc import Mapping
from functools import partial

from benchmarks.items.item import Array
from benchmarks.limits.raw import (
    GLOBAL,
    GROUP,
    LANE,
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
SCATTER_ROWS = 5_000
TOP = 10


def _gather(raw: Raw, arrays: Arrays) -> Limit:
    """A row a workgroup."""
    x, indices = arrays["x"], arrays["indices"]
    columns = x.shape[1]
    sizes = {"COLUMNS": divide(columns, 4)}
    body = """
  let row = u32(indices[group.x]);
  for (var i = lane; i < COLUMNS; i += 64u) { y[group.x * COLUMNS + i] = x[row * COLUMNS + i]; }"""
    source = head(sizes, {"x": "vec4f", "indices": "i32"}, {"y": "vec4f"})
    source += main("64", [GROUP, LANE], body)
    y = raw.empty(len(indices) * columns * 4)
    done = raw.dispatch(source, [raw.place(x), raw.place(indices), y], len(indices))
    return Limit([done], [Output(y, (len(indices), columns))])


def _gather_flat(raw: Raw, arrays: Arrays, *, rows: int) -> Limit:
    """A vec4f of ``rows`` rows an invocation."""
    x, indices = arrays["x"], arrays["indices"]
    columns = x.shape[1]
    sizes = {"COLUMNS": divide(columns, 4), "ROWS": rows}
    body = """
  for (var j = 0u; j < ROWS; j++) {
    let row = id.y * ROWS + j;
    y[row * COLUMNS + id.x] = x[u32(indices[row]) * COLUMNS + id.x];
  }"""
    source = head(sizes, {"x": "vec4f", "indices": "i32"}, {"y": "vec4f"})
    source += main("64", [GLOBAL], body)
    y = raw.empty(len(indices) * columns * 4)
    groups = divide(columns, 256), divide(len(indices), rows)
    done = raw.dispatch(source, [raw.place(x), raw.place(indices), y], *groups)
    return Limit([done], [Output(y, (len(indices), columns))])


def _scatter_by_column(raw: Raw, arrays: Arrays) -> Limit:
    """Each invocation owns a column and walks over all updates, so nothing races."""
    updates, indices = arrays["updates"], arrays["indices"]
    columns = updates.shape[1]
    sizes = {"COLUMNS": columns, "COUNT": len(indices), "ROWS": SCATTER_ROWS}
    body = """
  for (var i = 0u; i < ROWS; i++) { y[i * COLUMNS + id.x] = 0.0; }
  for (var i = 0u; i < COUNT; i++) {
    y[u32(indices[i]) * COLUMNS + id.x] += updates[i * COLUMNS + id.x];
  }"""
    source = head(sizes, {"updates": "f32", "indices": "i32"}, {"y": "f32"})
    source += main("32", [GLOBAL], body)
    y = raw.empty(SCATTER_ROWS * columns * 4)
    buffers = [raw.place(updates), raw.place(indices), y]
    done = raw.dispatch(source, buffers, divide(columns, 32))
    return Limit([done], [Output(y, (SCATTER_ROWS, columns))])


def _scatter_by_lists(raw: Raw, arrays: Arrays, *, rows: int) -> Limit:
    """A list of updates for each row, then each row sums its list."""
    updates, indices = arrays["updates"], arrays["indices"]
    columns, count = updates.shape[1], len(indices)
    heads, after = raw.empty(SCATTER_ROWS * 4), raw.empty(count * 4)
    clear = head({}, {}, {"heads": "u32"}) + main("8", [GLOBAL], "  heads[id.x] = 0u;")
    text = head({}, {"indices": "i32"}, {"heads": "atomic<u32>", "next": "u32"})
    body = "  next[id.x] = atomicExchange(&heads[u32(indices[id.x])], id.x + 1u);"
    link = text + main("16", [GLOBAL], body)
    sizes = {"COLUMNS": divide(columns, 4), "ROWS": rows}
    body = """
  for (var j = 0u; j < ROWS; j++) {
    let row = id.y * ROWS + j;
    var sum = vec4f();
    for (var i = heads[row]; i > 0u; i = next[i - 1u]) {
      sum += updates[(i - 1u) * COLUMNS + id.x];
    }
    y[row * COLUMNS + id.x] = sum;
  }"""
    reads = {"updates": "vec4f", "heads": "u32", "next": "u32"}
    total = head(sizes, reads, {"y": "vec4f"}) + main("64", [GLOBAL], body)
    y = raw.empty(SCATTER_ROWS * columns * 4)
    dispatches = [
        raw.dispatch(clear, [heads], divide(SCATTER_ROWS, 8)),
        raw.dispatch(link, [raw.place(indices), heads, after], divide(count, 16)),
        raw.dispatch(
            total,
            [raw.place(updates), heads, after, y],
            divide(columns, 256),
            divide(SCATTER_ROWS, rows),
        ),
    ]
    return Limit(dispatches, [Output(y, (SCATTER_ROWS, columns))])


def _running_sum(raw: Raw, arrays: Arrays, *, chunk: int) -> Limit:
    """Sums of chunks; their running sum in one workgroup; each chunk's running sum on top."""
    x = arrays["x"]
    chunks = divide(x.size, chunk)
    sizes = {"CHUNK": divide(chunk, 4), "EACH": divide(chunks, 64)}
    body = """
  var sum = vec4f();
  for (var i = 0u; i < CHUNK; i++) { sum += x[id.x * CHUNK + i]; }
  sums[id.x] = sum.x + sum.y + sum.z + sum.w;"""
    first = head(sizes, {"x": "vec4f"}, {"sums": "f32"}) + main("16", [GLOBAL], body)
    body = """
  var sum = 0.0;
  for (var i = 0u; i < EACH; i++) { sum += sums[lane * EACH + i]; }
  part[lane] = sum;
  workgroupBarrier();
  var before = 0.0;
  for (var i = 0u; i < lane; i++) { before += part[i]; }
  for (var i = 0u; i < EACH; i++) {
    let own = sums[lane * EACH + i];
    sums[lane * EACH + i] = before;
    before += own;
  }"""
    second = head(sizes, {}, {"sums": "f32"}) + "var<workgroup> part: array<f32, 64>;\n"
    second += main("64", [LANE], body)
    body = """
  var before = sums[id.x];
  for (var i = 0u; i < CHUNK; i++) {
    let v = x[id.x * CHUNK + i];
    let a = before + v.x;
    let b = a + v.y;
    let c = b + v.z;
    before = c + v.w;
    y[id.x * CHUNK + i] = vec4f(a, b, c, before);
  }"""
    third = head(sizes, {"x": "vec4f", "sums": "f32"}, {"y": "vec4f"})
    third += main("16", [GLOBAL], body)
    given, sums, y = raw.place(x), raw.empty(chunks * 4), raw.empty(x.nbytes)
    dispatches = [
        raw.dispatch(first, [given, sums], divide(chunks, 16)),
        raw.dispatch(second, [sums], 1),
        raw.dispatch(third, [given, sums, y], divide(chunks, 16)),
    ]
    return Limit(dispatches, [Output(y, x.shape)])


INSERT = """let c{j} = v > t{j};
      let v{j} = select(v, t{j}, c{j});
      let n{j} = select(n, i{j}, c{j});
      t{j} = select(t{j}, v, c{j});
      i{j} = select(i{j}, n, c{j});
      v = v{j};
      n = n{j};"""


def _top(raw: Raw, arrays: Arrays) -> Limit:
    """A row an invocation, its ten largest in registers, each new one put in its place."""
    x = arrays["x"]
    rows, columns = x.shape
    body = f"""
  let begin = id.x * COLUMNS;
  {each("var t{j} = -3.4e38;", j=TOP)}
  {each("var i{j} = 0u;", j=TOP)}
  for (var k = 0u; k < COLUMNS; k++) {{
    var v = x[begin + k];
    if (v > t{TOP - 1}) {{
      var n = k;
      {each(INSERT, j=TOP)}
    }}
  }}
  {each("values[id.x * TOP + {j}u] = t{j};", j=TOP)}
  {each("places[id.x * TOP + {j}u] = i{j};", j=TOP)}"""
    sizes = {"COLUMNS": columns, "TOP": TOP}
    source = head(sizes, {"x": "f32"}, {"values": "f32", "places": "u32"})
    source += main("8", [GLOBAL], body)
    values, places = raw.empty(rows * TOP * 4), raw.empty(rows * TOP * 4)
    done = raw.dispatch(source, [raw.place(x), values, places], divide(rows, 8))
    return Limit([done], [Output(values, (rows, TOP)), Output(places, (rows, TOP), "uint32")])


def _fourier(raw: Raw, arrays: Arrays) -> Limit:
    """Stages of radix 4 after Stockham, a butterfly an invocation, between two buffers."""
    x = arrays["x"]
    rows, size = x.shape
    stages = round(math.log(size, 4))
    divide(size, 4**stages)
    body = """
  let row = id.y * SIZE;
  let k = id.x % SPAN;
  let turn = -6.283185307179586 * f32(k) / f32(SPAN * 4u);
  let a = x[row + id.x];
  let b = times(x[row + id.x + SIZE / 4u], turn);
  let c = times(x[row + id.x + SIZE / 2u], 2.0 * turn);
  let d = times(x[row + id.x + SIZE / 4u * 3u], 3.0 * turn);
  let i = row + (id.x - k) * 4u + k;
  let e = a + c;
  let f = a - c;
  let g = b + d;
  let h = vec2f(b.y - d.y, d.x - b.x);
  y[i] = e + g;
  y[i + SPAN] = f + h;
  y[i + SPAN * 2u] = e - g;
  y[i + SPAN * 3u] = f - h;"""
    times = """
fn times(a: vec2f, turn: f32) -> vec2f {
  let w = vec2f(cos(turn), sin(turn));
  return vec2f(a.x * w.x - a.y * w.y, a.x * w.y + a.y * w.x);
}
"""
    both = [raw.empty(x.nbytes), raw.empty(x.nbytes)]
    last = raw.place(x)
    dispatches = []
    for stage in range(stages):
        text = head({"SIZE": size, "SPAN": 4**stage}, {"x": "vec2f"}, {"y": "vec2f"}) + times
        source = text + main("64", [GLOBAL], body)
        dispatches.append(raw.dispatch(source, [last, both[stage % 2]], divide(size, 256), rows))
        last = both[stage % 2]
    return Limit(dispatches, [Output(last, x.shape, "complex64")])


VARIANTS: dict[str, dict[str, Builder]] = {
    "gather-rows": {
        "a row a group": _gather,
        **{f"{rows} rows": partial(_gather_flat, rows=rows) for rows in (4, 16)},
    },
    "scatter-add-rows": {
        "by column": _scatter_by_column,
        **{f"lists, {rows} rows": partial(_scatter_by_lists, rows=rows) for rows in (1, 8)},
    },
    "cumulative-sum": {
        f"chunks of {chunk}": partial(_running_sum, chunk=chunk) for chunk in (256, 1024)
    },
    "top-10": {"by insertion": _top},
    "fft": {"radix 4": _fourier},
}
