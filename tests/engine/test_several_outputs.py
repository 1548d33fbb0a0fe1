"""Gradients of kernels with several outputs: zeros where nothing came; errors name the rule."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.gradients import find_rule
from wgsl_kernels.testing import all_samples

pytestmark = pytest.mark.gpu

NAME = "SeveralProbe"
SHADER = """
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> twice: array<T_twice>;
@group(0) @binding(2) var<storage, read_write> above: array<T_above>;
@group(0) @binding(3) var<storage, read_write> thrice: array<T_thrice>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) {
    twice[id.x] = x[id.x] * 2.0;
    above[id.x] = u32(x[id.x] > 0.0);
    thrice[id.x] = x[id.x] * 3.0;
  }
}
"""


def declare(rule: Callable[..., Any], **options: Any) -> None:
    """Register the probe: the outputs are twice x, whether x is above 0, and thrice x."""

    @wk.signature(NAME)
    def _(x: wk.Spec, /) -> dict[str, wk.Spec]:
        return {"twice": x, "above": x.like(dtype="bool"), "thrice": x}

    @wk.cpu_kernel(NAME)
    def _(x: Any) -> Any:
        return x * 2, x > 0, x * 3

    wk.wgsl_kernel(NAME, SHADER)
    wk.register_gradient(NAME, rule, override=True, **options)


def run(x: wk.Tensor) -> Any:
    return wk.engine().run_kernel(NAME, {"x": x})


def both(dys: Any) -> Any:
    return wk.expand_dims(dys[0] * 2.0, axis=0)[0] + wk.expand_dims(dys[2] * 3.0, axis=0)[0]


def ways(backend: str, f: Callable[[wk.Tensor], wk.Tensor], x: list[float]) -> list[Any]:
    """Return what ``f`` gives eagerly, fused, unfused, and replayed."""
    with wk.use_backend(backend):
        given = wk.tensor(x)
        found = []
        for fusion in ("auto", "always", "never"):
            with wk.config.using(fusion=fusion):
                found.append(f(given).tolist())
        fast = wk.capture(f)
        fast(given)
        return [*found, fast(given).tolist()]


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_an_output_that_nobody_used_has_a_gradient_of_zeros(backend: str) -> None:
    declare(both)
    assert ways(backend, wk.grad(lambda x: wk.sum(run(x)[0])), [1.0, 2.0]) == [[2.0, 2.0]] * 4
    assert ways(backend, wk.grad(lambda x: wk.sum(run(x)[2])), [1.0, 2.0]) == [[3.0, 3.0]] * 4
    used = wk.grad(lambda x: wk.sum(run(x)[0] * run(x)[2]))
    assert ways(backend, used, [1.0, 2.0]) == [[12.0, 24.0]] * 4
    again = wk.grad(wk.grad(lambda x: wk.sum(run(x)[0] * run(x)[0])))
    assert ways(backend, again, [1.0, 2.0]) == [[8.0, 8.0]] * 4


@pytest.mark.parametrize(
    ("backend", "dtype"), [("cpu", "float32"), ("cpu", "float16"), ("webgpu", "float32")]
)
def test_the_zeros_have_the_shape_and_dtype_of_the_output(backend: str, dtype: Any) -> None:
    seen: list[Any] = []

    def rule(dys: Any) -> Any:
        seen.extend(None if dy is None else (dy.shape, dy.dtype, dy.tolist()) for dy in dys)
        return dys[2]

    declare(rule)
    with wk.use_backend(backend):
        wk.grad(lambda x: wk.sum(run(x)[2]))(wk.ones((1, 2), dtype=dtype))
    zeros, ones = [[0.0, 0.0]], [[1.0, 1.0]]
    assert seen == [((1, 2), dtype, zeros), None, ((1, 2), dtype, ones)]  # no gradient of bools


def test_zeros_of_double_checks_are_double() -> None:
    declare(both)
    assert wk.testing.compute_gradient_error(lambda x: run(x)[2], [np.array([1.0, 2.0])]) < 1e-4


def none_of(dys: Any, where: list[Any]) -> Any:
    where.append([dy is None for dy in dys])
    return dys[0] * 2.0


def test_none_is_given_on_request() -> None:
    seen: list[Any] = []
    declare(lambda dys: none_of(dys, seen), none=True)
    assert wk.grad(lambda x: run(x)[0])(1.0).item() == 2.0
    declare(lambda dys: none_of(dys, seen), none=False)
    assert wk.grad(lambda x: run(x)[0])(1.0).item() == 2.0
    with wk.override_gradient(NAME, lambda dys: none_of(dys, seen), none=True):
        assert wk.grad(lambda x: run(x)[0])(1.0).item() == 2.0
    with wk.override_gradient(NAME, lambda dys: none_of(dys, seen)):
        assert wk.grad(lambda x: run(x)[0])(1.0).item() == 2.0

    @wk.gradient(NAME, none=True, override=True)
    def _rule(dys: Any) -> Any:
        return none_of(dys, seen)

    assert wk.grad(lambda x: run(x)[0])(1.0).item() == 2.0
    no_gradient_of_bools = [False, True, False]
    asked = [False, True, True]
    assert seen == [asked, no_gradient_of_bools, asked, no_gradient_of_bools, asked]


def test_every_rule_of_ours_for_several_outputs_takes_none() -> None:
    rules = {}
    for sample in all_samples():
        kernel = wk.get_kernel(sample.kernel, "cpu")
        rule = find_rule(sample.kernel)
        if kernel is not None and rule is not None and rule.func is not None:
            rules[sample.kernel] = (rule.none, rule.parameters[0])
    several = {name for name, (_, first) in rules.items() if first == "dys"}
    assert several >= {"SplitV", "Unpack", "TopK", "RaggedGather"}
    assert several == {name for name, (none, _) in rules.items() if none}


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_zeros_are_made_only_for_rules_that_take_them(backend: str, none: bool) -> None:
    declare(lambda dys: dys[0] * 2.0, none=none)
    with wk.use_backend(backend):
        x = wk.ones(3)
        seen = wk.profile(lambda: wk.grad(lambda x: wk.sum(run(x)[0]))(x))
    assert [row.name for row in seen.kernels].count("Fill") == (0 if none else 1)


def far_away(dys: Any) -> Any:
    return wk.expand_dims(dys[1], axis=0)


def lazily_far_away(dys: Any) -> Any:
    return lambda: wk.expand_dims(dys[1], axis=0)


@pytest.mark.parametrize("rule", [far_away, lazily_far_away])
@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_an_error_inside_a_rule_names_the_kernel_and_the_rule(
    backend: str, rule: Callable[..., Any]
) -> None:
    declare(rule)
    line = rule.__code__.co_firstlineno
    with (
        wk.use_backend(backend),
        pytest.raises(wk.ArgumentError) as caught,
    ):
        wk.grad(lambda x: wk.sum(run(x)[0]))(wk.ones(3))
    assert str(caught.value) == (
        f"{NAME}: the gradient rule {rule.__name__!r} ({__file__}:{line}) failed: "
        "ExpandDims: input 'input' is missing."
    )


def test_an_error_of_pythons_own_in_a_rule_names_it_too() -> None:
    declare(lambda dys: dys[1].shape)
    with pytest.raises(AttributeError, match=f"{NAME}: the gradient rule .*: 'NoneType' object"):
        wk.grad(lambda x: run(x)[0])(1.0)
    found: dict[str, Any] = {}
    declare(lambda dys: found["left out"])
    with pytest.raises(KeyError) as caught:
        wk.grad(lambda x: run(x)[0])(1.0)
    assert caught.value.args == ("left out",)  # its message cannot carry more
    assert any(note.startswith(f"{NAME}: the gradient rule ") for note in caught.value.__notes__)


def test_an_error_in_a_rule_of_one_output_names_it_too() -> None:
    def odd(dy: wk.Tensor) -> wk.Tensor:
        return wk.reshape(dy, (5, 7))

    with (
        wk.override_gradient("Exp", odd),
        pytest.raises(wk.ShapeError, match=r"^Exp: the gradient rule '.*odd' .* failed: Reshape: "),
    ):
        wk.grad(wk.exp)(1.0)


def test_the_report_of_a_check_names_the_rule() -> None:
    declare(far_away)
    report = wk.testing.check_kernel(
        NAME, [wk.testing.Sample(NAME, lambda x: run(x)[0], ((2,),))], backends=("cpu",)
    )
    assert not report.passed
    assert f"{NAME}: the gradient rule 'far_away'" in str(report)
