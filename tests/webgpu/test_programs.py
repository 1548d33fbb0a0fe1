"""Programs: what will run is a value that can be printed, hashed and compared before it runs."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.lowering.copying import lower_copy
from wgsl_kernels.backends.webgpu.lowering.free import lower_free
from wgsl_kernels.backends.webgpu.lowering.map import lower_map
from wgsl_kernels.backends.webgpu.lowering.reduce import lower_reduce
from wgsl_kernels.backends.webgpu.lowering.scan import lower_scan
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
from wgsl_kernels.backends.webgpu.programs.program import BindingResource, Dispatch, Program
from wgsl_kernels.backends.webgpu.tuning.tuner import forced
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.origin import Origin
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.indexing.pairs import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(11)
HERE = Origin(__name__, __file__, 0)
SUM = """fn init() -> T { return T(0); }
fn combine(a: T, b: T) -> T { return a + b; }
"""
FREE = """
struct Params { y_size: u32, scale: f32 }
@group(0) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.y_size) {
    store_y(id.x, load_x(id.x) * params.scale);
  }
}
"""


@pytest.fixture(autouse=True)
def _on_webgpu() -> Iterator[None]:
    with wk.use_backend("webgpu"), wk.config.using(fusion="auto", small_ops="device"):
        yield


@pytest.fixture
def device() -> Device:
    return cast("WebGpuBackend", find_driver("webgpu")).open()


def given(n: int, shape: Shape, dtype: DType = "float32", layout: Any = None) -> Argument:
    return Argument(shape, dtype, layout, BindingResource("input", n))


def call(text: str, names: tuple[str, ...], shape: Shape, **attrs: Any) -> ShaderCall:
    shader = ShaderKernel("Own", text, HERE)
    return ShaderCall(shader, names, attrs, (Spec(shape, "float32"),), ("y",))


def tensor(*shape: int) -> wk.Tensor:
    return wk.tensor(RNG.standard_normal(shape).astype(np.float32))


def programs(f: Callable[[], Any]) -> list[Program]:
    """Return the program of each dispatch that ``f`` takes when it is warm."""
    for _ in range(3):
        wk.evaluate(f())
    return [row.program for row in wk.explain(f).dispatches]


def test_lowering_runs_nothing_and_gives_a_frozen_value(device: Device) -> None:
    square = call("fn op(x: T) -> T {\n  return x * x;\n}\n", ("x",), (8, 8))
    before = device.recorded

    program = lower_map(square, [given(0, (8, 8))], device)

    assert device.recorded == before
    (one,) = program.dispatches
    assert [(b.name, b.place, b.nbytes) for b in one.reads] == [
        ("x", BindingResource("input", 0), 256)
    ]
    assert [(b.name, b.place, b.nbytes) for b in one.writes] == [
        ("y", BindingResource("buffer", 0), 256)
    ]
    assert program.buffers == (Spec((8, 8), "float32"),)
    assert program.outputs == (0,)
    assert len(program.buffers) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        program.outputs = ()  # type: ignore[misc]  # that it raises is the point


def test_programs_are_equal_and_hash_alike_where_the_same_would_run(device: Device) -> None:
    text = "fn op(a: T, b: T) -> T {\n  return a - b;\n}\n"
    one, two = (
        lower_map(call(text, ("a", "b"), (8, 8)), [given(0, (8, 8)), given(1, (8, 8))], device)
        for _ in range(2)
    )
    other_shape = lower_map(
        call(text, ("a", "b"), (8, 9)), [given(0, (8, 9)), given(1, (8, 9))], device
    )
    turned = lower_map(
        call(text, ("a", "b"), (8, 8)),
        [given(0, (8, 8)), given(1, (8, 8), layout=((1, 8), 0))],
        device,
    )
    other_text = lower_map(
        call(text.replace("a - b", "a + b"), ("a", "b"), (8, 8)),
        [given(0, (8, 8)), given(1, (8, 8))],
        device,
    )

    assert one == two
    assert hash(one) == hash(two)
    assert len({one, other_shape, turned, other_text}) == 4
    assert other_shape.dispatches[0].module == one.dispatches[0].module  # sizes are parameters
    assert turned.dispatches[0].module != one.dispatches[0].module


def test_a_program_prints_its_grid_bindings_and_lines_with_origins(device: Device) -> None:
    program, _ = lower_reduce(call(SUM, ("x",), (4,), axis=1), [given(0, (4, 100))], device, "rows")

    said, shown = str(program), program.dispatches[0].show()

    assert "configuration: variant rows, parts 1" in said
    assert "buffer 0: [4] float32, a result" in said
    assert "x reads input 0, 1600 bytes" in said
    assert "accepts a prologue for x, an epilogue" in said
    own = Path(__file__).read_text().splitlines()
    number = next(n for n, one in enumerate(own, start=1) if one.startswith("fn combine"))
    origin = f"{os.path.relpath(__file__)}:{number}"
    line = next(one for one in shown.splitlines() if "fn combine" in one)
    assert line.startswith(origin)
    assert any("templates/" in one for one in shown.splitlines())


def test_long_rows_hand_partial_results_from_one_dispatch_to_the_next(device: Device) -> None:
    program, choice = lower_reduce(call(SUM, ("x",), ()), [given(0, (1 << 22,))], device, "rows")

    first, second = program.dispatches
    partials = program.buffers[1]
    assert first.writes[0].place == second.reads[0].place == BindingResource("buffer", 1)
    assert first.writes[0].nbytes <= partials.nbytes
    assert first.accepts_prologue == {"x"}
    assert not first.accepts_epilogue
    assert second.accepts_epilogue
    assert not second.accepts_prologue
    assert choice is not None
    assert len(choice.names) > 1


def test_a_variant_of_a_scan_is_its_configuration(device: Device) -> None:
    scan = ShaderCall(
        ShaderKernel("Own", SUM, HERE, form="scan"),
        ("x",),
        {"axis": 1},
        (Spec((512, 512), "float32"),),
        ("y",),
    )
    static, choice = lower_scan(scan, [given(0, (512, 512))], device)

    assert choice is not None
    for name in choice.names:
        program, _ = lower_scan(scan, [given(0, (512, 512))], device, name)
        assert {*program.configuration} >= {*choice.candidates[name].settings(name)}
        assert (program == static) == (name == choice.static)


def test_a_copy_of_a_view_is_a_program(device: Device) -> None:
    program = lower_copy(given(0, (128, 256), layout=((1, 128), 0)), device)

    (one,) = program.dispatches
    assert one.reads[0].layout == ((1, 128), 0)
    assert program.outputs == (0,)


def test_groups_and_params_of_a_free_kernel_are_called_once_while_it_is_lowered() -> None:
    called: list[str] = []

    def groups(y_shape: Shape) -> tuple[int, ...]:
        called.append("groups")
        return (-(-y_shape[0] // 64),)

    def params(x_shape: Shape) -> dict[str, float]:
        called.append("params")
        return {"scale": float(x_shape[0])}

    @wk.signature("ScaledByLength")
    def _(x: Any, /) -> Any:
        return x.like()

    wk.wgsl_kernel("ScaledByLength", FREE, groups=groups, params=params)
    x = tensor(100)

    found = [wk.engine().run_kernel("ScaledByLength", {"x": x}) for _ in range(3)]

    assert called == ["params", "groups"]
    for one in found:
        np.testing.assert_array_equal(cast("wk.Tensor", one).numpy(), x.numpy() * np.float32(100))


def test_clearing_an_output_is_a_dispatch(device: Device) -> None:
    text = FREE.replace("load_x(id.x) * params.scale", "load_x(id.x)").replace("scale: f32", "")
    shader = ShaderKernel("Own", text, HERE, init={"y": 3.0})
    cleared = ShaderCall(shader, ("x",), {}, (Spec((50,), "float32"),), ("y",))

    program = lower_free(cleared, [given(0, (50,))], device)

    fill, own = program.dispatches
    assert fill.kernels == ("Fill",)
    assert fill.writes[0].place == own.writes[0].place == BindingResource("buffer", 0)
    assert not own.accepts_epilogue


def test_the_rows_of_explain_carry_their_programs() -> None:
    x, w, b = tensor(64, 64), tensor(64, 64), tensor(64)

    def layer() -> wk.Tensor:
        return wk.relu(x @ w + b)

    (program,) = programs(layer)
    (row,) = wk.explain(layer).dispatches

    assert row.program == program
    assert row.dispatch in program.dispatches
    assert row.dispatch.kernels == row.kernels == ("BatchMatMul", "Add", "Relu")
    assert {"variant", "TILE_M", "SPLIT"} <= dict(program.configuration).keys()
    assert row.dispatch.module.text
    assert "BatchMatMul + Add + Relu" in wk.explain(layer).show()


def test_a_program_says_all_that_was_chosen_for_it() -> None:
    x = tensor(8, 5000)

    with forced("TopK", "sorted"):
        (program,) = {row.program for row in wk.explain(lambda: wk.topk(x, 3)[0]).dispatches}

    method, pairs, *_ = program.chosen["variant"].split(" + ")
    assert method == "sorted"
    assert pairs in METHODS
    assert str(program).startswith(f"configuration: variant sorted + {pairs}")


def test_a_row_says_which_limit_ended_its_dispatch() -> None:
    x = tensor(32)

    def deep() -> wk.Tensor:
        y = x
        for _ in range(140):
            y = -y
        return y

    with wk.config.using(fusion="always"):
        rows = wk.explain(deep).dispatches

    assert len(rows) > 1
    assert "at most" in rows[0].cause


def test_a_captured_run_is_one_program_of_what_it_ran() -> None:
    w = wk.variable(RNG.standard_normal((32, 32)).astype(np.float32))

    @wk.capture
    def step(x: wk.Tensor) -> wk.Tensor:
        y = wk.relu(x @ w)
        return wk.softmax(y)

    x = tensor(32, 32)
    for _ in range(3):
        step(x)
    rows = wk.explain(lambda: step(x)).dispatches

    assert len(rows) > 1
    assert len({row.program for row in rows}) == 1
    program = rows[0].program
    assert program.dispatches == tuple(row.dispatch for row in rows)
    assert isinstance(program.dispatches[0], Dispatch)
    written = [one.place for d in program.dispatches for one in d.writes]
    assert BindingResource("buffer", 0) in written
    read = {one.place for d in program.dispatches for one in d.reads}
    assert read & set(written)  # one dispatch reads what another wrote


class Calls:
    """A function with full control that is watched, of two dispatches."""

    def __init__(self, name: str, *, promises: bool = True, reads: bool = False) -> None:
        self.name, self.count = name, 0
        copy = FREE.replace("load_x(id.x) * params.scale", "load_x(id.x) + 1.0")
        copy = copy.replace(", scale: f32", "")

        @wk.signature(name)
        def _(x: Any, /) -> Any:
            return x.like()

        @wk.wgsl_kernel(name)
        def _(gpu: Any, x: Any) -> Any:
            self.count += 1
            if promises:
                gpu.repeats()
            between = gpu.empty(x.shape, x.dtype)
            gpu.dispatch(copy, {"x": x, "y": between})
            if reads:
                gpu.read(between)
            y = gpu.empty(x.shape, x.dtype)
            gpu.dispatch(copy, {"x": between, "y": y})
            return y

    def run(self, x: wk.Tensor) -> wk.Tensor:
        """Run the kernel."""
        return cast("wk.Tensor", wk.engine().run_kernel(self.name, {"x": x}))


def test_a_function_that_repeats_is_called_for_its_program_once_per_layout() -> None:
    twice = Calls("AddTwoByTwo")
    x = tensor(6, 50)

    found = [twice.run(x).numpy() for _ in range(6)]
    turned = [twice.run(wk.permute_dims(tensor(50, 6), (1, 0))).numpy() for _ in range(4)]

    assert twice.count == 3  # as it is, then symbolically for either layout
    for one in found:
        np.testing.assert_array_equal(one, x.numpy() + np.float32(1) + np.float32(1))
    assert len(turned) == 4


def test_the_program_of_a_function_has_its_temporaries() -> None:
    twice = Calls("AddTwoAgain")
    x = tensor(70)

    first, second = programs(lambda: twice.run(x))

    assert first == second
    assert len(first.dispatches) == 2
    temporaries = [one for n, one in enumerate(first.buffers) if n not in first.outputs]
    assert temporaries == [Spec((70,), "float32")]


def test_a_function_that_promises_nothing_or_reads_is_called_each_time() -> None:
    silent, reading = Calls("AddTwoUnpromised", promises=False), Calls("AddTwoRead", reads=True)
    x = tensor(20)

    for _ in range(5):
        for one in (silent, reading):
            np.testing.assert_array_equal(
                one.run(x).numpy(), x.numpy() + np.float32(1) + np.float32(1)
            )

    assert silent.count == reading.count == 5


def test_maps_behind_a_function_are_fused_into_its_program_without_a_call() -> None:
    twice = Calls("AddTwoAndMore")
    x = tensor(70)

    def more() -> wk.Tensor:
        return wk.exp(twice.run(x) * 0.5)

    for _ in range(4):
        wk.evaluate(more())
    before = twice.count
    rows = wk.explain(more).dispatches

    assert [row.kernels for row in rows] == [
        ("AddTwoAndMore",),
        ("AddTwoAndMore", "Multiply", "Exp"),
    ]
    assert twice.count == before
    np.testing.assert_allclose(more().numpy(), np.exp((x.numpy() + 2) * np.float32(0.5)), rtol=1e-5)
