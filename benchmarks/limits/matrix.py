"""Raw matrix products: y = a b, of [batch, rows, terms] and [batch, terms, columns]."""

from collections.abc import Mapping
from functools import partial

from benchmarks.items.item import Array
from benchmarks.limits.raw import (
    FOUR_WIDE,
    GLOBAL,
    LANE,
    Builder,
    Limit,
    Output,
    Raw,
    UnfitError,
    divide,
    each,
    head,
    main,
)

Arrays = Mapping[str, Array]
LOCAL = "@builtin(local_invocation_id) l: vec3u"
GROUP = "@builtin(workgroup_id) group: vec3u"


def _sizes(arrays: Arrays) -> tuple[int, int, int, int]:
    a, b = arrays["a"], arrays["b"]
    return (len(a) if a.ndim == 3 else 1), a.shape[-2], a.shape[-1], b.shape[-1]


def _limit(raw: Raw, arrays: Arrays, source: str, *groups: int) -> Limit:
    batch, rows, _, columns = _sizes(arrays)
    y = raw.empty(batch * rows * columns * 4)
    a, b = arrays["a"], arrays["b"]
    done = raw.dispatch(source, [raw.place(a), raw.place(b), y], *groups)
    return Limit([done], [Output(y, (*a.shape[:-1], columns))])


def _naive(raw: Raw, arrays: Arrays) -> Limit:
    """One element an invocation."""
    batch, rows, terms, columns = _sizes(arrays)
    sizes = {"ROWS": rows, "TERMS": terms, "COLUMNS": columns}
    body = """
  let a0 = (id.z * ROWS + id.y) * TERMS;
  let b0 = id.z * TERMS * COLUMNS + id.x;
  var sum = 0.0;
  for (var k = 0u; k < TERMS; k++) { sum = fma(a[a0 + k], b[b0 + k * COLUMNS], sum); }
  y[(id.z * ROWS + id.y) * COLUMNS + id.x] = sum;"""
    source = head(sizes, {"a": "f32", "b": "f32"}, {"y": "f32"}) + main("16, 16", [GLOBAL], body)
    return _limit(raw, arrays, source, divide(columns, 16), divide(rows, 16), batch)


def _tiled(raw: Raw, arrays: Arrays) -> Limit:
    """Tiles of 16 by 16 in workgroup memory."""
    batch, rows, terms, columns = _sizes(arrays)
    sizes = {"ROWS": rows, "TERMS": terms, "COLUMNS": columns, "STEPS": divide(terms, 16)}
    body = """
  let a0 = (id.z * ROWS + id.y) * TERMS;
  let b0 = id.z * TERMS * COLUMNS + id.x;
  var sum = 0.0;
  for (var step = 0u; step < STEPS; step++) {
    left[l.y][l.x] = a[a0 + step * 16u + l.x];
    right[l.y][l.x] = b[b0 + (step * 16u + l.y) * COLUMNS];
    workgroupBarrier();
    for (var k = 0u; k < 16u; k++) { sum = fma(left[l.y][k], right[k][l.x], sum); }
    workgroupBarrier();
  }
  y[(id.z * ROWS + id.y) * COLUMNS + id.x] = sum;"""
    shared = "var<workgroup> left: array<array<f32, 16>, 16>;\n"
    shared += "var<workgroup> right: array<array<f32, 16>, 16>;\n"
    source = head(sizes, {"a": "f32", "b": "f32"}, {"y": "f32"}) + shared
    source += main("16, 16", [GLOBAL, LOCAL], body)
    return _limit(raw, arrays, source, divide(columns, 16), divide(rows, 16), batch)


def _products(tall: int, wide: int) -> str:
    """Return the sums' part: a{i} are vec4f along the terms, b{q}_{j} along the columns."""
    lines = []
    for i in range(tall):
        for q in range(4):
            left = f"vec4f(a{i}[{q}])"
            lines += [f"c{i}_{j} = fma({left}, b{q}_{j}, c{i}_{j});" for j in range(wide)]
    return "\n".join(lines)


def _registers(raw: Raw, arrays: Arrays, *, tall: int, wide: int, x: int = 8, y: int = 8) -> Limit:
    """``tall`` rows by ``wide`` vec4f of columns in registers, nothing in workgroup memory."""
    batch, rows, terms, columns = _sizes(arrays)
    sizes = {
        "ROWS": rows,
        "TERMS": divide(terms, 4),
        "ALL_TERMS": terms,
        "COLUMNS": divide(columns, 4),
        "TALL": tall,
        "WIDE": wide,
    }
    body = f"""
  let x = id.x * WIDE;
  let row = id.z * ROWS + id.y * TALL;
  let b0 = id.z * ALL_TERMS * COLUMNS + x;
  {each("var c{i}_{j} = vec4f();", i=tall, j=wide)}
  for (var k = 0u; k < TERMS; k++) {{
    {each("let b{q}_{j} = b[b0 + (k * 4u + {q}u) * COLUMNS + {j}u];", q=4, j=wide)}
    {each("let a{i} = a[(row + {i}u) * TERMS + k];", i=tall)}
    {_products(tall, wide)}
  }}
  {each("y[(row + {i}u) * COLUMNS + x + {j}u] = c{i}_{j};", i=tall, j=wide)}"""
    source = head(sizes, {"a": "vec4f", "b": "vec4f"}, {"y": "vec4f"})
    source += main(f"{x}, {y}", [GLOBAL], body)
    groups = divide(columns, 4 * wide * x), divide(rows, tall * y)
    return _limit(raw, arrays, source, *groups, batch)


def _staged(raw: Raw, arrays: Arrays, *, tall: int, wide: int, x: int, y: int, deep: int) -> Limit:
    """As above, but both tiles are brought to workgroup memory first, ``deep`` terms at a time."""
    batch, rows, terms, columns = _sizes(arrays)
    sizes = {
        "ROWS": rows,
        "TERMS": divide(terms, 4),
        "ALL_TERMS": terms,
        "COLUMNS": divide(columns, 4),
        "TALL": tall,
        "WIDE": wide,
        "DEEP": divide(deep, 4),
        "STEPS": divide(terms, deep),
        "HIGH": tall * y,
        "BROAD": wide * x,
        "LANES": x * y,
    }
    body = f"""
  let row0 = group.z * ROWS + group.y * HIGH;
  let x0 = group.x * BROAD;
  let b0 = group.z * ALL_TERMS * COLUMNS;
  {each("var c{i}_{j} = vec4f();", i=tall, j=wide)}
  for (var step = 0u; step < STEPS; step++) {{
    for (var i = lane; i < HIGH * DEEP; i += LANES) {{
      left[i] = a[(row0 + i / DEEP) * TERMS + step * DEEP + i % DEEP];
    }}
    for (var i = lane; i < DEEP * 4u * BROAD; i += LANES) {{
      right[i] = b[b0 + (step * DEEP * 4u + i / BROAD) * COLUMNS + x0 + i % BROAD];
    }}
    workgroupBarrier();
    for (var k = 0u; k < DEEP; k++) {{
      {each("let b{q}_{j} = right[(k * 4u + {q}u) * BROAD + l.x * WIDE + {j}u];", q=4, j=wide)}
      {each("let a{i} = left[(l.y * TALL + {i}u) * DEEP + k];", i=tall)}
      {_products(tall, wide)}
    }}
    workgroupBarrier();
  }}
  let row = row0 + l.y * TALL;
  {each("y[(row + {i}u) * COLUMNS + x0 + l.x * WIDE + {j}u] = c{i}_{j};", i=tall, j=wide)}"""
    shared = "var<workgroup> left: array<vec4f, HIGH * DEEP>;\n"
    shared += "var<workgroup> right: array<vec4f, DEEP * 4 * BROAD>;\n"
    source = head(sizes, {"a": "vec4f", "b": "vec4f"}, {"y": "vec4f"}) + shared
    source += main(f"{x}, {y}", [GROUP, LOCAL, LANE], body)
    groups = divide(columns, 4 * wide * x), divide(rows, tall * y)
    return _limit(raw, arrays, source, *groups, batch)


def _strips(raw: Raw, arrays: Arrays, *, tall: int, strips: int, x: int) -> Limit:
    """One row of invocations a workgroup: all of them read the same elements of a."""
    batch, rows, terms, columns = _sizes(arrays)
    sizes = {
        "ROWS": rows,
        "TERMS": divide(terms, 4),
        "ALL_TERMS": terms,
        "COLUMNS": columns,
        "TALL": tall,
        "BROAD": strips * x,
        "STRIP": x,
    }
    sums = "\n".join(
        f"c{i}_{j} = fma(a{i}[{q}], b{q}_{j}, c{i}_{j});"
        for i in range(tall)
        for q in range(4)
        for j in range(strips)
    )
    body = f"""
  let x = group.x * BROAD + l.x;
  let row = group.z * ROWS + group.y * TALL;
  let b0 = group.z * ALL_TERMS * COLUMNS + x;
  {each("var c{i}_{j} = 0.0;", i=tall, j=strips)}
  for (var k = 0u; k < TERMS; k++) {{
    {each("let b{q}_{j} = b[b0 + (k * 4u + {q}u) * COLUMNS + {j}u * STRIP];", q=4, j=strips)}
    {each("let a{i} = a[(row + {i}u) * TERMS + k];", i=tall)}
    {sums}
  }}
  {each("y[(row + {i}u) * COLUMNS + x + {j}u * STRIP] = c{i}_{j};", i=tall, j=strips)}"""
    source = head(sizes, {"a": "vec4f", "b": "f32"}, {"y": "f32"})
    source += main(f"{x}", [GROUP, LOCAL], body)
    return _limit(raw, arrays, source, divide(columns, strips * x), divide(rows, tall), batch)


def _shared(raw: Raw, arrays: Arrays, *, tall: int) -> Limit:
    """A subgroup of eight sums ``tall`` rows by 32 columns; each element of a is loaded once.

    For adapters that load lane by lane. The grid goes down before it goes across, so that what is
    read of b stays in a cache.
    """
    if "subgroup" not in raw.features or FOUR_WIDE in raw.info["device"]:
        raise UnfitError("no subgroups of eight")
    batch, rows, terms, columns = _sizes(arrays)
    sizes = {
        "ROWS": rows,
        "TERMS": divide(terms, 4),
        "ALL_TERMS": terms,
        "COLUMNS": divide(columns, 4),
        "DOWN": divide(rows, tall),
    }
    sums = "\n".join(
        f"let s{i} = subgroupBroadcast(a{i // 8}, {i % 8}u);\n"
        + "\n".join(f"c{i} = fma(vec4f(s{i}[{q}]), b{q}, c{i});" for q in range(4))
        for i in range(tall)
    )
    body = f"""
  let x = group.x / DOWN * 8u + l;
  let row = group.z * ROWS + group.x % DOWN * {tall}u;
  let b_start = group.z * ALL_TERMS * COLUMNS + x;
  let a_start = (row + l) * TERMS;
  {each("var c{i} = vec4f();", i=tall)}
  for (var k = 0u; k < TERMS; k++) {{
    {each("let b{q} = b[b_start + (k * 4u + {q}u) * COLUMNS];", q=4)}
    {each("let a{r} = a[a_start + {r}u * 8u * TERMS + k];", r=tall // 8)}
    {sums}
  }}
  {each("y[(row + {i}u) * COLUMNS + x] = c{i};", i=tall)}"""
    source = head(sizes, {"a": "vec4f", "b": "vec4f"}, {"y": "vec4f"})
    source += main("8", [GROUP, "@builtin(subgroup_invocation_id) l: u32"], body)
    return _limit(raw, arrays, source, divide(columns, 32) * sizes["DOWN"], 1, batch)


PRODUCTS: dict[str, Builder] = {
    "naive": _naive,
    "tiled 16x16": _tiled,
    "registers 4x4": partial(_registers, tall=4, wide=1),
    "registers 4x8": partial(_registers, tall=4, wide=2),
    "registers 8x4": partial(_registers, tall=8, wide=1),
    "registers 8x8": partial(_registers, tall=8, wide=2, y=4),
    "staged 4x4": partial(_staged, tall=4, wide=1, x=16, y=16, deep=16),
    "staged 8x8": partial(_staged, tall=8, wide=2, x=8, y=8, deep=16),
    "staged 8x4": partial(_staged, tall=8, wide=1, x=8, y=8, deep=32),
    "strips 4x2": partial(_strips, tall=4, strips=2, x=8),
    "strips 8x2": partial(_strips, tall=8, strips=2, x=8),
    "strips 8x1": partial(_strips, tall=8, strips=1, x=32),
    "shared 16x4": partial(_shared, tall=16),
    "shared 32x4": partial(_shared, tall=32),
}
SMALL, LARGE = ("128", "512", "tall", "batched"), ("1024", "2048", "4096")
FAR_BEHIND = ("naive", "tiled 16x16")
"""At 512 they take ten times as long as the best; what is larger would be minutes."""
WORTH_WHILE = {name: one for name, one in PRODUCTS.items() if name not in FAR_BEHIND}
VARIANTS = {
    **{f"matmul-{size}": PRODUCTS for size in SMALL},
    **{f"matmul-{size}": WORTH_WHILE for size in LARGE},
}
