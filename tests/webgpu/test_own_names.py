"""What a kernel's file declares wins in that file, and nowhere else in a fused text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
from wgsl_kernels.backends.webgpu.modules.source import load_text

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]

MAIN = """
struct Params {{ y_size: u32 }}
@group(0) @binding(2) var<uniform> params: Params;
{own}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x < params.y_size) {{ store_y(id.x, {name}(load_x(id.x))); }}
}}
"""
MAP = "{own}\nfn op(x: T) -> T {{ return {name}(x); }}\n"
REDUCE = """{own}
fn init() -> f32 {{ return 0.0; }}
fn lift(x: T) -> f32 {{ return {name}(x); }}
fn combine(a: f32, b: f32) -> f32 {{ return a + b; }}
"""
PRODUCT = """{own}
fn a_at(batch: u32, row: u32, k: u32) -> T_x {{ return {name}(x[row * params.depth + k]); }}
fn b_at(batch: u32, k: u32, col: u32) -> T_x {{ return select(0.0, 1.0, k == col); }}
"""
DOUBLE = "fn {name}(v: f32) -> f32 {{ return v + v; }}"


def _same(x: wk.Spec, /) -> wk.Spec:
    return x.like()


def _total(x: wk.Spec, /, *, axis: int = 0) -> wk.Spec:
    return x.like(shape=x.shape[1:])


def _kept(x: wk.Spec, /, *, axis: int = 0) -> wk.Spec:
    return x.like()


@pytest.mark.parametrize("name", ["hold", "fma", "max", "bitcast", "wk_load"])
@pytest.mark.parametrize(
    ("form", "signature", "options"),
    [
        (MAIN, _same, {}),
        (MAP, _same, {}),
        (REDUCE, _total, {}),
        (REDUCE, _kept, {"form": "scan"}),
        (PRODUCT, _same, {"form": "product", "params": lambda x_shape: {"depth": x_shape[-1]}}),
    ],
    ids=["main", "map", "reduce", "scan", "product"],
)
def test_a_file_s_names_mean_nothing_beyond_it(
    form: str, signature: Callable[..., wk.Spec], options: dict[str, Any], name: str
) -> None:
    own = DOUBLE.format(name=name)
    wk.signature("OwnNames")(signature)
    wk.wgsl_kernel("OwnNames", form.format(own=own, name=name), **options)

    def kernel(x: wk.Tensor) -> wk.Tensor:
        found = wk.engine().run_kernel("OwnNames", {"x": x})
        assert isinstance(found, wk.Tensor)
        return found

    x = wk.tensor(np.linspace(-1, 1, 36, dtype=np.float32).reshape(6, 6))
    with wk.config.using(fusion="never"):
        expected = wk.exp(kernel(wk.relu(x))).numpy()
    for _ in range(2):
        with wk.config.using(fusion="always"):
            np.testing.assert_array_equal(wk.exp(kernel(wk.relu(x))).numpy(), expected)


def test_no_name_is_twice_in_what_the_composer_writes() -> None:
    source = load_text("fn op(x: f32) -> f32 { return one(x) + two(x); }\n", "op.wgsl", Path())
    one, two = (f"fn {name}(x: f32) -> f32 {{ return x; }}\n" for name in ("one", "two"))
    assembly = Assembly(source, None, {"one": lambda: one + two, "two": lambda: two})
    assembly.resolve()

    with pytest.raises(wk.ShaderError, match=r"'two' is given twice; first at .*:1:4\."):
        assembly.compose("", "")


@pytest.mark.parametrize("count", [3, 4])  # one at a time, and four
def test_an_input_of_a_map_may_be_called_as_the_index_is(count: int) -> None:
    wk.signature("AddOfI")(lambda x, i, /: x.like())
    wk.wgsl_kernel("AddOfI", "fn op(x: T, i: T) -> T {\n  return x + 2.0 * i;\n}\n")
    x = np.arange(count, dtype=np.float32)
    with wk.use_backend("webgpu"):
        found = wk.engine().run_kernel("AddOfI", {"x": wk.tensor(x), "i": wk.tensor(x + 1)})
    assert isinstance(found, wk.Tensor)
    np.testing.assert_array_equal(found, x + 2 * (x + 1))
