"""What is derived of accumulations does not depend on what their inputs are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu

SQUARES = """
fn init() -> T_wide { return T_wide(0); }
fn lift(x: T, k: u32) -> T_wide { return T_wide(x) * T_wide(x) * T_wide(k + 1u); }
fn combine(p: T_wide, q: T_wide) -> T_wide { return p + q; }
"""
SQUARED = SQUARES + "fn finish(s: T_wide) -> T_y { return T_y(s * s); }\n"
SCALED = SQUARES + "fn apply(INPUT: T, s: T_wide) -> T_y { return T_y(T_wide(INPUT) * s); }\n"
FORMS: dict[str, tuple[str, Any]] = {
    "reduce": (SQUARED, None),
    "scan": (SQUARED, "scan"),
    "apply": (SCALED, None),
}


def _registered(name: str, form: str) -> Callable[[wk.Tensor], Any]:
    scope: dict[str, Any] = {}
    shape = "x.shape[:-1]" if form == "reduce" else "x.shape"
    text = f"def rule({name}, /, *, axis=-1):\n  x = {name}\n  return x.like(shape={shape})\n"
    exec(text, scope)
    source, declared = FORMS[form]
    wk.signature("Named", override=True)(scope["rule"])
    wk.wgsl_kernel(
        "Named", source.replace("INPUT", name), form=declared, gradient="derive", cpu="derive",
        override=True,
    )  # fmt: skip
    return lambda x: wk.run("Named", x, axis=-1)


def _found(f: Callable[[wk.Tensor], Any], x: wk.Tensor) -> list[Any]:
    first = wk.grad(lambda x: wk.sum(f(x)))
    return [f(x).numpy(), first(x).numpy(), wk.grad(lambda x: wk.sum(first(x)))(x).numpy()]


@pytest.mark.parametrize("form", FORMS)
def test_an_input_may_have_the_name_of_an_accumulator_or_a_number(form: str) -> None:
    values = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 5
    wanted: dict[str, list[Any]] = {}
    for name in ("x", "a", "b", "i", "settled"):
        f = _registered(name, form)
        for backend in ("cpu", "webgpu"):
            with wk.use_backend(backend):
                found = _found(f, wk.tensor(values))
            for one, want in zip(found, wanted.setdefault(form, found), strict=True):
                np.testing.assert_allclose(one, want, rtol=1e-5, err_msg=f"{name}, {backend}")
    assert np.abs(wanted[form][1]).min() > 0.0
