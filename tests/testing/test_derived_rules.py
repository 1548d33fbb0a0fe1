"""`check` holds rules by hand against what the shader gives, also far from the sample."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wgsl_kernels as wk
from wgsl_kernels.bench.checking import derived
from wgsl_kernels.bench.checking.subject import Subject
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing import Sample

CUBE = "fn op(x: f32) -> f32 {\n  return x * x * x;\n}\n"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = take_snapshot()
    wk.wgsl_kernel("Rule", CUBE)
    wk.signature("Rule")(lambda x, /: x.like())
    wk.cpu_kernel("Rule")(lambda x: x * x * x)
    yield
    before.restore()


def findings() -> list[str]:
    sample = Sample("Rule", lambda x: wk.run("Rule", x), ((40,),))
    subject = Subject("Rule", (sample,), ("cpu", "webgpu"))
    return [one.words for some in derived.compared(subject, sample) for one in some]


def test_a_right_rule_has_no_finding() -> None:
    wk.gradient("Rule")(lambda dy, x: dy * 3.0 * x * x)

    assert findings() == []


def test_a_rule_that_is_wrong_far_away_is_told_with_its_place() -> None:
    wk.gradient("Rule")(lambda dy, x: dy * wk.where(x > 3.0, 2.0, 3.0) * x * x)

    words = findings()
    assert words
    assert "the gradient by x is" in words[0]
    assert "by the shader" in words[0]


def test_a_derived_rule_is_not_held_against_itself() -> None:
    wk.wgsl_kernel("Rule", CUBE, gradient="derive", override=True)

    assert findings() == []


PRODUCT = """fn a_at(batch: u32, row: u32, k: u32) -> T_x { return x[row * params.depth + k]; }
fn b_at(batch: u32, k: u32, col: u32) -> T_c { return c[k * params.cols + col]; }
"""
SQUARED = """fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 { return sum * sum; }
"""


def of_product(text: str, cpu: Callable[..., Any], rule: Callable[..., Any]) -> list[str]:
    """Return what is found of a product with a rule by hand."""
    wk.register_kernel(
        "Product", "cpu", cpu, signature=lambda x, c, /: x.like(shape=(x.shape[0], c.shape[1]))
    )
    wk.wgsl_kernel("Product", text, form="product", params=lambda x_shape: {"depth": x_shape[1]})
    wk.register_gradient("Product", rule)
    sample = Sample("Product", lambda x, c: wk.run("Product", x, c), ((3, 4), (4, 5)))
    subject = Subject("Product", (sample,), ("cpu", "webgpu"))
    before = take_snapshot()
    found = [one for some in derived.compared(subject, sample) for one in some]
    assert not any(before.changed().values())
    assert {one.code for one in found} <= {"derived-differs"}
    return [one.words for one in found]


def right(dy: wk.Tensor, x: wk.Tensor, c: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
    dy = dy * 2.0 * wk.matmul(x, c)
    return wk.matmul(dy, c, transpose_b=True), wk.matmul(x, dy, transpose_a=True)


def test_a_product_with_a_right_rule_has_no_finding() -> None:
    assert of_product(PRODUCT + SQUARED, lambda x, c: (x @ c) ** 2, right) == []


def test_a_rule_of_a_product_that_is_wrong_for_one_input_is_told() -> None:
    def wrong(dy: wk.Tensor, x: wk.Tensor, c: wk.Tensor) -> tuple[wk.Tensor, wk.Tensor]:
        dx, dc = right(dy, x, c)
        return dx, dc * wk.where(wk.abs(c) > 3.0, 2.0, 1.0)

    words = of_product(PRODUCT + SQUARED, lambda x, c: (x @ c) ** 2, wrong)
    assert words
    assert all("the gradient by c is" in one for one in words)


def test_a_product_that_is_not_derived_is_left_alone() -> None:
    text = PRODUCT + "fn init() -> f32 { return 1.0; }\n"

    assert of_product(text, lambda x, c: x @ c + 1, lambda dy, x, c: (x, c)) == []
