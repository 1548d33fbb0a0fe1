"""Raw maps: a sum or product of two arrays, of an array and a row, a chain of ten, many adds."""

from collections.abc import Mapping
from functools import partial

from benchmarks.items.item import Array
from benchmarks.limits.raw import (
    COUNT,
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
WIDEST = 32_768
CHAIN: tuple[str, ...] = (
    "t * 0.5",
    "t + 1.0",
    "t * x",
    "abs(t)",
    "sqrt(t)",
    "t - 0.25",
    "max(t, vec4f())",
)
CHAIN += ("t * t", "-t", "exp(t)")
ADDS = 1000


def _two(raw: Raw, arrays: Arrays, *, op: str, kind: str, per: int, lanes: int) -> Limit:
    """``per`` elements (or vec4f) an invocation, a workgroup's width apart."""
    x, y = arrays["x"], arrays["y"]
    total = divide(x.size, (4 if kind == "vec4f" else 1) * per * lanes)
    wide = min(total, WIDEST)
    step = f"out[i + {{j}}u * LANES] = x[i + {{j}}u * LANES] {op} y[i + {{j}}u * LANES];"
    if per <= 16:
        steps = each(step, j=per)
    else:
        steps = f"for (var j = 0u; j < PER; j++) {{ {step.replace('{j}u', 'j')} }}"
    body = f"  let i = (group.y * groups.x + group.x) * LANES * PER + lane;\n{steps}"
    sizes = {"LANES": lanes, "PER": per}
    source = head(sizes, {"x": kind, "y": kind}, {"out": kind})
    source += main(f"{lanes}", [GROUP, COUNT, LANE], body)
    out = raw.empty(x.nbytes)
    buffers = [raw.place(x), raw.place(y), out]
    done = raw.dispatch(source, buffers, wide, divide(total, wide))
    return Limit([done], [Output(out, x.shape)])


def _pairs(op: str) -> dict[str, Builder]:
    shapes = {
        "scalar": ("f32", 1, 64),
        "scalar, 256 lanes": ("f32", 1, 256),
        "vec4": ("vec4f", 1, 64),
        "vec4, 256 lanes": ("vec4f", 1, 256),
        "4 vec4": ("vec4f", 4, 64),
        "16 vec4": ("vec4f", 16, 64),
        "64 vec4, a loop": ("vec4f", 64, 64),
    }
    return {
        name: partial(_two, op=op, kind=kind, per=per, lanes=lanes)
        for name, (kind, per, lanes) in shapes.items()
    }


def _row(raw: Raw, arrays: Arrays, *, per: int) -> Limit:
    """The row's vec4f are found by a remainder."""
    x, y = arrays["x"], arrays["y"]
    sizes = {"COLUMNS": divide(y.size, 4), "PER": per}
    steps = each("out[i + {j}u * 64u] = x[i + {j}u * 64u] + y[(i + {j}u * 64u) % COLUMNS];", j=per)
    source = head(sizes, {"x": "vec4f", "y": "vec4f"}, {"out": "vec4f"})
    source += main("64", [GROUP, LANE], f"  let i = group.x * 64u * PER + lane;\n{steps}")
    out = raw.empty(x.nbytes)
    groups = divide(x.size, 256 * per)
    return Limit(
        [raw.dispatch(source, [raw.place(x), raw.place(y), out], groups)], [Output(out, x.shape)]
    )


def _chain(raw: Raw, arrays: Arrays, *, per: int) -> Limit:
    """All ten in one dispatch."""
    x = arrays["x"]
    steps = "\n".join(f"    t = {one};" for one in CHAIN)
    body = f"""
  for (var j = 0u; j < PER; j++) {{
    let i = (group.x * PER + j) * 64u + lane;
    let x = given[i];
    var t = x;
{steps}
    out[i] = t;
  }}"""
    source = head({"PER": per}, {"given": "vec4f"}, {"out": "vec4f"})
    source += main("64", [GROUP, LANE], body)
    out = raw.empty(x.nbytes)
    groups = divide(x.size, 256 * per)
    return Limit([raw.dispatch(source, [raw.place(x), out], groups)], [Output(out, x.shape)])


def _chain_apart(raw: Raw, arrays: Arrays) -> Limit:
    """A dispatch for each of the ten."""
    x = arrays["x"]
    given, both = raw.place(x), [raw.empty(x.nbytes), raw.empty(x.nbytes)]
    dispatches = []
    last = given
    for i, step in enumerate(CHAIN):
        reads = {"before": "vec4f", "given": "vec4f"} if step == "t * x" else {"before": "vec4f"}
        body = "  let t = before[id.x];\n"
        body += "  let x = given[id.x];\n" if len(reads) == 2 else ""
        source = head({}, reads, {"out": "vec4f"})
        source += main("64", [GLOBAL], body + f"  out[id.x] = {step};")
        buffers = [last, given, both[i % 2]] if len(reads) == 2 else [last, both[i % 2]]
        dispatches.append(raw.dispatch(source, buffers, divide(x.size, 256)))
        last = both[i % 2]
    return Limit(dispatches, [Output(last, x.shape)])


def _adds_together(raw: Raw, arrays: Arrays) -> Limit:
    """All adds in one dispatch; adding zero times a word of memory keeps the loop."""
    x, y = arrays["x"], arrays["y"]
    body = """
  var t = x[id.x];
  for (var i = 0u; i < COUNT; i++) { t += y[id.x]; }
  out[id.x] = t;"""
    source = head({"COUNT": ADDS}, {"x": "f32", "y": "f32"}, {"out": "f32"})
    source += main("16", [GLOBAL], body)
    out = raw.empty(x.nbytes)
    done = raw.dispatch(source, [raw.place(x), raw.place(y), out], divide(x.size, 16))
    return Limit([done], [Output(out, x.shape)])


def _adds_apart(raw: Raw, arrays: Arrays) -> Limit:
    """A dispatch for each add, all in one pass, between two buffers."""
    x, y = arrays["x"], arrays["y"]
    source = head({}, {"x": "f32", "y": "f32"}, {"out": "f32"})
    source += main("16", [GLOBAL], "  out[id.x] = x[id.x] + y[id.x];")
    both = [raw.empty(x.nbytes), raw.empty(x.nbytes)]
    first = raw.dispatch(source, [raw.place(x), raw.place(y), both[0]], 1)
    there = raw.dispatch(source, [both[0], raw.place(y), both[1]], 1)
    back = raw.dispatch(source, [both[1], raw.place(y), both[0]], 1)
    between = [there, back] * (ADDS // 2)
    return Limit([first, *between[: ADDS - 1]], [Output(both[1], x.shape)])


VARIANTS: dict[str, dict[str, Builder]] = {
    "add-1m": _pairs("+"),
    "add-16m": _pairs("+"),
    "multiply-1m": _pairs("*"),
    "multiply-16m": _pairs("*"),
    "add-broadcast": {f"{per} vec4": partial(_row, per=per) for per in (1, 4, 16)},
    "chain-10": {
        "fused, 1 vec4": partial(_chain, per=1),
        "fused, 4 vec4": partial(_chain, per=4),
        "fused, 16 vec4": partial(_chain, per=16),
        "10 dispatches": _chain_apart,
    },
    "1000-adds": {"one dispatch": _adds_together},
    "1000-adds-unfused": {"1000 dispatches": _adds_apart},
}
