"""`check` holds rules by hand against what the shader gives, also far from the sample."""

from collections.abc import Iterator

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
