"""Numbers without a type of their own beside typed ones, whose type they take."""

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

X = np.array([0.55, 0.3])
FORMULAS = (
    "mix(0.1, 0.9, x)", "mix(0, 1, x)", "mix(vec3(0.0), vec3(1.0), x).y",
    "mix(vec3(0, 1, 2), vec3(1, 2, 3), x).z", "mix(1.0, x, 0.3)", "fma(1, 2, x)",
    "smoothstep(0, 1, x)", "pow(x, (1 + 1))", "max((1 - 1), x)", "dot(vec2(1, 2) + 1, vec2(x))",
    "cross(vec3(1, 2, 3), vec3(x)).x", "vec2(1, x).y", "vec4(vec2(1, 2), x, 1).z",
    "length(vec3(1, 2, x))", "array(1, x, 3)[1]", "S(1, x).b", "S(x, 2).a",
    "mat2x2(1, 2, 3, x)[1].y",
    "(1 + 2)", "x / (3 - 1)", "x % (1 + 1)", "((vec2(1, 2) * 2) * x).y", "ldexp(1.5, i32(x * 4.0))",
    "f32(u32(-1.5)) + x", "f32(i32(3e9) % 1000)", "f32(u32(vec2(-1.5, 2.5).x))",
)  # fmt: skip
BEYOND = {
    "f32(u32(-1))": "-1 is beyond what u32 holds",
    "f32(i32(3000000000))": "3000000000 is beyond what i32 holds",
    "f32(max(-1, 2u))": "-1 is beyond what u32 holds",
    "f32(2u + 4294967296)": "4294967296 is beyond what u32 holds",
    "f32(vec2<u32>(2, -1).x)": "-1 is beyond what u32 holds",
    "f32(2147483648i)": "2147483648i is beyond what i32 holds",
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_literals_take_the_type_of_what_is_beside_them(formula: str, backend: str) -> None:
    text = f"struct S {{ a: f32, b: f32 }}\nfn op(x: f32) -> f32 {{ return x * {formula}; }}\n"
    wk.signature("Literal")(lambda x, /: x.like())
    wk.wgsl_kernel("Literal", text, gradient="derive", cpu="derive")
    with wk.use_backend("cpu"):
        below, at, above = (
            wk.run("Literal", wk.tensor(X + step, dtype="float64")).numpy()
            for step in (-1e-6, 0, 1e-6)
        )
    with wk.use_backend(backend):
        x = wk.tensor(X, dtype="float32")
        values = wk.run("Literal", x).numpy()
        slopes = wk.grad(lambda x: wk.sum(wk.run("Literal", x)))(x).numpy()

    np.testing.assert_allclose(values, at, rtol=1e-5)
    np.testing.assert_allclose(slopes, (above - below) / 2e-6, rtol=1e-4)


@pytest.mark.parametrize("formula", BEYOND)
@pytest.mark.parametrize("how", ["cpu", "gradient"])
def test_an_integer_beyond_its_type_is_refused_at_its_place(formula: str, how: str) -> None:
    text = f"fn op(x: f32) -> f32 {{\n  return x + {formula};\n}}\n"
    derived: dict[str, Any] = {how: "derive"}
    with pytest.raises(wk.ShaderError, match=BEYOND[formula]) as caught:
        wk.wgsl_kernel("Literal", text, **derived)
    assert ":2:" in str(caught.value)


@pytest.mark.gpu
@pytest.mark.usefixtures("halves_anywhere")
def test_literals_in_maps_of_halves_are_halves() -> None:
    wk.signature("Literal")(lambda x, /: x.like())
    text = "fn op(x: T) -> T { return (0.5 + 0.25) * x * x + mix(0, 1, x); }\n"
    wk.wgsl_kernel("Literal", text, gradient="derive", cpu="derive")
    slopes = wk.grad(lambda x: wk.sum(wk.run("Literal", x)))(wk.tensor([2.0], dtype="float16"))
    assert slopes.tolist() == [4.0]
