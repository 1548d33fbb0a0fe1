"""Products that users write beside kernels of one invocation per result, and beside our matmul.

Process CPU time in milliseconds, the least of interleaved runs: on a software adapter it scatters
less than the clock does. The kernels are those of ``docs/products.md``.
"""

import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import wgsl_kernels as wk

ROUNDS = 7
FILES = Path(__file__).parents[2] / "tests" / "webgpu" / "products"
HEAD = """struct Params { rows: u32, cols: u32, depth: u32, scale: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
"""
MAIN = """
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.y;
  let col = id.x;
  if (row >= params.rows || col >= params.cols) { return; }
  let a = (id.z * params.rows + row) * params.depth;
  let b = (id.z * params.cols + col) * params.depth;
  var sum = 0.0;
  LOOP
  y[(id.z * params.rows + row) * params.cols + col] = RESULT;
}
"""
INT8 = """for (var k = 0u; k < params.depth; k += 4u) {
    let w = vec4<f32>(unpack4xI8(weights[(b + k) / 4u]));
    sum = fma(x[a + k], w.x, sum);
    sum = fma(x[a + k + 1u], w.y, sum);
    sum = fma(x[a + k + 2u], w.z, sum);
    sum = fma(x[a + k + 3u], w.w, sum);
  }"""
DISTANCES = """for (var k = 0u; k < params.depth; k++) {
    let d = x[a + k] - c[b + k];
    sum = fma(d, d, sum);
  }"""
SCORES = """for (var k = 0u; k < params.depth; k++) {
    sum = fma(q[a + k], keys[b + k], sum);
  }"""


def plain(loop: str, result: str, **inputs: str) -> str:
    """Return a kernel of one invocation per result."""
    bound = "".join(
        f"@group(0) @binding({at}) var<storage, read> {name}: array<{type_}>;\n"
        for at, (name, type_) in enumerate(inputs.items(), 2)
    )
    return HEAD + bound + MAIN.replace("LOOP", loop).replace("RESULT", result)


PLAIN = {
    "int8_product": plain(INT8, "sum * scale[col]", x="f32", weights="u32", scale="f32"),
    "distances": plain(DISTANCES, "sum", x="f32", c="f32"),
    "scores": plain(SCORES, "select(sum * params.scale, -3.4e38, col > row)", q="f32", keys="f32"),
}


def _like_left(left: wk.Spec, right: wk.Spec) -> wk.Spec:
    return left.like(shape=(*left.shape[:-1], right.shape[-2]))


def _int8(x: wk.Spec, weights: wk.Spec, scale: wk.Spec, /) -> wk.Spec:
    return _like_left(x, weights)


def _distances(x: wk.Spec, c: wk.Spec, /) -> wk.Spec:
    return _like_left(x, c)


def _scores(q: wk.Spec, keys: wk.Spec, /) -> wk.Spec:
    return _like_left(q, keys)


RULES: dict[str, Callable[..., wk.Spec]] = {
    "int8_product": _int8,
    "distances": _distances,
    "scores": _scores,
}


def register() -> None:
    """Register each product in both forms, the second as ``<name> plain``."""
    for name, rule in RULES.items():
        first = "q" if name == "scores" else "x"
        fields = _fields_of(first)
        for kernel in (name, f"{name} plain"):
            wk.signature(kernel)(rule)
        wk.wgsl_kernel(name, str(FILES / f"{name}.wgsl"), form="product", params=fields)
        wk.wgsl_kernel(f"{name} plain", PLAIN[name], groups=_groups, params=_with_sizes(first))


def _groups(y_shape: tuple[int, ...]) -> tuple[int, ...]:
    return -(-y_shape[-1] // 8), -(-y_shape[-2] // 8), math.prod(y_shape[:-2])


def _fields_of(first: str) -> Callable[..., dict[str, Any]]:
    def of_x(x_shape: tuple[int, ...]) -> dict[str, Any]:
        return {"depth": x_shape[-1], "scale": 1 / math.sqrt(x_shape[-1])}

    def of_q(q_shape: tuple[int, ...]) -> dict[str, Any]:
        return of_x(q_shape)

    return of_q if first == "q" else of_x


def _with_sizes(first: str) -> Callable[..., dict[str, Any]]:
    def of_x(y_shape: tuple[int, ...], x_shape: tuple[int, ...]) -> dict[str, Any]:
        return {"rows": y_shape[-2], "cols": y_shape[-1], **_fields_of("x")(x_shape)}

    def of_q(y_shape: tuple[int, ...], q_shape: tuple[int, ...]) -> dict[str, Any]:
        return of_x(y_shape, q_shape)

    return of_q if first == "q" else of_x


def measure() -> dict[str, dict[str, float]]:
    """Return milliseconds of each product, of its plain kernel, and of a matmul of its shape."""
    register()
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> wk.Tensor:
        return wk.tensor(draw.standard_normal(shape).astype(np.float32))

    words = draw.integers(-(2**31), 2**31 - 1, (1024, 256)).astype(np.int32)
    inputs = {
        "int8_product": {
            "x": normal(256, 1024),
            "weights": wk.tensor(words),
            "scale": normal(1024),
        },
        "distances": {"x": normal(1024, 128), "c": normal(512, 128)},
        "scores": {"q": normal(8, 512, 64), "keys": normal(8, 512, 64)},
    }
    found: dict[str, dict[str, float]] = {}
    for name, arrays in inputs.items():
        left = next(iter(arrays.values()))
        above = left.shape[:-2]
        cols = next(iter(list(arrays.values())[1:])).shape[-2]
        right = normal(*above, left.shape[-1], cols)
        found[name] = _least(
            {
                "product": partial(wk.engine().run_kernel, name, arrays),
                "plain": partial(wk.engine().run_kernel, f"{name} plain", arrays),
                "matmul": partial(wk.matmul, left, right),
            }
        )
    return found


def _least(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    least = dict.fromkeys(runs, math.inf)
    for at in range(3 + ROUNDS):
        for name, run in runs.items():
            begin = time.process_time()
            wk.evaluate(run())
            wk.synchronize()
            if at >= 3:  # the first ones compile, and are watched
                least[name] = min(least[name], 1e3 * (time.process_time() - begin))
    return {
        **least,
        "plain / product": least["plain"] / least["product"],
        "product / matmul": least["product"] / least["matmul"],
    }


if __name__ == "__main__":
    with wk.use_backend("webgpu"):
        print(json.dumps(measure(), indent=2))
