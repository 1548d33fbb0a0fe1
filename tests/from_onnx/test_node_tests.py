"""ONNX's own node tests: each passes, or is recorded with the class that says why not."""

from __future__ import annotations

import warnings

import pytest
from tests.from_onnx import node_tests

RECORDED = node_tests.recorded()
OPS = sorted(RECORDED["ops"])


def _check(op: str, backend: str) -> None:
    names = [name for name in node_tests.cases() if node_tests.op_of(name) == op]
    assert len(names) == RECORDED["ops"][op]["cases"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of infinities and NaN
        failed = {name: said for name in names if (said := node_tests.failure(name, backend))}

    left_out = RECORDED["left_out"]
    explained = {name for name in names if backend in left_out.get(name, {"on": ()})["on"]}
    assert {name: said for name, said in failed.items() if name not in explained} == {}
    if node_tests.is_strict(backend):  # else it passes now: `python -m tests.from_onnx.node_tests`
        assert explained <= set(failed)


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("op", OPS)
def test_cpu_gives_what_onnx_wants(op: str) -> None:
    _check(op, "cpu")


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("backend", ["webgpu"])
@pytest.mark.parametrize("op", OPS)
def test_webgpu_gives_what_onnx_wants(op: str, backend: str) -> None:
    _check(op, backend)


def test_nothing_is_left_out_without_a_reason_and_the_counts_are_kept() -> None:
    whys = {row["why"] for row in RECORDED["left_out"].values()}

    assert whys == {*node_tests.CLASSES, "float64", "integers beyond 32 bits"}
    assert RECORDED["passed"]["cpu"] >= 1800
    assert RECORDED["passed"]["webgpu"] >= 1740
    assert len(RECORDED["on_host"]) <= 60
    assert all(
        row["on"] == ["webgpu"] for row in RECORDED["left_out"].values() if row["why"] == "float64"
    )
