"""Small kernels with one mistake each, on the line that ends in `// wrong`, and what shows it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
HEAD = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
"""
MAIN = """
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = id.x;
"""


@dataclass(frozen=True)
class SeededBug:
    """A wrong kernel.

    Attributes:
        text: Its shader.
        x: The input.
        at: The element that is wrong.
        right: What it should be, of the input.
        shown: What the trace shows for the wrong line, given the input: the statement's value.
        marked: Whether float32 and float64 part at that line, first or worst.
        note: What the trace says beside.
    """

    text: str
    x: Array
    at: tuple[int, ...]
    right: Callable[[Array], Any]
    shown: Callable[[Array], Any] | None = None
    marked: bool = False
    note: str = ""


def of_map(body: str) -> str:
    return f"fn op(x: T) -> T {{\n{body}\n}}\n"


def of_main(body: str, declared: str = "") -> str:
    return f"{HEAD}{declared}{MAIN}{body}\n}}\n"


def of_moments(finish: str) -> str:
    return f"""
fn init() -> vec3<f32> {{ return vec3<f32>(0.0); }}
fn lift(x: T) -> vec3<f32> {{ return vec3<f32>(1.0, x, x * x); }}
fn combine(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {{ return a + b; }}
fn finish(t: vec3<f32>) -> T {{
{finish}
}}
"""


SMALL = np.linspace(-2, 2, 9, dtype=np.float32)
LONG = np.linspace(-1, 1, 64, dtype=np.float32)
FAR = (1000 + np.random.default_rng(0).random((1, 300))).astype(np.float32)

BUGS: dict[str, SeededBug] = {
    "wrong sign": SeededBug(
        of_map("  let below = 1.0 - abs(x); // wrong\n  return x / below;"),
        SMALL, (5,), lambda x: x[5] / (1 + abs(x[5])), lambda x: 1 - abs(x[5]),
    ),
    "swapped operands": SeededBug(
        of_map("  let d = 1.0 - x; // wrong\n  return d * 3.0;"),
        SMALL, (0,), lambda x: (x[0] - 1) * 3, lambda x: 1 - x[0],
    ),
    "wrong index": SeededBug(
        of_main("  y[i] = x[i + 1u] * 2.0; // wrong"),
        LONG, (3,), lambda x: x[3] * 2, lambda x: x[4] * 2,
    ),
    "index below zero": SeededBug(
        of_main("  let before = x[i - 1u]; // wrong\n  y[i] = x[i] - before;"),
        LONG, (0,), lambda x: x[0], lambda x: x[63], note="outside",
    ),
    "wrong stride": SeededBug(
        of_main("  let row = i / 8u;\n  let col = i % 8u;\n"
                "  let place = row * 7u + col; // wrong\n  y[i] = x[place];"),
        LONG, (20,), lambda x: x[20], lambda x: 2 * 7 + 4,
    ),
    "cancellation": SeededBug(
        of_moments("  let m = t.y / t.x;\n  return t.z / t.x - m * m; // wrong"),
        FAR, (0,), lambda x: x.astype(np.float64).var(), marked=True,
    ),
    "absorption": SeededBug(
        of_map("  let high = x + 1.0e8; // wrong\n  return high - 1.0e8;"),
        SMALL, (7,), lambda x: x[7], lambda x: 1e8,
    ),
    "log near one": SeededBug(
        of_map("  let z = 1.0 + x; // wrong\n  return log(z);"),
        np.array([1e-7, 3e-8], np.float32), (1,), lambda x: np.log1p(x[1]), lambda x: 1,
    ),
    "small differences": SeededBug(
        of_map("  let a = sqrt(x + 1.0);\n  let b = sqrt(x);\n  return a - b; // wrong"),
        np.array([1e6, 3e6], np.float32), (1,),
        lambda x: 1 / (np.sqrt(x[1] + 1.0) + np.sqrt(float(x[1]))), marked=True,
    ),
    "overflow": SeededBug(
        of_map("  let e = exp(x); // wrong\n  return e / (e + 1.0);"),
        np.array([1.0, 100.0], np.float32), (1,), lambda x: 1.0, lambda x: np.inf, marked=True,
    ),
    "overflow of i32": SeededBug(
        of_map("  let n = i32(x);\n  let square = n * n; // wrong\n  return f32(square);"),
        np.array([3.0, 65536.0], np.float32), (1,), lambda x: x[1] ** 2, lambda x: 0,
    ),
    "missing barrier": SeededBug(
        of_main("  t[lane] = x[i];\n  y[i] = t[63u - lane]; // wrong",
                "var<workgroup> t: array<f32, 64>;"),
        LONG, (5,), lambda x: x[58], lambda x: x[58], note="nothing orders them",
    ),
    "read before the write": SeededBug(
        of_main("  let other = t[63u - lane]; // wrong\n  t[lane] = x[i];\n"
                "  workgroupBarrier();\n  y[i] = other;", "var<workgroup> t: array<f32, 64>;"),
        LONG, (5,), lambda x: x[58], lambda x: 0, note="before anybody wrote it",
    ),
    "wrong branch": SeededBug(
        of_map("  if (x > 0.0) { // wrong\n    return 0.1 * x;\n  }\n  return x;"),
        SMALL, (8,), lambda x: x[8], lambda x: True,
    ),
    "wrong case": SeededBug(
        of_main("  switch (i % 3u) {\n    case 0u: { y[i] = 1.0; }\n"
                "    case 1u, 2u: { y[i] = 2.0; } // wrong\n    default: { y[i] = 3.0; }\n  }"),
        LONG, (5,), lambda x: 3.0, lambda x: 2.0,
    ),
    "one round too few": SeededBug(
        of_main("  var s = 0.0;\n  for (var k = 1u; k < 4u; k++) { // wrong\n"
                "    s += x[i / 4u * 4u + k];\n  }\n  y[i] = s;"),
        LONG, (9,), lambda x: x[8:12].sum(), lambda x: False,
    ),
    "left too early": SeededBug(
        of_main("  var best = -9.0;\n  for (var k = 0u; k < 4u; k++) {\n"
                "    best = max(best, x[i + k]);\n    if (best > -0.9) { // wrong\n"
                "      break;\n    }\n  }\n  y[i] = best;"),
        LONG, (4,), lambda x: x[7], lambda x: True,
    ),
    "wrong start": SeededBug(
        of_main("  var s = 1.0; // wrong\n  for (var k = 0u; k < 64u; k++) {\n"
                "    s += x[k] * x[k];\n  }\n  y[i] = s;"),
        LONG, (0,), lambda x: (x.astype(np.float64) ** 2).sum(), lambda x: 1,
    ),
    "integer division": SeededBug(
        of_main("  let half = f32(i / 2u); // wrong\n  y[i] = half + x[i];"),
        LONG, (7,), lambda x: 3.5 + x[7], lambda x: 3,
    ),
    "misspelt constant": SeededBug(
        of_map("  let inner = x + 0.44715 * x * x * x; // wrong\n"
               "  return 0.5 * x * (1.0 + tanh(0.7978845608 * inner));"),
        SMALL, (6,), lambda x: 0.5 * x[6] * (1 + np.tanh(0.7978845608 * (x[6] + 0.044715))),
        lambda x: x[6] + 0.44715 * x[6] ** 3,
    ),
    "swapped limits": SeededBug(
        of_map("  return clamp(x, 1.0, 0.0); // wrong"),
        SMALL, (5,), lambda x: x[5], lambda x: 0,
    ),
    "wrong component": SeededBug(
        of_map("  let v = vec3<f32>(x, x * x, x * x * x);\n  return v.x + v.y + v.y; // wrong"),
        SMALL, (7,), lambda x: x[7] + x[7] ** 2 + x[7] ** 3, lambda x: x[7] + 2 * x[7] ** 2,
    ),
    "wrong function": SeededBug(
        of_map("  return near(x) + 1.0;\n}\nfn near(a: f32) -> f32 {\n"
               "  return floor(a); // wrong"),
        SMALL, (5,), lambda x: 2.0, lambda x: 0,
    ),
}  # fmt: skip
