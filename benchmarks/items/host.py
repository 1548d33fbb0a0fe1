"""What a call costs the host: small arrays, so that nearly all of the time is this library's.

The programs are in its own public names, and no other peer has them.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.items.item import Draw, Item, Work

CALLS = 60
LAYERS = 4
USERS_KERNEL = "BenchmarkDouble"
USERS_SHADER = """
struct Params { x_size: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.x_size) { y[id.x] = 2.0 * x[id.x]; }
}
"""


def _vector(f: Callable[..., Any]) -> Callable[..., Work]:
    """Return what builds an item of ``f(wk, x)``, x [size], float32."""

    def build(draw: Draw, size: int) -> Work:
        return Work({"x": draw.normal(size)}, f, "own")

    return build


def _dense(draw: Draw, size: int) -> Work:
    inputs = {"x": draw.normal(size, size), "w": draw.normal(size, size), "b": draw.normal(size)}
    return Work(inputs, lambda wk, x, w, b: wk.relu(x @ w + b), "own")


def _take(draw: Draw, size: int) -> Work:
    inputs = {"x": draw.normal(size, 4), "rows": draw.integers(size, size)}
    return Work(inputs, lambda wk, x, rows: wk.take(x, rows, axis=0), "own")


def _fft(draw: Draw, size: int) -> Work:
    return Work({"x": draw.complex(size)}, lambda wk, x: wk.fft.fft(x), "own")


def _replay(draw: Draw, size: int) -> Work:
    """Return a captured function of products that depend on each other."""
    captured: list[Any] = []

    def program(wk: Any, x: Any) -> Any:
        def products(x: Any) -> Any:
            for _ in range(LAYERS):
                x = x @ x
            return x

        if not captured:
            captured.append(wk.capture(products))
        return captured[0](x)

    return Work({"x": draw.normal(size, size, scale=size**-0.5)}, program, "own")


def _users_function(wk: Any, x: Any) -> Any:
    """Run a user's kernel with full control, which is registered at its first call."""
    if wk.get_kernel(USERS_KERNEL, "webgpu") is None:
        wk.signature(USERS_KERNEL)(lambda x, /: x.like())
        wk.cpu_kernel(USERS_KERNEL)(lambda x: x + x)

        @wk.wgsl_kernel(USERS_KERNEL)  # type: ignore[untyped-decorator]  # wk is any object here
        def _double(gpu: Any, x: Any) -> Any:
            y = gpu.empty(x.shape, x.dtype)
            gpu.dispatch(USERS_SHADER, {"x": x, "y": y})
            return y

    return wk.run(USERS_KERNEL, x)


def _item(name: str, build: Callable[..., Work], size: int = 256) -> Item:
    return Item(f"host-{name}", "host", build, {"size": size}, {"size": 4}, calls=CALLS)


ITEMS = [
    _item("add", _vector(lambda wk, x: x + x)),
    _item("dense", _dense, 16),
    _item("sort", _vector(lambda wk, x: wk.sort(x))),
    _item("concat", _vector(lambda wk, x: wk.concat([x, x]))),
    _item("take", _take),
    _item("fft", _fft),
    _item("replay", _replay, 16),
    _item("function", _vector(_users_function)),
]
