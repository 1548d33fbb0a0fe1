"""Gradients that are made of shaders: against differences in float64, at kinks, and refusals."""

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

Array = np.ndarray[Any, Any]
HEAD = """struct P { a: f32, b: vec2<f32> }

fn sq(a: f32) -> f32 { return a * a; }

fn pick(a: f32, k: i32) -> f32 {
  var v = array<f32, 3>(a, a * a, 1.0 / (1.0 + a * a));
  v[k % 3] += a;
  return v[k % 3] + v[(k + 1) % 3];
}

fn rough(a: f32, b: f32) -> f32 {
  if (a > b) { return a * b; }
  for (var k = 0; k < 4; k++) {
    if (f32(k) > b) { return a + f32(k); }
  }
  return a - b;
}

fn pair(a: f32, b: f32) -> P { return P(a + b, vec2<f32>(a * b, a)); }

fn dot2(v: vec2<f32>, w: vec2<f32>) -> f32 { return dot(v, w) + length(v + 2.0); }
"""


def register(text: str, name: str = "Derived", inputs: int = 1) -> Callable[..., wk.Tensor]:
    wk.wgsl_kernel(name, text, gradient="derive", cpu="derive")
    shape: Any = {1: lambda x, /: x.like(), 2: lambda x, z, /: x.like()}[inputs]
    wk.signature(name)(shape)
    return lambda *xs: wk.run(name, *xs)


def differences(f: Callable[..., wk.Tensor], xs: list[Array], which: int, h: float = 1e-6) -> Array:
    """Return central differences in float64."""
    with wk.use_backend("cpu"):
        found = []
        for sign in (1, -1):
            moved = [one + sign * h * (at == which) for at, one in enumerate(xs)]
            found.append(f(*[wk.tensor(one, dtype="float64") for one in moved]).numpy())
    return (found[0] - found[1]) / (2 * h)


def gradients(
    f: Callable[..., wk.Tensor], xs: list[Array], backend: str, dtype: Any
) -> list[Array]:
    with wk.use_backend(backend):
        given = [wk.tensor(one, dtype=dtype) for one in xs]
        return [one.numpy() for one in wk.grads(lambda *a: wk.sum(f(*a)))(*given)]


class Programs:
    """Random maps of x and z that have loops, branches, vectors, arrays, structs and calls."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []
        self.names = ["x", "z"]
        self.indent = "  "

    def text(self) -> str:
        """Return the map."""
        self._statements(5)
        end = " + ".join(self.names[-3:])
        body = "\n".join(self.lines)
        return f"{HEAD}\nfn op(x: f32, z: f32) -> f32 {{\n{body}\n  return {end};\n}}\n"

    def _statements(self, count: int, depth: int = 0) -> None:
        for _ in range(count):
            self._statement(depth)

    def _statement(self, depth: int) -> None:
        kind = self.random.choice(("let", "let", "var", "if", "for", "loop", "struct", "return"))
        if depth > 1 and kind in ("if", "for", "loop"):
            kind = "let"
        self.count += 1
        name = f"q{self.count}"
        if kind == "let":
            self._write(f"let {name} = {self._expression()};")
            self.names.append(name)
        elif kind == "var":
            self._write(f"var {name} = {self._expression()};")
            self._write(f"{name} {self.random.choice(('+=', '-=', '*='))} {self._expression(1)};")
            self.names.append(name)
        elif kind == "struct":
            self._write(f"var {name} = pair({self._expression(1)}, {self._expression(1)});")
            self._write(f"{name}.b.x = {name}.a * {name}.b.y;")
            self._write(f"{name}.b[1] -= {self._expression(1)};")
            self.names.append(f"({name}.b.x + {name}.b.y)")
        elif kind == "return" and depth:
            self._write(f"if ({self._condition()}) {{ return {self._expression(1)}; }}")
        else:
            self._write(f"var {name} = {self._expression(1)};")
            self._branch(kind, name, depth)
            self.names.append(name)

    def _branch(self, kind: str, name: str, depth: int) -> None:
        if kind == "for":
            self._write(f"for (var k = 0; k < {self.random.randint(1, 4)}; k++) {{")
        elif kind == "loop":
            self._write(f"var n{self.count} = 0; loop {{")
        else:
            self._write(f"if ({self._condition()}) {{")
        outer, known = self.indent, len(self.names)
        self.indent += "  "
        if kind == "for" and self.random.random() < 0.5:
            word = self.random.choice(("break", "continue"))
            self._write(f"if (k == 2 && {self._condition()}) {{ {word}; }}")
        number = self.count
        self._statements(1, depth + 1)
        self._write(f"{name} = {self._expression(1)} + 0.5 * {name};")
        if kind == "loop":
            self._write(f"n{number} += 1; if (n{number} > 2) {{ break; }}")
        self.indent, self.names = outer, self.names[:known]
        self._write("}")

    def _condition(self) -> str:
        a, b = self.random.choice(self.names), self.random.choice(self.names)
        return f"{a} > {b} + {self.random.uniform(-1, 1):.3f}"

    def _expression(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice([*self.names, f"{self.random.uniform(0.2, 1.5):.3f}f"])
        a, b = self._expression(depth - 1), self._expression(depth - 1)
        return self.random.choice((
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / (1.5 + {b} * {b}))",
            f"sin({a})", f"exp(-sq({a}))", f"tanh({a} * {b})", f"sqrt(1.0 + sq({a}))",
            f"max({a}, {b})", f"min({a}, {b})", f"abs({a})", f"select({a}, {b}, {a} > 0.3)",
            f"clamp({a}, -0.7, {b} + 2.0)", f"pick({a}, 1)", f"rough({a}, {b})", f"-({a})",
            f"dot2(vec2<f32>({a}, {b}), vec2<f32>({b}, 0.5))", f"fma({a}, {b}, {a})",
            f"mix({a}, {b}, 0.25)", f"atan2({a}, 2.0 + sq({b}))", f"({a} + vec2<f32>({b}, {a}).y)",
            f"f32(i32(floor({a}))) * {b}", f"pow(1.5 + abs({a}), {b})", f"fract({a}) * {b}",
        ))  # fmt: skip

    def _write(self, line: str) -> None:
        self.lines.append(f"{self.indent}{line}")


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("seed", range(40))
def test_a_random_program_agrees_with_differences(seed: int) -> None:
    text = Programs(seed).text()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is zero throughout", category=RuntimeWarning)
        f = register(text, inputs=2)
    rng = np.random.default_rng(seed)
    xs = [rng.uniform(-1.5, 1.5, 24), rng.uniform(-1.5, 1.5, 24)]
    exact = gradients(f, xs, "cpu", "float64")
    for which, found in enumerate(exact):
        near, nearer = differences(f, xs, which), differences(f, xs, which, 1e-7)
        smooth = np.abs(near - nearer) < 1e-5 * (1 + np.abs(near))  # no kink beside it
        assert smooth.sum() > 12, text
        np.testing.assert_allclose(found[smooth], near[smooth], rtol=2e-5, atol=2e-5, err_msg=text)
    for backend in ("cpu", "webgpu"):
        got = gradients(f, xs, backend, "float32")
        for which, found in enumerate(got):
            ends = [np.nextafter(one.astype("f4"), np.inf).astype("f8") for one in xs]
            other = gradients(f, ends, "cpu", "float64")[which]
            calm = np.abs(other - exact[which]) < 1e-4 * (1 + np.abs(other))
            np.testing.assert_allclose(
                found[calm], exact[which][calm], rtol=2e-3, atol=2e-3, err_msg=text
            )


@pytest.mark.parametrize("seed", range(6))
def test_a_second_derivative_agrees_with_differences(seed: int) -> None:
    f = register(Programs(100 + seed).text(), inputs=2)
    rng = np.random.default_rng(seed)
    xs = [rng.uniform(-1.5, 1.5, 16), rng.uniform(-1.5, 1.5, 16)]

    def slope(x: wk.Tensor, z: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grad(lambda a: wk.sum(f(a, z)))(x)
        return found

    exact = gradients(slope, xs, "cpu", "float64")[0]
    near, nearer = differences(slope, xs, 0), differences(slope, xs, 0, 1e-7)
    smooth = np.abs(near - nearer) < 1e-5 * (1 + np.abs(near))
    np.testing.assert_allclose(exact[smooth], near[smooth], rtol=2e-5, atol=2e-5)


KINKS = {
    "abs(x)": ([-2.0, 0.0, 3.0], [-1.0, 0.0, 1.0]),
    "max(x, 1.0)": ([0.0, 1.0, 2.0], [0.0, 1.0, 1.0]),
    "min(x, 1.0)": ([0.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
    "max(1.0, x)": ([0.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    "clamp(x, 0.0, 1.0)": ([-1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 0.0]),
    "saturate(x)": ([-1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 0.0]),
    "x * f32(i32(x))": ([1.5, -2.5], [1.0, -2.0]),
    "x + floor(x) + sign(x) + round(x)": ([0.5, 1.0], [1.0, 1.0]),
    "sqrt(x)": ([0.0, 4.0], [np.inf, 0.25]),
    "select(log(x), 0.0, x <= 0.0)": ([-1.0, 0.0, 2.0], [0.0, 0.0, 0.5]),
    "x % 1.5": ([1.0, 2.0, -2.0], [1.0, 1.0, 1.0]),
    "degrees(x) + radians(x)": ([1.0], [np.degrees(1.0) + np.radians(1.0)]),
    "smoothstep(0.0, 2.0, x)": ([-1.0, 1.0, 3.0], [0.0, 0.75, 0.0]),
    "select(1.0, x / x, x > 0.0)": ([0.0, 2.0], [0.0, 0.0]),
}


@pytest.mark.parametrize("formula", KINKS)
def test_kinks_are_as_the_gradients_page_says(formula: str, backend: str) -> None:
    f = register(f"fn op(x: f32) -> f32 {{\n  return {formula};\n}}\n")
    at, wanted = KINKS[formula]
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(f(x)))(wk.tensor(at)).numpy()

    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_comment_gives_a_derivative(backend: str) -> None:
    wk.wgsl_kernel(
        "Quick",
        """// @derivative quick(x, k) = y * k, 0 // by x alone
fn quick(x: f32, k: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x));
}

fn op(x: f32) -> f32 {
  return quick(x, 3.0);
}
""",
        gradient="derive",
    )
    wk.signature("Quick")(lambda x, /: x.like())
    wk.cpu_kernel("Quick")(lambda x: x)
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(wk.run("Quick", x)))(wk.tensor([2.0]))

    assert found.tolist() == [6.0]


CALLED = "fn by(x: f32) -> f32 {\n  return x;\n}\nfn op(x: f32) -> f32 {\n  return by(x);\n}\n"
REFUSED = {
    "a comment that names nothing": (
        f"  // @derivative by(x) = 2.0 * z\n{CALLED}", ":1:32: ", "nothing is called 'z' here",
    ),
    "a comment without a value": (
        f"// @derivative by(x) = 2.0 *\n{CALLED}", ":1:24: ", "'2.0 *' is no expression",
    ),
    "a comment without parentheses": (
        f"// @derivative by x = 2.0\n{CALLED}", ":1:1: ", "want // @derivative f(x, k) = ",
    ),
    "a comment of another type": (
        f"// @derivative by(x) = vec2(y, x)\n{CALLED}", ":1:24: ", "want a derivative of f32",
    ),
    "a comment of what does not fit": (
        f"// @derivative by(x) = sin(x, y)\n{CALLED}", ":1:24: ", "sin takes 1, not 2, arguments",
    ),
    "a comment above op that names nothing": (
        "// @derivative op(x) = y + z\nfn op(x: f32) -> f32 {\n  return x;\n}\n",
        ":1:28: ", "nothing is called 'z' here",
    ),
    "a comment of too few derivatives": (
        "// @derivative by(x) = 2.0\nfn by(x: f32, k: f32) -> f32 {\n  return x * k;\n}\n"
        "fn op(x: f32) -> f32 {\n  return by(x, 2.0);\n}\n",
        ":1:1: ", "by has 2 parameters; want a derivative by each",
    ),
    "bits of a float": (
        "fn op(x: f32) -> f32 {\n  return bitcast<f32>(bitcast<u32>(x));\n}\n", ":2:10: ", "bits",
    ),
    "bits of a step": (
        "fn op(x: f32) -> f32 {\n  let n = u32(x * 3.0);\n  return bitcast<f32>(n);\n}\n",
        ":3:10: ", "bits",
    ),
    "a pointer": (
        "fn add(p: ptr<function, f32>) { *p += 1.0; }\n"
        "fn op(x: f32) -> f32 {\n  var v = x;\n  add(&v);\n  return v;\n}\n",
        ":4:7: ", "a pointer to v",
    ),
    "a variable of the module": (
        "var<private> v: f32;\nfn op(x: f32) -> f32 {\n  v = x;\n  return v;\n}\n",
        ":3:3: ", "a variable of the module",
    ),
    "a counter": (
        "fn op(x: f32) -> f32 {\n  var s = 0.0;\n"
        "  for (var t = x; t < 3.0; t += 1.0) { s += t; }\n  return s;\n}\n",
        ":3:8: ", "a counter of a loop",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_followed_is_told_at_its_place(what: str) -> None:
    text, place, words = REFUSED[what]
    with pytest.raises(wk.ShaderError) as caught:
        wk.wgsl_kernel("Refused", text, gradient="derive")

    assert place in str(caught.value)
    assert words in str(caught.value)
    assert wk.get_kernel("Refused", "webgpu") is None


CALLING_TWICE = {
    "op": "fn op(x: f32) -> f32 { return twice(x); }\n",
    "scan": """fn init() -> f32 { return 0.0; }
fn lift(x: f32) -> f32 { return x; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(total: f32) -> f32 { return twice(total); }
""",
}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("fn op(x: T) -> T { return x * x * x * x * x; }\n", (32, 80, 160, 240, 240, 120)),
        ("// @derivative op(x) = 3.0 * op(x)\nfn op(x: T) -> T { return x; }\n",
         (2, 6, 18, 54, 162, 486)),
        ("// @derivative op_f32(x) = 2.0 * x\nfn op_f32(x: T) -> T { return x; }\n", (2, 4, 2, 0)),
    ],
)  # fmt: skip
def test_derivatives_of_any_order_are_derived(text: str, want: tuple[int, ...]) -> None:
    wk.wgsl_kernel("Powers", text, gradient="derive", cpu="derive")
    wk.signature("Powers")(lambda x, /: x.like())

    def values(x: wk.Tensor) -> wk.Tensor:
        return wk.sum(wk.run("Powers", x))

    f: Callable[[wk.Tensor], wk.Tensor] = values
    found: list[float] = []
    with wk.use_backend("cpu"):
        for _ in want:
            found.append(f(wk.tensor([2.0])).item())
            f = _slope(f)
    assert found == list(want)


def _slope(f: Callable[[wk.Tensor], wk.Tensor]) -> Callable[[wk.Tensor], wk.Tensor]:
    return lambda x: wk.sum(wk.grad(f)(x))


@pytest.mark.parametrize("comment", ["", "// @derivative twice(a) = 4.0 * a\n"])
@pytest.mark.parametrize("form", CALLING_TWICE)
def test_functions_of_another_file_are_followed(
    form: str, comment: str, tmp_path: Any, backend: str
) -> None:
    helpers, kernel = tmp_path / "helpers.wesl", tmp_path / "kernel.wesl"
    helpers.write_text(f"{comment}fn twice(a: f32) -> f32 {{ return 2.0 * a * a; }}\n")
    kernel.write_text(f"import package::helpers::twice;\n{CALLING_TWICE[form]}")
    declared: Any = form if form == "scan" else None
    wk.wgsl_kernel("Far", str(kernel), form=declared, gradient="derive", cpu="derive")

    @wk.signature("Far")
    def _(x: wk.Spec, /, *, axis: int = -1) -> wk.Spec:
        return x.like()

    def gradient(x: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grad(lambda x: wk.sum(wk.run("Far", x)))(x)
        return found

    x = wk.tensor([1.0, 2.0, 4.0])
    with wk.use_backend(backend):
        found = gradient(x).tolist(), wk.grad(lambda x: wk.sum(gradient(x)))(x).tolist()
    if form == "scan":
        assert found == ([44.0, 40.0, 28.0], [24.0, 20.0, 12.0])
    else:
        assert found == ([4.0, 8.0, 16.0], [4.0, 4.0, 4.0])


def test_a_gradient_that_is_zero_is_remarked() -> None:
    with pytest.warns(
        RuntimeWarning, match="Steps: the gradient by x is zero throughout"
    ) as caught:
        f = register("fn op(x: f32) -> f32 {\n  return floor(x);\n}\n", "Steps")
    assert [one.filename for one in caught] == [__file__]

    assert wk.grad(lambda x: wk.sum(f(x)))(wk.tensor([1.5])).tolist() == [0.0]


def test_inputs_are_broadcast_and_attributes_passed(backend: str) -> None:
    wk.wgsl_kernel(
        "Scaled",
        "struct Attrs { by: f32 }\n\nfn op(x: T, z: T) -> T {\n  return x * z * attrs.by;\n}\n",
        gradient="derive",
        cpu="derive",
    )

    @wk.signature("Scaled")
    def _shape(x: wk.Spec, z: wk.Spec, /, *, by: float = 2.0) -> wk.Spec:
        return x.like(shape=(3, 4))

    x, z = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)
    with wk.use_backend(backend):
        dx, dz = wk.grads(lambda a, b: wk.sum(wk.run("Scaled", a, b, by=3.0)))(
            wk.tensor(x), wk.tensor(z)
        )

    np.testing.assert_allclose(dx.numpy(), np.broadcast_to(3 * z, (3, 4)))
    np.testing.assert_allclose(dz.numpy(), 3 * x.sum(0))


def test_half_precision_is_derived_too() -> None:
    f = register("fn op(x: T) -> T {\n  return x * x * x;\n}\n")
    x = wk.tensor([1.5, -2.0], dtype="float16")
    with wk.use_backend("cpu"):
        found = wk.grad(lambda a: wk.sum(f(a)))(x)

    assert found.dtype == "float16"
    assert found.tolist() == [6.75, 12.0]


def test_an_edited_file_gives_another_gradient(tmp_path: Any) -> None:
    path = tmp_path / "grow.wgsl"
    path.write_text("fn op(x: f32) -> f32 {\n  return x * x;\n}\n")
    f = register(str(path), "Grow")
    slope = wk.grad(lambda x: wk.sum(f(x)))
    assert slope(wk.tensor([3.0])).tolist() == [6.0]

    path.write_text("fn op(x: f32) -> f32 {\n  return x * x * x;\n}\n")
    assert "Grow" in wk.reload_kernels()
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            assert slope(wk.tensor([3.0])).tolist() == [27.0]


@pytest.mark.parametrize("text", ["fn op(x: T) -> T { return x * 5.0; }\n", None])
def test_what_was_derived_leaves_with_the_shader(text: str | None) -> None:
    f = register("fn op(x: T) -> T {\n  return x * 2.0;\n}\n", "Doubled")
    if text is None:
        wk.wgsl_kernel("Doubled", override=True)(lambda gpu, x: x)
    else:
        wk.wgsl_kernel("Doubled", text, override=True)
    with (
        wk.use_backend("cpu"),
        wk.config.using(fallback="error"),
        pytest.raises(wk.KernelNotFound, match="no kernel on backend 'cpu'; found on webgpu"),
    ):
        f(wk.tensor([1.0]))
    assert wk.get_gradient("Doubled") is None


def test_what_is_derived_again_stays() -> None:
    register("fn op(x: T) -> T {\n  return x * 2.0;\n}\n", "Doubled")
    wk.wgsl_kernel(
        "Doubled", "fn op(x: T) -> T { return x * 5.0; }", gradient="derive", override=True
    )
    wk.cpu_kernel("Doubled", override=True)(lambda x: x * 5.0)
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            found = wk.grad(lambda x: wk.sum(wk.run("Doubled", x)))(wk.tensor([1.0]))
            assert found.tolist() == [5.0]


SWISH = {
    "a function of the library": "x * safe_sigmoid(1.5 * x)",
    "a branch that is not taken": "select(x / (1.0 + exp(-1.5 * x)), 0.0, x < -55.0)",
    "a value that stays small": "x * select(exp(-abs(1.5 * x)), 1.0, x >= 0.0)"
    " / (1.0 + exp(-abs(1.5 * x)))",
}


@pytest.mark.parametrize("how", SWISH)
def test_a_slope_is_right_where_another_form_overflows(how: str, backend: str) -> None:
    head = "import wgsl_kernels::lib::logistic::safe_sigmoid;\n" if "library" in how else ""
    f = register(f"{head}fn op(x: f32) -> f32 {{ return {SWISH[how]}; }}")
    x = np.array([-1000.0, -100.0, -60.0, -50.0, -1.0, 0.0, 2.0, 100.0])
    gate = 1.0 / (1.0 + np.exp(np.minimum(-1.5 * x, 700.0)))
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(f(x)))(wk.tensor(x.astype(np.float32))).numpy()
    np.testing.assert_allclose(found, gate + 1.5 * x * gate * (1.0 - gate), rtol=1e-5, atol=1e-30)
