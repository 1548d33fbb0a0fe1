"""Scans that a user writes: every method, one dispatch and two, gives what a loop gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.webgpu.user_scans import (
    ANY,
    LARGE,
    LAST_ABOVE_ZERO,
    LOG_CUMSUM_EXP,
    MEAN,
    PLACE_OF_LARGEST,
    RECURRENCE,
    RUNNING_MAX,
    SUM_OF_MATRICES,
)

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.lowering import scan as lower_scan
from wgsl_kernels.backends.webgpu.lowering.scan import ScanLayout, ScanSpread

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(5)

SHAPES: list[Any] = [
    ((1,), 0, "one_by_one"),
    ((37,), 0, "one_by_one"),
    ((3, 41, 5), 1, "one_by_one"),
    ((3, 41, 8), 1, "columns"),
    ((70, 12), 0, "columns"),
    ((2051,), 0, "fours"),
    ((5, 64), 1, "fours"),
    ((2, 3000), 1, "tiles"),
    ((3, 70, 2), -2, "tiles"),
]


def spread_by(method: Any, part_size: int) -> Callable[[ScanLayout], ScanSpread]:
    """Return a choice that always is ``method``, with parts of that size."""

    def choose(layout: ScanLayout) -> ScanSpread:
        parts = math.ceil(layout.length / part_size)
        together, lanes = (4 if method == "columns" else 1), (128 if method == "tiles" else 1)
        return ScanSpread(method, part_size, parts, layout.rows // together * parts * lanes)

    return choose


def looped(
    step: Callable[[Any, Any], Any],
    x: Any,
    axis: int,
    *,
    first: Any,
    exclusive: bool = False,
    reverse: bool = False,
) -> Any:
    """Return what a loop in the order of the scan gives; ``step`` takes what was, and a row."""
    rows = np.moveaxis(x, axis, 0)
    rows = rows[::-1] if reverse else rows
    total = np.full(rows.shape[1:], first)
    found = []
    for row in rows:
        after = step(total, row)
        found.append(total if exclusive else after)
        total = after
    made = np.stack(found)
    return np.moveaxis(made[::-1] if reverse else made, 0, axis)


FLAGS: list[Any] = [
    {},
    {"reverse": True},
    {"exclusive": True},
    {"exclusive": True, "reverse": True},
]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("part_size", [1 << 20, 1024, 16])
@pytest.mark.parametrize(("shape", "axis", "method"), SHAPES)
def test_every_method_combines_in_the_order_of_the_scan(
    scan: Any,
    monkeypatch: pytest.MonkeyPatch,
    shape: Any,
    axis: int,
    method: str,
    part_size: int,
    flags: Any,
) -> None:
    size = part_size if method != "tiles" else max(part_size, 1024)
    size = min(size, -(-shape[axis] // 4) * 4) if method != "tiles" else size
    monkeypatch.setattr(lower_scan, "scan_spread", spread_by(method, size))
    x = RNG.integers(-9, 3, shape).astype(np.float32)

    run = scan(LAST_ABOVE_ZERO)

    def keep(total: Any, row: Any) -> Any:
        return np.where(row > 0, row, total)

    expected = looped(keep, x, axis, first=np.float32(-1), **flags)
    np.testing.assert_array_equal(run(wk.tensor(x), axis=axis, **flags).numpy(), expected)


@pytest.mark.parametrize("method", ["one_by_one", "tiles"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_linear_recurrence_is_a_scan_of_pairs(
    scan: Any, monkeypatch: pytest.MonkeyPatch, method: str, reverse: bool
) -> None:
    monkeypatch.setattr(lower_scan, "scan_spread", spread_by(method, 1024))
    x = RNG.choice([-1.0, 1.0], 5000) + 1j * RNG.integers(-3, 4, 5000)

    y = scan(RECURRENCE, "float32")(wk.tensor(x.astype(np.complex64)), reverse=reverse).numpy()

    expected = looped(
        lambda y, x: x.real * y + x.imag, x, 0, first=0.0, exclusive=False, reverse=reverse
    )
    np.testing.assert_array_equal(y, expected.astype(np.float32))


@pytest.mark.parametrize("method", ["one_by_one", "columns", "tiles"])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_element_has_the_same_number_in_every_order(
    scan: Any, monkeypatch: pytest.MonkeyPatch, method: str, reverse: bool
) -> None:
    monkeypatch.setattr(lower_scan, "scan_spread", spread_by(method, 1024))
    x = RNG.permutation(1500 * 4).reshape(1500, 4).astype(np.float32)

    y = scan(PLACE_OF_LARGEST, "int32")(wk.tensor(x), axis=0, reverse=reverse).numpy()

    ahead = x[::-1] if reverse else x
    places = [[np.argmax(ahead[: k + 1, c]) for c in range(4)] for k in range(1500)]
    expected = 1499 - np.array(places)[::-1] if reverse else np.array(places)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("method", ["one_by_one", "fours", "tiles"])
def test_finish_is_told_how_many_elements_were_combined(
    scan: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(lower_scan, "scan_spread", spread_by(method, 1024))
    x = RNG.integers(-9, 9, 2500).astype(np.float32)
    counts = np.arange(1, 2501, dtype=np.float32)
    run = scan(MEAN)
    for flags in FLAGS:
        ahead = x[::-1] if "reverse" in flags else x
        sums, n = np.cumsum(ahead), counts
        if "exclusive" in flags:
            sums, n = np.concatenate([[np.float32(0)], sums[:-1]]), np.maximum(counts - 1, 1)
        expected = (sums / n).astype(np.float32)
        expected = expected[::-1] if "reverse" in flags else expected
        np.testing.assert_allclose(run(wk.tensor(x), **flags).numpy(), expected, rtol=4e-7)


@pytest.mark.parametrize("method", ["one_by_one", "fours", "tiles"])
def test_a_bool_is_scanned_and_kept_between_two_dispatches(
    scan: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(lower_scan, "scan_spread", spread_by(method, 1024))
    x = np.arange(3000) == 2047

    y = scan(ANY)(wk.tensor(x))

    assert y.dtype == "bool"
    np.testing.assert_array_equal(y.numpy(), np.logical_or.accumulate(x))


@pytest.mark.parametrize("is_software", [False, True])
@pytest.mark.parametrize("text", [LARGE, SUM_OF_MATRICES], ids=["80 bytes", "64 bytes"])
def test_a_large_accumulator_finds_room_on_every_device(
    scan: Any, follow_rules: Callable[[bool], None], text: str, is_software: bool
) -> None:
    follow_rules(is_software)
    x = RNG.integers(-9, 9, (2, 2300)).astype(np.float32)
    y = scan(text)(wk.tensor(x), axis=1).numpy()
    np.testing.assert_array_equal(y, np.cumsum(x, axis=1))


@pytest.mark.parametrize("shape", [(7,), (3, 600), (4, 2000)])
def test_log_cumsum_exp_stays_near_the_formula_in_float64(scan: Any, shape: Any) -> None:
    x = RNG.normal(scale=3, size=shape).astype(np.float32)
    x[..., :2] = -np.inf
    y = scan(LOG_CUMSUM_EXP)(wk.tensor(x), axis=-1).numpy()
    expected = np.logaddexp.accumulate(x.astype(np.float64), axis=-1)
    np.testing.assert_allclose(y, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_nan_and_infinity_stay_from_where_they_stand(scan: Any, reverse: bool) -> None:
    x = np.array([1, -np.inf, 3, np.inf, 2, np.nan, 5], np.float32)
    x = x[::-1].copy() if reverse else x
    y = scan(RUNNING_MAX)(wk.tensor(x), reverse=reverse).numpy()
    expected = np.array([1, 1, 3, np.inf, np.inf, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(y, expected[::-1] if reverse else expected)


def test_views_numbers_scalars_and_empty_arrays_are_scanned(scan: Any) -> None:
    run = scan(RUNNING_MAX)
    x = RNG.normal(size=(6, 7, 5)).astype(np.float32)
    seen = wk.permute_dims(wk.tensor(x), (2, 0, 1))[1:, ::2]
    plain = np.transpose(x, (2, 0, 1))[1:, ::2]
    for axis in (0, 1, -1):
        expected = np.maximum.accumulate(plain, axis=axis)
        np.testing.assert_array_equal(run(seen, axis=axis).numpy(), expected)

    assert run(wk.tensor(3.0)).tolist() == 3.0
    assert run(wk.tensor([4.0])).tolist() == [4.0]
    assert run(wk.tensor(np.zeros((3, 0), np.float32)), axis=1).shape == (3, 0)
    assert run(wk.tensor(np.zeros((0, 3), np.float32)), axis=1).shape == (0, 3)


def test_one_text_serves_every_dtype_of_the_device(scan: Any) -> None:
    text = "fn init() -> T { return T(-1000); }\nfn combine(a: T, b: T) -> T { return max(a, b); }"
    run = scan(text)
    x = RNG.integers(-99, 99, 300)
    supports = wk.tensor([0.0])._driver.supports
    for dtype in ("float32", "int32", "float16"):
        if supports(dtype):
            y = run(wk.tensor(x.astype(dtype))).numpy()
            np.testing.assert_array_equal(y, np.maximum.accumulate(x).astype(dtype))
