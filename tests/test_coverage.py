"""Nothing half made: each kernel has both backends, a gradient or a reason, and a sample."""

import re

import pytest
from tests import by_family
from tests.modes import ALL_MODES, some

import wgsl_kernels as wk
from wgsl_kernels.engine.observe.coverage import coverage
from wgsl_kernels.engine.registry.gradients import find_rule
from wgsl_kernels.engine.registry.registry import kernel_names
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.testing import all_samples

OWN = [
    name
    for name in kernel_names()
    for kernel in [wk.get_kernel(name, "cpu") or wk.get_kernel(name, "webgpu")]
    if kernel is not None and kernel.origin.module.startswith("wgsl_kernels.")
]


def _takes_strings_only(name: str) -> bool:
    samples = [sample for sample in all_samples() if sample.kernel == name]
    return all("string" in sample.input_dtypes for sample in samples)


@pytest.mark.parametrize("name", OWN)
def test_every_kernel_has_both_backends_a_gradient_and_a_sample(name: str) -> None:
    backends = {"cpu"} if _takes_strings_only(name) else {"cpu", "webgpu"}

    assert [sample.id for sample in all_samples() if sample.kernel == name]
    assert backends <= {backend for backend in ("cpu", "webgpu") if wk.get_kernel(name, backend)}
    assert find_rule(name) is not None, "register a gradient, or say no_gradient(..., because=...)"
    assert find_signature(name) is not None


@pytest.mark.parametrize("name", OWN)
def test_a_kernel_without_a_gradient_says_why(name: str) -> None:
    rule = find_rule(name)

    assert rule is not None
    assert rule.func is not None or re.search(r"\w+ \w+", rule.because)


def test_every_sample_names_a_kernel() -> None:
    assert [sample.id for sample in all_samples() if sample.kernel not in OWN] == []


def test_coverage_has_a_row_for_each_kernel() -> None:
    rows = {row.name: row for row in coverage()}

    assert list(rows) == sorted(rows)
    assert set(OWN) <= set(rows)
    assert rows["Add"].backends == ("cpu", "webgpu")
    assert rows["Add"].has_gradient
    assert rows["Add"].origin is not None
    assert rows["Add"].origin.module == "wgsl_kernels.ops.elementwise.binary"
    assert not rows["ArgMax"].has_gradient


def test_coverage_says_which_dtypes_a_kernel_takes() -> None:
    wk.register_kernel("CoverageProbe", "cpu", lambda x: x)
    try:
        row = next(row for row in coverage() if row.name == "CoverageProbe")
        assert row.dtypes == {"cpu": None}
        assert row.origin is not None
        assert row.origin.module == __name__
    finally:
        wk.unregister_kernel("CoverageProbe", "cpu")


def test_where_some_rows_run_each_kernel_is_among_them_and_tests_differ() -> None:
    samples = all_samples()
    first, second = ([one.id for one in some(samples, 3, test)] for test in ("one", "another"))

    assert {one.kernel for one in some(samples, 3, "one")} == {one.kernel for one in samples}
    assert first == [one.id for one in some(samples, 3, "one")]
    assert (len(first) == len(samples)) == ALL_MODES
    assert (sorted(first) == sorted(second)) == ALL_MODES


def test_the_other_driver_is_given_each_kernel_with_rows() -> None:
    given = [one[-1] for one in by_family.arguments().values() if one[1:]]
    named = {word.strip("[-") for words in given for word in words.split(" or ")}

    assert named == {sample.kernel for sample in all_samples()}
