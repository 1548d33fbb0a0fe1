"""Products that users write: what an element is, and what becomes of a sum."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.testing.bounds import matmul_bound
from wgsl_kernels.testing.sample import Sample

Array = np.ndarray[Any, Any]
FILES = Path(__file__).parent / "products"
pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]


def run(name: str, **arrays: Array) -> Array:
    """Return what a kernel makes of arrays: the first time by a call, then by a program."""
    inputs = {n: wk.tensor(one) for n, one in arrays.items()}
    runs = [wk.engine().run_kernel(name, inputs) for _ in range(3)]
    found = [one.numpy() for one in runs if isinstance(one, wk.Tensor)]
    assert len({one.tobytes() for one in found}) == 1
    return found[-1]


def explained(name: str, **arrays: Array) -> str:
    """Return what `explain` prints for a kernel that runs for the second time."""
    inputs = {n: wk.tensor(one) for n, one in arrays.items()}
    with wk.config.using(small_ops="device"):
        wk.evaluate(wk.engine().run_kernel(name, inputs))
        return str(wk.explain(lambda: wk.engine().run_kernel(name, inputs)))


def _register(name: str, params: Any, *shapes: str) -> None:
    wk.wgsl_kernel(name, str(FILES / f"{name.lower()}.wgsl"), form="product", params=params)


def _int8() -> None:
    @wk.signature("Int8_Product")
    def _(x: wk.Spec, weights: wk.Spec, scale: wk.Spec, /) -> wk.Spec:
        return x.like(shape=(x.shape[0], weights.shape[0]))

    _register("Int8_Product", lambda x_shape: {"depth": x_shape[-1]})


def _distances() -> None:
    @wk.signature("Distances")
    def _(x: wk.Spec, c: wk.Spec, /) -> wk.Spec:
        return x.like(shape=(x.shape[0], c.shape[0]))

    _register("Distances", lambda x_shape: {"depth": x_shape[-1]})


def _scores() -> None:
    @wk.signature("Scores")
    def _(q: wk.Spec, keys: wk.Spec, /) -> wk.Spec:
        return q.like(shape=(*q.shape[:-1], keys.shape[-2]))

    def params(q_shape: tuple[int, ...]) -> dict[str, Any]:
        return {"depth": q_shape[-1], "scale": 1 / math.sqrt(q_shape[-1])}

    _register("Scores", params)


draw = np.random.default_rng(0)


def _normal(*shape: int) -> Array:
    return draw.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("sizes", [(64, 48, 64), (5, 7, 12), (1, 9, 4), (130, 66, 8)])
def test_int8_weights_are_dequantised_on_load(sizes: tuple[int, int, int]) -> None:
    rows, cols, depth = sizes
    _int8()
    weights = draw.integers(-128, 128, (cols, depth), dtype=np.int8)
    x, scale = _normal(rows, depth), _normal(cols)
    packed = weights.view(np.int32).reshape(cols, depth // 4)
    found = run("Int8_Product", x=x, weights=packed, scale=scale)
    np.testing.assert_allclose(found, x @ weights.T.astype(np.float32) * scale, 2e-5, 2e-3)


@pytest.mark.parametrize("sizes", [(64, 48, 64), (5, 7, 9), (1, 1, 1), (130, 67, 3), (9, 4, 3000)])
def test_squared_distances_between_rows(sizes: tuple[int, int, int]) -> None:
    rows, cols, depth = sizes
    _distances()
    x, c = _normal(rows, depth), _normal(cols, depth)
    wanted = ((x[:, None] - c) ** 2).sum(-1)
    np.testing.assert_allclose(run("Distances", x=x, c=c), wanted, 2e-5, 1e-4)


@pytest.mark.parametrize("sizes", [(2, 64, 64, 32), (3, 5, 7, 9), (1, 33, 40, 4)])
def test_attention_scores_with_scale_and_mask(sizes: tuple[int, int, int, int]) -> None:
    heads, rows, cols, depth = sizes
    _scores()
    q, keys = _normal(heads, rows, depth), _normal(heads, cols, depth)
    wanted = q @ keys.transpose(0, 2, 1) / np.sqrt(depth)
    wanted = np.where(np.arange(cols) > np.arange(rows)[:, None], np.float32(-3.4e38), wanted)
    np.testing.assert_allclose(run("Scores", q=q, keys=keys), wanted, 2e-5, 2e-5)


def test_loads_are_vec4_where_that_is_proved_and_the_reason_is_told_where_not() -> None:
    _distances()
    vec4 = explained("Distances", x=_normal(8, 12), c=_normal(16, 12))
    assert "\n      operand a: vec4 loads of x\n      operand b: vec4 loads of c" in vec4
    scalar = explained("Distances", x=_normal(8, 9), c=_normal(16, 9))
    assert "\n      operand a: scalar loads: depth is 9, no multiple of 4 (" in scalar
    assert "vec4 loads" not in scalar


def test_loads_are_told_of_a_fused_program_and_by_show() -> None:
    _distances()
    x, c = wk.tensor(_normal(64, 16)), wk.tensor(_normal(32, 16))

    def f() -> wk.Tensor:
        found = wk.engine().run_kernel("Distances", {"x": x, "c": c})
        assert isinstance(found, wk.Tensor)
        return wk.sqrt(found)

    with wk.config.using(fusion="always", small_ops="device"):
        wk.evaluate(f())
        wk.evaluate(f())
        seen = wk.explain(f)
    assert "Distances + Sqrt" in str(seen)
    assert "operand b: vec4 loads of c" in str(seen)
    assert "\n  operand b: vec4 loads of c" in seen.show()


def test_maps_are_fused_behind_a_product() -> None:
    _distances()
    x, c = wk.tensor(_normal(64, 16)), wk.tensor(_normal(32, 16))

    def f() -> wk.Tensor:
        found = wk.engine().run_kernel("Distances", {"x": x, "c": c})
        assert isinstance(found, wk.Tensor)
        return wk.sqrt(found + 1.0)

    with wk.config.using(fusion="always", small_ops="device"):
        seen = wk.profile(f)
    assert [row.kernels for row in seen.dispatches] == [("Distances", "Add", "Sqrt")]
    wanted = np.sqrt(((x.numpy()[:, None] - c.numpy()) ** 2).sum(-1) + 1)
    np.testing.assert_allclose(seen.result.numpy(), wanted, 2e-5)


PRODUCT = """
fn a_at(batch: u32, row: u32, k: u32) -> f32 { return load_a(row * params.depth + k); }
fn b_at(batch: u32, k: u32, col: u32) -> f32 { return load_b_at(Coords_b(k, col)); }
"""


def _plain(text: str = PRODUCT, params: Any = None, **more: Any) -> None:
    @wk.signature("Plain")
    def _(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        return a.like(shape=(a.shape[0], b.shape[-1]))

    given = params or (lambda a_shape: {"depth": a_shape[-1]})
    wk.wgsl_kernel("Plain", text, form="product", params=given, **more)


def test_views_are_read_through_accessors_without_a_copy() -> None:
    _plain(
        PRODUCT.replace(
            "return load_a(row * params.depth + k)", "return load_a_at(Coords_a(row, k))"
        )
    )
    a, b = wk.tensor(_normal(12, 8)), wk.tensor(_normal(10, 12))
    found = wk.engine().run_kernel("Plain", {"a": wk.transpose(a), "b": wk.transpose(b)})
    assert isinstance(found, wk.Tensor)
    np.testing.assert_allclose(found.numpy(), a.numpy().T @ b.numpy().T, 1e-5, 1e-5)


def test_a_long_sum_is_split_and_finished_once() -> None:
    _plain(
        PRODUCT
        + "fn finish(sum: f32, b: u32, i: u32, j: u32) -> f32 { return sum * 2.0 + f32(j); }"
    )
    a, b = _normal(2, 70_000), _normal(70_000, 3)
    wanted = a.astype(np.float64) @ b * 2 + np.arange(3)
    np.testing.assert_allclose(run("Plain", a=a, b=b), wanted, 1e-4, 2e-2)


def test_a_sum_of_no_terms_is_finished_too() -> None:
    _plain(PRODUCT + "fn finish(sum: f32, b: u32, i: u32, j: u32) -> f32 { return sum + f32(i); }")
    found = run("Plain", a=np.zeros((3, 0), np.float32), b=np.zeros((0, 2), np.float32))
    assert found.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_a_product_has_the_gradient_that_its_author_writes() -> None:
    _plain()

    @wk.gradient("Plain")
    def _(dy: wk.Tensor, a: wk.Tensor, b: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        return dy @ wk.transpose(b), wk.transpose(a) @ dy

    a, b = wk.tensor(_normal(4, 6)), wk.tensor(_normal(6, 5))

    def loss(a: wk.Tensor, b: wk.Tensor) -> wk.Tensor:
        found = wk.engine().run_kernel("Plain", {"a": a, "b": b})
        assert isinstance(found, wk.Tensor)
        return wk.sum(found)

    da, db = wk.grads(loss)(a, b)
    np.testing.assert_allclose(da.numpy(), np.tile(b.numpy().sum(1), (4, 1)), 1e-5, 1e-5)
    np.testing.assert_allclose(db.numpy(), np.tile(a.numpy().sum(0), (5, 1)).T, 1e-5, 1e-5)


def test_what_a_file_or_a_registration_lacks_is_told() -> None:
    with pytest.raises(wk.ShaderError, match=r"Plain: <inline in .*>: a product wants fn a_at\("):
        _plain("// Nothing.\nfn b_at(batch: u32, k: u32, col: u32) -> f32 { return 0.0; }\n")
    with pytest.raises(wk.ShaderError, match=r"wants fn b_at\(batch: u32, .*; found fn a_at\."):
        _plain("// Half.\nfn a_at(batch: u32, row: u32, k: u32) -> f32 { return 0.0; }\n")
    with pytest.raises(wk.ArgumentError, match=r"Plain: params is missing; want .*'depth'"):
        wk.wgsl_kernel("Plain", PRODUCT, form="product")
    with pytest.raises(wk.ArgumentError, match="Plain: groups is for other forms"):
        _plain(groups=lambda: (1,))
    with pytest.raises(wk.ArgumentError, match=r"form is 'products'; want 'scan', .*'product'"):
        wk.wgsl_kernel("Plain", PRODUCT, form="products")  # type: ignore[call-overload]  # no form


BAD = [
    ({"depth": -1}, PRODUCT, wk.ArgumentError, "Plain: params= gave depth = -1; want the length"),
    ({"rank": 1}, PRODUCT, wk.ArgumentError, "params= gave no 'depth'; want the length"),
    ({"depth": 4, "taps": 1}, PRODUCT, wk.ArgumentError, "params has the field 'taps', a name"),
    ({"depth": 4, "a b": 1}, PRODUCT, wk.ArgumentError, "params= gave a field 'a b'; want a name"),
    ({"depth": 4, "shift": -1}, PRODUCT, wk.ArgumentError, "params= gave shift = -1; want a"),
    ({"depth": 4}, PRODUCT.replace("params.depth", "params.deep"), wk.ShaderError,
     r"2:\d+: Plain: params has no field 'deep'; known: rows, cols, depth"),
    ({"depth": 4}, PRODUCT + "fn term(a: f32, b: f32) -> f32 { return a; }\n", wk.ShaderError,
     "'term' takes 2 parameters; want 3"),
    ({"depth": 4}, PRODUCT.replace("load_b_at(", "nothing("), wk.ShaderError,
     r"3:\d+: nothing is called 'nothing' here"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "text", "error", "message"), BAD)
def test_bad_fields_and_slots_are_told_at_their_place(
    fields: dict[str, Any], text: str, error: type[Exception], message: str
) -> None:
    def register_and_run() -> None:
        _plain(text, params=lambda: fields)
        run("Plain", a=_normal(4, 4), b=_normal(4, 4))

    with pytest.raises(error, match=message):
        register_and_run()


MISSPELT = """/* params.depths was a name of this */
fn a_at(batch: u32, row: u32, k: u32) -> f32 { return a[row * params.depth + k]; }
fn b_at(batch: u32, k: u32, col: u32) -> f32 { return b[col * params . depths + k]; }
"""


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_a_misspelt_field_is_told_where_it_is_read(backend: str) -> None:
    _plain(MISSPELT, params=lambda: {"depth": 4}, cpu="derive")
    with wk.use_backend(backend), pytest.raises(wk.ShaderError) as caught:
        run("Plain", a=_normal(4, 4), b=_normal(4, 4))

    assert "fn b_at(" in str(caught.value)
    assert "has no field 'depths'; known: rows, cols, depth" in str(caught.value)
    assert "Did you mean 'depth'?" in str(caught.value)


def test_a_variable_that_is_called_params_is_none_of_the_fields() -> None:
    text = f"""{PRODUCT}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {{
  let params = vec2<f32>(2.0, 0.0);
  return sum * params.x;
}}
"""
    _plain(text, params=lambda: {"depth": 4})
    a, b = _normal(4, 4), _normal(4, 4)
    np.testing.assert_allclose(run("Plain", a=a, b=b), 2 * (a @ b), rtol=1e-4, atol=1e-5)


def test_an_output_of_one_axis_is_refused() -> None:
    @wk.signature("Plain")
    def _(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        return a.like(shape=(4,))

    wk.wgsl_kernel("Plain", PRODUCT, form="product", params=lambda: {"depth": 4})
    with pytest.raises(wk.ShapeError, match=r"its output is \[4\]; want at least two axes"):
        run("Plain", a=_normal(4, 4), b=_normal(4, 4))


def _checked(text: str = PRODUCT) -> None:
    """Register a product of matrices on both backends, with a gradient."""

    @wk.signature("Checked")
    def _(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            raise wk.ShapeError(f"Checked: b is {list(b.shape)}; want [{a.shape[-1]}, columns].")
        return a.like(shape=(a.shape[0], b.shape[1]))

    @wk.cpu_kernel("Checked")
    def _(a: Array, b: Array) -> Array:
        product: Array = np.matmul(a, b)
        return product

    @wk.gradient("Checked")
    def _(dy: wk.Tensor, a: wk.Tensor, b: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        return _product(dy, wk.transpose(b)), _product(wk.transpose(a), dy)

    wk.wgsl_kernel("Checked", text, form="product", params=lambda a_shape: {"depth": a_shape[-1]})


def _product(a: Any, b: Any) -> wk.Tensor:
    found = wk.engine().run_kernel("Checked", {"a": a, "b": b})
    assert isinstance(found, wk.Tensor)
    return found


VIEWS = PRODUCT.replace("load_a(row * params.depth + k)", "load_a_at(Coords_a(row, k))")


def test_every_check_of_a_kernel_holds_for_a_users_product() -> None:
    _checked(VIEWS)
    first, *others = [
        Sample("Checked", _product, pair, bound=matmul_bound())
        for pair in (((5, 7), (7, 3)), ((8, 12), (12, 16)), ((1, 4), (4, 1)), ((3, 600), (600, 5)))
    ]
    report = wk.testing.check_kernel("Checked", [first])
    assert report.passed, report
    checks = {(row.check, row.backend) for row in report.rows}
    assert {("forward", "webgpu"), ("gradient parity", "webgpu"), ("leaks", "webgpu")} <= checks
    report = wk.testing.check_kernel("Checked", others, rows_only=True)
    assert report.passed, report


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_bad_inputs_are_told_alike_on_both_backends(backend: str) -> None:
    _checked()
    square = _normal(4, 4)
    with wk.use_backend(backend):
        run_kernel = wk.engine().run_kernel
        with pytest.raises(wk.ArgumentError, match=r"^Checked: input 'b' is missing"):
            run_kernel("Checked", {"a": wk.tensor(square)})
        with pytest.raises(wk.ArgumentError, match=r"^Checked: input 'c' is unknown; known: a, b"):
            run_kernel("Checked", {"a": wk.tensor(square), "c": wk.tensor(square)})
        with pytest.raises(wk.ArgumentError, match=r"^Checked: attribute 'axis' is unknown"):
            run_kernel("Checked", {"a": wk.tensor(square), "b": wk.tensor(square)}, {"axis": 1})
        with pytest.raises(wk.ShapeError, match=r"^Checked: b is \[3, 4\]; want \[4, columns\]"):
            _product(wk.tensor(square), wk.tensor(_normal(3, 4)))


def test_a_product_without_a_signature_is_refused() -> None:
    wk.wgsl_kernel("Unsigned", PRODUCT, form="product", params=lambda: {"depth": 4})
    with pytest.raises(wk.ArgumentError, match=r"^Unsigned: a product shader needs a signature"):
        run("Unsigned", a=_normal(4, 4), b=_normal(4, 4))


def test_names_that_products_use_themselves_are_refused() -> None:
    @wk.signature("Reserved")
    def _(a: wk.Spec, finish: wk.Spec, /) -> wk.Spec:
        return a

    wk.wgsl_kernel("Reserved", PRODUCT, form="product", params=lambda: {"depth": 4})
    with pytest.raises(wk.ArgumentError, match=r"^Reserved: it has the input 'finish', a name"):
        run("Reserved", a=_normal(4, 4), finish=_normal(4, 4))


def test_a_signature_of_several_outputs_is_refused() -> None:
    @wk.signature("Plain")
    def _(a: wk.Spec, b: wk.Spec, /) -> tuple[wk.Spec, wk.Spec]:
        return a, b

    wk.wgsl_kernel("Plain", PRODUCT, form="product", params=lambda: {"depth": 4})
    with pytest.raises(wk.ArgumentError, match=r"^Plain: its signature gives 2 outputs; want one"):
        run("Plain", a=_normal(4, 4), b=_normal(4, 4))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("depth", [8, 7])
def test_elements_of_each_dtype_are_summed_in_a_wide_one(dtype: wk.DType, depth: int) -> None:
    """The inputs have the names of the operands, and are read by index and by accessor."""
    if not find_driver("webgpu").supports(dtype):
        with pytest.raises(wk.DTypeError, match="cannot live on backend 'webgpu'"):
            run("Plain", a=np.ones((6, depth), dtype), b=np.ones((depth, 12), dtype))
        return
    _plain(
        """
fn a_at(batch: u32, row: u32, k: u32) -> T_a { return load_a(row * params.depth + k); }
fn b_at(batch: u32, k: u32, col: u32) -> T_b { return b[k * params.cols + col]; }
"""
    )
    a, b = (draw.integers(-4, 5, shape).astype(np.float32) for shape in ((6, depth), (depth, 12)))
    found = run("Plain", a=a.astype(dtype), b=b.astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, (a @ b).astype(dtype))


@pytest.mark.parametrize("depth", [8, 7])
def test_an_element_of_another_type_than_declared_is_refused_in_every_layout(depth: int) -> None:
    _plain(PRODUCT.replace("load_a(", "a[").replace("+ k)", "+ k]"))
    a, b = np.ones((4, depth), np.int32), np.ones((depth, 4), np.int32)
    with pytest.raises(wk.ShaderError, match=r"^Plain: <inline in .*: want f32, found i32"):
        run("Plain", a=a, b=b)


def test_a_product_that_cannot_be_made_disturbs_no_other() -> None:
    _plain(PRODUCT.replace("load_a(", "a[").replace("+ k)", "+ k]"))
    ones = wk.tensor(np.ones((4, 4), np.int32))
    with wk.config.using(fusion="always"):
        wrong: Any = None
        with suppress(wk.ShaderError):  # told at once in a process that has met it
            wrong = wk.engine().run_kernel("Plain", {"a": ones, "b": ones})
        x = wk.tensor(_normal(4, 4))
        others = [x @ (x + float(n)) for n in range(12)]
        for n, one in enumerate(others):
            wanted = x.numpy() @ (x.numpy() + n)
            np.testing.assert_allclose(one.numpy(), wanted, 1e-4, 1e-4)
        if wrong is not None:
            with pytest.raises(wk.ShaderError, match="want f32, found i32"):
                wrong.numpy()


def test_an_edited_file_is_read_again_on_request(tmp_path: Path) -> None:
    file = tmp_path / "edited.wgsl"
    file.write_text(PRODUCT)
    _plain(str(file))
    a, b = _normal(4, 8), _normal(8, 4)
    before = run("Plain", a=a, b=b)
    assert wk.reload_kernels() == []
    finish = "fn finish(sum: f32, b: u32, i: u32, j: u32) -> f32 { return sum * 2.0; }"
    file.write_text(PRODUCT + finish)
    np.testing.assert_array_equal(run("Plain", a=a, b=b), before)
    assert wk.reload_kernels() == ["Plain"]
    np.testing.assert_array_equal(run("Plain", a=a, b=b), before * 2)
    file.write_text("// Nothing.\n")
    assert wk.reload_kernels() == ["Plain"]
    with pytest.raises(wk.ShaderError, match=r"edited\.wgsl: a product wants fn a_at\("):
        run("Plain", a=a, b=b)
    file.write_text(PRODUCT)
    assert wk.reload_kernels() == ["Plain"]
    np.testing.assert_array_equal(run("Plain", a=a, b=b), before)


def test_a_captured_product_is_replayed() -> None:
    _checked()
    step = wk.capture(lambda a, b: _product(a, b) + 1.0)
    for _ in range(3):
        a, b = wk.tensor(_normal(8, 12)), wk.tensor(_normal(12, 4))
        np.testing.assert_allclose(step(a, b).numpy(), a.numpy() @ b.numpy() + 1, 1e-5, 1e-5)
