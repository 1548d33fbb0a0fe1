"""A plan refuses tensors and fields that a shader would take on trust, with the cpu's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

pytestmark = pytest.mark.usefixtures("registries_as_before")

MAP = "fn op(a: f32, b: f32) -> f32 {\n  return a * b;\n}\n"
SUM = "fn init() -> f32 {\n  return 0.0;\n}\nfn combine(a: f32, b: f32) -> f32 { return a + b; }\n"
APPLY = SUM + "fn apply(x: f32, w: f32, total: f32) -> f32 { return x * w; }\n"
COPY = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&y)) { y[id.x] = x[id.x]; }
}
"""


@pytest.fixture(params=["never", "always"], autouse=True)
def fusion(request: pytest.FixtureRequest) -> Any:
    with wk.config.using(fusion=request.param):
        yield


def _ones(*shape: int) -> wk.Tensor:
    return wk.tensor(np.ones(shape, np.float32))


def _run(name: str, *inputs: Any, **attrs: Any) -> Any:
    given = dict(zip("abx" if name == "Two" else "xw", inputs, strict=False))
    return wk.engine().run_kernel(name, given, attrs)


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((3, 2), (2, 3)), ((4, 1), (3, 2))])
@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_inputs_of_a_map_broadcast_against_each_other(shapes: Any, backend: str) -> None:
    @wk.signature("Two")
    def _two(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        return a.like()

    @wk.cpu_kernel("Two")
    def _two_cpu(a: Any, b: Any) -> Any:
        return a * b

    wk.wgsl_kernel("Two", MAP)
    with wk.use_backend(backend), pytest.raises(ValueError, match=r"broadcast"):
        _run("Two", *(_ones(*shape) for shape in shapes))
    assert np.array_equal(_run("Two", _ones(3, 2), _ones(2)).numpy(), np.ones((3, 2)))


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize(
    ("form", "text", "shape", "says", "gives"),
    [
        (None, "fn op(x: f32) -> f32 {\n  return x;\n}\n", (2,), (3,), (2,)),
        (None, "fn op(x: f32) -> f32 {\n  return x;\n}\n", (1,), (3,), (1,)),
        (None, "fn op(x: f32) -> f32 {\n  return x;\n}\n", (4, 2), (2,), (4, 2)),
        (None, SUM, (2,), (2,), ()),
        (None, SUM, (2, 3), (2, 3), (2,)),
        (None, SUM, (2, 3), (3,), (2,)),
        (None, SUM, (0, 3), (3,), (0,)),
        ("scan", SUM, (3,), (4,), (3,)),
        (None, APPLY.replace("w: f32, ", "").replace("* w", "* total"), (2, 3), (2,), (2, 3)),
    ],
)
def test_the_output_has_the_shape_that_the_form_gives(
    backend: str, form: Any, text: str, shape: Any, says: Any, gives: Any
) -> None:
    @wk.signature("Odd")
    def _odd(x: wk.Spec, /, *, axis: int = -1) -> wk.Spec:
        return x.like(shape=says)

    @wk.cpu_kernel("Odd")
    def _odd_cpu(x: Any, *, axis: int) -> Any:
        return np.ones(gives, np.float32)

    wk.wgsl_kernel("Odd", text, form=form)
    words = r"Odd: {} gave shape \[{}\], its signature says \[{}\]\."
    shown = [", ".join(map(str, one)) for one in (gives, says)]
    whose = {"cpu": "the cpu kernel", "webgpu": "its shader"}[backend]
    with wk.use_backend(backend), pytest.raises(wk.ShapeError, match=words.format(whose, *shown)):
        _run("Odd", _ones(*shape), axis=-1)


@pytest.mark.parametrize("axis", [1, (0, 1), None])
def test_apply_takes_one_element_of_its_further_inputs_for_each_reduced(axis: Any) -> None:
    @wk.signature("Weighted")
    def _weighted(x: wk.Spec, w: wk.Spec, /, *, axis: Any) -> wk.Spec:
        return x.like()

    wk.wgsl_kernel("Weighted", APPLY)
    count = 4 if axis == 1 else 12
    for size in (1, count - 1, count + 1):
        with pytest.raises(wk.ShapeError, match=rf"Weighted: w is \[{size}\].* want {count}\."):
            _run("Weighted", _ones(3, 4), _ones(size), axis=axis)
    assert _run("Weighted", _ones(3, 4), _ones(count), axis=axis).shape == (3, 4)


def test_apply_wants_an_axis() -> None:
    @wk.signature("NoAxis")
    def _no_axis(x: wk.Spec, w: wk.Spec, /) -> wk.Spec:
        return x.like()

    wk.wgsl_kernel("NoAxis", APPLY)
    with pytest.raises(wk.ArgumentError, match="no attribute says along which axis apply goes"):
        _run("NoAxis", _ones(2, 3), _ones(3))
    assert _run("NoAxis", _ones(3), _ones(3)).numpy().tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("form", "text"), [(None, MAP.replace(", b: f32", "")), ("scan", SUM)])
def test_a_form_of_one_output_refuses_several(form: Any, text: str) -> None:
    @wk.signature("Pair")
    def _pair(a: wk.Spec, /) -> tuple[wk.Spec, wk.Spec]:
        return a.like(), a.like()

    wk.wgsl_kernel("Pair", text.replace("* b", ""), form=form)
    with pytest.raises(wk.ArgumentError, match=r"Pair: its signature says 2 outputs; a .* one"):
        wk.engine().run_kernel("Pair", {"a": _ones(3)}, {})


def test_a_shader_refuses_a_list() -> None:
    @wk.signature("Many")
    def _many(x: list[wk.Spec], /) -> wk.Spec:
        return x[0].like()

    wk.wgsl_kernel("Many", "fn op(x: f32) -> f32 {\n  return x;\n}\n")
    with pytest.raises(wk.ArgumentError, match="Many: input 'x' is a list"):
        _run("Many", [_ones(3), _ones(3)])


def test_maps_of_full_control_broadcast_to_their_shape() -> None:
    @wk.signature("Control")
    def _control(x: wk.Spec, w: wk.Spec, /) -> wk.Spec:
        return x.like()

    @wk.wgsl_kernel("Control")
    def _control_gpu(gpu: Any, x: Any, w: Any) -> Any:
        return gpu.map(MAP, {"a": x, "b": w}, x.shape, x.dtype)

    with pytest.raises(wk.ShapeError, match=r"shapes do not broadcast: a is \[2\], b is \[3\]"):
        _run("Control", _ones(2), _ones(3))
    with pytest.raises(wk.ShapeError, match=r"gave shape \[2, 2\], its signature says \[2\]"):
        _run("Control", _ones(2), _ones(2, 2))


@pytest.mark.parametrize(
    ("type_", "value", "words"),
    [
        ("vec4<f32>", 2.0, "a vector; k is 2.0; want 4 numbers"),
        ("vec4<f32>", (1.0, 2.0), r"a vector; k is \(1.0, 2.0\); want 4 numbers"),
        ("vec2<u32>", 1, "a vector; k is 1; want 2 numbers"),
        ("vec2<T>", (1, 2, 3), "room for 2 numbers"),
        ("u32", -1, "u32; k is -1; want 0 to 4294967295"),
        ("u32", -1.0, "u32; k is -1.0; want 0 to 4294967295"),
        ("vec2<u32>", (3, -3), "u32; k is -3; want 0"),
        ("array<vec4<u32>, 2>", (3, -3), "u32; k is -3; want 0"),
        ("u32", 1 << 32, "want 0 to 4294967295"),
        ("u32", 5e9, "want 0 to 4294967295"),
        ("i32", 1 << 31, "want -2147483648 to 2147483647"),
        ("i32", -1e10, "want -2147483648 to 2147483647"),
        ("i32", float("nan"), "a whole number; k is nan"),
        ("u32", float("inf"), "a whole number; k is inf"),
        ("i32", 0.5, "a whole number; k is 0.5"),
        ("mat2x2<f32>", (1, 2, 3, 4), "type mat2x2<f32> cannot be filled"),
        ("array<f32, 4>", (1, 2, 3, 4), "type array<f32, 4> cannot be filled"),
    ],
)
@pytest.mark.parametrize("host", [False, True])
def test_a_field_takes_what_it_can_hold(type_: str, value: Any, words: str, host: bool) -> None:
    @wk.signature("Field")
    def _field(x: wk.Spec, /, *, k: Any) -> wk.Spec:
        return x.like()

    text = (
        f"struct Attrs {{ k: {type_} }}\n\nfn op(x: f32) -> f32 {{ let k = attrs.k; return x; }}\n"
    )
    wk.wgsl_kernel("Field", text)
    with pytest.raises(wk.ShaderError, match=words):
        _run("Field", 2.0 if host else _ones(70), k=value)


@pytest.mark.parametrize(
    ("type_", "read", "value", "want"),
    [
        ("vec4<f32>", "attrs.k.x", (1.0, 2.0, 3.0, 4.0), 1.0),
        ("array<vec4<u32>, 2>", "f32(attrs.k[1].w)", (5, 7), 7.0),
        ("u32", "f32(attrs.k)", True, 1.0),
        ("i32", "f32(attrs.k)", -(1 << 31), -(2.0**31)),
        ("T", "attrs.k", 0.5, 0.5),
        ("f32", "attrs.k", 10**400, np.inf),
        ("x_shape", "f32(attrs.x_shape.w)", 0, 3.0),
    ],
)
def test_a_field_holds_what_it_was_given(type_: str, read: str, value: Any, want: float) -> None:
    @wk.signature("Field")
    def _field(x: wk.Spec, /, *, k: Any) -> wk.Spec:
        return x.like()

    field = "x_shape: vec4<u32>" if type_ == "x_shape" else f"k: {type_}"
    wk.wgsl_kernel("Field", f"struct Attrs {{ {field} }}\nfn op(x: T) -> T {{ return {read}; }}\n")
    assert _run("Field", _ones(3), k=value).numpy().tolist() == [want] * 3


@pytest.mark.parametrize(
    "groups", [(-1,), (1.5,), (float("nan"),), (float("inf"),), (), (1, 1, 1, 1), 3, ("1",)]
)
def test_a_grid_is_whole_numbers(groups: Any) -> None:
    @wk.signature("Grid")
    def _grid(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    wk.wgsl_kernel("Grid", COPY, groups=lambda: groups)
    with pytest.raises(wk.ArgumentError, match=r"Grid: groups is .* one to three whole numbers"):
        _run("Grid", _ones(3)).numpy()


def test_a_grid_of_nothing_leaves_no_output_unwritten() -> None:
    @wk.signature("Grid")
    def _grid(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    wk.wgsl_kernel("Grid", COPY, groups=lambda: (0, 4))
    with pytest.raises(wk.ArgumentError, match=r"nothing writes y, which is \[3\]"):
        _run("Grid", _ones(3)).numpy()
    wk.signature("Grid", override=True)(lambda x, /: (x.like(shape=(0,)), x.like()))
    text = COPY.replace("y[", "y1[").replace("&y", "&y1").replace(" y:", " y1:")
    empty_first = text + "@group(0) @binding(2) var<storage, read_write> y0: array<f32>;\n"
    wk.wgsl_kernel("Grid", empty_first, override=True)
    with pytest.raises(wk.ArgumentError, match=r"nothing writes y1, which is \[3\]"):
        _run("Grid", _ones(3))
    wk.wgsl_kernel("Grid", empty_first, groups=lambda: (1,), override=True)
    assert _run("Grid", _ones(3))[1].numpy().tolist() == [1.0, 1.0, 1.0]
    wk.signature("Grid", override=True)(lambda x, /: x.like())
    wk.wgsl_kernel("Grid", COPY, groups=lambda: (1 << 40,), override=True)
    with pytest.raises(wk.ArgumentError, match="max-compute-workgroups-per-dimension"):
        _run("Grid", _ones(3)).numpy()
    wk.wgsl_kernel("Grid", COPY, groups=lambda: (0,), init={"y": 7}, override=True)
    assert _run("Grid", _ones(3)).numpy().tolist() == [7.0, 7.0, 7.0]


MISFITS: dict[str, tuple[str, Any, Any, list[tuple[int, ...]]]] = {
    "a map that does not broadcast": (MAP, None, None, [(3,), (4,)]),
    "a map of more than its signature says": (MAP, None, None, [(3,), (2, 3)]),
    "a reduction that keeps all": (SUM, None, None, [(2, 3)]),
    "a gate of the shape of what is reduced": (APPLY, None, None, [(2, 3), (2, 3)]),
    "a scan of two inputs": (SUM, "scan", None, [(3,), (3,)]),
    "a scan that gives less": (SUM, "scan", (2,), [(3,)]),
    "a window over a row": (SUM, "window", (1, 1), [(4, 4)]),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_kernel_from_one_text_refuses_the_same_in_the_same_words(case: str) -> None:
    text, form, says, shapes = MISFITS[case]

    def of_one(x: wk.Spec, /, *, axis: int = -1, filter_size: int = 2) -> wk.Spec:
        return x.like(shape=says)

    def of_two(a: wk.Spec, b: wk.Spec, /, *, axis: int = -1) -> wk.Spec:
        return a.like(shape=says)

    def of_weights(x: wk.Spec, w: wk.Spec, /, *, axis: int = -1) -> wk.Spec:
        return x.like(shape=says)

    wk.signature("Twin")(of_one if len(shapes) == 1 else of_weights if text == APPLY else of_two)
    wk.wgsl_kernel("Twin", text, form=form, cpu="derive")
    said = []
    for name in ("cpu", "webgpu"):
        with wk.use_backend(name), pytest.raises(wk.WgslKernelsError, match=r"^Twin: ") as found:
            wk.run("Twin", *(_ones(*shape) for shape in shapes)).numpy()
        said.append(str(found.value))
    assert said[0] == said[1]
