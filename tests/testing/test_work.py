"""How many operations a call does: by its form, as `check`'s roofline and `explain` show it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.testing.commands import run

import wgsl_kernels as wk
from wgsl_kernels.testing.ceilings import operations_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("own_kernels")]


def ones(*shape: int) -> wk.Tensor:
    return wk.tensor(np.ones(shape, np.float32))


TOTALS = """
fn init() -> f32 {
  return 0.0;
}
fn lift(x: f32) -> f32 {
  return x * x - 1.0;
}
fn combine(a: f32, b: f32) -> f32 {
  return a + b;
}
fn finish(total: f32) -> f32 {
  return sqrt(total) * 0.5;
}
"""
CALLS: dict[str, tuple[Callable[[], object], int]] = {
    "a product": (lambda: wk.matmul(ones(7, 20), ones(20, 9)), 2 * 7 * 20 * 9),
    "products": (lambda: wk.matmul(ones(3, 7, 20), ones(3, 20, 9)), 2 * 3 * 7 * 20 * 9),
    "a convolution": (
        lambda: wk.conv2d(ones(2, 8, 8, 4), ones(3, 3, 4, 16), strides=1, pad="same"),
        2 * 2 * 8 * 8 * 16 * 3 * 3 * 4,
    ),
    "a reduction": (lambda: own("Reduced", ones(6, 50)), 6 * (50 * 3 + 2)),
    "a scan": (lambda: own("Scanned", ones(6, 50)), 6 * 50 * 5),
    "a window": (lambda: own("Pooled", ones(1, 8, 8, 2)), 4 * 4 * 2 * (4 * 3 + 2)),
    "a map": (lambda: own("Mapped", ones(6, 50)), 6 * 50 * 3),
}


def own(name: str, x: wk.Tensor) -> object:
    attrs = {"Pooled": {"filter_size": (2, 2)}, "Mapped": {}}.get(name, {"axis": -1})
    return wk.engine().run_kernel(name, {"x": x}, attrs)


@pytest.mark.parametrize("what", CALLS)
def test_a_skeleton_has_the_operations_of_its_form(what: str) -> None:
    wk.signature("Reduced")(lambda x, /, *, axis=-1: x.like(shape=x.shape[:-1]))
    wk.wgsl_kernel("Reduced", TOTALS)
    wk.signature("Scanned")(lambda x, /, *, axis=-1: x.like())
    wk.wgsl_kernel("Scanned", TOTALS, form="scan")
    wk.wgsl_kernel("Pooled", TOTALS, form="window")
    wk.wgsl_kernel("Mapped", "fn op(x: f32) -> f32 {\n  return exp(x) * 2.0 + 1.0;\n}\n")
    call, count = CALLS[what]

    assert operations_of(call) == count


def test_explain_shows_them() -> None:
    (one,) = json.loads(run("explain", "Sum", "64x48", "--json").output)["dispatches"]

    assert one["operations"] == 64 * 48
    assert "operations, 0.2" in run("explain", "Sum", "64x48").output
