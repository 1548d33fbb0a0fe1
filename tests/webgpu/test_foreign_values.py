"""No shader sees what a pooled buffer holds of another tensor, wherever it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("registries_as_before")

SIZES = (1, 3, 6)
DTYPES = ("float32", "int32", "bool", "complex64", "float16")
READS = """
struct Params {{ y_size: u32 }}
@group(0) @binding(0) var<storage, read> x: array<{type}>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x < params.y_size) {{ y[id.x] = {value}; }}
}}
"""
THROUGH_ACCESSORS = """
struct Params { y_size: u32 }
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) { y[id.x] = f32(load4_x(id.x / 4u * 4u)[id.x % 4u]); }
}
"""
STRIDED = """
struct Params { y_size: u32, x_strides: vec2<u32>, x_offset: u32 }
@group(0) @binding(0) var<storage, read> x: array<f16>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) { y[id.x] = f32(x[id.x]); } // wherever the view's elements are
}
"""
IN_FOURS = "x[id.x / 4u][id.x % 4u]"


def _poison(dtype: Any) -> None:
    """Leave a marker in all of the buffers that arrays of up to 64 bytes may get."""
    with wk.config.using(fusion="never", small_ops="device"):
        value: Any = True if dtype == "bool" else 6e4 if dtype == "float16" else 70_000_000
        itemsize = {"float16": 2, "complex64": 8}.get(dtype, 4)
        sizes = [nbytes // itemsize for nbytes in (16, 32, 48, 64) for _ in range(2)]
        held = [wk.full((n,), value, dtype=dtype) for n in sizes]
        wk.evaluate(*held)
    wk.synchronize()
    del held


def _made(size: int, dtype: Any, *, poisons: bool = True) -> wk.Tensor:
    """Return ones on the device, in a buffer that held the marker; nothing writes behind them."""
    if poisons:
        _poison(dtype)
    with wk.config.using(fusion="never", small_ops="device"):
        if size == 1:  # from the host it would travel as a parameter
            x = wk.full((1,), 1, dtype=dtype)
            wk.evaluate(x)
            return x
        x = wk.tensor(np.ones(size, np.complex64 if dtype == "complex64" else dtype))
        driver: Any = find_driver("webgpu")
        driver.make_resident(x._array)
    return x


def _register(text: str, whole: bool) -> None:
    @wk.signature("Peek", override=True)
    def _peek(x: wk.Spec, /) -> wk.Spec:
        return x.like(shape=(32,), dtype="float32")

    if whole:
        wk.wgsl_kernel("Peek", text, dtypes=DTYPES, override=True)
        return

    @wk.wgsl_kernel("Peek", override=True)
    def _peek_gpu(gpu: Any, x: Any) -> Any:
        y = gpu.empty((32,), "float32")
        gpu.dispatch(text, {"x": x, "y": y})
        return y


def _peek(x: wk.Tensor) -> wk.Tensor:
    found = wk.engine().run_kernel("Peek", {"x": x}, {})
    assert isinstance(found, wk.Tensor)
    return found


def _sees_ones_alone(x: wk.Tensor) -> None:
    fast = wk.capture(lambda x: _peek(x) * 1.0)
    for f in (_peek, lambda x: _peek(x) + 0.0, fast, fast, fast):
        values = f(x).numpy()
        assert set(values.tolist()) <= {0.0, 1.0}
        assert values[: x.size].tolist() == [1.0] * x.size
    assert fast.why is None


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("dtype", "type_", "value"),
    [
        ("float32", "f32", "x[id.x]"),
        ("float32", "vec2<f32>", "x[id.x / 2u][id.x % 2u]"),
        ("float32", "vec4<T>", IN_FOURS),
        ("float32", "array<f32, 3>", "x[id.x / 3u][id.x % 3u]"),
        ("int32", "vec4<i32>", f"f32({IN_FOURS})"),
        ("bool", "vec4<u32>", f"f32({IN_FOURS})"),
        ("complex64", "vec4<f32>", "x[id.x / 2u][id.x % 2u * 2u]"),
        ("float16", "f16", "f32(x[id.x])"),
        ("float16", "vec4<f16>", f"f32({IN_FOURS})"),
    ],
)
def test_behind_an_input_of_an_authors_main_are_zeros(
    dtype: str, type_: str, value: str, whole: bool
) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16
    head = "enable f16;\n" if dtype == "float16" else ""
    _register(head + READS.format(type=type_, value=value), whole)
    for size in SIZES:
        _sees_ones_alone(_made(size, dtype))
        _sees_ones_alone(_made(size + 2, dtype)[:size])
        _sees_ones_alone(_made(size + 2, dtype)[2:])


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "float16"])
def test_behind_what_accessors_load_in_fours_are_zeros(dtype: str) -> None:
    if not find_driver("webgpu").supports(dtype):
        return  # GL has no float16
    for whole in (True, False):
        _register(THROUGH_ACCESSORS, whole)
        for size in SIZES:
            _sees_ones_alone(_made(size, dtype))


@pytest.mark.parametrize("whole", [True, False])
def test_behind_a_view_of_float16_are_zeros(whole: bool) -> None:
    if not find_driver("webgpu").supports("float16"):
        return  # GL has no float16
    _register("enable f16;\n" + STRIDED, whole)
    turned = wk.permute_dims(wk.tensor(np.ones((3, 5), np.float16)), (1, 0))
    _poison("float16")
    with wk.config.using(fusion="never", small_ops="device"):
        x = turned * 1.0  # element by element, so that half a word is left
        wk.evaluate(x)
    rows = x[:, 2:]  # the last element is the base's last
    values = _peek(rows).numpy()
    assert values[:5].tolist() == [1.0] * 5
    assert set(values.tolist()) <= {0.0, 1.0}


def test_empty_inputs_are_zeros_whatever_is_written_to_empty_outputs() -> None:
    @wk.signature("Spill")
    def _spill(x: wk.Spec, /) -> tuple[wk.Spec, wk.Spec]:
        return x.like(), x.like(shape=(0,))

    text = READS.format(type="f32", value="x[id.x]").replace("y[", "y0[").replace(" y:", " y0:")
    text = text.replace("y_size", "y0_size").replace("{ y0[", "{ y1[id.x] = 7e7; y0[")
    text += "\n@group(0) @binding(3) var<storage, read_write> y1: array<f32>;\n"
    wk.wgsl_kernel("Spill", text)
    _register(READS.format(type="f32", value="x[id.x]"), True)
    for _ in range(3):
        x, none = wk.engine().run_kernel("Spill", {"x": wk.ones((40,))}, {})
        assert x.numpy().tolist() == [1.0] * 40
        assert _peek(none).numpy().tolist() == [0.0] * 32


def test_a_map_reports_no_index_that_is_behind_its_input() -> None:
    text = """
    fn op(indices: i32) -> i32 {
      if (indices > 10) { report_index(indices); }
      return indices;
    }
    """

    @wk.signature("Report")
    def _report(indices: wk.Spec, /) -> wk.Spec:
        return indices.like()

    wk.wgsl_kernel("Report", text)
    for size in SIZES:
        found = wk.engine().run_kernel("Report", {"indices": _made(size, "int32")}, {})
        assert isinstance(found, wk.Tensor)
        assert found.numpy().tolist() == [1] * size


FORMS: dict[str, Callable[[Any], Any]] = {
    "map": lambda x: x * 1 + x - x,
    "sum": lambda x: wk.sum(x, axis=-1),
    "max": lambda x: wk.max(x, axis=0),
    "argmax": lambda x: wk.argmax(x, axis=-1),
    "cumsum": lambda x: wk.cumulative_sum(x, axis=-1),
    "cumprod": lambda x: wk.cumulative_prod(x, axis=0),
    "softmax": wk.softmax,
    "layer_norm": lambda x: wk.layer_norm(x, x[0], x[0]),
    "matmul": lambda x: wk.matmul(x, x, transpose_b=True),
    "max_pool": lambda x: wk.max_pool(wk.reshape(x, (1, *x.shape, 1)), 2, strides=1, pad="same"),
    "top_k": lambda x: wk.topk(x, 1)[0],
    "gather": lambda x: wk.gather(x, [0, 0]),
    "concat": lambda x: wk.concat([x, x], axis=-1),
    "transpose": lambda x: wk.permute_dims(x, (1, 0)) + x[0, 0],
    "one_hot": lambda x: wk.one_hot(wk.astype(x, "int32"), 3),
}


@pytest.mark.parametrize("form", FORMS)
def test_templates_give_the_same_beside_a_poisoned_pool(form: str) -> None:
    dtypes = ["int32"] if form in ("gather", "one_hot") else ["float32", "float16"]
    for dtype in filter(find_driver("webgpu").supports, dtypes):
        for shape in ((1, 3), (3, 5)):
            want: Any = None
            for poisons in (False, True):
                with wk.config.using(small_ops="device"):
                    x = wk.reshape(_made(shape[0] * shape[1], dtype, poisons=poisons), shape)
                    found = FORMS[form](x).numpy()
                want = found if want is None else want
                assert found.tobytes() == want.tobytes(), (dtype, shape)
                assert np.abs(found).max() < 1e3
