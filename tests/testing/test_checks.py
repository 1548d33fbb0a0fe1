"""The checks find what they are there for: each is shown a kernel with one fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.bench.comparison.checks import check_gradient_parity
from wgsl_kernels.engine.registry.gradients import find_rule
from wgsl_kernels.testing import Sample, check_kernel
from wgsl_kernels.testing.gradients.evaluation import UpstreamGradients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.testing import Report

NAME = "CheckedCube"
CUBE = "fn op(x: T) -> T {\n  return x * x * x;\n}"
Array = np.ndarray[Any, Any]


def cube(x: wk.Tensor) -> wk.Tensor:
    found = wk.engine().run_kernel(NAME, {"x": x})
    assert isinstance(found, wk.Tensor)
    return found


SAMPLE = Sample(NAME, cube, ((2, 3),))


def register(
    cpu: Callable[[Array], Array] = lambda x: x * x * x,
    wgsl: str = CUBE,
    gradient: Callable[..., Any] = lambda dy, x: dy * 3.0 * x * x,
) -> None:
    wk.register_kernel(NAME, "cpu", cpu, override=True, signature=lambda x, /: x)
    wk.wgsl_kernel(NAME, wgsl, override=True)
    wk.register_gradient(NAME, gradient, override=True)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register()
    yield
    wk.unregister_kernel(NAME, "cpu")
    wk.unregister_kernel(NAME, "webgpu")
    wk.unregister_gradient(NAME)


def failed(report: Report) -> set[tuple[str, str]]:
    return {(row.check, row.backend) for row in report.rows if not row.passed}


@pytest.mark.gpu
def test_a_right_kernel_passes_every_check() -> None:
    report = check_kernel(NAME, [SAMPLE])

    assert report.passed, str(report)
    assert report.findings == ()
    sections: dict[str, list[str]] = {row.section: [] for row in report.rows}
    for row in report.rows:
        sections[row.section].append(row.check)
    assert sections == {
        "compiles": ["compiles"],
        "portable": ["lint"],
        "right": [
            "forward",
            "forward",
            "sizes",
            "folded grid",
            "views",
            "special values",
            "signs of zero",
            "dtypes",
            "fused",
            "captured",
            "repeated",
            "leaks",
            "leaks",
        ],
        "gradient": [
            "gradient",
            "gradient parity",
            "gradient parity",
            "second order",
            "special values",
            "derived",
            "upstream",
            "repeated",
        ],
        "safe": ["accesses", "undefined"],
    }


@pytest.mark.gpu
def test_a_shader_that_is_off_by_ten_ulp_fails_forward_alone() -> None:
    register(wgsl=CUBE.replace("x * x * x", "x * x * x * (1.0 + 10.0 / 8388608.0)"))

    report = check_kernel(NAME, [SAMPLE])
    assert failed(report) == {("forward", "webgpu")}
    row = next(row for row in report.rows if not row.passed)
    assert 5 < row.worst_ulp < 25
    assert row.worst_abs > row.tolerance > 0


@pytest.mark.gpu
def test_the_bound_of_a_sample_decides() -> None:
    register(wgsl=CUBE.replace("x * x * x", "x * x * x * (1.0 + 10.0 / 8388608.0)"))
    wide = wk.testing.Sample(
        NAME,
        cube,
        ((2, 3),),
        bound=lambda inputs, expected: (expected - 1e-4, expected + 1e-4),
    )

    assert check_kernel(NAME, [wide]).passed


def test_a_kernel_that_rounds_to_float32_inside_fails() -> None:
    register(cpu=lambda x: (x * x * x).astype(np.float32).astype(x.dtype))

    assert ("gradient", "cpu") in failed(check_kernel(NAME, [SAMPLE], backends=("cpu",)))


def test_a_wrong_gradient_fails_against_numbers() -> None:
    register(gradient=lambda dy, x: dy * 3.001 * x * x)

    report = check_kernel(NAME, [SAMPLE], backends=("cpu",))
    assert failed(report) == {("gradient", "cpu"), ("second order", "cpu")}
    row = next(row for row in report.rows if not row.passed)
    assert row.worst_abs > row.tolerance > 0


def test_a_gradient_that_is_a_constant_to_the_tape_fails_second_order_alone() -> None:
    register(gradient=lambda dy, x: dy * 3.0 * wk.stop_gradient(x * x))

    assert failed(check_kernel(NAME, [SAMPLE], backends=("cpu",))) == {("second order", "cpu")}


def test_a_gradient_that_cuts_the_arriving_one_off_fails_second_order_alone() -> None:
    register(gradient=lambda dy, x: wk.stop_gradient(dy) * 3.0 * x * x)

    assert failed(check_kernel(NAME, [SAMPLE], backends=("cpu",))) == {("second order", "cpu")}


def test_a_sample_may_leave_second_order_out() -> None:
    register(gradient=lambda dy, x: wk.stop_gradient(dy) * 3.0 * x * x)
    sample = Sample(NAME, cube, ((2, 3),), second_order=False)

    assert check_kernel(NAME, [sample], backends=("cpu",)).passed


@pytest.mark.gpu
def test_a_gradient_that_differs_by_backend_fails_parity() -> None:
    register(gradient=lambda dy, x: dy * 3.0 * x * x * (1.0 if wk.get_backend() == "cpu" else 1.01))

    assert failed(check_kernel(NAME, [SAMPLE])) == {("gradient parity", "webgpu")}


def test_a_tensor_that_stays_fails_the_leak_check() -> None:
    held = []

    def leaky(x: wk.Tensor) -> wk.Tensor:
        y = cube(x)
        held.append(y)
        return y

    report = check_kernel(NAME, [Sample(NAME, leaky, ((2, 3),))], backends=("cpu",))
    assert failed(report) == {("leaks", "cpu")}


@pytest.mark.gpu
def test_a_missing_backend_fails_instead_of_falling_back() -> None:
    wk.unregister_kernel(NAME, "webgpu")
    try:
        report = check_kernel(NAME, [SAMPLE])
    finally:
        wk.wgsl_kernel(NAME, CUBE)

    assert ("forward", "webgpu") in failed(report)
    assert "no kernel on backend 'webgpu'" in str(report)


def test_a_wrong_shape_is_reported() -> None:
    register(cpu=lambda x: x[:1])

    report = check_kernel(NAME, [SAMPLE], backends=("cpu",))
    assert ("forward", "cpu") in failed(report)
    assert "the cpu kernel gave shape [1, 3]" in str(report)


def test_a_rule_that_raises_is_told_once_and_where_it_is() -> None:
    def rule(dy: wk.Tensor) -> wk.Tensor:
        raise RuntimeError("no idea")

    register(gradient=rule)

    (found,) = check_kernel(NAME, [SAMPLE]).findings
    assert found.code == "gradient-raises"
    assert "no idea" in found.words
    assert (found.file, found.line) == (__file__, rule.__code__.co_firstlineno + 1)


@pytest.mark.gpu
def test_a_parameter_of_a_gradient_that_is_misspelt_is_told_once_at_the_gradient() -> None:
    register(gradient=lambda dy, xx: dy)

    (found,) = check_kernel(NAME, [SAMPLE]).findings
    rule = find_rule(NAME)
    assert found.code == "gradient-raises"
    assert "the gradient's parameter 'xx' names nothing" in found.words
    assert rule is not None
    assert (found.file, found.line) == (rule.origin.file, rule.origin.line)


def into_its_input(x: Array) -> Array:
    x *= x
    return x


def by_another(x: Array) -> Array:
    return np.asarray(np.vectorize(refusing)(x))


def refusing(x: float) -> float:
    raise KeyError(f"no {x:.1}")


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("cpu", "says", "at"),
    [(into_its_input, "read-only", into_its_input), (by_another, "KeyError", refusing)],
)
def test_a_cpu_kernel_that_raises_is_told_once_at_the_line_that_raised(
    cpu: Callable[..., Any], says: str, at: Callable[..., Any]
) -> None:
    register(cpu=cpu)

    (found,) = check_kernel(NAME, [SAMPLE]).findings
    assert found.code == "raises"
    assert says in found.words
    assert (found.file, found.line) == (__file__, at.__code__.co_firstlineno + 1)


@pytest.mark.gpu
def test_a_cpu_kernel_that_lacks_a_parameter_is_told_once_where_it_is_registered() -> None:
    def cpu(x: Array, *, missing: Array) -> Array:
        return x

    wk.register_kernel(NAME, "cpu", cpu, override=True, signature=lambda x, /: x)

    (found,) = check_kernel(NAME, [SAMPLE]).findings
    kernel = wk.get_kernel(NAME, "cpu")
    assert kernel is not None
    assert (found.code, found.line) == ("raises", kernel.origin.line)


@pytest.mark.gpu
@pytest.mark.parametrize("calls", ["itself", "in a block of ours", "a refused dispatch"])
def test_a_function_with_full_control_is_told_at_the_line_that_raised(calls: str) -> None:
    def raises() -> None:
        raise KeyError("GROUP")

    def tried(gpu: Any, x: Any) -> Any:
        y = gpu.empty(x.shape, x.dtype)
        if calls == "a refused dispatch":
            gpu.dispatch(CUBE, {"x": x, "y": y}, groups=(1, 2, 3, 4))
        if calls == "itself":
            raises()
        return wk.tidy(lambda: raises())

    wk.wgsl_kernel(NAME, override=True)(tried)
    report = check_kernel(NAME, [SAMPLE], sections=("compiles",))
    (found,) = report.findings
    first = tried.__code__.co_firstlineno
    line = first + 3 if calls == "a refused dispatch" else raises.__code__.co_firstlineno + 1
    assert (found.file, found.line) == (__file__, line), found


def test_a_cpu_kernel_that_returns_nothing_is_told_so() -> None:
    def nothing(x: Array) -> Any:
        return None

    register(cpu=nothing)

    (found,) = check_kernel(NAME, [SAMPLE], sections=("right",)).findings
    assert "the cpu kernel gave None; want an array of shape" in found.words


def test_a_cpu_kernel_of_another_dtype_is_told_once_and_where_it_is() -> None:
    register(cpu=lambda x: (x * x * x).astype(np.float64))

    (found,) = check_kernel(NAME, [SAMPLE], sections=("right", "fast")).findings
    kernel = wk.get_kernel(NAME, "cpu")
    assert "the cpu kernel gave dtype float64" in found.words
    assert kernel is not None
    assert (found.file, found.line) == (kernel.origin.file, kernel.origin.line)


def even(x: Array) -> Array:
    if x.size % 2:
        raise ValueError("an even number of elements.")
    return np.asarray(x * x * x)


def two_by_three(x: wk.Spec, /) -> wk.Spec:
    if x.shape != (2, 3):
        raise wk.ShapeError("only [2, 3] will do.")
    return x


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("cpu", "signature", "said", "backend"),
    [
        (even, lambda x, /: x, "the cpu kernel refuses", "cpu"),
        (lambda x: x * x * x, two_by_three, "no other size is checked", "webgpu"),
    ],
)
def test_sizes_that_are_refused_are_remarked_upon_once(
    cpu: Callable[[Array], Array], signature: Callable[..., Any], said: str, backend: str
) -> None:
    wk.register_kernel(NAME, "cpu", cpu, override=True, signature=signature)
    wk.register_gradient(NAME, lambda dy, x: dy * 3.0 * x * x, override=True)
    report = check_kernel(NAME, [SAMPLE], sections=("right",))

    (found,) = report.findings
    assert report.passed
    assert (found.code, found.severity) == ("refused-size", "note")
    assert said in found.words
    assert "Error: an even number" in found.words or "ShapeError: only [2, 3]" in found.words
    kernel = wk.get_kernel(NAME, backend)
    assert kernel is not None
    assert found.line == kernel.origin.line


def test_nan_in_place_of_a_number_fails() -> None:
    register(cpu=lambda x: np.where(x.dtype == np.float32, np.nan, x * x * x).astype(x.dtype))

    assert ("forward", "cpu") in failed(check_kernel(NAME, [SAMPLE], backends=("cpu",)))


def test_a_kernel_without_samples_is_refused() -> None:
    with pytest.raises(wk.ArgumentError, match="there are no samples for 'CheckedCube'"):
        check_kernel(NAME)


def test_the_samples_of_the_package_are_taken_by_name() -> None:
    report = check_kernel("Square", backends=("cpu",))

    assert report.passed, str(report)
    assert {row.sample.split("-")[0] for row in report.rows} == {"Square"}


@pytest.mark.gpu
def test_a_backend_that_cannot_hold_the_dtype_is_left_out() -> None:
    wide = Sample(NAME, cube, ((2, 3),), dtypes="float64")

    assert {row.backend for row in check_kernel(NAME, [wide]).rows} == {"cpu"}


def test_a_report_prints_a_line_per_check() -> None:
    text = str(check_kernel(NAME, [SAMPLE], backends=("cpu",)))

    assert text.splitlines()[0].split()[:3] == ["verdict", "check", "backend"]
    assert text.splitlines()[-1] == "CheckedCube: 5 checks, 0 failed"


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("eps: u32", "'eps' is a whole number; eps is 0.5"),
        ("eps: vec2<f32>", "'eps' is a vector; eps is 0.5"),
        ("epsi: f32", "'epsi' matches no attr"),
        ("eps: mat2x2<f32>", "a shader field of type mat2x2<f32> cannot be filled"),
    ],
)
def test_a_field_that_cannot_be_filled_is_told_where_it_is_declared(field: str, says: str) -> None:
    def cpu(x: Array, *, eps: float) -> Array:
        return np.asarray(x + np.float32(eps))

    def rule(x: wk.Spec, /, *, eps: float = 0.5) -> wk.Spec:
        return x

    name = field.partition(":")[0]
    shader = f"struct Attrs {{\n  {field}\n}}\nfn op(x: T) -> T {{ _ = attrs.{name}; return x; }}"
    wk.register_kernel(NAME, "cpu", cpu, override=True, signature=rule)
    wk.wgsl_kernel(NAME, shader, override=True)

    found = check_kernel(NAME, [SAMPLE], sections=("compiles",)).findings[0]
    assert says in found.words
    assert found.source == f"  {field}"
    assert found.column == 3


@pytest.mark.parametrize("is_whole", [True, False])
def test_terms_that_happen_to_cancel_make_no_gradient_wrong(is_whole: bool) -> None:
    upstream = UpstreamGradients().of(0, np.empty(500))
    terms = np.random.default_rng(0).standard_normal(500)
    slope = (terms - terms.mean()) / upstream
    faulty = slope * (np.arange(500) < 499)

    @wk.custom_grad
    def scaled(x: wk.Tensor) -> Any:
        used = slope if is_whole or x.dtype == "float64" else faulty
        return x * wk.tensor(slope, dtype=x.dtype), lambda dy, _: wk.sum(
            dy * wk.tensor(used, dtype=x.dtype), keepdims=True
        )

    row = check_gradient_parity(Sample("Multiply", scaled, ((1,),)), "cpu")

    assert row.passed == is_whole, str(row)
