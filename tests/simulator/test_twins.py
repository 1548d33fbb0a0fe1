"""CPU kernels that are made of shaders: the values, attributes, dtypes, and what is refused."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

SMOOTH = """struct Attrs { slope: f32, ends: vec2<f32> }

fn op(x: T, z: T, i: u32) -> T {
  var total = T();
  for (var k = 0u; k < 3u; k++) {
    if (x > T(k)) { total += z * T(attrs.slope); } else { total -= x; }
  }
  return clamp(total, T(attrs.ends.x), T(attrs.ends.y)) + T(i % 2u);
}
"""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


def register(text: str = SMOOTH, name: str = "Smooth", **options: Any) -> None:
    wk.wgsl_kernel(name, text, cpu="derive", **options)


def test_both_backends_give_the_same() -> None:
    register()

    @wk.signature("Smooth")
    def _shape(x: wk.Spec, z: wk.Spec, /, *, slope: float, ends: tuple[float, ...]) -> wk.Spec:
        return x.like(shape=(4, 5))

    x = np.linspace(-2, 4, 20, dtype=np.float32).reshape(4, 5)
    z = np.linspace(0, 1, 5, dtype=np.float32)
    found = []
    for backend in ("cpu", "webgpu", "simulator"):
        with wk.use_backend(backend):
            found.append(wk.run("Smooth", x, z, slope=0.3, ends=(-3.5, 2.0)).numpy())

    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    np.testing.assert_array_equal(found[1], found[2])


def test_it_runs_in_float64() -> None:
    register("fn op(x: T) -> T {\n  return exp(x) * 0.1;\n}\n", "Grow")
    wk.signature("Grow")(lambda x, /: x.like())

    with wk.use_backend("cpu"):
        found = wk.run("Grow", wk.tensor([1.0], dtype="float64"))

    assert found.dtype == "float64"
    assert abs(found.item() - np.exp(1.0) * 0.1) < 1e-15


def test_library_functions_go_by_name() -> None:
    text = """import wgsl_kernels::lib::hyperbolic::safe_tanh;
fn op(x: f32) -> f32 {
  return safe_tanh(x) + 1.0;
}
"""
    register(text, "Shifted")
    wk.signature("Shifted")(lambda x, /: x.like())

    with wk.use_backend("cpu"):
        found = wk.run("Shifted", wk.tensor([0.5], dtype="float64")).item()

    assert found == np.tanh(0.5) + 1


def test_integers_are_integers() -> None:
    register("fn op(x: i32, z: i32) -> i32 {\n  return x / z + (x << 2u);\n}\n", "Whole")
    wk.signature("Whole")(lambda x, z, /: x.like())

    with wk.use_backend("cpu"):
        assert wk.run("Whole", wk.tensor([-7, 7]), wk.tensor([2, 0])).tolist() == [-31, 35]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("@compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
         "  store_y(id.x, load_x(id.x));\n}\n",
         wk.ArgumentError, "cpu='derive' takes maps, reductions, scans, windows and products"),
        ("fn op(x: f32) -> f32 {\n  return nothing(x);\n}\n", wk.ShaderError, "nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_told_at_registration(
    text: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        register(text, "Odd")


@pytest.mark.parametrize("word", ["gradient", "cpu"])
def test_other_words_than_derive_are_refused(word: str) -> None:
    options: Any = {word: "by hand"}
    with pytest.raises(wk.ArgumentError, match=f"Odd: {word} is 'by hand'; want 'derive', or None"):
        wk.wgsl_kernel("Odd", "fn op(x: f32) -> f32 {\n  return x;\n}\n", **options)
