"""A raw training step of the perceptron: eight dispatches, all weights in one buffer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.items.item import Array
from benchmarks.limits.raw import (
    GLOBAL,
    Builder,
    Dispatch,
    Limit,
    Output,
    Raw,
    divide,
    each,
    head,
    main,
)
from benchmarks.peers.vocabulary import ADAM_EPSILON, LEARNING_RATE

Arrays = Mapping[str, Array]
NAMES = ("w1", "b1", "w2", "b2")


def _perceptron(raw: Raw, arrays: Arrays) -> Limit:
    """The hidden layer, logits, loss, four gradients, and one Adam over everything."""
    x, labels = arrays["x"], arrays["labels"]
    batch, pixels = x.shape
    hidden, classes = arrays["w2"].shape
    sizes = {"BATCH": batch, "PIXELS": pixels, "HIDDEN": hidden, "CLASSES": classes}
    begins, total = {}, 0
    for name in NAMES:
        begins[name] = total
        total += -(-arrays[name].size // 4) * 4
    weights = np.zeros(total, np.float32)
    for name in NAMES:
        weights[begins[name] :][: arrays[name].size] = arrays[name].ravel()
    sizes |= {name.upper(): begin for name, begin in begins.items()} | {"TOTAL": total}
    p, moments = raw.place(weights), [raw.place(np.zeros_like(weights)) for _ in range(3)]
    gradient, first, second = moments
    count = raw.place(np.zeros(4, np.float32))
    h, dh = (raw.empty(batch * hidden * 4) for _ in range(2))
    z, dz = (raw.empty(batch * classes * 4) for _ in range(2))
    losses, loss = raw.empty(batch * 4), raw.empty(16)
    given, wanted = raw.place(x), raw.place(labels)

    def step(
        reads: dict[str, str], writes: dict[str, str], buffers: list[Any], body: str,
        lanes: str, *groups: int,
    ) -> Dispatch:  # fmt: skip
        source = head(sizes, reads, writes) + main(lanes, [GLOBAL], body)
        return raw.dispatch(source, buffers, *groups)

    four = "vec4f"
    dispatches = [
        step({"x": four, "p": four}, {"h": four}, [given, p, h], _hidden(), "8, 8",
             divide(hidden, 32), divide(batch, 32)),
        step({"h": "f32", "p": "f32"}, {"z": "f32"}, [h, p, z], LOGITS, "16, 4",
             1, divide(batch, 4)),
        step({"z": "f32", "labels": "f32"}, {"dz": "f32", "losses": "f32"},
             [z, wanted, dz, losses], LOSS, "64", divide(batch, 64)),
        step({"h": "f32", "dz": "f32", "losses": "f32"},
             {"g": "f32", "loss": "f32", "count": "f32"},
             [h, dz, losses, gradient, loss, count], SECOND, "16, 4", 1, hidden // 4 + 1),
        step({"h": "f32", "dz": "f32", "p": "f32"}, {"dh": "f32"}, [h, dz, p, dh], BACK, "64",
             divide(hidden, 64), batch),
        step({"x": four, "dh": four}, {"g": four}, [given, dh, gradient], FIRST, "16, 4",
             divide(hidden, 64), divide(pixels, 16)),
        step({"dh": four}, {"g": four}, [dh, gradient], BIAS, "64", divide(hidden, 256)),
        step({"g": four, "count": "f32"}, {"p": four, "m": four, "v": four},
             [gradient, count, p, first, second], ADAM, "64", -(-total // 256)),
    ]  # fmt: skip
    return Limit(dispatches, [Output(loss, ())])


def _hidden() -> str:
    sums = each("c{i} = fma(vec4f(a{i}[{q}]), b{q}, c{i});", i=4, q=4)
    return f"""
  let W = HIDDEN / 4u;
  {each("var c{i} = p[B1 / 4u + id.x];", i=4)}
  for (var k = 0u; k < PIXELS / 4u; k++) {{
    {each("let b{q} = p[W1 / 4u + (k * 4u + {q}u) * W + id.x];", q=4)}
    {each("let a{i} = x[(id.y * 4u + {i}u) * (PIXELS / 4u) + k];", i=4)}
    {sums}
  }}
  {each("h[(id.y * 4u + {i}u) * W + id.x] = max(c{i}, vec4f());", i=4)}"""


LOGITS = """
  if (id.x < CLASSES) {
    var s = p[B2 + id.x];
    for (var k = 0u; k < HIDDEN; k++) {
      s = fma(h[id.y * HIDDEN + k], p[W2 + k * CLASSES + id.x], s);
    }
    z[id.y * CLASSES + id.x] = s;
  }"""
LOSS = """
  let first = id.x * CLASSES;
  var top = z[first];
  for (var i = 1u; i < CLASSES; i++) { top = max(top, z[first + i]); }
  var s = 0.0;
  for (var i = 0u; i < CLASSES; i++) { s += exp(z[first + i] - top); }
  let log_sum = log(s) + top;
  var found = 0.0;
  for (var i = 0u; i < CLASSES; i++) {
    let e = z[first + i] - log_sum;
    dz[first + i] = (exp(e) - labels[first + i]) / f32(BATCH);
    found -= labels[first + i] * e;
  }
  losses[id.x] = found;"""
SECOND = """
  if (id.x < CLASSES && id.y < HIDDEN) {
    var s = 0.0;
    for (var n = 0u; n < BATCH; n++) {
      s = fma(h[n * HIDDEN + id.y], dz[n * CLASSES + id.x], s);
    }
    g[W2 + id.y * CLASSES + id.x] = s;
  } else if (id.x < CLASSES && id.y == HIDDEN) {
    var s = 0.0;
    for (var n = 0u; n < BATCH; n++) { s += dz[n * CLASSES + id.x]; }
    g[B2 + id.x] = s;
  } else if (id.x == CLASSES && id.y == HIDDEN) {
    var s = 0.0;
    for (var n = 0u; n < BATCH; n++) { s += losses[n]; }
    loss[0] = s / f32(BATCH);
    count[0] += 1.0;
  }"""
BACK = """
  var s = 0.0;
  if (h[id.y * HIDDEN + id.x] > 0.0) {
    for (var j = 0u; j < CLASSES; j++) {
      s = fma(dz[id.y * CLASSES + j], p[W2 + id.x * CLASSES + j], s);
    }
  }
  dh[id.y * HIDDEN + id.x] = s;"""
FIRST = f"""
  let W = HIDDEN / 4u;
  {each("var c{i} = vec4f();", i=4)}
  for (var n = 0u; n < BATCH; n++) {{
    let a = x[n * (PIXELS / 4u) + id.y];
    let b = dh[n * W + id.x];
    {each("c{i} = fma(vec4f(a[{i}]), b, c{i});", i=4)}
  }}
  {each("g[W1 / 4u + (id.y * 4u + {i}u) * W + id.x] = c{i};", i=4)}"""
BIAS = """
  var s = vec4f();
  for (var n = 0u; n < BATCH; n++) { s += dh[n * (HIDDEN / 4u) + id.x]; }
  g[B1 / 4u + id.x] = s;"""
ADAM = f"""
  if (id.x >= TOTAL / 4u) {{ return; }}
  let slope = g[id.x];
  m[id.x] = mix(slope, m[id.x], 0.9);
  v[id.x] = mix(slope * slope, v[id.x], 0.999);
  let mean = m[id.x] / (1.0 - pow(0.9, count[0]));
  let root = sqrt(v[id.x] / (1.0 - pow(0.999, count[0])));
  p[id.x] -= {LEARNING_RATE} * mean / (root + {ADAM_EPSILON});"""
VARIANTS: dict[str, dict[str, Builder]] = {"mlp-step": {"8 dispatches": _perceptron}}
