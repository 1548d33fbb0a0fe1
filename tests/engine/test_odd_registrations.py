"""What is registered wrongly is refused where that stands, and odd attributes alike everywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OP = "fn op(x: T) -> T {\n  return x;\n}\n"
odd: Any = wk
"""The package for calls that its types forbid."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


def plain(x: Any) -> Any:
    return x


def starred(*x: Any) -> Any:
    return x


def keywords(x: Any, /, **k: Any) -> Any:
    return x


REFUSED: dict[str, Callable[[], object]] = {
    "op: name is <function plain": lambda: odd.op(plain),
    "Write @op('Name') above the function": lambda: odd.op(plain),
    "signature: name is <function plain": lambda: odd.signature(plain),
    "cpu_kernel: name is <function plain": lambda: odd.cpu_kernel(plain),
    "wgsl_kernel: name is <function plain": lambda: odd.wgsl_kernel(plain),
    "gradient: name is <function plain": lambda: odd.gradient(plain),
    "no_gradient: name is ['K']": lambda: odd.no_gradient(["K"], because="so"),
    "register_kernel: name is 5": lambda: odd.register_kernel(5, "cpu", plain),
    "register_kernel: K: the function is 5": lambda: odd.register_kernel("K", "cpu", 5),
    "unregister_kernel: name is ['K']": lambda: odd.unregister_kernel(["K"], "cpu"),
    "op: K: the function is 5": lambda: odd.op("K")(5),
    "cpu_kernel: K: the function is 5": lambda: odd.cpu_kernel("K")(5),
    "wgsl_kernel: K: the function is 5": lambda: odd.wgsl_kernel("K")(5),
    "gradient: K: the function is 5": lambda: odd.gradient("K")(5),
    "K: its signature takes *;": lambda: wk.op("K")(starred),
    "K: its signature takes **;": lambda: wk.signature("K")(keywords),
    "K: promote is ('z',); want some of its inputs in a tuple, which are x": lambda: wk.op(
        "K", promote=("z",)
    )(plain),
    "K: promote is 'x'": lambda: wk.signature("K", promote="x")(plain),
    "K: promote is 5": lambda: odd.op("K", promote=5)(plain),
    "K: override is 'yes'": lambda: odd.op("K", override="yes")(plain),
    "wgsl_kernel: K: dtypes is 5": lambda: odd.wgsl_kernel("K", OP, dtypes=5),
    "wgsl_kernel: K: dtypes is 'float32'": lambda: wk.wgsl_kernel("K", OP, dtypes="float32"),
    "wgsl_kernel: K: dtypes is ('float99',)": lambda: odd.wgsl_kernel("K", OP, dtypes=("float99",)),
    "cpu_kernel: K: dtypes is 5": lambda: odd.cpu_kernel("K", dtypes=5),
    "wgsl_kernel: K: accepts_epilogue is 'a'": lambda: odd.wgsl_kernel("K", accepts_epilogue="a"),
    "wgsl_kernel: K: override is 'a'": lambda: odd.wgsl_kernel("K", OP, override="a"),
    "wgsl_kernel: K: source is 5": lambda: odd.wgsl_kernel("K", 5),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_registration_is_refused_where_it_stands(words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=re.escape(words)):
        REFUSED[words]()

    assert wk.get_kernel("K", "cpu") is None
    assert wk.get_kernel("K", "webgpu") is None


@pytest.mark.gpu
def test_odd_attributes_are_refused_alike_on_both_backends() -> None:
    scaled = wk.op("Scaled")(lambda x, /, *, by=0.5, times=1, twice=False: None)
    wk.cpu_kernel("Scaled")(lambda x, *, by, times, twice: x * np.float32(by) * times * (1 + twice))
    wk.wgsl_kernel(
        "Scaled",
        "struct Attrs { by: f32, times: i32, twice: u32 }\nfn op(x: f32) -> f32 {\n"
        "  return x * attrs.by * f32(attrs.times) * f32(1u + attrs.twice);\n}\n",
    )
    wrong = {"by": ("a", None, (1.0, 2.0), object(), b"2"), "times": ("a", b"2"), "twice": (2, "a")}
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            for name, values in wrong.items():
                for value in values:
                    with pytest.raises(wk.ArgumentError, match=f"^Scaled: {name} is "):
                        scaled(wk.tensor([1.0]), **{name: value})
            assert scaled(wk.tensor([1.0]), by=2, times=3, twice=True).tolist() == [12.0]


SCAN = """fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""
FREE = """struct P { n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) i: vec3<u32>) {
  if (i.x < p.n) { y[i.x] = x[i.x]; }
}
"""


def dispatched(gpu: Any, x: Any, **given: Any) -> Any:
    arguments: dict[str, Any] = {"shader": FREE, "params": {"n": 4}, **given}
    gpu.dispatch(arguments.pop("shader"), {"x": x, "y": gpu.empty((4,), "float32")}, **arguments)


CALLS: dict[str, Callable[[Any, Any], object]] = {
    "empty: shape is None": lambda gpu, x: gpu.empty(None, "float32"),
    "empty: shape is [[1]]": lambda gpu, x: gpu.empty([[1]], "float32"),
    "empty got dtype ['a']": lambda gpu, x: gpu.empty((4,), ["a"]),
    "empty: shape is 1.5": lambda gpu, x: gpu.full(1.5, "float32", 0),
    "values is 5; want an array of NumPy": lambda gpu, x: gpu.upload(5, "float32"),
    "array is 5; want an array of the gpu": lambda gpu, x: gpu.contiguous(5),
    "invocations is None": lambda gpu, x: gpu.grid(None, 64),
    "group is 0": lambda gpu, x: gpu.grid(64, 0),
    "shape is None": lambda gpu, x: gpu.view(x, None, (1,), 0),
    "strides is None": lambda gpu, x: gpu.view(x, (4,), None, 0),
    "strides is (1, 1); want one for each of [4]": lambda gpu, x: gpu.view(x, (4,), (1, 1), 0),
    "offset is 'a'": lambda gpu, x: gpu.view(x, (4,), (1,), "a"),
    "shader is 5": lambda gpu, x: gpu.map(5, {"x": x}, (4,), "float32"),
    "arrays is 5": lambda gpu, x: gpu.map(OP, 5, (4,), "float32"),
    "x is 5; want an array": lambda gpu, x: gpu.map(OP, {"x": 5}, (4,), "float32"),
    "shape is 'a'": lambda gpu, x: gpu.map(OP, {"x": x}, "a", "float32"),
    "axis is 'a'": lambda gpu, x: gpu.scan(SCAN, x, "float32", axis="a"),
    "axis is 1; x is [4]": lambda gpu, x: gpu.scan(SCAN, x, "float32", axis=1),
    "exclusive is 'a'": lambda gpu, x: gpu.scan(SCAN, x, "float32", axis=0, exclusive="a"),
    "x is None": lambda gpu, x: gpu.scan(SCAN, None, "float32", axis=0),
    "x is 5": lambda gpu, x: gpu.window(SCAN, 5, "float32", filter_size=2),
    "window has no attribute 'size'": lambda gpu, x: gpu.window(SCAN, x, "float32", size=2),
    "params is 5": lambda gpu, x: dispatched(gpu, x, params=5),
    "params['n'] is {}": lambda gpu, x: dispatched(gpu, x, params={"n": {}}),
    "constants is 5": lambda gpu, x: dispatched(gpu, x, constants=5),
    "constants['n'] is 'a'": lambda gpu, x: dispatched(gpu, x, constants={"n": "a"}),
    "windows is 5": lambda gpu, x: dispatched(gpu, x, windows=5),
    "configuration is 'a'": lambda gpu, x: dispatched(gpu, x, configuration="a"),
    "groups is [[1]]": lambda gpu, x: dispatched(gpu, x, groups=[[1]]),
    "slots is [1]": lambda gpu, x: dispatched(gpu, x, slots=[1]),
    "notes is 5": lambda gpu, x: dispatched(gpu, x, notes=5),
    "key is [1]": lambda gpu, x: dispatched(gpu, x, key=[1]),
}


@pytest.mark.gpu
@pytest.mark.parametrize("words", CALLS)
def test_a_call_of_the_gpu_names_the_kernel_and_the_argument(words: str) -> None:
    wk.signature("Odd")(lambda x, /: x.like())
    wk.wgsl_kernel("Odd")(lambda gpu, x: CALLS[words](gpu, x))

    with (
        wk.use_backend("webgpu"),
        pytest.raises(wk.WgslKernelsError, match=rf"^Odd: {re.escape(words)}"),
    ):
        wk.evaluate(wk.engine().run_kernel("Odd", {"x": wk.tensor([0.0, 1.0, 2.0, 3.0])}))
