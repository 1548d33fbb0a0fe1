"""Raw softmax, log-softmax, layer norm and transposes."""

from collections.abc import Mapping
from functools import partial

import numpy as np
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
SUBGROUP_LANES = 8
WAYS = {
    "a row an invocation": (1, ""),
    "a row a workgroup": (64, "workgroup"),
    "a row a subgroup": (SUBGROUP_LANES, "subgroup"),
}
"""Lanes that share a row, and how they join what they found."""


def _joined(how: str, value: str, op: str) -> str:
    """Return statements that put the sum or maximum of ``value`` over a row's lanes in ``all``."""
    if not how:
        return f"all = {value};"
    if how == "subgroup":
        return f"all = {'subgroupMax' if op == 'max' else 'subgroupAdd'}({value});"
    joined = {"max": "max(part[lane], part[lane + half])", "sum": "part[lane] + part[lane + half]"}
    return f"""part[lane] = {value};
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {{
    if (lane < half) {{ part[lane] = {joined[op]}; }}
    workgroupBarrier();
  }}
  all = part[0];
  workgroupBarrier();"""


def _row_program(
    raw: Raw, rows: int, lanes: int, how: str, text: str, body: str
) -> tuple[str, int]:
    """Return the shader for ``body``, which goes from ``lane`` in steps of LANES, and its grid."""
    if how == "subgroup" and (
        "subgroup" not in raw.features or EIGHT_WIDE not in raw.info["device"]
    ):
        raise UnfitError("subgroups of eight")
    if how:
        shared = "var<workgroup> part: array<f32, LANES>;\n" if how == "workgroup" else ""
        start = "  let row = group.x;\n"
        return text + shared + main(f"{lanes}", [GROUP, LANE], start + body), rows
    start = "  let row = id.x;\n  let lane = 0u;\n"
    return text + main("8", [GLOBAL], start + body), divide(rows, 8)


def _softmax(raw: Raw, arrays: Arrays, *, lanes: int, how: str, log: bool) -> Limit:
    """Three passes over the row: the maximum, the sum, the result."""
    x = arrays["x"]
    rows, columns = x.shape
    keep = "" if log else "    y[begin + i] = e;\n"
    final = "x[begin + i] - vec4f(top + log(all))" if log else "y[begin + i] * (1.0 / all)"
    body = f"""
  var all = 0.0;
  let begin = row * COLUMNS;
  var m = vec4f(-3.4e38);
  for (var i = lane; i < COLUMNS; i += LANES) {{ m = max(m, x[begin + i]); }}
  {_joined(how, "max(max(m.x, m.y), max(m.z, m.w))", "max")}
  let top = all;
  var s = vec4f();
  for (var i = lane; i < COLUMNS; i += LANES) {{
    let e = exp(x[begin + i] - vec4f(top));
{keep}    s += e;
  }}
  {_joined(how, "s.x + s.y + s.z + s.w", "sum")}
  for (var i = lane; i < COLUMNS; i += LANES) {{ y[begin + i] = {final}; }}"""
    sizes = {"LANES": lanes, "COLUMNS": divide(columns, 4)}
    text = head(sizes, {"x": "vec4f"}, {"y": "vec4f"})
    source, groups = _row_program(raw, rows, lanes, how, text, body)
    y = raw.empty(x.nbytes)
    return Limit([raw.dispatch(source, [raw.place(x), y], groups)], [Output(y, x.shape)])


def _layer_norm(raw: Raw, arrays: Arrays, *, lanes: int, how: str) -> Limit:
    """Two passes: sums of the elements and of their squares, then the result."""
    x, scale, offset = arrays["x"], arrays["scale"], arrays["offset"]
    rows, columns = x.shape
    body = f"""
  var all = 0.0;
  let begin = row * COLUMNS;
  var s = vec4f();
  var q = vec4f();
  for (var i = lane; i < COLUMNS; i += LANES) {{
    let v = x[begin + i];
    s += v;
    q += v * v;
  }}
  {_joined(how, "s.x + s.y + s.z + s.w", "sum")}
  let mean = all / f32(COLUMNS * 4u);
  {_joined(how, "q.x + q.y + q.z + q.w", "sum")}
  let factor = inverseSqrt(all / f32(COLUMNS * 4u) - mean * mean + 1e-5);
  for (var i = lane; i < COLUMNS; i += LANES) {{
    y[begin + i] = (x[begin + i] - mean) * factor * scale[i] + offset[i];
  }}"""
    sizes = {"LANES": lanes, "COLUMNS": divide(columns, 4)}
    reads = {"x": "vec4f", "scale": "vec4f", "offset": "vec4f"}
    text = head(sizes, reads, {"y": "vec4f"})
    source, groups = _row_program(raw, rows, lanes, how, text, body)
    y = raw.empty(x.nbytes)
    buffers = [raw.place(x), raw.place(scale), raw.place(offset), y]
    return Limit([raw.dispatch(source, buffers, groups)], [Output(y, x.shape)])


def _swapped(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return batch, rows and columns of the matrices that are transposed."""
    if len(shape) == 2:
        return 1, shape[0], shape[1]
    batch, height, width, channels = shape
    return batch, height * width, channels


def _transpose(raw: Raw, arrays: Arrays, *, way: str) -> Limit:
    """Element by element; by tiles of 32 in workgroup memory; by tiles of 4 in registers."""
    x = arrays["x"]
    batch, rows, columns = _swapped(x.shape)
    y = raw.empty(x.nbytes)
    shape = x.shape[::-1] if x.ndim == 2 else tuple(np.array(x.shape)[[0, 3, 1, 2]].tolist())
    sizes = {"ROWS": rows, "COLUMNS": columns}
    plain = head(sizes, {"x": "f32"}, {"y": "f32"})
    if way == "plain":
        body = """
  let first = id.z * ROWS * COLUMNS;
  y[first + id.y * ROWS + id.x] = x[first + id.x * COLUMNS + id.y];"""
        source = plain + main("16, 16", [GLOBAL], body)
        groups = divide(rows, 16), divide(columns, 16), batch
    elif way == "tiles":
        body = """
  let first = group.z * ROWS * COLUMNS;
  let corner = group.xy * 32u;
  for (var j = 0u; j < 32u; j += 8u) {
    tile[l.y + j][l.x] = x[first + (corner.y + l.y + j) * COLUMNS + corner.x + l.x];
  }
  workgroupBarrier();
  for (var j = 0u; j < 32u; j += 8u) {
    y[first + (corner.x + l.y + j) * ROWS + corner.y + l.x] = tile[l.x][l.y + j];
  }"""
        source = plain + "var<workgroup> tile: array<array<f32, 33>, 32>;\n"
        source += main("32, 8", [GROUP, "@builtin(local_invocation_id) l: vec3u"], body)
        groups = divide(columns, 32), divide(rows, 32), batch
    else:
        body = """
  let x0 = id.z * ROWS * COLUMNS / 4u + id.y * COLUMNS + id.x;
  let W = COLUMNS / 4u;
  let m = transpose(mat4x4f(x[x0], x[x0 + W], x[x0 + 2u * W], x[x0 + 3u * W]));
  let y0 = id.z * ROWS * COLUMNS / 4u + id.x * ROWS + id.y;
  for (var i = 0u; i < 4u; i++) { y[y0 + i * (ROWS / 4u)] = m[i]; }"""
        source = head(sizes, {"x": "vec4f"}, {"y": "vec4f"}) + main("8, 8", [GLOBAL], body)
        groups = divide(columns, 32), divide(rows, 32), batch
    done = raw.dispatch(source, [raw.place(x), y], *groups)
    return Limit([done], [Output(y, shape)])


def _softmaxes(log: bool) -> dict[str, Builder]:
    return {
        name: partial(_softmax, lanes=lanes, how=how, log=log)
        for name, (lanes, how) in WAYS.items()
    }


TRANSPOSES: dict[str, Builder] = {
    way: partial(_transpose, way=way) for way in ("plain", "tiles", "registers")
}
VARIANTS: dict[str, dict[str, Builder]] = {
    "softmax": _softmaxes(log=False),
    "log-softmax": _softmaxes(log=True),
    "layer-norm": {
        name: partial(_layer_norm, lanes=lanes, how=how) for name, (lanes, how) in WAYS.items()
    },
    "softmax-4096": _softmaxes(log=False),
    "transpose": TRANSPOSES,
    "transpose-4096": TRANSPOSES,
    "permute-4d": TRANSPOSES,
}
