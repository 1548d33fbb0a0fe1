"""Samples that stand for several rows, bounds that know attributes, failing cases made smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.signature import forget_signature
from wgsl_kernels.testing import Sample, add_samples, all_samples, check_kernel
from wgsl_kernels.testing.registered import drop_samples, samples_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, Any]
TEXT = """
struct Attrs { alpha: T }

fn op(x: T, i: u32) -> T {
  return attrs.alpha * x;
}
"""


@pytest.fixture(autouse=True)
def _kernel() -> Iterator[None]:
    @wk.signature("Tried")
    def _(x: wk.Spec, /, *, alpha: float, shifts: tuple[int, ...] = ()) -> wk.Spec:
        return x.like()

    @wk.cpu_kernel("Tried")
    def _(x: Array, *, alpha: float, shifts: tuple[int, ...] = ()) -> Array:
        return alpha * x

    wk.wgsl_kernel("Tried", TEXT)
    yield
    for backend in ("cpu", "webgpu"):
        wk.unregister_kernel("Tried", backend)
    forget_signature("Tried")
    drop_samples("Tried")


def _tried(x: wk.Tensor, **attrs: Any) -> Any:
    return wk.engine().run_kernel("Tried", {"x": x}, attrs)


def _sample(**facts: Any) -> Sample:
    return Sample("Tried", _tried, ((2, 3),), **facts)


def test_each_combination_of_values_is_a_row_and_a_tuple_in_attrs_is_one_value() -> None:
    sample = _sample(attrs={"shifts": (1, 2)}, tries={"alpha": (0.1, -2.0)})

    add_samples("Tried", sample)

    assert [dict(one.attrs) for one in samples_of("Tried")] == [
        {"shifts": (1, 2), "alpha": 0.1},
        {"shifts": (1, 2), "alpha": -2.0},
    ]
    rows = _sample(tries={"alpha": (1.0, 2.0), "shifts": ((1,), (1, 2), ())}).rows()
    assert len({one.id for one in rows}) == 6


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"attrs": {"alpha": 1.0}, "tries": {"alpha": (2.0,)}}, "in attrs and in tries"),
        ({"tries": {"alpha": ()}}, "make 0 rows"),
        ({"tries": {"alpha": range(9), "shifts": range(9)}}, "make 81 rows"),
    ],
)
def test_tries_that_contradict_are_refused(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(wk.ArgumentError, match=words):
        _sample(**facts)


@pytest.mark.gpu
@pytest.mark.parametrize("factor", [0.0, 1e-9])
def test_a_bound_gets_the_attributes_that_it_names(factor: float) -> None:
    seen: list[float] = []

    def bound(inputs: Any, expected: Array, *, alpha: float) -> tuple[Array, Array]:
        seen.append(alpha)
        error = factor * 1e6 * abs(alpha) * np.abs(inputs[0]) + 1e-38
        return expected - error, expected + error

    sample = _sample(tries={"alpha": (0.1, 0.3)}, bound=bound)
    report = check_kernel("Tried", [sample], sections=("right",))

    assert set(seen) == {0.1, 0.3}
    assert report.passed == (factor > 0)


def test_no_sample_of_ours_sets_a_tolerance_or_several_values() -> None:
    assert not [one.id for one in all_samples() if one.has_tolerance or one.tries]


@pytest.mark.gpu
def test_a_failing_size_is_made_as_small_as_it_still_fails_and_can_be_repeated() -> None:
    wk.wgsl_kernel(
        "Tried",
        TEXT.replace("return", "if (i >= 212u) { return x; }\n  return"),
        override=True,
    )

    report = check_kernel("Tried", [_sample(attrs={"alpha": 3.0})], sections=("right",))

    (found,) = [one for one in report.findings if one.code == "wrong-at-size"]
    evidence = dict(found.evidence)
    assert evidence["case"].startswith("Tried-213x1-alpha=3.0/size 2 -> 213, 3 -> 1")
    assert {"got", "expected", "inputs", "index", "off"} <= set(evidence)
    case = evidence["repeat"].split('"')[1]
    again = check_kernel("Tried", [_sample(attrs={"alpha": 3.0})], sections=("right",), case=case)
    assert [one.code for one in again.findings] == ["wrong-at-size"]


@pytest.mark.gpu
def test_a_sample_that_is_wrong_is_made_smaller() -> None:
    wk.wgsl_kernel("Tried", TEXT.replace("attrs.alpha * x", "attrs.alpha + x"), override=True)

    report = check_kernel("Tried", [_sample(attrs={"alpha": 3.0})], sections=("right",))

    found = next(one for one in report.findings if one.code == "wrong-values")
    assert dict(found.evidence)["case"].startswith("Tried-1x1-alpha=3.0/size 3 -> 1, 2 -> 1")


def test_a_kernel_for_cpu_alone_is_checked_to_the_end() -> None:
    """What the simulator does not have is no reason to stop, and is not timed elsewhere."""

    @wk.signature("Near")
    def _(x: wk.Spec, /) -> wk.Spec:
        return x.like()

    wk.cpu_kernel("Near")(lambda x: (x + 1.5) ** 2 - 2.25)
    wk.wgsl_kernel("Neer", "fn op(x: T) -> T { return x; }")
    near = Sample("Near", lambda x: wk.run("Near", x), ((30, 40),))
    report = check_kernel("Near", [near], sections=("right", "fast"))
    assert {"unknown-bound", "raises"} <= {one.code for one in report.findings}
    raised = next(one.words for one in report.findings if one.code == "raises")
    assert "there is 'Neer'" in raised
    notes = [one.note for one in report.rows if one.check == "time"]
    assert len(notes) == 1
    assert notes[0].startswith("cpu ")
    assert "webgpu" not in notes[0]
