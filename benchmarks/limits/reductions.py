"""Raw reductions of a square: sum, max and argmax of all elements, of rows and of columns."""

from collections.abc import Mapping
from functools import partial

from benchmarks.items.item import Array
from benchmarks.limits.raw import (
    EIGHT_WIDE,
    GLOBAL,
    GROUP,
    LANE,
    Builder,
    Limit,
    Output,
    Raw,
    UnfitError,
    divide,
    head,
    main,
)

Arrays = Mapping[str, Array]
FOLDS = {
    "sum": """
fn start() -> vec4f { return vec4f(); }
fn join(a: vec4f, b: vec4f) -> vec4f { return a + b; }
fn across(a: vec4f) -> f32 { return a.x + a.y + a.z + a.w; }
fn join1(a: f32, b: f32) -> f32 { return a + b; }
""",
    "max": """
fn start() -> vec4f { return vec4f(-3.4e38); }
fn join(a: vec4f, b: vec4f) -> vec4f { return max(a, b); }
fn across(a: vec4f) -> f32 { return max(max(a.x, a.y), max(a.z, a.w)); }
fn join1(a: f32, b: f32) -> f32 { return max(a, b); }
""",
}
SUBGROUP = {"sum": "subgroupAdd", "max": "subgroupMax"}
TREE = """
  part[lane] = found;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (lane < half) { part[lane] = join1(part[lane], part[lane + half]); }
    workgroupBarrier();
  }
  if (lane == 0u) { out[group.x] = part[0]; }"""


def _all(raw: Raw, arrays: Arrays, *, op: str, lanes: int, groups: int, tree: bool) -> Limit:
    """Each invocation folds a strided part, then one workgroup folds what is left."""
    x = arrays["x"]
    count = groups * (1 if tree else lanes)
    sizes = {"LANES": lanes, "PER": divide(x.size, 4 * lanes * groups), "ALL": lanes * groups}
    body = """
  var v = start();
  for (var i = 0u; i < PER; i++) { v = join(v, x[i * ALL + group.x * LANES + lane]); }
  let found = across(v);"""
    body += TREE if tree else "\n  out[group.x * LANES + lane] = found;"
    shared = "var<workgroup> part: array<f32, LANES>;\n" if tree else ""
    first = head(sizes, {"x": "vec4f"}, {"out": "f32"}) + FOLDS[op] + shared
    first += main(f"{lanes}", [GROUP, LANE], body)
    body = "  var v = start();\n"
    body += "  for (var i = lane; i < COUNT; i += LANES) { v = join(v, x[i]); }\n"
    body += f"  let found = across(v);{TREE}"
    last = head({"LANES": 64, "COUNT": divide(count, 4)}, {"x": "vec4f"}, {"out": "f32"})
    last += FOLDS[op] + "var<workgroup> part: array<f32, LANES>;\n"
    last += main("64", [GROUP, LANE], body)
    parts, out = raw.empty(count * 4), raw.empty(4)
    dispatches = [
        raw.dispatch(first, [raw.place(x), parts], groups),
        raw.dispatch(last, [parts, out], 1),
    ]
    return Limit(dispatches, [Output(out, ())])


def _rows(raw: Raw, arrays: Arrays, *, op: str, way: str) -> Limit:
    """One row an invocation, a workgroup, or eight invocations that fold by a subgroup's sum."""
    x = arrays["x"]
    rows, columns = x.shape
    lanes = {"invocation": 16, "workgroup": 64, "subgroup": 8}[way]
    sizes = {"LANES": lanes, "COLUMNS": divide(columns, 4)}
    text = head(sizes, {"x": "vec4f"}, {"out": "f32"}) + FOLDS[op]
    if way == "invocation":
        body = """
  var v = start();
  for (var i = 0u; i < COLUMNS; i++) { v = join(v, x[id.x * COLUMNS + i]); }
  out[id.x] = across(v);"""
        text += main(f"{lanes}", [GLOBAL], body)
    else:
        body = """
  var v = start();
  for (var i = lane; i < COLUMNS; i += LANES) { v = join(v, x[group.x * COLUMNS + i]); }
  let found = across(v);"""
        if way == "workgroup":
            text += "var<workgroup> part: array<f32, LANES>;\n"
            body += TREE
        else:
            _needs_eight(raw)
            body += f"\n  let y = {SUBGROUP[op]}(found);\n  if (lane == 0u) {{ out[group.x] = y; }}"
        text += main(f"{lanes}", [GROUP, LANE], body)
    groups = divide(rows, lanes) if way == "invocation" else rows
    out = raw.empty(rows * 4)
    return Limit([raw.dispatch(text, [raw.place(x), out], groups)], [Output(out, (rows,))])


def _needs_eight(raw: Raw) -> None:
    """Refuse an adapter whose subgroups are not, or need not be, eight wide."""
    if "subgroup" not in raw.features or EIGHT_WIDE not in raw.info["device"]:
        raise UnfitError("subgroups of eight")


def _columns(raw: Raw, arrays: Arrays, *, op: str, chunks: int) -> Limit:
    """Four columns an invocation, the rows in ``chunks`` parts."""
    x = arrays["x"]
    rows, columns = x.shape
    body = """
  var v = start();
  for (var i = 0u; i < ROWS; i++) { v = join(v, x[(id.y * ROWS + i) * COLUMNS + id.x]); }
  out[id.y * COLUMNS + id.x] = v;"""
    out = raw.empty(columns * 4)
    parts = out if chunks == 1 else raw.empty(chunks * columns * 4)

    def fold(count: int) -> str:
        sizes = {"ROWS": count, "COLUMNS": divide(columns, 4)}
        text = head(sizes, {"x": "vec4f"}, {"out": "vec4f"}) + FOLDS[op]
        return text + main("64", [GLOBAL], body)

    wide = divide(columns, 256)
    found = [raw.dispatch(fold(divide(rows, chunks)), [raw.place(x), parts], wide, chunks)]
    if chunks > 1:
        found.append(raw.dispatch(fold(chunks), [parts, out], wide))
    return Limit(found, [Output(out, (columns,))])


BETTER = """
fn better(v: f32, i: u32, w: f32, j: u32) -> bool { return w > v || (w == v && j < i); }
"""
BEST_OF_FOUR = """
  var best = m.x;
  var place = k.x;
  for (var q = 1u; q < 4u; q++) {
    if (better(best, place, m[q], k[q])) { best = m[q]; place = k[q]; }
  }"""


def _argmax_rows(raw: Raw, arrays: Arrays, *, lanes: int) -> Limit:
    """One row an invocation, four running maxima."""
    x = arrays["x"]
    rows, columns = x.shape
    body = f"""
  let begin = id.x * COLUMNS;
  var m = x[begin];
  var k = vec4u();
  for (var i = 1u; i < COLUMNS; i++) {{
    let v = x[begin + i];
    let more = v > m;
    m = select(m, v, more);
    k = select(k, vec4u(i), more);
  }}
  k = k * 4u + vec4u(0, 1, 2, 3);{BEST_OF_FOUR}
  out[id.x] = place;"""
    text = head({"COLUMNS": divide(columns, 4)}, {"x": "vec4f"}, {"out": "u32"}) + BETTER
    text += main(f"{lanes}", [GLOBAL], body)
    out = raw.empty(rows * 4)
    done = raw.dispatch(text, [raw.place(x), out], divide(rows, lanes))
    return Limit([done], [Output(out, (rows,), "uint32")])


def _argmax_columns(raw: Raw, arrays: Arrays, *, chunks: int) -> Limit:
    """Four columns an invocation, the rows in parts; then the best of the parts."""
    x = arrays["x"]
    rows, columns = x.shape
    sizes = {"ROWS": divide(rows, chunks), "COLUMNS": divide(columns, 4), "CHUNKS": chunks}
    body = """
  let first = id.y * ROWS;
  var m = x[first * COLUMNS + id.x];
  var k = vec4u(first);
  for (var i = first + 1u; i < first + ROWS; i++) {
    let v = x[i * COLUMNS + id.x];
    let more = v > m;
    m = select(m, v, more);
    k = select(k, vec4u(i), more);
  }
  values[id.y * COLUMNS + id.x] = m;
  places[id.y * COLUMNS + id.x] = k;"""
    first = head(sizes, {"x": "vec4f"}, {"values": "vec4f", "places": "vec4u"})
    first += main("64", [GLOBAL], body)
    body = """
  var m = values[id.x];
  var k = places[id.x];
  for (var i = 1u; i < CHUNKS; i++) {
    let v = values[i * COLUMNS + id.x];
    let more = v > m;
    m = select(m, v, more);
    k = select(k, places[i * COLUMNS + id.x], more);
  }
  out[id.x] = k;"""
    last = head(sizes, {"values": "vec4f", "places": "vec4u"}, {"out": "vec4u"})
    last += main("64", [GLOBAL], body)
    values, places = (raw.empty(chunks * columns * 4) for _ in range(2))
    out = raw.empty(columns * 4)
    wide = divide(columns, 256)
    dispatches = [
        raw.dispatch(first, [raw.place(x), values, places], wide, chunks),
        raw.dispatch(last, [values, places, out], wide),
    ]
    return Limit(dispatches, [Output(out, (columns,), "uint32")])


def _argmax_all(raw: Raw, arrays: Arrays, *, parts: int) -> Limit:
    """A run of elements an invocation; then one invocation compares what they found."""
    x = arrays["x"]
    body = f"""
  let first = id.x * PER;
  var m = x[first];
  var k = vec4u(first);
  for (var i = first + 1u; i < first + PER; i++) {{
    let v = x[i];
    let more = v > m;
    m = select(m, v, more);
    k = select(k, vec4u(i), more);
  }}
  k = k * 4u + vec4u(0, 1, 2, 3);{BEST_OF_FOUR}
  values[id.x] = best;
  places[id.x] = place;"""
    sizes = {"PER": divide(x.size, 4 * parts)}
    first = head(sizes, {"x": "vec4f"}, {"values": "f32", "places": "u32"}) + BETTER
    first += main("16", [GLOBAL], body)
    body = """
  var best = values[0];
  var place = places[0];
  for (var i = 1u; i < PARTS; i++) {
    if (better(best, place, values[i], places[i])) { best = values[i]; place = places[i]; }
  }
  out[0] = place;"""
    last = head({"PARTS": parts}, {"values": "f32", "places": "u32"}, {"out": "u32"}) + BETTER
    last += main("1", [GLOBAL], body)
    values, places, out = raw.empty(parts * 4), raw.empty(parts * 4), raw.empty(4)
    dispatches = [
        raw.dispatch(first, [raw.place(x), values, places], divide(parts, 16)),
        raw.dispatch(last, [values, places, out], 1),
    ]
    return Limit(dispatches, [Output(out, (), "uint32")])


def _folds(op: str) -> dict[str, dict[str, Builder]]:
    ways = ("invocation", "workgroup", "subgroup")
    return {
        f"{op}-all": {
            "apart, 64 groups of 256": partial(_all, op=op, lanes=256, groups=64, tree=False),
            "apart, 16 groups of 64": partial(_all, op=op, lanes=64, groups=16, tree=False),
            "tree, 64 groups of 256": partial(_all, op=op, lanes=256, groups=64, tree=True),
        },
        f"{op}-rows": {f"a row a {way}": partial(_rows, op=op, way=way) for way in ways},
        f"{op}-columns": {
            f"{chunks} parts": partial(_columns, op=op, chunks=chunks) for chunks in (1, 4, 16, 64)
        },
    }


VARIANTS: dict[str, dict[str, Builder]] = {
    **_folds("sum"),
    **_folds("max"),
    "sum-all-4096": _folds("sum")["sum-all"],
    "argmax-all": {f"{parts} parts": partial(_argmax_all, parts=parts) for parts in (256, 1024)},
    "argmax-rows": {
        f"{lanes} rows a group": partial(_argmax_rows, lanes=lanes) for lanes in (8, 32)
    },
    "argmax-columns": {
        f"{chunks} parts": partial(_argmax_columns, chunks=chunks) for chunks in (4, 16, 64)
    },
}
