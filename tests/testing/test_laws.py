"""What ``init`` and ``combine`` promise is held against an author's functions, in results."""

import random
from typing import Any

import numpy as np
import pytest
from tests.derive.test_representations import GAUGES, VALUES, text_of
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.bench.laws.combined import combined_by
from wgsl_kernels.bench.laws.laws import broken_laws
from wgsl_kernels.bench.laws.rows import LONG, NEAR_ONE, patterned
from wgsl_kernels.testing import Sample, all_samples, check_kernel
from wgsl_kernels.wgsl.errors.findings import Finding

pytestmark = pytest.mark.usefixtures("own_kernels")

SUM = "fn init() -> f32 { return 0.0; }\nfn lift(x: T) -> f32 { return f32(x); }\n"


def sampled(text: str, *, form: Any = None, **facts: Any) -> Sample:
    """Register a text, and return how it is tried."""
    wk.wgsl_kernel("Tried", text, form=form, cpu="derive")
    if form == "scan":
        wk.signature("Tried", override=True)(lambda x, /, *, axis=-1, decay=0.5: x.like())
    else:
        wk.signature("Tried", override=True)(lambda x, /, *, axis=-1: x.like(shape=x.shape[:-1]))
    return Sample("Tried", run, ((3, 6),), **facts)


def run(x: wk.Tensor, **attrs: Any) -> Any:
    return wk.run("Tried", x, **attrs)


def found(text: str, **facts: Any) -> list[Finding]:
    """Return the laws that a text breaks."""
    return laws(sampled(text, **facts))


def laws(sample: Sample) -> list[Finding]:
    combined = combined_by(sample)
    assert combined is not None
    return broken_laws(sample, combined)


def joined(how: str, more: str = "") -> str:
    return f"{SUM}fn combine(a: f32, b: f32) -> f32 {{ return {how}; }}\n{more}"


def test_a_right_sum_breaks_none() -> None:
    assert found(joined("a + b")) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (joined("a + b").replace("0.0", "1.0"), 1, "gives the result"),
        (joined("max(a, b)"), 1, "combine(init(), a) gives the result 0, a -"),
        (joined("0.5 * (a + b)"), 3, "combine(a, combine(b, c)) gives the result"),
        (joined("a"), 1, "combine(init(), a) gives the result 0, a "),
        (joined("a + b", "fn append(a: f32, x: T) -> f32 { return a + 2.0 * f32(x); }"), 4,
         "append(a, x) gives the result"),
    ],
)  # fmt: skip
def test_a_broken_law_is_told_at_the_function_with_both_results(
    text: str, line: int, words: str
) -> None:
    (one,) = [each for each in found(text) if each.line == line]

    assert (one.code, one.severity) == ("broken-law", "error")
    assert words in one.words
    assert one.source == text.splitlines()[line - 1]
    assert "a of [" in dict(one.evidence)["accumulators"]


def test_a_reduction_is_joined_in_any_order_and_a_scan_in_its_own() -> None:
    last = """struct Last { value: f32, count: u32 }
fn init() -> Last { return Last(0.0, 0u); }
fn lift(x: T) -> Last { return Last(f32(x), 1u); }
fn combine(a: Last, b: Last) -> Last { if (b.count == 1u) { return b; } return a; }
fn finish(a: Last) -> f32 { return a.value; }
"""
    assert found(last, form="scan") == []
    (one,) = found(last)
    assert one.words.startswith("combine(b, a) gives the result")
    assert "in any order" in one.words


def test_what_no_result_shows_is_no_breach() -> None:
    text = """struct Kept { sum: f32, first: f32 }
fn init() -> Kept { return Kept(0.0, 0.0); }
fn lift(x: T) -> Kept { return Kept(f32(x), f32(x)); }
fn combine(a: Kept, b: Kept) -> Kept { return Kept(a.sum + b.sum, a.first - 2.0 * b.first); }
fn finish(a: Kept) -> f32 { return a.sum; }
"""
    assert found(text) == []
    shown = found(text.replace("return a.sum;", "return a.sum + a.first;"))
    assert [one.code for one in shown] == ["broken-law"] * len(shown) != []


TOP = """struct Total { top: f32, sum: f32 }
fn init() -> Total { return Total(-1e4, 0.0); }
fn lift(x: T) -> Total { return Total(f32(x), 1.0); }
fn combine(a: Total, b: Total) -> Total {
  let top = max(a.top, b.top);
  return Total(top, a.sum * exp(a.top - top) + b.sum * exp(b.top - top));
}
fn finish(a: Total) -> f32 { return a.top + log(a.sum); }
"""


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        ({"domain": (-1e30, 1e30)}, ["broken-law"]),
        ({}, ["broken-law-at-extreme"]),
        ({"domain": (-100, 100)}, []),
        ({"low": 0.0}, []),
    ],
)
def test_numbers_are_those_that_a_sample_states_and_beyond_them_it_is_warned(
    facts: dict[str, Any], codes: list[str]
) -> None:
    assert [one.code for one in found(TOP, **facts)] == codes
    assert found(TOP.replace("-1e4", "-3e38"), **facts) == []


def test_what_overflows_in_float32_alone_is_a_breach_of_init() -> None:
    """In float64 the exponential of -200 is a number."""
    text = TOP.replace("-1e4", "0.0")

    assert [one.code for one in found(text, domain=(-300, 300))] == ["broken-law"]


def test_integers_and_attributes_are_tried_as_a_sample_has_them() -> None:
    largest = (
        "fn init() -> i32 { return {}; }\nfn combine(a: i32, b: i32) -> i32 { return max(a, b); }"
    )

    facts = {"dtypes": "int32", "low": -5, "high": 6}
    assert [one.line for one in found(largest.replace("{}", "0", 1), **facts)] == [1]
    assert found(largest.replace("{}", "-2147483648", 1), **facts) == []


def written(name: str, gauge: str, seed: int) -> str:
    """Return a random accumulation that writes one value in several ways, with this one."""
    text = text_of(name, random.Random(seed))
    head, _, _ = text.rpartition("same(join(a, b), ")
    return f"{head}same(join(a, b), {gauge}); }}\n"


@pytest.mark.parametrize("name", VALUES)
def test_accumulators_that_write_one_value_in_several_ways_break_none(name: str) -> None:
    for seed, gauge in enumerate(GAUGES):
        for low, high in ((0.5, 1.4), (-2.0, 2.0)):
            told = found(written(name, gauge, seed), form="scan", low=low, high=high)
            assert [one for one in told if one.severity == "error"] == [], gauge


@pytest.mark.parametrize("kernel", sorted({one.kernel for one in all_samples()}))
def test_our_own_reductions_scans_and_windows_break_none(kernel: str) -> None:
    samples = [one for one in all_samples() if one.kernel == kernel]
    for sample in samples if ALL_MODES else samples[:2]:
        combined = combined_by(sample)
        assert combined is None or broken_laws(sample, combined) == []


def test_the_row_stands_in_a_check_and_a_waiver_with_a_reason_passes_it() -> None:
    text = joined("max(a, b)")
    sample = sampled(text)
    waived = Sample("Tried", run, ((3, 6),), waive={"broken-law": "x is above 0"})

    report = check_kernel("Tried", [sample], sections=("right",), backends=("cpu",))
    (row,) = [one for one in report.rows if one.check == "laws"]
    assert not row.passed
    report = check_kernel("Tried", [waived], sections=("right",), backends=("cpu",))
    assert report.passed


def test_rows_have_one_sign_few_kinds_and_3000_elements() -> None:
    sample = sampled(joined("a + b"), low=-2.0, high=3.0)
    combined = combined_by(sample)
    assert combined is not None

    rows = {one.what: one.arrays[0] for one in patterned(sample, combined)}

    assert (rows["numbers below 0"] < 0).all()
    assert (rows["numbers above 0"] > 0).all()
    assert not rows["all zeros"].any()
    assert len(np.unique(rows["as drawn, all equal"])) == 1
    assert rows["of few kinds"].shape == (2, LONG)
    assert set(np.unique(rows["of few kinds"])) == {-1.0, 0.0, 1.0}
    assert min(one.min() for one in rows.values()) >= -2.0
    assert max(one.max() for one in rows.values()) <= 3.0


def test_rows_keep_a_domain() -> None:
    sample = sampled(joined("a + b"), low=1.0, high=2.0, domain=(0.5, 1e6))
    combined = combined_by(sample)
    assert combined is not None

    values = [one.arrays[0] for one in patterned(sample, combined)]

    assert min(one.min() for one in values) >= 0.5
    assert 1e4 < max(one.max() for one in values) <= 1e6


DECAY = """struct Attrs { decay: f32 }
struct Line { slope: f32, offset: f32 }
fn init() -> Line { return Line(1.0, 0.0); }
fn lift(x: T) -> Line { return Line(attrs.decay, (1.0 - attrs.decay) * f32(x)); }
fn combine(a: Line, b: Line) -> Line {
  return Line(a.slope * b.slope, b.slope * a.offset + b.offset);
}
fn finish(a: Line) -> T_y { return T_y(a.offset); }
"""


def test_a_scan_is_tried_with_a_coefficient_near_1() -> None:
    sample = sampled(DECAY, form="scan", attrs={"decay": 0.8})
    combined = combined_by(sample)
    assert combined is not None

    *_, last = patterned(sample, combined)

    assert (last.code, last.sample.attrs) == ("wrong-for-attribute", {"decay": NEAR_ONE})
    assert laws(sample) == []
