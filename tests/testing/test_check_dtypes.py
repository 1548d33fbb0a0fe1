"""A check of kernels of integers, bools and complex numbers: right ones pass, wrong ones fail."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from tests.testing.kernels import registered

from wgsl_kernels.testing import Report, Sample, check_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    import wgsl_kernels as wk

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("own_kernels")]


def same(x: wk.Spec, /) -> wk.Spec:
    return x.like()


def of_rows(x: wk.Spec, /, *, axis: int = -1) -> wk.Spec:
    return x.like(shape=tuple(np.delete(x.shape, axis).tolist()))


def both(mask: wk.Spec, x: wk.Spec, /) -> wk.Spec:
    return x.like(shape=np.broadcast_shapes(mask.shape, x.shape))


class Tried(NamedTuple):
    """A kernel, and how it is tried.

    Attributes:
        dtypes: Those of the sample.
        named: What ``dtypes=`` names.
    """

    cpu: Callable[..., Any]
    text: str
    dtypes: tuple[str, ...]
    named: tuple[str, ...] | None = None
    rule: Callable[..., Any] = same
    shape: tuple[int, ...] = (4, 9)


def check(one: Tried) -> Report:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that a file has what nothing reads
        f = registered("Tried", one.cpu, one.text, one.rule, dtypes=one.named)
    attrs = {"axis": -1} if one.rule is of_rows else {}
    sample = Sample("Tried", f, (one.shape,) * len(one.dtypes), one.dtypes, attrs)
    return check_kernel("Tried", [sample], sections=("compiles", "right", "safe"))


def inverted(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return ~x if x.dtype == np.bool_ else -x - 1


INVERT = "fn op(x: T) -> T { return ~x; }\nfn op_bool(x: bool) -> bool { return BODY; }"
SQUARE = "fn op(x: T) -> T { return x * x; }\nfn op_complex(x: vec2<f32>) -> vec2<f32> { BODY }"
SQUARED = "return vec2<f32>(x.x * x.x - x.y * x.y, 2.0 * x.x * x.y);"
TOTAL = "fn init() -> T { return INIT; }\nfn combine(a: T, b: T) -> T { return BODY; }"
PRODUCT = "T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)"


def total(init: str, body: str) -> str:
    return TOTAL.replace("INIT", init).replace("BODY", body)


RIGHT = {
    "steps": Tried(
        lambda x: np.where(x % 2 == 0, x // 2, 3 * x + 1).astype(np.int32),
        "fn op(x: T) -> T { return select(3 * x + 1, x / 2, (x & 1) == 0); }",
        ("int32",), ("int32",),
    ),
    "largest": Tried(
        lambda x, *, axis: x.max(axis), total("-2147483647 - 1", "max(a, b)"),
        ("int32",), ("int32",), of_rows,
    ),
    "means": Tried(
        lambda x, *, axis: np.trunc(x.sum(axis) / np.float32(x.shape[axis])).astype(np.int32),
        f"{total('0', 'a + b')}\nfn finish(a: T, n: u32) -> T_y {{ return a / T(n); }}",
        ("int32",), ("int32",), of_rows,
    ),
    "doubled": Tried(
        lambda x: x * 2, "fn op(x: T) -> T { return x + x; }", ("int32",), ("int32", "float32")
    ),
    "parity": Tried(
        lambda x, *, axis: np.logical_xor.reduce(x, axis), total("false", "a != b"),
        ("bool",), ("bool",), of_rows,
    ),
    "filled": Tried(
        lambda mask, x: np.where(mask, np.float32(2), x),
        "fn op(mask: bool, x: f32) -> f32 { return select(x, 2.0, mask); }",
        ("bool", "float32"), None, both,
    ),
    "inverted": Tried(inverted, INVERT.replace("BODY", "!x"), ("int32",), ("int32", "bool")),
    "squared": Tried(lambda x: x * x, SQUARE.replace("BODY", SQUARED), ("float32",)),
    "complex sums": Tried(
        lambda x, *, axis: x.sum(axis), total("T()", "a + b"), ("complex64",), ("complex64",),
        of_rows, (3, 7),
    ),
    "complex products": Tried(
        lambda x, *, axis: x.prod(axis), total("T(1.0, 0.0)", PRODUCT), ("complex64",),
        ("complex64",), of_rows, (3, 7),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_passes(name: str) -> None:
    report = check(RIGHT[name])

    assert report.passed, str(report)
    bad = {one.code for one in report.findings if one.severity != "note"}
    assert bad <= {"unknown-bound"}  # of complex numbers nothing is derived for long rows


WRONG = {
    "a float beside integers": (
        RIGHT["doubled"]._replace(
            text="fn op(x: T) -> T { return x + x; }\nfn op_f32(x: f32) -> f32 { return x * 3.0; }"
        ),
        "wrong-dtype",
    ),
    "a bool beside integers": (
        RIGHT["inverted"]._replace(text=INVERT.replace("BODY", "x")), "wrong-dtype",
    ),
    "an integer beside bools": (
        RIGHT["inverted"]._replace(
            dtypes=("bool",), text=INVERT.replace("~x", "~x ^ 1").replace("BODY", "!x")
        ),
        "wrong-dtype",
    ),
    "a complex number beside floats": (
        RIGHT["squared"]._replace(text=SQUARE.replace("BODY", "return x * x;")), "wrong-dtype",
    ),
    "a float beside complex numbers": (
        RIGHT["squared"]._replace(
            dtypes=("complex64",), named=("complex64", "float32"),
            text=SQUARE.replace("x * x", "x + x", 1).replace("BODY", SQUARED),
        ),
        "wrong-dtype",
    ),
    "a bool that is named": (
        Tried(
            lambda x, *, axis: x.max(axis), total("T()", "max(a, b)"), ("int32",),
            ("int32", "bool"), of_rows,
        ),
        "stated-dtype",
    ),
    "complex sums by a part": (
        RIGHT["complex sums"]._replace(text=total("T()", "T(a.x + b.x, a.y)")), "wrong-values",
    ),
    "complex products by parts": (
        RIGHT["complex products"]._replace(text=total("T(1.0, 1.0)", "a * b")), "wrong-values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails(name: str) -> None:
    tried, code = WRONG[name]
    report = check(tried)

    assert code in {one.code for one in report.findings if one.severity == "error"}, str(report)


def test_a_scalar_beside_long_rows_is_checked() -> None:
    f = registered(
        "Masked", lambda mask, x: mask & x, "fn op(mask: T, x: T) -> T { return mask & x; }", both,
        dtypes=("int32",),
    )  # fmt: skip
    sample = Sample("Masked", f, ((65,), ()), ("int32", "int32"))

    assert check_kernel("Masked", [sample], sections=("right", "safe")).passed
